"""Versions of settings and lists in storage, the same on every database: in order, none lost, there after a restart."""

from contextlib import closing
from itertools import pairwise

import msgspec

from penchant.model import ListKind
from penchant.storage import ReplaceList, ReplaceSettings, Storage, SubmitPieces
from penchant.storage.hashing import source_id
from penchant.storage.steering_versions import MAX_STEERING_VERSIONS, SteeringEntry
from storage.commands import done
from storage.conftest import Opening


def whitelist(account: int, *ids: str) -> ReplaceList:
    return ReplaceList(account_id=account, source="s", kind=ListKind.WHITELIST, ids=ids)


def versions(storage: Storage, account: int, subject: str = "whitelist") -> list[SteeringEntry]:
    def decode(body: bytes) -> object:
        return msgspec.json.decode(body or (b"{}" if subject == "settings" else b"[]"))

    return [*storage.steering_versions.list_versions(source_id(account, "s"), subject, decode)]


def test_two_writers_at_once_lose_no_version(opening: Opening, storage: Storage, account: int) -> None:
    done(storage, SubmitPieces(account_id=account, source="s", pieces=[]))
    with closing(opening()) as beside:
        written = [
            one.submit(whitelist(account, f"{name}{number}"))
            for number in range(MAX_STEERING_VERSIONS)
            for name, one in (("a", storage), ("b", beside))
        ]
        numbers = [each.result(timeout=120).version for each in written]

    found = versions(storage, account)

    assert [each.version for each in found] == sorted(numbers, reverse=True)[:MAX_STEERING_VERSIONS]
    assert all(now.changes == [{"added": now.state[0]}, {"removed": old.state[0]}] for now, old in pairwise(found))


def test_versions_are_there_after_a_restart(opening: Opening, storage: Storage, account: int) -> None:
    done(storage, SubmitPieces(account_id=account, source="s", pieces=[]))
    done(storage, whitelist(account, "a"))
    done(storage, ReplaceSettings(account_id=account, source="s", settings=b'{"a":1}', defaults=b'{"a":0,"b":2}'))
    before = versions(storage, account), versions(storage, account, "settings")
    storage.close()

    with closing(opening()) as again:
        assert (versions(again, account), versions(again, account, "settings")) == before
        entry, *_ = again.accounts.list_audit(account_id=account, source="s", action="settings.replace")

    assert entry.changes == [{"pointer": "/a", "before": 0, "after": 1}]
