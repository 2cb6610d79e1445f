"""The editor's desk: what the rows of a source did this week, how each fares, what runs out, and who changed what.

Figures come from the counts of placements, of the latest days, and are kept for half a minute: a page costs a few
milliseconds however much is shown. A week is seven whole days; today comes on top.
"""

import asyncio
import enum
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.experiments import LEAST_SUCCESSES
from penchant.findings import EXAMPLES, unseen_pieces
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service import Services
from penchant.service.outcomes import DayOutcomes, ListOpenings, OutcomeCounts, UnseenPieces
from penchant.storage import AuditEntry, SourceHead
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.model import DAY_MS, InteractionType
from penchant_rows.service.results import Results, ResultsRequest
from penchant_rows.service.versions import Placements
from penchant_rows.service.wiring import RowServices
from penchant_rows.storage.impressions import ImpressionStore, ShownCount
from penchant_rows.storage.placement_counts import LISTS, SHOWN, SUCCEEDED, PlacementDay
from penchant_rows.wire.placement_answers import PlacementResults, PlacementVersion
from penchant_rows.wire.placements import PlacementPin, read_placement

WEEK = 7
TREND_DAYS = 14
"""Days of the line beside a number."""
WEEKS = 5
"""Weeks that are read: this one, and those by which is told what is usual."""
MAX_COUNT_ROWS = 50_000
"""Rows of counts that are added up, those of the latest days: 50 ms of a thread."""
MAX_JUDGED = 8
"""Rows with variants whose results are read for the desk; of more the page of the row tells."""
LIFE_S = 30.0
MAX_KEPT = 500
MAX_SEEN = 100_000
"""Impressions of the latest days that are counted by piece, the newest: a fifth of a second of a thread, 10 MB."""
MAX_SEEN_SOURCES = 8
SEEN_LIFE_S = 900.0
SEEN_WAIT_S = 0.05
"""How long a page waits for them; a small source's are there by then."""
MAX_CHANGES = 8
MAX_OPENERS = 3
"""Rows that are named with what came of them."""
ENDING_DAYS = 7
"""How long before its end a pin is told of."""
USUAL_SWINGS = 2.0
"""How many standard deviations of weeks a week may be away from the others, to be as usual."""
LEAST_CHANGE = 0.1
"""What is less than this share is as usual, however even the other weeks are."""
CERTAIN = 4.0
"""How many standard errors apart the rates of two weeks have to be: twice the usual, as people are shown much."""
_PLAYED = (InteractionType.PLAY.code, InteractionType.WATCH.code)
_KINDS = (SHOWN, SUCCEEDED, *_PLAYED)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekFigure:
    """How much there was in a week of whole days, and how much today; ``days`` are the last 14 of these, ascending.

    ``before`` is the week before, ``None`` where nothing was counted then. ``is_usual`` is ``None`` where there are too
    few weeks to say.
    """

    week: int
    today: int
    before: int | None
    is_usual: bool | None
    days: Sequence[int]

    @property
    def change(self) -> float | None:
        """By what share it is more than the week before; ``None`` where that had nothing."""
        return (self.week - self.before) / self.before if self.before else None


class RowVerdict(enum.Enum):
    """How a row fares."""

    UNSEEN = "unseen"
    EARLY = "early"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"
    ROSE = "rose"
    FELL = "fell"
    STEADY = "steady"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStanding:
    """A row with what it showed this week, how it fares, and, where one of its variants does, which."""

    name: str
    title: str
    kind: str
    shown: WeekFigure
    succeeded: WeekFigure
    verdict: RowVerdict
    variant: str = ""

    @property
    def rate(self) -> float | None:
        """How much of what was shown in the week led to something."""
        return self.succeeded.week / self.shown.week if self.shown.week else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingPin:
    """A pin of a row that ends soon."""

    placement: str
    title: str
    piece_id: str
    ends: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskFigures:
    """What happened in a source: its rows, the sums over all, and pins that end soon, the next one first."""

    day: int
    shown: WeekFigure
    succeeded: WeekFigure
    played: WeekFigure
    rows: Sequence[RowStanding]
    ending: Sequence[EndingPin]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFigures:
    """What rows showed in the latest days, by piece, since a moment, and what of the catalogue none of them did.

    Of the pieces that may be shown now ``unseen_count`` were not, some of them ``unseen``; hidden ones are not meant.
    """

    since: int
    pieces: Mapping[str, ShownCount]
    unseen: Sequence[str]
    unseen_count: int


@dataclass(frozen=True, slots=True)
class _KeptFigures:
    version: int
    at: float
    figures: DeskFigures


