"""Lists that a test has shown to people, by the ids that the service itself gives."""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from penchant.clock import Clock
from penchant.storage import Storage, list_person, source_id, user_key
from penchant_rows.service.impressions import ListIds
from penchant_rows.storage.impressions import ImpressionStore
from penchant_rows.wire.list_ids import NO_RULES
from serving import Service

PIECES = ("a", "b", "c", "d")
"""What is in the lists of most tests."""


class ListMaker:
    """Makes the ids of lists of a source as its answers have them; what it takes from the database is read once."""

    def __init__(self, storage: Storage, account: str, source: str = "s") -> None:
        head = storage.sources.read_head(storage.accounts.ensure(account), source)
        assert head is not None
        self._head = head
        self._secret = storage.list_secret()

    def make(
        self,
        *,
        placement: str = "home",
        variant: str = "a",
        user: str | None = "kim",
        made_at: float | None = None,
        pieces: Sequence[str] = PIECES,
        rules: Mapping[str, str] = NO_RULES,
    ) -> str:
        """Return the id of a list of a placement with these pieces, made at a moment in seconds."""
        ids = ListIds(self._secret, **({} if made_at is None else {"clock": Clock(seconds=lambda: made_at)}))
        return ids.make(self._head, placement=placement, variant=variant, user_id=user, pieces=pieces, rules=rules)


def lists_of(service: Service, source: str = "s") -> ListMaker:
    """Return what makes ids of lists of a source, for as long as that is not made again."""
    with service.opened_storage() as storage:
        return ListMaker(storage, service.account, source)


def list_id(service: Service, *, source: str = "s", **options: Any) -> str:
    """Return the id of a list, which `ListMaker.make` describes."""
    return lists_of(service, source).make(**options)


def unproven_list_id(service: Service, *, user: str = "kim") -> str:
    """Return a list's id as da6edb1 made them, which does not say which pieces were in it; spelt out here."""
    with service.opened_storage() as storage:
        head = storage.sources.read_head(storage.accounts.ensure(service.account), "s")
        assert head is not None
        secret = storage.list_secret()
    person = list_person(secret, user_key(head.source_id, user))
    moment = int(time.time()).to_bytes(5, "big")
    rest = b"1234" + bytes([len(person)]) + person + b"a\0home"
    origin = head.source_id.to_bytes(8, "big") + head.incarnation.to_bytes(8, "big")
    tag = hmac.digest(secret, origin + moment + rest, hashlib.sha256)[:11]
    return base64.urlsafe_b64encode(moment + tag + rest).decode().rstrip("=")


def report(service: Service, *lists: dict[str, Any], source: str = "s", **options: Any) -> Any:
    """Report what was seen of lists and return the answer."""
    return service.post(f"/{source}/impressions", json=list(lists), **options)


def show(
    service: Service, people: int, *, clicks: dict[str, int], rules: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    """Show each variant one list of four pieces, some by rules, to many people, some of whom click on the first."""
    seen, clicked = [], []
    lists = lists_of(service)
    for name, most in clicks.items():
        for number in range(people):
            user = f"{name}{number}"
            shown = lists.make(variant=name, user=user, rules=(rules or {}).get(name, NO_RULES))
            seen.append({"listId": shown, "content": PIECES})
            if number < most:
                clicked.append({"userId": user, "type": "Click", "contentId": "a", "listId": shown})
    for begin in range(0, len(seen), 1_000):
        assert report(service, *seen[begin : begin + 1_000]).status_code == 202
    # In portions that are stored in time on a busy machine, too.
    for begin in range(0, len(clicked), 200):
        answer = service.post("/s/interactions", json=clicked[begin : begin + 200])
        assert answer.status_code == 200, answer.text


def show_lists(client: httpx.Client, source: str, placement: str, *, people: int) -> None:
    """Show some people the lists of a placement, of whom every other one clicks on the first piece."""
    shown, clicked = [], []
    for number in range(people):
        answer = client.get(f"/{source}/placements/{placement}/list?user=visitor{number}&take=3")
        ids = [each["id"] for each in answer.json()["content"]]
        list_id = answer.headers["x-penchant-list"]
        shown.append({"listId": list_id, "content": ids})
        clicked.append({"userId": f"visitor{number}", "type": "Click", "contentId": ids[0], "listId": list_id})
    assert client.post(f"/{source}/impressions", json=shown).status_code == 202
    assert client.post(f"/{source}/interactions", json=clicked[::2]).status_code == 200


def counted(service: Service, placement: str = "home") -> dict[int, dict[int, int]]:
    """Return what is counted of a placement: by kind, at which position how many."""
    with service.opened_storage() as storage:
        account = storage.accounts.ensure(service.account)
        head = storage.sources.read_head(account, "s")
        assert head is not None
        assert head.source_id == source_id(account, "s")
        rows = (
            storage.store(ImpressionStore).read_counts(head.source_id, head.incarnation, placement, (0, 100_000)).table
        )
    found: dict[int, dict[int, int]] = {}
    for kind, positions in zip(rows.kinds.tolist(), rows.positions.tolist(), strict=True):
        of_kind = found.setdefault(kind, {})
        for position, count in enumerate(positions):
            if count:
                of_kind[position] = of_kind.get(position, 0) + count
    return found
