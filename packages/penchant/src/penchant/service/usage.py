"""Monthly usage: how many recommendation answers an account has had, and whether its plan allows another one.

The database has what was counted so far. Answers since then are counted in a file that all workers of a node share,
so that a quota holds for them together, and are moved into the database once a second. Several nodes may together
pass a quota by what they answer in a second. A slot of the file counts one account in one month:

    pending   answers that the database has not been seen to hold: those since the last move, and those under way
    moving    answers under way into the database: it may hold them already or not
    settled   how often a move has arrived (kept in the table's first slot, for all slots together)

Repeated answers to keys without a quota are in the file a second later: they are counted in plain numbers till then.

So the true count lies between ``stored + pending - moving`` and ``stored + pending``, if nothing settled between
reading ``stored`` and reading the slot.
"""

import asyncio
import functools
import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import Overloaded, QuotaExceeded
from penchant.live.database import AsyncStorage
from penchant.live.election import Election
from penchant.service.access import Access
from penchant.service.rates import KEY, CountingTable
from penchant.storage import AddUsage
from penchant.telemetry import log_failure, logger
from penchant_engine.bounded_cache import keep_latest

DAY_S = 86_400
PAUSE_S = 0.005
"""Pause between looks at what another process is counting."""
UNDECIDED_TIMEOUT_S = 3.0
"""How long the last answers of a quota wait for counting under way: past a second after a worker has died."""
MAX_OFFSETS = 4_096
"""Slots whose places in the file are remembered."""
CLOSING_TRIES = 400
"""How often a process that ends tries to count its own last answers while another one counts: for 2 s."""

_ACCOUNT = 1
_MONTH = 2
_PENDING = 3
"""Answers that the database has not been seen to hold, those in ``_MOVING`` included."""
_MOVING = 4
"""Answers on their way into the database, there already or not."""
_SETTLED = 5
"""How often what was moving has arrived; of the table's first slot, for all of them."""
_MEMBERS = 6

Slot = tuple[int, int]
"""An account, or a browser key by its `penchant.storage.key_counter`, and a month as ``YYYYMM``."""


