"""Lists of a placement for everybody: what the service answers each person with (interface, section 9)."""

import gzip
import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import DAY_CLOCK, DayClock
from kernel_cache import KERNELS
from penchant.bootstrap import storage_of
from penchant.errors import PenchantError
from penchant.live.following import Follower, View
from penchant.live.segment_files import Segments
from penchant.settings import NodeSettings
from penchant.storage import Storage
from penchant.telemetry import Metrics
from penchant_batch.executor import mapped_files
from penchant_batch.inputs import BulkRequest, write_inputs
from penchant_batch.placement_facts import read_placement
from penchant_engine.index.compiled import engine
from penchant_engine.model import MAX_TAKE
from penchant_rows.model import PlacementKind
from serving import Applications, Service
from shown import report
from strategies import examples

NUMBERS = count()
PIECES = [f"p{number:02}" for number in range(40)]
PEOPLE = [f"u{number}" for number in range(9)]
HALF = {"name": "half", "share": 0.5}
TYPES = ("Click", "Play", "Watch", "RateLike", "RateDislike", "Purchase", "Play")


@pytest.fixture
def clock() -> DayClock:
    return DAY_CLOCK


@pytest.fixture
def source(service: Service) -> Iterator[Service]:
    yield filled(service)
    engine.use({})


