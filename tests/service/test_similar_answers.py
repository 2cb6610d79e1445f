"""Remembered lists of similar pieces: their windows, and their memory."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from factories import piece
from penchant.bootstrap import open_services
from penchant.live.views import View
from penchant.model import EncodedPiece
from penchant.service.lists.requests import SimilarRequest
from penchant.service.lists.similar import ENTRY_BYTES, SimilarAnswers, SimilarRanking
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import SubmitPieces
from penchant.wire import parse_timestamp

DAY_MS = 86_400_000


PLAIN = SimilarRequest(piece_id="p0")


class Scene:
    """A service's list of the pieces like ``p0``, and a clock that the test sets."""

    def __init__(self, view: View, limit_bytes: int) -> None:
        self.now_ms = int(time.time() * 1000) + DAY_MS
        self.view = view
        self.answers = SimilarAnswers(limit_bytes=limit_bytes)

    def ids(self, **request: Any) -> list[str]:
        body = self.answers.encoded(SimilarRanking(self.view, replace(PLAIN, **request), self.now_ms))
        return [entry["id"] for entry in json.loads(body)["content"]]


def play(folder: Path, pieces: list[dict[str, Any]], scene: Callable[[Scene], None], limit_bytes: int = 10_000) -> None:
    """Submit pieces to a service without a server, and play a scene with it."""

    async def run() -> None:
        async with open_services(CurrentSettings(NodeSettings(data=str(folder)))) as services:
            account = await services.database.in_thread(services.database.storage.accounts.ensure, "one")
            encoded = [EncodedPiece(id=piece["id"], body=json.dumps(piece).encode()) for piece in pieces]
            await services.database.change(SubmitPieces(account_id=account, source="s", pieces=encoded))
            scene(Scene(await services.views.view(account, "s"), limit_bytes))

    asyncio.run(run())


def test_a_window_that_opens_or_closes_ends_a_remembered_list(tmp_path: Path) -> None:
    opens, closes = "2101-01-01T00:00:00Z", "2102-01-01T00:00:00Z"
    window = {"availableFrom": opens, "availableUntil": closes}

    def scene(scene: Scene) -> None:
        opens_ms, closes_ms = parse_timestamp(opens), parse_timestamp(closes)
        found = []
        for moment in (opens_ms - 1, opens_ms, opens_ms + DAY_MS, closes_ms - 1, closes_ms, opens_ms - 1, opens_ms):
            scene.now_ms = moment
            found.append(scene.ids())
        assert found == [["p2"], ["p1", "p2"], ["p1", "p2"], ["p1", "p2"], ["p2"], ["p2"], ["p1", "p2"]]
        assert (scene.answers.hits, scene.answers.misses) == (2, 5)

    play(tmp_path, [piece("p0", "a"), piece("p1", "a", filters=window), piece("p2", "a")], scene)


def test_a_day_stands_for_the_present_until_midnight_and_for_its_end_afterwards(tmp_path: Path) -> None:
    day_ms = parse_timestamp("2101-01-01T00:00:00Z")
    window = {"availableFrom": "2101-01-01T12:00:00Z"}

    def scene(scene: Scene) -> None:
        found = []
        for moment in (day_ms + 1, day_ms + DAY_MS // 2, day_ms + DAY_MS):
            scene.now_ms = moment
            found.append(scene.ids(at=day_ms + DAY_MS - 1))
        assert found == [[], ["p1"], ["p1"]]

    play(tmp_path, [piece("p0", "a"), piece("p1", "a", filters=window)], scene)


def test_lists_asked_for_least_recently_are_forgotten_first(tmp_path: Path) -> None:
    def scene(scene: Scene) -> None:
        for take in (1, 2, 1, 3, 1, 2):
            scene.ids(take=take)
        assert (scene.answers.hits, scene.answers.misses) == (2, 4)
        assert 0 < scene.answers.nbytes <= 2 * (ENTRY_BYTES + 100)

    play(tmp_path, [piece("p0", "a"), piece("p1", "a")], scene, limit_bytes=2 * (ENTRY_BYTES + 100))


def test_nothing_is_remembered_without_memory_for_it(tmp_path: Path) -> None:
    def scene(scene: Scene) -> None:
        assert scene.ids() == scene.ids() == ["p1"]
        assert (scene.answers.hits, scene.answers.nbytes) == (0, 0)

    play(tmp_path, [piece("p0", "a"), piece("p1", "a")], scene, limit_bytes=0)
