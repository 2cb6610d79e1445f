"""Reports that somebody makes up: they turn no verdict, stop no variant, and fill no table."""

import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from databases import connection_beside
from factories import piece
from penchant.wire import sign_user
from penchant_rows.storage.impression_ledger import ANONYMOUS_PIECES_A_DAY
from penchant_rows.storage.tables import impressions, placement_people
from serving import Service
from shown import list_id, lists_of, report, show

SHOP = "https://shop.example"
VARIANTS = [{"name": "b", "share": 0.5}]
PLACEMENT: dict[str, Any] = {"kind": "new", "variants": VARIANTS}
MADE_UP = [f"made-up-{number}" for number in range(10)]


@pytest.fixture
def shop(service: Service) -> Service:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "x"), piece("d", "x"))
    assert service.put("/s/placements/home", json=PLACEMENT).status_code == 200
    return service


class Visitor:
    """Somebody with the page's browser key who is signed, and sees one variant."""

    def __init__(self, shop: Service, variant: str) -> None:
        self._shop = shop
        self._key, secret = shop.new_key(origins=[SHOP], requests_per_second=10_000), shop.new_secret()
        for number in range(100):
            self.name = f"mallory{number}"
            signed = sign_user(self.name, secret, int(time.time()) + 3_600)
            self._headers = {"origin": SHOP, "x-penchant-user": signed}
            if self._list().json()["variant"] == variant:
                return

    def _list(self) -> Any:
        return self._shop.get(f"/s/placements/home/list?user={self.name}", key=self._key, headers=self._headers)

    def lists(self, count: int) -> list[str]:
        return [self._list().headers["x-penchant-list"] for _ in range(count)]

    def click_on(self, lists: list[str], pieces: list[str]) -> None:
        clicks = [
            {"userId": self.name, "type": "Click", "contentId": each, "listId": shown}
            for shown in lists
            for each in pieces
        ]
        for begin in range(0, len(clicks), 10_000):
            body = clicks[begin : begin + 10_000]
            answer = self._shop.post("/s/interactions", json=body, key=self._key, headers=self._headers)
            assert answer.status_code == 200, answer.text

    def see(self, lists: list[str]) -> Any:
        seen = [{"listId": each, "content": ["a", "b", "c", "d"]} for each in lists]
        return report(self._shop, *seen, key=self._key, headers=self._headers).json()


def results(shop: Service, placement: str = "home") -> tuple[str, list[str], Any]:
    """Return the verdict on the variant b, what is stopped, and all of it."""
    found = shop.get(f"/s/placements/{placement}/results").json()
    return next(each["verdict"] for each in found["variants"] if each["variant"] == "b"), found["stopped"], found


@pytest.mark.slow
def test_one_person_of_the_base_who_reports_successes_does_not_turn_a_verdict(shop: Service) -> None:
    show(shop, 300, clicks={"base": 60, "b": 180})
    assert results(shop)[:2] == ("better", [])
    mallory = Visitor(shop, "base")

    mallory.click_on(mallory.lists(30), ["a", "b", "c", "d", *MADE_UP])

    verdict, stopped, found = results(shop)
    assert (verdict, stopped) == ("better", [])
    base = next(each for each in found["variants"] if each["variant"] == "base")
    # Of 20 lists of a day four pieces each, and of each piece one success; for rates 16 of the 80 count.
    assert (base["lists"], base["shown"], base["successes"]) == (320, 1_280, 64)
    assert found["piecesOfPerson"] == 16
    assert base["rate"]["value"] == pytest.approx(64 / 1_216)


def test_few_people_decide_nothing_and_it_is_told(shop: Service) -> None:
    show(shop, 80, clicks={"base": 4, "b": 70})

    verdict, _, found = results(shop)

    doubtful = next(each for each in found["variants"] if each["variant"] == "b")
    assert verdict == "undecided"
    assert doubtful["difference"]["lower"] > 0
    assert doubtful["doubt"] == {"code": "few-people", "share": 0.5}