@pytest.fixture(scope="module")
def rows(applications: Applications, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The same source for tests of which each has placements of its own."""
    with applications.service(NodeSettings(data=str(tmp_path_factory.mktemp("rows"))), DAY_CLOCK) as service:
        yield filled(service)
    engine.use({})


def filled(service: Service) -> Service:
    """Fill a source with attributes, and people who did something, said something, both or next to nothing."""
    service.submit(
        "s",
        *[
            {
                "id": piece_id,
                "categories": {"genre": [f"g{number % 3}", f"g{number % 7}"], "by": [f"d{number % 5}"]},
                "filters": {
                    "catalogs": [f"c{number % 2}"],
                    "availableFrom": f"2026-{1 + number % 9:02}-{1 + number % 28:02}T00:00:00Z",
                },
                "extras": {"year": 1990 + number},
            }
            for number, piece_id in enumerate(PIECES)
        ],
    )
    attributes = {"year": {"pointer": "/year", "type": "integer"}}
    assert service.put("/s/settings", json={"attributes": attributes}).status_code == 200
    did = [
        {
            "userId": user,
            "type": TYPES[(place + step) % len(TYPES)],
            "contentId": PIECES[(place * 5 + step * step) % len(PIECES)],
            "timestamp": DAY_CLOCK.midnight(1 + 9 * (step % 4)),
        }
        for place, user in enumerate(PEOPLE)
        for step in range(place)
    ]
    assert service.post("/s/interactions", json=did).status_code == 200
    said = {"keywords": {"genre": {"g1": 1}}, "hidden": ["p03", "p07"], "unusedCategories": ["by"]}
    for user in ("u4", "said"):
        assert service.put(f"/s/users/{user}/preferences", json=said).status_code == 200
    return service


def bulk(service: Service, name: str, content: str | None = None, take: int = MAX_TAKE) -> dict[str, Any]:
    """Return the lists of a placement for everybody by person."""
    lists = [json.loads(line) for line in bulk_lines(service, name, content, take)]
    return {each["userId"]: each for each in lists}


def bulk_lines(service: Service, name: str | None, content: str | None = None, take: int = MAX_TAKE) -> list[bytes]:
    """Return the lists of a placement for everybody, or without a name of recommendations, as they are written."""
    now = int(DAY_CLOCK() * 1000)
    with tempfile.TemporaryDirectory() as folder, closing(storage_of(service.settings)) as storage:
        view = view_of(storage, service)
        placement = None if name is None else read_placement(storage, view, name, content, now)
        request = BulkRequest(users=None, now=now, take=take, kernels=KERNELS, placement=placement)
        plan, _head = write_inputs(storage, view, request, Path(folder))
        work = plan.prepare(mapped_files(plan, Path(folder)))
        # In two ranges, the second of which does not begin with the first person.
        parts = [gzip.decompress(work(begin, end)) for begin, end in ((0, 4), (4, plan.count))]
    return [line for part in parts for line in part.splitlines()]


def view_of(storage: Storage, service: Service) -> View:
    account = storage.accounts.find(service.account)
    assert account is not None
    head = storage.sources.read_head(account, "s")
    assert head is not None
    return Follower(storage, Segments(Metrics()), Metrics()).catch_up(None, head)


def served(service: Service, name: str, user: str, query: str = "") -> Any:
    answer = service.get(f"/s/placements/{name}/list?user={user}{query}")
    assert answer.status_code == 200, answer.text
    return answer


def pass_over(service: Service, name: str) -> None:
    """Let some people see the first pieces of their lists, and do nothing with them."""
    for user in ("u2", "u4", "u8"):
        shown = served(service, name, user, "&content=p05")
        seen = [each["id"] for each in shown.json()["content"][:4]]
        if seen:
            report(service, {"listId": shown.headers["x-penchant-list"], "content": seen})


YEARS = st.integers(1990, 2030)
RULES: dict[str, st.SearchStrategy[Any]] = {
    "catalogs": st.just(["c0"]),
    "filter": YEARS.map(lambda year: {"must": [{"key": "year", "lte": year}]}),
    "boosts": YEARS.map(lambda year: [{"key": "year", "gte": year, "factor": 3}]),
    "blacklist": st.lists(st.sampled_from(PIECES), max_size=5, unique=True),
    "fallback": st.sampled_from([kind.value for kind in PlacementKind if kind is not PlacementKind.PICKS]),
    "maxPerValue": st.just({"by": 2}),
    "diversity": st.sampled_from([0, 0.4]),
    "pins": st.lists(st.sampled_from([*PIECES, "none"]), max_size=4, unique=True).map(
        lambda ids: [{"id": each, "position": 1 + 3 * place} for place, each in enumerate(ids)]
    ),
    "quotas": YEARS.map(
        lambda year: [
            {"filter": {"key": "year", "gte": year}, "atLeast": 3, "of": 7},
            {"filter": {"key": "year", "gte": year + 3}, "atLeast": 1, "of": 2},
        ]
    ),
}
CALIBRATION = {"calibration": st.sampled_from([0, 0.4])}
WHITELIST = {"whitelist": st.lists(st.sampled_from(PIECES), max_size=5, unique=True)}
WEIGHTS = st.dictionaries(st.sampled_from(["genre", "by"]), st.sampled_from([0, 0.5, 2]), min_size=1, max_size=2)
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "similar": {"algorithm": st.sampled_from(["content", "audience", "both"]), "categoryWeights": WEIGHTS, **WHITELIST},
    "recommendations": {
        "blend": st.fixed_dictionaries(dict.fromkeys(("content", "audience", "popularity"), st.integers(1, 3))),
        "categoryWeights": WEIGHTS,
        "rotation": st.sampled_from([0, 0.5, 1]),
        "excludeSeen": st.booleans(),
        **WHITELIST,
        **CALIBRATION,
    },
    "popular": {"halfLifeDays": st.sampled_from([0, 3, 30]), **WHITELIST},
    "new": {"halfLifeDays": st.sampled_from([0, 3, 30]), **WHITELIST},
    "again": {},
    "picks": {
        "order": st.sampled_from(["given", "personal"]),
        "excludeSeen": st.booleans(),
        "categoryWeights": WEIGHTS,
        **CALIBRATION,
    },
}
OWN["because"] = {
    "algorithm": st.sampled_from(["content", "audience", "both"]),
    "rows": st.integers(1, 3),
    "seriesCategory": st.just("by"),
    "excludeSeen": st.booleans(),
}
OWN["keyword"] = {
    "rows": st.integers(1, 3),
    "rotation": st.sampled_from([0, 0.5]),
    "excludeSeen": st.booleans(),
    **CALIBRATION,
}
CATEGORY = {"calibrationCategory": st.just("by")}
NEEDED: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "recommendations": CATEGORY,
    "keyword": CATEGORY,
    "picks": {"content": st.lists(st.sampled_from([*PIECES, "gone"]), max_size=40, unique=True), **CATEGORY},
}
"""What a kind cannot do without."""


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """Return the members of a placement or a variant."""
    kind = draw(st.sampled_from(sorted(OWN)))
    return {"kind": kind, **draw(st.fixed_dictionaries(NEEDED.get(kind, {}), optional=RULES | OWN[kind]))}


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(rules(), st.lists(rules(), max_size=2), st.sampled_from([MAX_TAKE, 3]))
def test_everybody_gets_what_a_request_is_answered_with(
    rows: Service, own: dict[str, Any], others: list[dict[str, Any]], take: int
) -> None:
    name = f"row{next(NUMBERS)}"
    unset = dict.fromkeys({*RULES, *WHITELIST, *(each for members in OWN.values() for each in members)})
    variants = [{"name": f"v{n}", "share": 0.3, **unset, **each} for n, each in enumerate(others)]
    put = rows.put(f"/s/placements/{name}", json={**own, "variants": variants})
    assert put.status_code == 200, put.text
    pass_over(rows, name)

    found = bulk(rows, name, "p05", take)

    assert sorted(found) == [*["said"], *PEOPLE[1:]]
    expected = {user: served(rows, name, user, f"&content=p05&take={take}").json() for user in found}
    assert found == expected
    rows.delete(f"/s/placements/{name}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "members",
    (
        {"kind": "popular", "halfLifeDays": 3},
        {"kind": "recommendations", "rotation": 0.5, "filter": {"key": "year", "lte": 2020}},
        {"kind": "recommendations", "boosts": [{"key": "year", "gte": 2010, "factor": 3}], "whitelist": ["p09"]},
        {
            "kind": "recommendations",
            "categoryWeights": {"genre": 0.5},
            "variants": [{"name": "v", "share": 0.5, "kind": "new"}],
        },
        {"kind": "because", "rows": 2, "fallback": "new"},
        {"kind": "keyword", "rows": 3, "excludeSeen": False, "fallback": "popular"},
        {"kind": "recommendations", "calibration": 0.5, "calibrationCategory": "genre", "diversity": 0.3},
        {"kind": "picks", "content": ["p30", "gone", "p03", "p05", "p12"], "order": "personal", "fallback": "new"},
        {
            "kind": "new",
            "pins": [{"id": "p30", "position": 2}, {"id": "p03", "position": 1}],
            "quotas": [{"filter": {"key": "year", "gte": 2020}, "atLeast": 2, "of": 4}],
        },
        {
            "kind": "again",
            "fallback": "popular",
            "variants": [{"name": "v", "share": 0.5, "fallback": "recommendations"}],
        },
    ),
)
def test_what_a_list_is_made_by_counts_for_everybody(rows: Service, members: Any) -> None:
    name = f"row{next(NUMBERS)}"
    assert rows.put(f"/s/placements/{name}", json=members).status_code == 200
    pass_over(rows, name)

    found = bulk(rows, name)

    assert found == {user: served(rows, name, user).json() for user in found}


@pytest.mark.parametrize(
    ("placement", "content", "told"),
    (
        (None, None, "has no placement 'row'"),
        ({"kind": "similar"}, None, "similar to a piece"),
        ({"kind": "again", "fallback": "similar"}, None, "similar to a piece"),
        ({"kind": "similar"}, "gone", "no piece with this id"),
    ),
)
def test_what_no_list_can_be_made_of_is_refused_before_any_is(
    source: Service, placement: Any, content: str | None, told: str
) -> None:
    if placement is not None:
        assert source.put("/s/placements/row", json=placement).status_code == 200

    with pytest.raises(PenchantError, match=told):
        bulk(source, "row", content)


def test_a_filter_that_no_longer_fits_is_refused(source: Service) -> None:
    source.put("/s/placements/row", json={"kind": "new", "filter": {"key": "year", "gte": 2000}})
    source.put("/s/settings", json={})

    with pytest.raises(PenchantError, match="no longer fits the attributes"):
        bulk(source, "row")


@pytest.mark.slow
def test_a_similar_list_that_cannot_be_made_is_filled(source: Service) -> None:
    source.put("/s/placements/row", json={"kind": "similar", "fallback": "popular"})

    found = bulk(source, "row")

    assert {each["kind"] for each in found.values()} == {"popular"}
    assert found["u3"] == served(source, "row", "u3").json()


@pytest.mark.slow
def test_lists_for_everybody_go_by_the_order_of_likes(source: Service) -> None:
    chance = random.Random(0)
    moments = [sorted(chance.sample(range(86_400), 9)) for _ in range(150)]
    likes = [
        {"userId": f"v{number}", "type": "RateLike", "contentId": PIECES[number % 30 + step], "timestamp": at(second)}
        for number, own in enumerate(moments)
        for step, second in enumerate(own)
    ]
    recorded = source.post("/s/interactions", json=likes)
    headers = {"x-penchant-min-audience-version": recorded.headers["x-penchant-interactions-version"]}

    found = [json.loads(line) for line in bulk_lines(source, None)]
    asked = {
        each["id"]: source.get(f"/s/users/{each['id']}/recommendation?explain=true", headers=headers).json()
        for each in found[::9]
    }

    told = [piece for each in asked.values() for entry in each["content"] for piece in liked_pieces(entry)]
    assert any(piece.get("soonAfter") for piece in told)
    for each in found[::9]:
        assert each["content"] == [
            {"id": entry["id"], "score": entry["score"]} for entry in asked[each["id"]]["content"]
        ]


def at(second: int) -> str:
    """Return a moment of the day before yesterday."""
    return f"{DAY_CLOCK.midnight(2)[:10]}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def liked_pieces(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [piece for part in entry["why"]["parts"] for piece in part.get("pieces", ())]


@pytest.mark.slow
@pytest.mark.parametrize("changed", ({}, {"maxPerValue": {"genre": 2}}, {"excludeSeen": False}))
@pytest.mark.parametrize("whitelist", ([], ["p08", "p01"]))
def test_recommendations_are_the_bytes_of_answers(source: Service, changed: Any, whitelist: list[str]) -> None:
    attributes = {"year": {"pointer": "/year", "type": "integer"}}
    assert source.put("/s/settings", json={"attributes": attributes, **changed}).status_code == 200
    if whitelist:
        assert source.put("/s/whitelist", json=whitelist).status_code in {200, 202}

    found = bulk_lines(source, None, take=7)

    asked = [json.loads(line)["id"] for line in found]
    answers = [source.get(f"/s/users/{user}/recommendation?take=7") for user in asked]
    assert found == [answer.content for answer in answers]
    assert asked == ["said", *PEOPLE[1:]]
