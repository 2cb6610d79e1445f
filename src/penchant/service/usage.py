"""How many recommendation answers has an account had this month, and may it have another one?

The database holds what is counted; what is not counted into it yet lies in a file that all workers of a node
share, so that a quota holds for them together. Several nodes may pass it by what they answer in a second.
"""

import asyncio
import functools
import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from penchant.errors import Overloaded, QuotaExceeded
from penchant.live.database import Database
from penchant.live.election import Election
from penchant.service.access import Access
from penchant.service.counting import KEY, CountingTable
from penchant.storage import AddUsage
from penchant.telemetry import logger

DAY_S = 86_400
USAGE_INTERVAL_S = 1.0
"""How often answers are counted into the database."""
PAUSE_S = 0.005
"""Pause between looks at what another process is counting."""
UNDECIDED_TIMEOUT_S = 3.0
"""How long the last answers of a quota wait for counting under way: past the interval after a worker has died."""
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
"""An account and the first day of a month as ``YYYYMM``."""


class Usage:
    """Counts recommendation answers per account and UTC month, and holds the monthly quota.

    ``folder`` is the data folder. A worker that is killed loses no counts, unless it was just counting them into
    the database: those, a second's at most, are forgotten rather than counted twice.
    """

    def __init__(self, database: Database, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._table = CountingTable(folder / "usage.map", members=_MEMBERS)
        self._counting = Election(folder / "usage.lock")

    async def reserve(self, access: Access, answers: int = 1) -> Callable[[], None]:
        """Count one answer, or several that are given together; call what is returned if none is given after all.

        Raises:
            QuotaExceeded: the month's answers are used up.
            Overloaded: too many accounts ask at once, or counting takes too long to tell.
        """
        slot = (access.account_id, _month(int(self._clock() // DAY_S)))
        quota = access.plan.recommendations_per_month
        if quota is None:
            self._add(slot, answers)
        else:
            await self._reserve_within(slot, access, quota, answers)
        return functools.partial(self._add, slot, -answers)

    async def _reserve_within(self, slot: Slot, access: Access, quota: int, answers: int) -> None:
        cells = self._table.cells
        deadline = time.monotonic() + UNDECIDED_TIMEOUT_S
        while time.monotonic() < deadline:
            settled = cells[_SETTLED]
            stored = await self._database.read(self._database.storage.usage, slot[0], _text(slot[1]))
            with self._table:
                # What arrived since ``stored`` was read is in neither of the two: read again.
                if cells[_SETTLED] != settled:
                    continue
                place = self._place(slot)
                highest = stored + cells[place + _PENDING]
                lowest = highest - cells[place + _MOVING]
                if max(highest, lowest) + answers <= quota:
                    cells[place + _PENDING] += answers
                    return
            if min(highest, lowest) + answers > quota:
                raise QuotaExceeded(
                    f"The plan {access.plan.name!r} allows {quota} recommendation requests a month.",
                    retry_after_s=self._until_next_month(),
                )
            await asyncio.sleep(PAUSE_S)
        raise Overloaded("The month's answers are being counted.", retry_after_s=1)

    def _add(self, slot: Slot, answers: int) -> None:
        with self._table:
            self._table.cells[self._place(slot) + _PENDING] += answers

    def _place(self, slot: Slot) -> int:
        """Return where an account's slot of a month begins, taking one if it has none; under the lock."""
        table = self._table
        cells = table.cells
        key = _number(slot)
        place = table.find(key)
        if place is not None:
            return place
        place = table.free(key, lambda at: not cells[at + _PENDING] and not cells[at + _MOVING])
        if place is None:
            raise Overloaded("Too many accounts ask at once.", retry_after_s=1)
        # In this order a process that is killed here leaves no slot with another's account.
        cells[place + KEY] = 0
        cells[place + _ACCOUNT], cells[place + _MONTH] = slot
        cells[place + KEY] = key
        return place

    async def flush(self) -> bool:
        """Count what is pending into the database; return ``False`` where another process does it just now.

        What fails is kept for the next time.
        """
        if not self._counting.try_win():
            return False
        try:
            self._forget_interrupted()
            await asyncio.gather(*map(self._move, self._table.where(_PENDING)))
        finally:
            self._counting.close()
        return True

    async def run(self) -> None:
        """Flush for ever, until cancelled; flushes once more then."""
        flushing: asyncio.Task[bool] | None = None
        try:
            while True:
                await asyncio.sleep(USAGE_INTERVAL_S)
                flushing = asyncio.create_task(self.flush())
                await asyncio.shield(flushing)
        finally:
            if flushing is not None:
                await asyncio.wait([flushing])
            for _ in range(CLOSING_TRIES):
                if await self.flush():
                    break
                await asyncio.sleep(PAUSE_S)

    def close(self) -> None:
        """Close the file that the workers share."""
        self._table.close()

    async def _move(self, place: int) -> None:
        cells = self._table.cells
        with self._table:
            account_id, month = cells[place + _ACCOUNT], cells[place + _MONTH]
            answers = cells[place + _MOVING] = cells[place + _PENDING]
        try:
            if answers:
                await self._database.change(AddUsage(account_id=account_id, month=_text(month), answers=answers))
        except Exception:  # noqa: BLE001  # the count must survive whatever the database does
            logger.exception("usage could not be counted yet")
            answers = 0
        with self._table:
            self._settle(place, answers)

    def _settle(self, place: int, answers: int) -> None:
        cells = self._table.cells
        # In this order a process that is killed here makes nothing count twice.
        cells[place + _PENDING] -= answers
        cells[place + _MOVING] = 0
        cells[_SETTLED] += 1

    def _forget_interrupted(self) -> None:
        """Give up what a process was counting when it was killed: nobody knows whether the database has it."""
        with self._table:
            for place in self._table.where(_MOVING):
                logger.warning("usage was being counted by a process that ended")
                self._settle(place, self._table.cells[place + _MOVING])

    def _until_next_month(self) -> float:
        now = datetime.fromtimestamp(self._clock(), UTC)
        start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        following = start.replace(year=now.year + now.month // 12, month=now.month % 12 + 1)
        return (following - now).total_seconds()


@functools.lru_cache(maxsize=2)
def _month(day: int) -> int:
    """Return the month of a UTC day, as ``YYYYMM``."""
    return int(datetime.fromtimestamp(day * DAY_S, UTC).strftime("%Y%m"))


def _text(month: int) -> str:
    return f"{month // 100:04}-{month % 100:02}"


@functools.lru_cache(maxsize=4_096)
def _number(slot: Slot) -> int:
    """Return 63 bits for an account and month, never 0, the same in every process."""
    return int.from_bytes(hashlib.blake2b(repr(slot).encode(), digest_size=8).digest()) >> 1 or 1
