"""The audit log, the same on every database: what is found in it, by which index, and what is one entry."""

import gzip
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from penchant.model import ListKind
from penchant.storage import AuditEntry, DeleteSource, ReplaceList, Storage, SubmitPieces, open_storage
from penchant.storage.schema import audit
from storage.commands import done, editing, key_record
from storage.conftest import Opening

OF_0_1_0 = Path(__file__).parent / "of_0_1_0" / "penchant.db.gz"
OTHERS = 2_200


def replacing(account: int, *, actor: str = "", source: str = "s") -> ReplaceList:
    return ReplaceList(account_id=account, source=source, actor=actor, kind=ListKind.BLACKLIST, ids=[])


def told(entries: list[AuditEntry]) -> list[tuple[str, str, str, int]]:
    return [(each.actor, each.action, each.subject, each.count) for each in entries]


def at(monkeypatch: pytest.MonkeyPatch, moment_s: float) -> None:
    """Have the clock stand at a moment, but for a tick each time it is read."""
    moments = iter(range(int(moment_s * 1e9), int(moment_s * 1e9) + 10_000))
    monkeypatch.setattr(time, "time_ns", lambda: next(moments))


def test_changes_of_a_source_are_told_apart_from_those_of_others(storage: Storage, account: int) -> None:
    storage.accounts.set_signing_secret("one", b"secret", actor="ann")
    for source in ("one", "s", "s2", "s/a", "t"):
        done(storage, SubmitPieces(account_id=account, source=source, pieces=[]))
    done(storage, editing(account, "a/b", is_listed=True, actor="kim"))
    done(storage, editing(account, "a/b", is_listed=False, actor="lee"))
    storage.keys.create(key_record(account, "s"), actor="ann")

    found = storage.accounts.list_audit(account_id=account, source="s")

    assert told(found) == [
        ("lee", "blacklist.remove", "s/a/b", 1),
        ("kim", "blacklist.add", "s/a/b", 1),
        ("", "source.create", "s", 1),
    ]
    assert told(storage.accounts.list_audit(account_id=account, source="one")) == [("", "source.create", "one", 1)]


def test_what_others_write_moves_nothing_out_of_reach(opening: Opening, storage: Storage, account: int) -> None:
    other = storage.accounts.ensure("other")
    for number in (account, other):
        done(storage, SubmitPieces(account_id=number, source="s", actor="ann", pieces=[]))
    done(storage, replacing(other, actor="k"))
    with opening.beside() as connection:
        (row,) = connection.execute(select(audit).where(audit.c.actor == "k")).mappings()
        later = [{**row, "audit_id": row["audit_id"] + number, "actor": f"k{number}"} for number in range(1, OTHERS)]
        connection.execute(insert(audit), later)
        connection.commit()
    assert storage.accounts.list_audit(limit=1)[0].actor == f"k{OTHERS - 1}"

    own = [("ann", "source.create", "s", 1)]
    assert told(storage.accounts.list_audit(account_id=account)) == own
    assert told(storage.accounts.list_audit(account_id=account, source="s")) == own
    assert told(storage.accounts.list_audit(account_id=other, actor="ann")) == own
    assert [each.account for each in storage.accounts.list_audit(actor="ann")] == ["other", "one"]


def test_each_page_goes_on_where_the_one_before_ended(storage: Storage, account: int) -> None:
    done(storage, SubmitPieces(account_id=account, source="s", pieces=[]))
    for number in range(5):
        done(storage, replacing(account, actor=f"k{number}"))
    whole = storage.accounts.list_audit()

    first = storage.accounts.list_audit(limit=4)

    assert first + storage.accounts.list_audit(before=first[-1].moment) == whole
    assert len(whole) == 6


