"""Weighing: who makes the weights of what the people of a source like, and when (interface, section 6).

Of sources with likes files (`counting.has_likes_file`) the builder makes them, as files: at once after an erasure, else
once it has rested (`is_weights_file_due`). Of the others each worker makes its own: within the request where that is
quick, else beside it, while the last weights count. For the event loop only. States of a source:

    current --a change--> outdated --_begin--> being made --put--> current, or outdated again
                          |  ^                     |
                          |  '--- RETRY_S ------- failed
                          '-- may rest until ``free_at`` first; not for a read that asks for a version (urgent),
                              nor after an erasure, nor where the last ones are late and quickly made

A request that finds them outdated waits for a task of `_make` by how long that takes and how old the last ones are:

    takes less than    FREE_S    FIRST_S, no weights yet    PROMPT_S              LATE_S
    it waits           always    always                     past PROMPT_AGE_S     past LATE_AGE_S

An urgent one always waits.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

import msgspec

from penchant.errors import NotYetVisible, UnknownSource
from penchant.live.audience_files import StoredWeights, WeightsFiles, WeightsOrigin
from penchant.live.counting import AudienceRequest, has_likes_file
from penchant.live.database import AsyncStorage
from penchant.storage import SourceHead
from penchant.telemetry import Metrics, log_failure, logger
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import RIDGE

WAIT_STEP_S = 0.02
"""Pause between looks for a file that the builder may still publish."""
LOOK_S = 0.2
"""Pause between looks for a newer file, where nobody waits for one."""
FREE_S = 0.02
"""Weights that take less are made within the request."""
PROMPT_S, PROMPT_AGE_S = 0.1, 0.8
"""Weights that take less than the first are waited for where the last ones were current longer ago than the second."""
LATE_S, LATE_AGE_S = 5.0, 50.0
"""The same for those that take longer."""
FIRST_S = 1.0
"""The first weights are waited for where they take less."""
BURST_S, WORK_SHARE = 1.0, 5
"""After weights that took t a source rests for `WORK_SHARE` x t, less what it has saved up: `BURST_S` at most."""
FILE_REST_RATIO = 4
"""After a file that took t its source rests for so many times t: building them takes a fifth of a core at most."""
RETRY_S = 1.0
"""Pause after weights could not be made: the kernels may not be ready yet."""
PIECE_S, EVENT_S, PLAIN_S = 3e-5, 3e-6, 1e-3
"""What weights take, about, for each piece and event once compiled, and for each piece by numpy."""

Make = Callable[[], Awaitable[tuple[StoredWeights | None, int]]]
"""Makes weights, and returns them with the version of the interactions that they are of; `None` while it cannot."""


class SourceWeights(msgspec.Struct, kw_only=True, eq=False):
    """The last weights of a source; ``version`` is that of the interactions, 0 before the first ones.

    ``confirmed_at`` is when they were known last to be current, ``free_at`` from when on the next ones may be made:
    monotonic moments.
    """

    made: StoredWeights | None = None
    history: tuple[int, int] = (0, 0)
    version: int = 0
    took_s: float = math.inf
    requested_at: float = -math.inf
    confirmed_at: float = -math.inf
    looked_at: float = -math.inf
    free_at: float = -math.inf
    task: asyncio.Task[None] | None = None

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return 0 if self.made is None else self.made.weights.nbytes

    def is_current(self, request: AudienceRequest) -> bool:
        """Return whether they are of all that a request's head has, on its day."""
        head = request.head
        if self.history != (head.incarnation, head.epoch):
            return False
        if self.made is None:
            return not head.interactions_version
        origin = self.made.origin
        # A file may be of newer content than this request has seen, and is current all the same.
        if origin.content_version > head.version:
            head = head._replace(version=origin.content_version)
        return self.version >= head.interactions_version and origin.is_current(head, request.oldest_day)

    def begin(self, head: SourceHead) -> None:
        """Forget weights of another history of the source."""
        if self.history != (head.incarnation, head.epoch):
            self.made, self.version, self.history = None, 0, (head.incarnation, head.epoch)

    def put(self, made: StoredWeights, version: int, history: tuple[int, int]) -> None:
        """Go over to newer weights, unless the source was made again meanwhile."""
        # Of the same version as well: the catalogue or the day is then another one.
        if history == self.history and version >= self.version:
            self.made, self.version = made, version


def is_weights_file_due(
    head: SourceHead, version: int, origin: Callable[[], WeightsOrigin | None], oldest_day: int, *, rested: bool
) -> bool:
    """Return whether a weights file of a version is to be made anew where this day is the oldest that counts.

    That is after an erasure, and once the source has rested where there are other interactions, another catalogue or
    other days. ``origin`` reads what the file was made from.
    """
    if head.erased_at > version:
        return True
    if not rested:
        return False
    if version != head.interactions_version:
        return True
    made_from = origin()
    return made_from is None or not made_from.is_current(head, oldest_day)


