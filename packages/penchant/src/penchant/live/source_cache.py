"""Source cache: what a worker keeps in memory of sources, those requested least recently let go first.

All of it can be made again. For the event loop only: nothing here waits. One name over time:

    absent --enter--> CachedSource, empty --update, after a catch-up or count--> charged for what it takes
       ^                                                                             |
       '------- `_let_go`: memory is short, and others were requested since ---------|
       '------- `forget`: the source was deleted ------------------------------------'

A request that still has the object goes on with it; another one for the name gets a new object. So objects are
compared, not names, after each wait.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from penchant.live.audience_files import StoredWeights
from penchant.live.counting import AudienceCount
from penchant.live.following import View
from penchant.live.heads import SourceName
from penchant.live.weighing import SourceWeights
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant_engine.index import Audience

LEAST_BYTES = 4_096
"""What a source counts at least: the objects around its arrays, however few pieces it has."""
MAX_SOURCES = 10_000
"""Sources in the cache at most: some 100 MB of small ones."""


class _Charge(NamedTuple):
    """What a source adds to the sums of its cache."""

    nbytes: int = LEAST_BYTES
    pieces: int = 0
    views: int = 0


_EMPTY = _Charge()


class CachedSource(msgspec.Struct, kw_only=True, eq=False):
    """A source in the cache, with its locks: a task that waits for one may find the source let go when it gets it.

    ``audience`` is the last one, of ``count`` and of the weights ``weighed``; of a ``settled`` head and day it has all.
    The view is replaced under ``following``, the count under ``counting``. ``confirmed_at`` is when the view was known
    last to be current, at the head ``confirmed``, ``checked_at`` when the source was known last to exist: monotonic
    moments.
    """

    name: SourceName
    view: View | None = None
    count: AudienceCount | None = None
    weights: SourceWeights = msgspec.field(default_factory=SourceWeights)
    weighed: StoredWeights | None = None
    audience: Audience | None = None
    settled: tuple[SourceHead, int] | None = None
    requested_version: int = 0
    confirmed: SourceHead | None = None
    confirmed_at: float = 0.0
    checked_at: float = 0.0
    following: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    counting: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    charge: _Charge = _EMPTY

    @property
    def lag(self) -> int:
        """How many versions the view is behind the one that was requested last."""
        return 0 if self.view is None else max(0, self.requested_version - self.view.head.version)

    @property
    def is_busy(self) -> bool:
        """Whether it is being brought up to date."""
        return self.following.locked() or self.counting.locked()

    def settled_audience(self, head: SourceHead, today: int) -> Audience | None:
        """Return the audience if it is known to have all that a head has on a UTC day, and nothing was made anew."""
        audience, count = self.audience, self.count
        if audience is None or count is None or self.settled != (head, today):
            return None
        return audience if audience.counts is count.counts and self.weighed is self.weights.made else None

    def measure(self) -> _Charge:
        """Return what it takes now, about."""
        counted = self.weights.nbytes + (0 if self.count is None else self.count.tally.nbytes)
        if self.view is None:
            return _Charge(nbytes=LEAST_BYTES + counted)
        snapshot = self.view.snapshot
        return _Charge(nbytes=LEAST_BYTES + counted + snapshot.nbytes, pieces=snapshot.piece_count, views=1)


class SourceCache:
    """The cached sources of a worker, within ``memory_bytes()`` (0: any) and `MAX_SOURCES`.

    Its sums are kept as sources come, change and go, so that a change costs the same however many there are.
    """

    def __init__(self, metrics: Metrics, memory_bytes: Callable[[], int]) -> None:
        self._metrics = metrics
        self._memory_bytes = memory_bytes
        # The one requested least recently comes first.
        self._sources: OrderedDict[SourceName, CachedSource] = OrderedDict()
        self._total = _Charge(nbytes=0)

    @property
    def lag(self) -> int:
        """How many versions all sources together are behind what was requested last."""
        return sum(source.lag for source in self._sources.values())

    def sources(self) -> list[CachedSource]:
        """Return all sources, the one requested least recently first."""
        return list(self._sources.values())

    def find(self, name: SourceName) -> CachedSource | None:
        """Return a source, or ``None`` where it is not in the cache."""
        return self._sources.get(name)

    def enter(self, name: SourceName) -> CachedSource:
        """Return a source that is requested now, with nothing of it yet where it was not in the cache."""
        source = self._sources.get(name)
        if source is None:
            source = self._sources[name] = CachedSource(name=name)
            self._add(source.charge, 1)
            self._let_go(source)
        else:
            self._sources.move_to_end(name)
        return source

    def update(self, source: CachedSource) -> None:
        """Count a source as it is now, and let others go where all together take too much.

        One that was let go meanwhile stays so: it serves those who have it, and is counted no more.
        """
        if self._sources.get(source.name) is not source:
            return
        self._add(source.charge, -1)
        source.charge = source.measure()
        self._add(source.charge, 1)
        self._let_go(source)

    def forget(self, name: SourceName) -> None:
        """Let a source go that does not exist any more."""
        source = self._sources.pop(name, None)
        if source is not None:
            self._add(source.charge, -1)
            self._publish()

    def _let_go(self, requested: CachedSource) -> None:
        """Let go what was requested least recently, but never what is requested now or at work."""
        for other in self._surplus(requested):
            del self._sources[other.name]
            self._add(other.charge, -1)
            self._metrics.sources_unloaded.inc()
        self._publish()

    def _surplus(self, requested: CachedSource) -> list[CachedSource]:
        """Return what is to go; one at work stays, since the next request would begin the same work again."""
        # Without a limit, what there is is allowed.
        most_bytes = self._memory_bytes() or self._total.nbytes
        nbytes, count = self._total.nbytes, len(self._sources)
        surplus: list[CachedSource] = []
        for other in self._sources.values():
            if nbytes <= most_bytes and count <= MAX_SOURCES:
                break
            if other is not requested and not other.is_busy:
                surplus.append(other)
                nbytes -= other.charge.nbytes
                count -= 1
        return surplus

    def _add(self, charge: _Charge, sign: int) -> None:
        self._total = _Charge(*(total + sign * each for total, each in zip(self._total, charge, strict=True)))

    def _publish(self) -> None:
        self._metrics.loaded_sources.set(self._total.views)
        self._metrics.loaded_pieces.set(self._total.pieces)
        self._metrics.loaded_bytes.set(self._total.nbytes)
