"""Is a catalogue well? Its findings, made in a thread of their own, at leisure, and kept for as long as it stays.

Nobody waits for them: who asks gets what is known by then, and is told how far it is.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from penchant.index import Filter, Reach, Vocabulary, vocabulary
from penchant.live.views import View
from penchant.telemetry import Metrics, logger

MAX_KEPT = 8
"""Sources whose findings are kept: some hundred examples each."""
MAX_LISTS = 100_000
"""Lists that are looked at for pieces that no list leads to: a minute's work."""
MAX_S = 60.0
"""How long that may take."""
CHUNK = 10
"""Lists between two looks at the clock."""
PAUSE_SHARE = 1.0
"""How long it pauses for the time that it worked, so that requests go before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """Pieces that none of the lists looked at leads to: examples, how many, and of how many lists."""

    pieces: Sequence[str]
    count: int
    lists: int
    of: int
    done: bool

    @property
    def complete(self) -> bool:
        """Whether every list was looked at."""
        return self.lists >= self.of


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is known of a catalogue's health at a version; ``None`` for what is still being found out."""

    version: int
    vocabulary: Vocabulary | None = None
    unreached: Unreached | None = None
    failed: bool = False

    @property
    def done(self) -> bool:
        """Whether nothing more is being found out."""
        return self.failed or (self.unreached is not None and self.unreached.done)


_Place = tuple[int, int, int, int]
"""A source with incarnation, epoch and version."""


class Health:
    """Finds out how catalogues are, one after the other."""

    def __init__(self, metrics: Metrics, *, clock: Callable[[], float] = time.time) -> None:
        self._metrics = metrics
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penchant-health")
        self._stopping = threading.Event()
        self._kept: OrderedDict[_Place, Findings] = OrderedDict()

    def close(self) -> None:
        """Stop what is under way, and wait for its end, some milliseconds."""
        self._stopping.set()
        self._thread.shutdown(cancel_futures=True)

    def findings(self, view: View) -> Findings:
        """Return what is known of a source as it stands; asked for the first time, it is looked at from now on."""
        head = view.head
        place = (head.source_id, head.incarnation, head.epoch, head.version)
        known = self._kept.get(place)
        if known is None:
            for other in [each for each in self._kept if each[0] == head.source_id]:
                del self._kept[other]
            known = self._kept[place] = Findings(version=head.version)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
            self._thread.submit(self._find_out, view, place)
        return known

    def _find_out(self, view: View, place: _Place) -> None:
        if place not in self._kept:
            return
        try:
            if self._keep(place, Findings(version=view.head.version, vocabulary=vocabulary(view.snapshot))):
                self._look(view, place)
        except Exception:  # noqa: BLE001  # nobody waits for it who could be told
            self._metrics.failures.labels("health").inc()
            logger.exception("a catalogue's health could not be found out")
            self._keep(place, Findings(version=view.head.version, failed=True))

    def _look(self, view: View, place: _Place) -> None:
        shown = Filter(moment=int(self._clock() * 1000), hidden=view.hidden)
        reach = Reach(
            snapshot=view.snapshot, shown=shown, category_weights=view.settings.category_weights, most=MAX_LISTS
        )
        deadline = time.monotonic() + MAX_S
        more = True
        while more and time.monotonic() < deadline and place in self._kept:
            started = time.monotonic()
            more = reach.look(CHUNK)
            self._keep_unreached(place, _unreached(reach, done=False))
            if self._stopping.wait((time.monotonic() - started) * PAUSE_SHARE):
                return
        self._keep_unreached(place, _unreached(reach, done=True))

    def _keep_unreached(self, place: _Place, unreached: Unreached) -> None:
        known = self._kept.get(place)
        if known is not None:
            self._keep(place, replace(known, unreached=unreached))

    def _keep(self, place: _Place, findings: Findings) -> bool:
        """Keep findings, unless they were pushed out meanwhile."""
        if place not in self._kept:
            return False
        self._kept[place] = findings
        return True


def _unreached(reach: Reach, *, done: bool) -> Unreached:
    """Return what is known by now; before the end only how far it is, since to count costs a pass over all ids."""
    pieces, count = reach.unreached() if done else ([], 0)
    return Unreached(pieces=pieces, count=count, lists=reach.looked_at, of=reach.snapshot.piece_count, done=done)
