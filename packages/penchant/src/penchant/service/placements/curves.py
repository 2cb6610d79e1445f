"""Curves: what a source did day by day, over a year, from what is counted or kept by day anyway.

Interactions are counted in the table, a month at a time, the newest months first, and remembered. What placements did
is added up from their counts. A page waits for no more than a second of counting; what is missing comes with the next.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.storage.placement_counts import LISTS, SHOWN, SUCCEEDED
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.model import DAY_MS

MONTHS = 12
MAX_COUNTED = 200_000
"""Interactions of a month that are counted: 0.1 s of a thread. Of more, those are the newest."""
MAX_COUNT_ROWS = 100_000
"""Rows of placements' counts that are added up: those of 90 variants in a year."""
COUNTING_S = 1.0
"""How long a page counts months."""
MONTH_LIFE_S = 600.0
PRESENT_LIFE_S = 15.0
"""How long counts of a month, and of the present one, are shown once there are other interactions."""
MAX_MONTHS = 6_000
"""Months that are remembered, of all sources together."""
_KINDS = (LISTS, SHOWN, SUCCEEDED)
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthSpan:
    """A month of UTC days: its name, its first day counted from 1970, and that of the next month."""

    name: str
    first: int
    behind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCurve:
    """Counts by day: ``counts`` has those above 0. ``unknown`` are months not counted yet, ``cut`` those too large."""

    counts: Mapping[int, int]
    unknown: Sequence[str] = ()
    cut: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCurves:
    """The curves of a source, over the same months, ascending; and the account's answers by month."""

    months: Sequence[MonthSpan]
    interactions: DailyCurve
    lists: DailyCurve
    shown: DailyCurve
    successes: DailyCurve
    answers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _CountedMonth:
    version: int
    at: float
    counts: Mapping[int, int]


class CurveCounter:
    """Counts the days of sources."""

    def __init__(self, database: AsyncStorage, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._clock = clock
        self._counted: BoundedCache[tuple[int, int, str], _CountedMonth] = BoundedCache(MAX_MONTHS)

    async def curves(self, view: View) -> SourceCurves:
        """Return the curves of a source, up to today."""
        months = months_until(datetime.fromtimestamp(self._clock.seconds(), UTC).date())
        interactions = await self._interactions(view, months)
        kinds = await self._database.in_thread(self._placements, view, months)
        return SourceCurves(
            months=months,
            interactions=interactions,
            lists=DailyCurve(counts=kinds[LISTS]),
            shown=DailyCurve(counts=kinds[SHOWN]),
            successes=DailyCurve(counts=kinds[SUCCEEDED]),
            answers=await self._database.promptly(self._answers, view.head.account_id, months),
        )

    async def _interactions(self, view: View, months: Sequence[MonthSpan]) -> DailyCurve:
        """Count month by month, the newest first, as far as time allows."""
        deadline = self._clock.monotonic() + COUNTING_S
        counts: dict[int, int] = {}
        unknown, cut = [], []
        for month in reversed(months):
            counted = self._known(view, month, PRESENT_LIFE_S if month is months[-1] else MONTH_LIFE_S)
            if counted is None and self._clock.monotonic() < deadline:
                counted = await self._count(view, month)
            if counted is None:
                unknown.append(month.name)
                continue
            counts |= counted
            if sum(counted.values()) >= MAX_COUNTED:
                cut.append(month.name)
        return DailyCurve(counts=counts, unknown=unknown[::-1], cut=cut[::-1])

    def _known(self, view: View, month: MonthSpan, life_s: float) -> Mapping[int, int] | None:
        counted = self._counted.get((view.head.source_id, view.head.incarnation, month.name))
        if counted is None:
            return None
        is_fresh = self._clock.monotonic() - counted.at <= life_s
        return counted.counts if is_fresh or counted.version == view.head.interactions_version else None

    async def _count(self, view: View, month: MonthSpan) -> Mapping[int, int]:
        head, count_by_day = view.head, self._database.storage.people.count_by_day
        since, until = month.first * DAY_MS, month.behind * DAY_MS
        counts = dict(
            await self._database.in_thread(count_by_day, head.source_id, since=since, until=until, limit=MAX_COUNTED)
        )
        key = (head.source_id, head.incarnation, month.name)
        self._counted.put(key, _CountedMonth(head.interactions_version, self._clock.monotonic(), counts))
        return counts

    def _placements(self, view: View, months: Sequence[MonthSpan]) -> Mapping[int, Mapping[int, int]]:
        """Return what placements did, by kind and day."""
        rows = self._database.storage.impressions.count_by_day(
            view.head.source_id,
            view.head.incarnation,
            (months[0].first, months[-1].behind - 1),
            _KINDS,
            limit=MAX_COUNT_ROWS,
        )
        kinds: dict[int, Counter[int]] = {kind: Counter() for kind in _KINDS}
        for each in rows:
            kinds[each.kind][each.day] += each.total
        return kinds

    def _answers(self, account_id: int, months: Sequence[MonthSpan]) -> dict[str, int]:
        count = self._database.storage.accounts.count_answers
        return {month.name: count(account_id, month.name) for month in months}


def months_until(today: date) -> list[MonthSpan]:
    """Return the last `MONTHS` months, that of a day included; the last one ends with that day."""
    last = today.year * 12 + today.month - 1
    firsts = [date(month // 12, month % 12 + 1, 1) for month in range(last - MONTHS + 1, last + 1)]
    behind = [*(each.toordinal() for each in firsts[1:]), today.toordinal() + 1]
    return [
        MonthSpan(name=f"{first:%Y-%m}", first=first.toordinal() - _EPOCH, behind=end - _EPOCH)
        for first, end in zip(firsts, behind, strict=True)
    ]
