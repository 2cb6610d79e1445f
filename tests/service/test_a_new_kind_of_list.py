"""The recipe for a kind of list that CONTRIBUTING gives: a `ListRanking`, and its row in the table of kinds.

The names of kinds are an enumeration that nothing can be added to here, so the new kind takes the row of another one.
"""

from pathlib import Path
from typing import Any

import pytest

from penchant.model import PlacementKind
from penchant.service.lists.inputs import ListInputs
from penchant.service.lists.kinds import KINDS, ListWish, RankingKind
from penchant_engine.index import IntArray
from penchant_engine.index.part import Part
from penchant_engine.index.queries import PartQuery, ScanQuery
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.reasons import PartReason, Reasons
from penchant_engine.model import DAY_MS
from penchant_engine.ranking import SCORE_SCALE
from serving import Service, ok

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "placements.md"


class OldestRanking(ListRanking):
    """What became available first: the score is the day."""

    zero = SCORE_SCALE

    @property
    def query(self) -> PartQuery:
        """What the list is searched by."""
        return ScanQuery(_days)

    def why(self, piece_id: str, *, listed: bool) -> Reasons:  # noqa: ARG002  # one reason for all
        """Return that the piece has an age."""
        key = self.key(piece_id) or 0
        return Reasons((), parts=[PartReason("oldest", 1 - key / self.zero)])


def _days(part: Part, rows: IntArray) -> tuple[IntArray, IntArray]:
    return part.segment.available_from[rows] // DAY_MS, rows


async def _oldest(inputs: ListInputs, wish: ListWish) -> OldestRanking:
    return OldestRanking(wish.view, wish.wanted, inputs.now(wish.view))


@pytest.fixture
def source(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A source with a placement of the new kind."""
    monkeypatch.setitem(KINDS, PlacementKind.NEW, RankingKind(rank=_oldest, is_personal=False))
    service.submit(
        "s",
        *[
            {"id": f"p{day}", "categories": {}, "filters": {"availableFrom": f"2026-01-0{day}T00:00:00Z"}}
            for day in (3, 1, 2, 4)
        ],
    )
    ok(service.put("/s/placements/first", json={"kind": "new", "blacklist": ["p2"], "whitelist": ["p4"]}))
    return service


def ids(answered: Any) -> list[str]:
    return [each["id"] for each in answered["content"]]


def test_requests_pages_and_what_a_person_hid_follow_from_the_row(source: Service) -> None:
    page = {"user": "ann", "lists": [{"placement": "first"}]}
    assert ids(ok(source.get("/s/placements/first/list"))) == ["p4", "p1", "p3"]

    ok(source.put("/s/users/ann/preferences", json={"hidden": ["p1"]}))

    assert ids(ok(source.get("/s/placements/first/list?user=ann"))) == ["p4", "p3"]
    assert ids(ok(source.post("/s/lists", json=page))["lists"][0]) == ["p4", "p3"]


def test_reasons_and_previews_follow_from_the_row(source: Service) -> None:
    draft = {"name": "first", "placement": {"kind": "new"}, "users": ["ann"]}

    explained = ok(source.get("/s/placements/first/list?explain=true"))["content"]
    (previewed,) = ok(source.post("/s/preview/placement", json=draft))["lists"]

    assert [each["why"]["parts"][0]["share"] for each in explained] == [
        pytest.approx(1 - each["score"]) for each in explained
    ]
    assert [each["id"] for each in previewed["before"]] == ["p4", "p1", "p3"]
    assert [each["id"] for each in previewed["after"]] == ["p1", "p2", "p3", "p4"]


def test_every_kind_has_a_row_and_a_place_in_the_table_of_kinds() -> None:
    rows = PAGE.read_text().partition("| `kind` |")[2].partition("\n\n")[0].splitlines()

    assert set(KINDS) == set(PlacementKind)
    assert {kind for kind in PlacementKind if any(f"`{kind}`" in row.split("|")[1] for row in rows[2:])} == set(KINDS)
