"""Maps of catalogues: pieces laid out by likeness, made in a thread of their own, kept as long as a source stays.

An account has one map at a time made, so that those of others wait for no more than one of each.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.likeness import GROUPS, LikenessMap, likeness_map
from penchant.live.views import View, Views
from penchant.service.health import CatalogueHealth, SourceVersion, source_version
from penchant.telemetry import Metrics, logger
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import BoolArray, FloatArray, rows_in

MAX_KEPT = 16
"""Maps that are kept: up to half a megabyte each."""
WAIT_S = 0.05
"""How long an answer waits for a map that is being made: with its page that is a tenth of a second."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ColoredMap:
    """A map with the number of each piece's colour, below `GROUPS` or that for the rest, and what colours stand for.

    ``unreached`` tells of each piece that it is in no other piece's list, ``None`` while that is being found out.
    ``is_former`` where it is of an earlier version, while that of now is being made.
    """

    map: LikenessMap
    colors: NDArray[np.uint8]
    legend: Sequence[str]
    unreached: BoolArray | None
    is_former: bool


class CatalogueMaps:
    """Makes maps of catalogues, one after the other."""

    def __init__(self, views: Views, health: CatalogueHealth, metrics: Metrics, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._views = views
        self._health = health
        self._metrics = metrics
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penchant-map")
        self._maps: BoundedCache[SourceVersion, Future[LikenessMap | None]] = BoundedCache(
            MAX_KEPT, on_eviction=Future.cancel
        )
        self._last: BoundedCache[tuple[int, ...], tuple[int, LikenessMap]] = BoundedCache(MAX_KEPT)

    def close(self) -> None:
        """Wait for the map under way, a second at most; make no other."""
        self._thread.shutdown(cancel_futures=True)

    async def colored(self, view: View, category: str | None) -> ColoredMap | None:
        """Return the map of a source, by a category's keywords or by popularity.

        While it is being made that is the last one of an earlier version, ``None`` where there is none.
        """
        found = await self._map(view)
        if found is None:
            return None
        version, likeness = found
        if category is not None and category in likeness.groupings:
            keywords, colors = likeness.groupings[category]
            legend = [*keywords, *[""] * (GROUPS - len(keywords)), "none of these"]
        else:
            colors, legend = await self._by_popularity(view, likeness)
        unreached, is_former = self._unreached(view, likeness), version != view.head.version
        return ColoredMap(map=likeness, colors=colors, legend=legend, unreached=unreached, is_former=is_former)

    async def _map(self, view: View) -> tuple[int, LikenessMap] | None:
        """Return the map of a source, or the last one that was made, after its version."""
        head, version = view.head, source_version(view.head)
        task = self._maps.get(version)
        if task is None:
            for other, outdated in self._maps.items():
                # One that is under way is ended: of a source that changes all the time there is a map, too.
                if other[:2] == version[:2] and not outdated.running():
                    self._maps.pop(other)
                    self._keep(other, outdated)
                    outdated.cancel()
            if any(other[0] == head.account_id and not making.done() for other, making in self._maps.items()):
                return self._last.get(version[:4])
            task = self._thread.submit(self._make, view)
            self._maps.put(version, task)
        # Not to be cancelled with this request: another may wait for the same.
        await asyncio.wait([asyncio.wrap_future(task)], timeout=WAIT_S)
        self._keep(version, task)
        if task.done() and not task.cancelled() and task.result() is None:
            # It has failed, and is tried anew by whoever asks next.
            self._maps.pop(version)
        return self._last.get(version[:4])

    def _keep(self, version: SourceVersion, task: Future[LikenessMap | None]) -> None:
        likeness = task.result() if task.done() and not task.cancelled() else None
        if likeness is not None:
            self._last.put(version[:4], (version[4], likeness))

    def _make(self, view: View) -> LikenessMap | None:
        try:
            return likeness_map(view.snapshot, view.settings.category_factors)
        except Exception:  # noqa: BLE001  # it is told as a failure, and the thread goes on
            self._metrics.failures.labels("map").inc()
            logger.exception("a catalogue's map could not be made")
            return None

    async def _by_popularity(self, view: View, likeness: LikenessMap) -> tuple[NDArray[np.uint8], list[str]]:
        """Return the quarter of each piece among those that anybody likes, the most liked first."""
        audience = await self._views.audience(view, self._clock.today())
        likes: FloatArray = np.zeros(len(likeness.ids))
        if audience.counts is not None:
            counted = audience.counts.by_part(view.snapshot.parts, audience.figures.grades)
            for part, counts in zip(view.snapshot.parts, counted, strict=True):
                rows = part.segment.ids.find_all(likeness.ids)
                here = (rows >= 0) & (part.live[rows] > 0)
                likes[here] = counts[rows[here]]
        liked = np.flatnonzero(likes > 0)
        colors = np.full(len(likes), GROUPS, dtype=np.uint8)
        order = liked[np.argsort(-likes[liked], kind="stable")]
        colors[order] = np.arange(len(order)) * GROUPS // max(1, len(order))
        return colors, ["the most liked quarter", "the second", "the third", "the least liked", "liked by nobody"]

    def _unreached(self, view: View, likeness: LikenessMap) -> BoolArray | None:
        unreached = self._health.findings(view).unreached
        if unreached is None or not unreached.done:
            return None
        mask = np.zeros(len(likeness.ids), dtype=np.bool_)
        rows = rows_in(likeness.ids, unreached.sampled)
        mask[rows[rows >= 0]] = True
        return mask