def test_equal_entries_within_a_minute_are_one_with_a_count(
    storage: Storage, account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = float(int(time.time()))
    done(storage, SubmitPieces(account_id=account, source="s", pieces=[]))
    for after, actor in ((1, "kim"), (2, "lee"), (59, "kim"), (61, "kim"), (62, "kim"), (120, "kim")):
        at(monkeypatch, begun + after)
        done(storage, replacing(account, actor=actor))

    found = [each for each in storage.accounts.list_audit() if each.action == "blacklist.replace"]

    assert [
        (each.actor, each.count, each.first_at / 1000 - begun, each.recorded_at / 1000 - begun) for each in found
    ] == [("kim", 2, 62, 120), ("kim", 3, 1, 61), ("lee", 1, 2, 2)]


def test_the_newest_entry_is_what_was_done_last(storage: Storage, account: int) -> None:
    done(storage, SubmitPieces(account_id=account, source="s", pieces=[]))
    for is_listed in (True, False, True):
        done(storage, editing(account, "a", is_listed=is_listed, actor="kim"))

    found = storage.accounts.list_audit(account_id=account, source="s", limit=2)

    assert told(found) == [("kim", "blacklist.add", "s/a", 2), ("kim", "blacklist.remove", "s/a", 1)]
    of = storage.accounts.list_audit
    assert of(account_id=account, subject="s/a", action="blacklist.add", limit=1) == found[:1]
    assert of(account_id=account, subject="s/b", action="blacklist.add") == []


def test_a_clock_that_was_set_back_joins_nothing_to_what_lies_ahead(
    storage: Storage, account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = time.time()
    done(storage, SubmitPieces(account_id=account, source="s", pieces=[]))
    for moment in (begun + 3_600, begun, begun + 1):
        at(monkeypatch, moment)
        done(storage, replacing(account))

    found = storage.accounts.list_audit(source="s", account_id=account)

    assert sorted(each.count for each in found if each.action == "blacklist.replace") == [1, 2]


def test_two_processes_at_once_lose_no_entry(opening: Opening, storage: Storage, account: int) -> None:
    done(storage, SubmitPieces(account_id=account, source="s", pieces=[]))
    with closing(opening()) as beside:
        written = [one.submit(replacing(account)) for _ in range(100) for one in (storage, beside)]
        for each in written:
            each.result(timeout=120)

    entries = storage.accounts.list_audit(account_id=account, source="s")

    assert sum(each.count for each in entries if each.action == "blacklist.replace") == 200
    assert len(entries) < 10


@pytest.mark.parametrize(
    ("condition", "index"),
    (
        ("account_id = 1", "audit_by_account"),
        ("of_source = 1", "audit_by_source"),
        ("actor = 'k'", "audit_by_actor"),
        ("account_id = 1 AND subject = 's' AND action = 'x' AND actor = 'k'", "audit_by_subject"),
    ),
)
def test_entries_are_found_by_indexes(opening: Opening, storage: Storage, condition: str, index: str) -> None:
    if not storage.quick_reads:
        pytest.skip("PostgreSQL goes by the size of the table")
    with opening.beside() as connection:
        plan = connection.exec_driver_sql(
            f"EXPLAIN QUERY PLAN SELECT * FROM audit WHERE {condition} AND audit_id < 5 ORDER BY audit_id DESC LIMIT 3"
        ).all()

    assert [each[3].split(" (")[0] for each in plan] == [f"SEARCH audit USING INDEX {index}"]


def test_entries_of_0_1_0_are_of_their_sources(tmp_path: Path) -> None:
    (tmp_path / "penchant.db").write_bytes(gzip.decompress(OF_0_1_0.read_bytes()))

    with closing(open_storage(folder=tmp_path)) as storage:
        account = next(each.account_id for each in storage.accounts.list_usage("2026-11") if each.sources)
        whole = storage.accounts.list_audit(account_id=account)
        for head in storage.sources.list_of(account):
            expected = [each for each in whole if each.subject.partition("/")[0] == head.name]
            assert storage.accounts.list_audit(account_id=account, source=head.name) == expected
            assert {each.count for each in expected} == {1}
            done(storage, DeleteSource(account_id=account, source=head.name, actor="me"))
            assert storage.accounts.list_audit(account_id=account, source=head.name)[0].action == "source.delete"