class Desk:
    """Tells editors what happened in a source."""

    def __init__(
        self,
        database: AsyncStorage,
        placements: Placements,
        results: Results,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._placements = placements
        self._results = results
        self._clock = clock
        self._kept: BoundedCache[tuple[int, int], _KeptFigures] = BoundedCache(MAX_KEPT)
        self._seen: BoundedCache[tuple[int, int], tuple[float, SeenFigures]] = BoundedCache(MAX_SEEN_SOURCES)
        self._looking: dict[tuple[int, int], asyncio.Task[SeenFigures]] = {}

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return the desk over the rows of the service."""
        rows = services.of(RowServices)
        return cls(services.database, rows.placements, rows.results, clock=services.clock)

    async def figures(self, view: View) -> DeskFigures:
        """Return what the rows of a source did, half a minute old at most, and never of another version."""
        key = (view.head.source_id, view.head.incarnation)
        kept = self._kept.get(key)
        now = self._clock.monotonic()
        if kept is not None and kept.version == view.head.version and now - kept.at <= LIFE_S:
            return kept.figures
        listing = await self._placements.listing(view)
        figures = await self._database.in_thread(self._figures, view, listing.placements)
        self._kept.put(key, _KeptFigures(view.head.version, now, figures))
        return figures

    async def seen(self, view: View) -> SeenFigures | None:
        """Return what rows showed of the catalogue, a quarter of an hour old at most; ``None`` while that is counted.

        It goes on being counted for the next page: none waits for it longer than `SEEN_WAIT_S`.
        """
        key = (view.head.source_id, view.head.incarnation)
        kept = self._seen.get(key)
        if kept is not None and self._clock.monotonic() - kept[0] <= SEEN_LIFE_S:
            return kept[1]
        task = self._looking.get(key)
        if task is None:
            task = self._looking[key] = asyncio.create_task(self._look(view))
        await asyncio.wait([task], timeout=SEEN_WAIT_S)
        if task.done() and task.exception() is None:
            return task.result()
        return None if kept is None else kept[1]

    async def _look(self, view: View) -> SeenFigures:
        key = (view.head.source_id, view.head.incarnation)
        try:
            found = await self._database.in_thread(self._seen_figures, view)
        finally:
            # After a failure, too: the next page tries again.
            del self._looking[key]
        self._seen.put(key, (self._clock.monotonic(), found))
        return found

    def _seen_figures(self, view: View) -> SeenFigures:
        head, now = view.head, self._clock.now_ms()
        seen = self._database.storage.store(ImpressionStore).seen_since(
            head.source_id, head.incarnation, now - WEEK * DAY_MS, limit=MAX_SEEN
        )
        unseen, count = unseen_pieces(view.snapshot, {*seen.pieces, *view.blacklist}, now, EXAMPLES)
        return SeenFigures(since=seen.since, pieces=seen.pieces, unseen=unseen, unseen_count=count)

    async def unseen(self, view: View) -> UnseenPieces | None:
        """Return what of the catalogue no row showed, as `seen` tells."""
        seen = await self.seen(view)
        return None if seen is None else UnseenPieces(seen.since, seen.unseen_count, seen.unseen, len(seen.pieces))

    async def by_day(self, head: SourceHead, first: int, last: int) -> list[DayOutcomes]:
        """Return what each row showed on each of some days, and what came of it."""
        count_by_day = self._database.storage.store(ImpressionStore).count_by_day
        counted = await self._database.in_thread(
            count_by_day, head.source_id, head.incarnation, (first, last), (LISTS, *_KINDS), limit=MAX_COUNT_ROWS
        )
        totals: defaultdict[tuple[int, str], Counter[int]] = defaultdict(Counter)
        for each in counted:
            totals[each.day, each.placement][each.kind] += each.total
        return [
            DayOutcomes(
                day,
                name,
                OutcomeCounts(kinds[LISTS], kinds[SHOWN], kinds[SUCCEEDED], sum(kinds[kind] for kind in _PLAYED)),
            )
            for (day, name), kinds in totals.items()
        ]

    async def openers(self, view: View, days: Sequence[int], likes: int) -> list[ListOpenings]:
        """Return the rows that led to most of the likes of some days of the last week, as few as can be."""
        listing = await self._placements.listing(view)
        titles = {each.name: title_of(each) for each in listing.placements}
        opened = await self._database.in_thread(self._opened, view, days)
        rows, total = list[ListOpenings](), 0
        for name, count in opened.most_common(MAX_OPENERS):
            if 2 * total >= likes:
                break
            total += count
            rows.append(ListOpenings(name=name, title=titles.get(name, name), opened=count))
        return rows

    def _opened(self, view: View, days: Sequence[int]) -> Counter[str]:
        """Return how often what each row showed on some days led to something."""
        counted = self._database.storage.store(ImpressionStore).count_by_day(
            view.head.source_id, view.head.incarnation, (min(days), max(days)), (SUCCEEDED,), limit=MAX_COUNT_ROWS
        )
        opened = Counter[str]()
        for each in counted:
            if each.day in days:
                opened[each.placement] += each.total
        return opened

    async def changes(self, view: View) -> list[AuditEntry]:
        """Return the latest changes of a source, newest first."""
        return await self._database.promptly(self._changes, view)

    def _changes(self, view: View) -> list[AuditEntry]:
        head = view.head
        return self._database.storage.accounts.list_audit(
            account_id=head.account_id, source=head.name, limit=MAX_CHANGES
        )

    def _figures(self, view: View, placements: Sequence[PlacementVersion[str]]) -> DeskFigures:
        today = self._clock.today()
        first = today - WEEKS * WEEK
        counted = self._database.storage.store(ImpressionStore).count_by_day(
            view.head.source_id, view.head.incarnation, (first, today), _KINDS, limit=MAX_COUNT_ROWS
        )
        by_row: dict[str, list[PlacementDay]] = {each.name: [] for each in placements}
        for each in counted:
            by_row.setdefault(each.placement, []).append(each)
        compared = [each.name for each in placements if each.placement.get("variants")][:MAX_JUDGED]
        return DeskFigures(
            day=today,
            shown=_figure(counted, (SHOWN,), today),
            succeeded=_figure(counted, (SUCCEEDED,), today),
            played=_figure(counted, _PLAYED, today),
            rows=[self._row(view, each, by_row[each.name], is_judged=each.name in compared) for each in placements],
            ending=self._ending(placements),
        )

    def _row(
        self, view: View, version: PlacementVersion[str], counted: Sequence[PlacementDay], *, is_judged: bool
    ) -> RowStanding:
        today = self._clock.today()
        shown, succeeded = _figure(counted, (SHOWN,), today), _figure(counted, (SUCCEEDED,), today)
        verdict, variant = verdict_of(shown, succeeded), ""
        if is_judged and verdict is not RowVerdict.UNSEEN:
            verdict, variant = judged(self._results.read_now(view.head, ResultsRequest(placement=version.name)))
        return RowStanding(
            name=version.name,
            title=title_of(version),
            kind=str(version.placement["kind"]),
            shown=shown,
            succeeded=succeeded,
            verdict=verdict,
            variant=variant,
        )

    def _ending(self, placements: Sequence[PlacementVersion[str]]) -> list[EndingPin]:
        now = self._clock.now_ms()
        ending = [
            EndingPin(placement=each.name, title=title_of(each), piece_id=pin.piece_id, ends=pin.ends)
            for each in placements
            for pin in pins_of(each)
            if pin.ends is not None and now < pin.ends <= now + ENDING_DAYS * DAY_MS
        ]
        return sorted(ending, key=lambda each: each.ends)


def title_of(version: PlacementVersion[str]) -> str:
    """Return what a row is called: its title, else its name."""
    return str(version.placement.get("title") or version.name)


def pins_of(version: PlacementVersion[str]) -> Sequence[PlacementPin]:
    """Return the pins of a row itself, whatever its variants have."""
    return read_placement(version.placement).rules.pins or ()


def _figure(counted: Sequence[PlacementDay], kinds: Sequence[int], today: int) -> WeekFigure:
    """Return the sum of some kinds over all rows given."""
    days: Counter[int] = Counter()
    for each in counted:
        if each.kind in kinds:
            days[each.day] += each.total
    return week_figure(days, today)


def week_figure(days: Mapping[int, int], today: int) -> WeekFigure:
    """Return what counts by UTC day say of the seven days before today.

    A week is as usual within two standard deviations of those before it, which takes three of them.
    """
    weeks = [
        sum(days.get(day, 0) for day in range(today - WEEK * (number + 1), today - WEEK * number))
        for number in range(WEEKS)
    ]
    week, *others = weeks
    # Before the first day on which anything was counted there was nothing to be usual.
    known = [count for number, count in enumerate(others) if any(weeks[number + 1 :])]
    is_usual: bool | None = None
    if len(known) >= WEEKS - 2:
        mean = sum(known) / len(known)
        swing = math.sqrt(sum((count - mean) ** 2 for count in known) / (len(known) - 1))
        is_usual = abs(week - mean) <= max(USUAL_SWINGS * swing, LEAST_CHANGE * mean)
    return WeekFigure(
        week=week,
        today=days.get(today, 0),
        before=others[0] if any(others) else None,
        is_usual=is_usual,
        days=[days.get(day, 0) for day in range(today - TREND_DAYS, today)],
    )


def verdict_of(shown: WeekFigure, succeeded: WeekFigure) -> RowVerdict:
    """Return how a row without variants fares: by the rates of this week and the one before."""
    if not shown.week + shown.today:
        return RowVerdict.UNSEEN
    before = succeeded.before or 0
    if min(succeeded.week, before) < LEAST_SUCCESSES or not shown.before:
        return RowVerdict.EARLY
    rates = succeeded.week / shown.week, before / shown.before
    whole = (succeeded.week + before) / (shown.week + shown.before)
    error = math.sqrt(whole * (1 - whole) * (1 / shown.week + 1 / shown.before))
    if not error or abs(rates[0] - rates[1]) <= CERTAIN * error:
        return RowVerdict.STEADY
    return RowVerdict.ROSE if rates[0] > rates[1] else RowVerdict.FELL


def judged(results: PlacementResults) -> tuple[RowVerdict, str]:
    """Return how the variants of a row fare: the first that is certainly better, else one that is certainly worse."""
    for verdict in (RowVerdict.BETTER, RowVerdict.WORSE):
        for variant in results.variants:
            if variant.difference is not None and variant.verdict == verdict.value:
                return verdict, variant.variant
    is_early = min((each.successes for each in results.variants), default=0) < LEAST_SUCCESSES
    return (RowVerdict.EARLY if is_early else RowVerdict.UNDECIDED), ""