STOPPING: dict[str, tuple[dict[str, bool], list[str], list[str]]] = {
    "unsaid": ({}, ["b"], []),
    "by all": ({"autoStop": True}, ["b"], ["b"]),
    "by none": ({"autoStop": False}, [], []),
}
"""By placement what it says, and what is stopped by what servers report, and by what pages do."""


@pytest.mark.slow
def test_what_stops_a_variant_says_the_placement(shop: Service) -> None:
    for name, (own, *_) in STOPPING.items():
        members = {"kind": "new", **own, "variants": VARIANTS}
        assert shop.put(f"/s/placements/{name}", json=members).json() == members
    secret, key = shop.new_secret(), shop.new_key(origins=[SHOP], requests_per_second=10_000)
    seen, clicks, lists, pieces = [], [], lists_of(shop), [f"p{at}" for at in range(10)]
    for number in range(200):
        user, variant = f"u{number}", ("base", "b")[number % 2]
        shown = [lists.make(placement=name, variant=variant, user=user, pieces=pieces) for name in STOPPING]
        own_seen = [{"listId": each, "content": pieces} for each in shown]
        headers = {"origin": SHOP, "x-penchant-user": sign_user(user, secret, int(time.time()) + 3_600)}
        assert report(shop, *own_seen, key=key, headers=headers).json() == {"accepted": 30, "duplicates": 0}
        seen += own_seen
        if variant == "base":
            click = {"userId": user, "type": "Click"}
            own_clicks = [click | {"contentId": each, "listId": listed} for listed in shown for each in pieces[:3]]
            assert shop.post("/s/interactions", json=own_clicks, key=key, headers=headers).status_code == 200
            clicks += own_clicks
    for name, (_, _, by_page) in STOPPING.items():
        assert results(shop, name)[:2] == ("worse", by_page), name

    # The servers say the same of what pages have said: then it is theirs.
    assert report(shop, *seen).json() == {"accepted": 0, "duplicates": 6_000}
    assert shop.post("/s/interactions", json=clicks).status_code == 200

    for name, (_, by_server, _) in STOPPING.items():
        assert results(shop, name)[:2] == ("worse", by_server), name


def stored_rows(shop: Service) -> int:
    with shop.opened_storage() as storage:
        head = storage.sources.read_head(storage.accounts.ensure(shop.account), "s")
        assert head is not None
    with connection_beside(Path(shop.settings.data), shop.settings.database) as connection:
        statement = select(func.count()).where(impressions.c.source_id == head.source_id)
        return int(connection.execute(statement).scalar_one())


def test_made_up_pieces_of_lists_for_nobody_are_stored_nowhere(shop: Service) -> None:
    key = shop.new_key(origins=[SHOP], requests_per_second=10_000)
    shown = shop.get("/s/placements/home/list", key=key, headers={"origin": SHOP}).headers["x-penchant-list"]

    answer = report(shop, {"listId": shown, "content": MADE_UP}, key=key, headers={"origin": SHOP})

    assert answer.status_code == 422
    assert stored_rows(shop) == 0


def test_lists_for_nobody_fill_no_table_on_a_day(shop: Service) -> None:
    key = shop.new_key(origins=[SHOP], requests_per_second=10_000)
    shown = shop.get("/s/placements/home/list", key=key, headers={"origin": SHOP}).headers["x-penchant-list"]
    assert report(shop, {"listId": shown, "content": ["a"]}, key=key, headers={"origin": SHOP}).json()["accepted"] == 1
    with connection_beside(Path(shop.settings.data), shop.settings.database) as connection:
        of_nobody = placement_people.c.person == b""
        connection.execute(update(placement_people).where(of_nobody).values(pieces=ANONYMOUS_PIECES_A_DAY - 1))
        connection.commit()

    seen = {"listId": shown, "content": ["a", "b", "c"]}
    answer = report(shop, seen, key=key, headers={"origin": SHOP})

    assert answer.json() == {"accepted": 1, "duplicates": 2}
    assert stored_rows(shop) == 2
    assert report(shop, {"listId": list_id(shop), "content": ["a"]}).json()["accepted"] == 1