class Usage:
    """Counts recommendation answers per account and UTC month, and holds the monthly quota.

    ``folder`` is the data folder. A worker that is killed loses the counts of repeated answers, and those that it was
    just counting into the database, a second's at most: they are forgotten rather than counted twice.
    """

    def __init__(
        self,
        database: AsyncStorage,
        folder: Path,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._clock = clock
        self._table = CountingTable(folder / "usage.map", members=_MEMBERS)
        self._counting = Election(folder / "usage.lock")
        # Where slots were found last, and the numbers that they have there.
        self._offsets: dict[Slot, tuple[int, int]] = {}
        # Repeated answers that are in the file with the next flush.
        self._given: dict[Slot, int] = {}
        # Whether something may be left to move; at first, since processes that have ended may have left it.
        self._is_pending = True
        self._flushing: asyncio.Task[bool] | None = None

    async def reserve(self, access: Access, answers: int = 1) -> Callable[[], None]:
        """Count one answer, or several that are given together; return the function that takes the count back.

        Raises:
            QuotaExceeded: the month's answers are used up.
            Overloaded: too many accounts ask at once, or counting takes too long to tell.
        """
        slot = self._slot(access)
        if access.quota is None:
            self._add(slot, answers)
        else:
            # Before a wait for answers under way: where their process has ended, nobody else may settle them.
            self._is_pending = True
            await self._reserve_within(slot, access, access.quota, answers)
        return functools.partial(self._add, slot, -answers)

    def give(self, access: Access) -> None:
        """Count a repeated answer to a key without a quota, together with others: the file's lock takes 17 us."""
        slot = self._slot(access)
        self._given[slot] = self._given.get(slot, 0) + 1

    def _slot(self, access: Access) -> Slot:
        return access.counter, _month(int(self._clock.seconds() // DAY_S))

    async def _reserve_within(self, slot: Slot, access: Access, quota: int, answers: int) -> None:
        """Count answers if the quota certainly has room for them; wait while that is uncertain.

        Raises:
            QuotaExceeded: there is certainly no room.
            Overloaded: it stays uncertain for `UNDECIDED_TIMEOUT_S`.
        """
        cells = self._table.cells
        deadline = time.monotonic() + UNDECIDED_TIMEOUT_S
        while time.monotonic() < deadline:
            # Storage cannot be read under the lock, which every request of every worker needs. So this is optimistic:
            # look at the counter, read without the lock, and believe what was read only if the counter stands still.
            settled = cells[_SETTLED]
            stored = await self._database.read(self._database.storage.accounts.count_answers, slot[0], _text(slot[1]))
            with self._table:
                # What arrived since ``stored`` was read is in neither of the two: read again.
                if cells[_SETTLED] != settled:
                    continue
                offset = self._offset(slot)
                highest = stored + cells[offset + _PENDING]
                lowest = highest - cells[offset + _MOVING]
                # Answers that are taken back after their move leave a negative number, which moves like any other:
                # ``lowest`` is then the greater one.
                if max(highest, lowest) + answers <= quota:
                    cells[offset + _PENDING] += answers
                    return
            if min(highest, lowest) + answers > quota:
                whose = "browser key" if access.is_browser else f"plan {access.plan.name!r}"
                raise QuotaExceeded(
                    f"The {whose} allows {quota} recommendation requests a month.",
                    retry_after_s=self._until_end_of(slot[1]),
                )
            # The quota lies between the two bounds, so that the answers under way decide: wait until they are settled.
            await asyncio.sleep(PAUSE_S)
        raise Overloaded("The month's answers are being counted.", retry_after_s=1)

    def _add(self, slot: Slot, answers: int) -> None:
        self._is_pending = True
        with self._table:
            self._table.cells[self._offset(slot) + _PENDING] += answers

    def _offset(self, slot: Slot) -> int:
        """Return the offset of an account's slot of a month, taking a free one if it has none; under the lock."""
        table = self._table
        cells = table.cells
        known = self._offsets.get(slot)
        if known is not None and cells[known[0] + KEY] == known[1]:
            return known[0]
        key = _number(slot)
        offset = table.find(key)
        if offset is not None:
            keep_latest(self._offsets, slot, (offset, key), MAX_OFFSETS)
            return offset
        # A slot with nothing pending can go: all that it ever counted is in the database.
        offset = table.find_free(key, lambda at: not cells[at + _PENDING] and not cells[at + _MOVING])
        if offset is None:
            raise Overloaded("Too many accounts ask at once.", retry_after_s=1)
        # In this order a process that is killed here leaves no slot with another's account.
        cells[offset + KEY] = 0
        cells[offset + _ACCOUNT], cells[offset + _MONTH] = slot
        cells[offset + KEY] = key
        return offset

    async def flush(self) -> bool:
        """Move the pending answers into the database; return ``False`` while another process does it.

        What fails stays pending for the next time, and what finds no room in the file is put there by the next flush.
        """
        given, self._given = self._given, {}
        for slot, answers in given.items():
            try:
                self._add(slot, answers)
            except Overloaded:
                self._given[slot] = answers
        if not self._counting.try_win():
            return False
        try:
            # The lock is won: what is moving now was left by a process that died with it.
            self._forget_interrupted()
            await asyncio.gather(*map(self._move, self._table.find_filled(_PENDING)))
        finally:
            self._counting.close()
        return True

    async def count_given(self) -> None:
        """Flush where there may be answers to count: what only others have counted, they move."""
        if not self._is_pending and not self._given:
            return
        # Cleared first: what is counted while answers move is moved the next time.
        self._is_pending = False
        self._flushing = asyncio.create_task(self.flush())
        # A move that is cancelled half-way would be taken for one of a process that died, and forgotten.
        if not await asyncio.shield(self._flushing) or self._table.find_filled(_PENDING):
            self._is_pending = True

    async def finish(self) -> None:
        """Flush for the last time, once a flush under way is over."""
        if self._flushing is not None:
            await asyncio.wait([self._flushing])
        for _ in range(CLOSING_TRIES):
            if await self.flush() and not self._given:
                break
            await asyncio.sleep(PAUSE_S)

    def close(self) -> None:
        """Close the file that the workers share."""
        self._table.close()

    async def _move(self, offset: int) -> None:
        """Add a slot's pending answers to the database.

        One turn of a slot, where 5 answers are pending and 2 more are given while the database works:

            pending 5, moving 0   before
            pending 5, moving 5   the lock is given up; the database has them or not
            pending 7, moving 5   requests go on
            pending 2, moving 0   settled; where the database failed: pending 7, moving 0

        A connection to PostgreSQL that is lost within the commit counts as failed, though the database may have the
        answers: then these are counted twice.
        """
        cells = self._table.cells
        with self._table:
            account_id, month = cells[offset + _ACCOUNT], cells[offset + _MONTH]
            answers = cells[offset + _MOVING] = cells[offset + _PENDING]
        try:
            if answers:
                # However long it takes: what is given up while it is under way would be counted again, and twice.
                command = AddUsage(account_id=account_id, month=_text(month), answers=answers)
                await self._database.change_at_last(command)
        except Exception:  # noqa: BLE001  # the count must survive whatever the database does
            log_failure("usage could not be counted yet")
            answers = 0
        with self._table:
            self._settle(offset, answers)

    def _settle(self, offset: int, answers: int) -> None:
        cells = self._table.cells
        # In this order a process that is killed here makes nothing count twice.
        cells[offset + _PENDING] -= answers
        cells[offset + _MOVING] = 0
        cells[_SETTLED] += 1

    def _forget_interrupted(self) -> None:
        """Give up what a process was moving when it was killed: it cannot be found out whether the database has it."""
        with self._table:
            for offset in self._table.find_filled(_MOVING):
                logger.warning("usage was being counted by a process that ended")
                self._settle(offset, self._table.cells[offset + _MOVING])

    def _until_end_of(self, month: int) -> float:
        """Return for how many seconds a month goes on: 0 where it ended while a request waited."""
        year, number = divmod(month, 100)
        following = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
        return max(0.0, following.timestamp() - self._clock.seconds())


@functools.lru_cache(maxsize=2)
def _month(day: int) -> int:
    """Return the month of a UTC day, as ``YYYYMM``."""
    return int(datetime.fromtimestamp(day * DAY_S, UTC).strftime("%Y%m"))


def _text(month: int) -> str:
    return f"{month // 100:04}-{month % 100:02}"


@functools.lru_cache(maxsize=4_096)
def _number(slot: Slot) -> int:
    """Return 63 bits for an account and month, never 0, the same in every process."""
    # Shifted, since cells are signed; and 0 would look like a slot that was never taken.
    return int.from_bytes(hashlib.blake2b(repr(slot).encode(), digest_size=8).digest()) >> 1 or 1
