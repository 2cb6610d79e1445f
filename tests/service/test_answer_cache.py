"""Answers that are kept: their windows, and their memory."""

import time
from typing import Any

from msgspec.structs import replace

from factories import piece
from penchant.live.views import View
from penchant.service.lists.answer_cache import ENTRY_BYTES, AnswerBasis, AnswerCache, holding_time
from penchant.service.lists.answers import result_of
from penchant.settings import NodeSettings
from penchant.wire import parse_timestamp
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.similar import SimilarRanking
from tenants import tenant_of

DAY_MS = 86_400_000


PLAIN = ListRequest(piece_id="p0")


class Scene:
    """A service's list of the pieces like ``p0``, and a clock that the test sets."""

    def __init__(self, view: View, limit_bytes: int) -> None:
        self.now_ms = int(time.time() * 1000) + DAY_MS
        self.view = view
        self.answers = AnswerCache(limit_bytes=limit_bytes)

    async def ids(self, **request: Any) -> list[str]:
        ranking = SimilarRanking(self.view, replace(PLAIN, **request), self.now_ms)
        place, version = tuple(request.items()), self.view.head.version
        found: list[str] | None = self.answers.find(place, version, self.now_ms)
        if found is None:
            found = [entry.id for entry in result_of(ranking).content]
            holds = holding_time(self.view.snapshot, ranking.now, ranking.request.at)
            self.answers.keep(place, version, AnswerBasis(*holds), found, 100)
        return found


async def scene_of(settings: NodeSettings, *pieces: dict[str, Any], limit_bytes: int = 10_000) -> Scene:
    """Return the scene of these pieces, once a service without a server has stored them."""
    async with tenant_of(settings, *pieces) as tenant:
        return Scene(await tenant.view(), limit_bytes)


async def test_a_window_that_opens_or_closes_ends_a_remembered_list(settings: NodeSettings) -> None:
    opens, closes = "2101-01-01T00:00:00Z", "2102-01-01T00:00:00Z"
    opens_ms, closes_ms = parse_timestamp(opens), parse_timestamp(closes)
    window = {"availableFrom": opens, "availableUntil": closes}
    scene = await scene_of(settings, piece("p0", "a"), piece("p1", "a", filters=window), piece("p2", "a"))

    found = []
    for moment in (opens_ms - 1, opens_ms, opens_ms + DAY_MS, closes_ms - 1, closes_ms, opens_ms - 1, opens_ms):
        scene.now_ms = moment
        found.append(await scene.ids())

    assert found == [["p2"], ["p1", "p2"], ["p1", "p2"], ["p1", "p2"], ["p2"], ["p2"], ["p1", "p2"]]
    assert (scene.answers.hits, scene.answers.misses) == (2, 5)


async def test_a_day_stands_for_the_present_until_midnight_and_for_its_end_afterwards(settings: NodeSettings) -> None:
    day_ms = parse_timestamp("2101-01-01T00:00:00Z")
    window = {"availableFrom": "2101-01-01T12:00:00Z"}
    scene = await scene_of(settings, piece("p0", "a"), piece("p1", "a", filters=window))

    found = []
    for moment in (day_ms + 1, day_ms + DAY_MS // 2, day_ms + DAY_MS):
        scene.now_ms = moment
        found.append(await scene.ids(at=day_ms + DAY_MS - 1))

    assert found == [[], ["p1"], ["p1"]]


async def test_lists_asked_for_least_recently_are_forgotten_first(settings: NodeSettings) -> None:
    limit_bytes = 2 * (ENTRY_BYTES + 100)
    scene = await scene_of(settings, piece("p0", "a"), piece("p1", "a"), limit_bytes=limit_bytes)

    for take in (1, 2, 1, 3, 1, 2):
        await scene.ids(take=take)

    assert (scene.answers.hits, scene.answers.misses) == (2, 4)
    assert 0 < scene.answers.nbytes <= limit_bytes


async def test_nothing_is_remembered_without_memory_for_it(settings: NodeSettings) -> None:
    scene = await scene_of(settings, piece("p0", "a"), piece("p1", "a"), limit_bytes=0)

    assert await scene.ids() == await scene.ids() == ["p1"]
    assert (scene.answers.hits, scene.answers.nbytes) == (0, 0)


def test_a_request_is_kept_whole_once_it_came_twice_and_holds_as_long_as_its_answer() -> None:
    cache = AnswerCache(limit_bytes=100_000)
    cache.keep("place", 1, AnswerBasis(10, 20), b"answer", 6)

    for request in ("another", "request", "request"):
        cache.keep_whole((request,), "place", b"whole", 5)
    whole = cache.find_whole(("request",))
    cache.keep_whole(("lost",), "no place", b"whole", 5)
    cache.keep_whole(("lost",), "no place", b"whole", 5)

    assert (cache.find_whole(("another",)), cache.find_whole(("lost",))) == (None, None)
    assert whole is not None
    assert whole.value == b"whole"
    assert (whole.since, whole.until, whole.audience) == (10, 20, None)