class WeightsFollower:
    """Brings weights of sources up to date; ``files`` are those of the builder, where there is one."""

    def __init__(
        self,
        database: AsyncStorage,
        metrics: Metrics,
        files: WeightsFiles | None,
        has_builder: Callable[[], bool],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._files = files
        self._has_builder = has_builder
        self._monotonic = monotonic
        self._turn = asyncio.Semaphore(1)

    def has_file(self, head: SourceHead) -> bool:
        """Return whether the builder makes the weights of a source."""
        return self._files is not None and has_likes_file(head) and self._has_builder()

    async def follow(
        self, state: SourceWeights, request: AudienceRequest, make: Make, events: int, *, min_version: int = 0
    ) -> None:
        """Bring weights up to date, as far as this request is to wait for it: to ``min_version`` at least.

        ``events`` is about how many interactions there are.
        """
        state.begin(request.head)
        while not state.is_current(request):
            if self._monotonic() - state.looked_at < LOOK_S and state.version >= min_version:
                # A file was looked for: who makes the weights need not be asked again.
                return
            if self.has_file(request.head):
                await self._adopt(state, request.head)
                return
            guess = self._guess(request.head, events)
            urgent = state.version < min_version
            self._begin(state, request, make, urgent=urgent, takes_s=min(state.took_s, guess))
            if state.task is None or not self._is_awaited(state, urgent=urgent, takes_s=min(state.took_s, guess)):
                return
            # Others wait for the same task: it goes on where this request is cancelled.
            await asyncio.shield(state.task)
            # Made, they may be outdated again: another look. Failed, the last ones have to do.
            if state.free_at > self._monotonic() and not state.is_current(request) and state.took_s == math.inf:
                return
        state.confirmed_at = self._monotonic()

    async def reach(
        self, state: SourceWeights, min_version: int, deadline: float, again: Callable[[], Awaitable[None]]
    ) -> None:
        """Wait until weights have reached a version, asking ``again`` for them.

        Raises:
            NotYetVisible: they have not in time.
        """
        while state.version < min_version:
            if self._monotonic() >= deadline:
                raise NotYetVisible(
                    f"The audience is at version {state.version}, the read asked for {min_version}.", retry_after_s=1
                )
            await asyncio.sleep(WAIT_STEP_S)
            await again()

    async def _adopt(self, state: SourceWeights, head: SourceHead) -> None:
        """Go over to a newer file, if there is one."""
        files = self._files
        if files is None:
            return
        state.looked_at = self._monotonic()
        newest = files.newest(head)
        if newest is None:
            return
        origin = files.origin(newest)
        old = None if state.made is None else state.made.origin
        if origin is None or (old == origin and newest.stamp.version <= state.version):
            return
        made = await self._database.in_thread(files.read, newest)
        if made is not None:
            state.put(made, newest.stamp.version, (head.incarnation, head.epoch))
            self._metrics.weights_mapped.inc()

    def _guess(self, head: SourceHead, events: int) -> float:
        if not engine.is_ready(RIDGE):
            return PLAIN_S * head.piece_count
        return PIECE_S * head.piece_count + EVENT_S * events

    def _begin(
        self, state: SourceWeights, request: AudienceRequest, make: Make, *, urgent: bool, takes_s: float
    ) -> None:
        """Begin to make weights, unless they are being made, or the source has to rest."""
        if state.task is not None and not state.task.done():
            return
        # Nothing is awaited from here to the new task, so that no other request begins one as well.
        now, head = self._monotonic(), request.head
        is_late = takes_s < PROMPT_S and now - state.confirmed_at > PROMPT_AGE_S and state.took_s < math.inf
        erased = head.erased_at > state.version and state.made is not None
        state.task = None
        if urgent or erased or is_late or state.free_at <= now:
            state.task = asyncio.create_task(self._make(state, make, (head.incarnation, head.epoch)))

    def _is_awaited(self, state: SourceWeights, *, urgent: bool, takes_s: float) -> bool:
        """Return whether a request waits for weights under way."""
        age = self._monotonic() - state.confirmed_at
        if urgent or takes_s < FREE_S:
            return True
        if state.made is None:
            return takes_s < FIRST_S
        if takes_s < PROMPT_S:
            return age > PROMPT_AGE_S
        return takes_s < LATE_S and age > LATE_AGE_S

    async def _make(self, state: SourceWeights, make: Make, history: tuple[int, int]) -> None:
        """Make weights; whatever goes wrong, the last ones go on counting."""
        # One source at a time in a process, so that threads remain for requests.
        async with self._turn:
            started = self._monotonic()
            made = None
            try:
                with self._metrics.weigh_seconds.time():
                    made, version = await make()
            except UnknownSource:
                logger.debug("a source was deleted while its weights were made")
            except Exception:  # noqa: BLE001  # requests go on with the last ones
                log_failure("weights could not be made", metrics=self._metrics, where="weights")
            now = self._monotonic()
            if made is None:
                state.took_s, state.free_at = math.inf, now + RETRY_S
                return
            state.took_s = now - started
            # Rest for as long as the work share says, but not past LATE_AGE_S, so that interactions count soon.
            rest = min(WORK_SHARE * state.took_s, max(state.took_s, LATE_AGE_S - state.took_s))
            # A source that has rested for longer than it had to saves up to BURST_S of that.
            state.free_at = max(state.free_at, now - BURST_S) + rest
            state.put(made, version, history)
