"""Results of placements: what variants showed and what came of it, with intervals that hold however often one looks.

Tallies of variants: the counts of a placement over some days, added up in the ways that results show.

Courses of experiments: how the differences between variants, and their intervals, have become what they are.

A point of a course goes by all that was shown until the end of its day, with what has come of it since: interactions
are counted on the day on which their piece was shown, so that the last days may still rise.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from penchant import experiments
from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import invalid_parameter
from penchant.experiments import Arm, BoundedRate
from penchant.live.database import AsyncStorage
from penchant.storage import SourceHead, Storage
from penchant.wire import format_timestamp
from penchant_engine.model import DAY_MS, InteractionType
from penchant_rows.errors import UnknownPlacement
from penchant_rows.service.versions import PlacementInForce, read_row
from penchant_rows.storage.impressions import ImpressionStore
from penchant_rows.storage.placement_counts import (
    GROUPS,
    LISTS,
    SHOWN,
    STAGE_PIECES,
    STAGES,
    SUCCEEDED,
    CountsTable,
    Numbers,
)
from penchant_rows.storage.placements import PlacementRow, PlacementStore
from penchant_rows.wire.placement_answers import (
    CoursePoint,
    DayCount,
    Doubt,
    Interval,
    ListShare,
    PinnedCount,
    PlacementResults,
    PositionCount,
    VariantResult,
    VariantStop,
)
from penchant_rows.wire.placements import BASE, BUCKETS

Groups = npt.NDArray[np.float64]


class VariantTally:
    """The counts of a variant; ``success`` is the kind that counts as one. What pins showed is in ``pinned`` alone."""

    def __init__(self, name: str, table: CountsTable, success: int) -> None:
        self.name = name
        self.pinned = _count_apart(table.pinned, success)
        self.raised = _count_apart(table.raised, success)
        table = table.unpinned
        self._lists = table.only(table.kinds == LISTS)
        self._shown = table.only(table.kinds == SHOWN)
        self._succeeded = table.only(table.kinds == success)
        self.lists = int(self._lists.positions.sum())
        self.shown = int(self._shown.positions.sum())
        self.successes = int(self._succeeded.positions.sum())
        self.interactions = _interactions(table)
        self.known = int(self._shown.groups.sum())
        self.staged = Arm(_by_stage(self._shown), _by_stage(self._succeeded))

    def lists_after(self, day: int) -> Groups:
        """Return the lists that were shown after a day, by stage and group of people."""
        return _by_stage(self._lists.only(self._lists.days > day))

    def staged_until(self, days: Numbers) -> Arm:
        """Return what was shown until the end of each of some days, and how much of it succeeded; days are an axis."""
        return Arm(_until(self._shown, days), _until(self._succeeded, days))

    @property
    def positions(self) -> list[tuple[int, int, int]]:
        """Positions at which something was shown, with how much, and how much of it succeeded."""
        shown, succeeded = self._shown.positions.sum(0), self._succeeded.positions.sum(0)
        return [(at, int(shown[at]), int(succeeded[at])) for at in np.flatnonzero(shown).tolist()]

    @property
    def days(self) -> list[tuple[int, int, int]]:
        """Days on which something was shown, ascending, with how much, and how much of it succeeded."""
        shown, succeeded = _by_day(self._shown), _by_day(self._succeeded)
        return [(day, count, succeeded[day]) for day, count in shown.items()]


class PlacementArms(msgspec.Struct, frozen=True):
    """The arms of variants by name; ``kept`` are the stages that count, ``pieces`` what counts of a person at most."""

    by_name: Mapping[str, Arm]
    kept: experiments.Flags
    pieces: Groups


def arms_of(tallies: Mapping[str, VariantTally], days: Numbers | None = None) -> PlacementArms:
    """Return what known people were shown in variants and what came of it, nobody with more than a part.

    With ``days`` until the end of each of these, which are an axis.
    """
    staged = [each.staged if days is None else each.staged_until(days) for each in tallies.values()]
    bounded = experiments.bounded_arms(staged, np.asarray(STAGE_PIECES, dtype=np.float64))
    return PlacementArms(dict(zip(tallies, bounded.arms, strict=True)), bounded.kept, bounded.pieces)


def tallies_of(table: CountsTable, success: InteractionType | None, names: Collection[str]) -> dict[str, VariantTally]:
    """Return the tally of each variant that has counts or is named, ascending by name."""
    kind = SUCCEEDED if success is None else success.code
    every = sorted({*names, *np.unique(table.variants).tolist()})
    return {name: VariantTally(name, table.only(table.variants == name), kind) for name in every}


def _interactions(table: CountsTable) -> dict[str, int]:
    by_kind = {each.value: int(table.positions[table.kinds == each.code].sum()) for each in InteractionType}
    return {name: count for name, count in by_kind.items() if count}


def _count_apart(table: CountsTable, success: int) -> PinnedCount:
    shown, succeeded = (int(table.positions[table.kinds == kind].sum()) for kind in (SHOWN, success))
    return PinnedCount(shown=shown, successes=succeeded, interactions=_interactions(table))


def _by_day(table: CountsTable) -> Counter[int]:
    counts: Counter[int] = Counter()
    for day, count in zip(table.days.tolist(), table.positions.sum(1).tolist(), strict=True):
        counts[day] += count
    return counts


def _until(table: CountsTable, days: Numbers) -> Groups:
    groups = np.zeros((len(days), STAGES, GROUPS))
    for stage in np.unique(table.stages):
        rows = table.only(table.stages == stage)
        # Rows are ascending by day: a sum for each number of rows, and how many of them a day includes.
        sums = np.vstack([np.zeros((1, GROUPS)), rows.groups.cumsum(0)])
        groups[:, stage] = sums[np.searchsorted(rows.days, days, side="right")]
    return groups


def _by_stage(table: CountsTable) -> Groups:
    groups = np.zeros((STAGES, GROUPS))
    np.add.at(groups, table.stages, table.groups)
    return groups


def courses_of(
    tallies: Mapping[str, VariantTally], base: VariantTally, alpha: float, *, most: int
) -> dict[str, list[CoursePoint]]:
    """Return the courses of all variants but the base, ascending by day, of ``most`` days at most, evenly chosen.

    The first and the last day on which something was shown are among them.
    """
    every = np.unique([day for each in tallies.values() for day, _, _ in each.days]).astype(np.int64)
    days = every[np.linspace(0, len(every) - 1, min(most, len(every))).round().astype(np.int64)]
    arms = arms_of(tallies, days).by_name
    effects = experiments.design_effect(*arms.values())
    base_arm = arms[base.name]
    return {
        name: _points(days, base_arm.n + arm.n, experiments.difference(base_arm, arm, effects, alpha))
        for name, arm in arms.items()
        if name != base.name
    }


def _points(days: npt.NDArray[np.int64], shown: experiments.Numbers, rates: BoundedRate) -> list[CoursePoint]:
    rows = zip(*(each.tolist() for each in (days, shown, rates.value, rates.lower, rates.upper)), strict=True)
    return [
        CoursePoint(day=_day(day), shown=int(count), value=value, lower=lower, upper=upper)
        for day, count, value, lower, upper in rows
    ]


DIGITS = 9
MAX_DAYS = 800
"""How many days results may be of: as long as counts are kept."""
MAX_POINTS = 30
"""Days of a course: more are not told apart in a picture."""
_EPOCH = date(1970, 1, 1)
_decode_stops = msgspec.json.Decoder(dict[str, VariantStop]).decode


class ResultsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which results are wanted: of which UTC days, counted from 1970, counting which type as a success, against what.

    Without a first day they begin with that of the version in force; without a type all that speak for a piece count.
    ``with_courses`` tells that they have the courses of the variants, of `MAX_POINTS` days each at most.
    """

    placement: str
    first: int | None = None
    last: int | None = None
    type: InteractionType | None = None
    base: str | None = None
    with_courses: bool = False


class Results:
    """The results of the placements of sources."""

    def __init__(self, database: AsyncStorage, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._clock = clock

    async def read(self, head: SourceHead, request: ResultsRequest) -> PlacementResults:
        """Return what a placement showed and what came of it, all of one moment.

        Raises:
            UnknownPlacement: the source has none of this name.
            InvalidInput: days in the wrong order, too many, or a base that is no variant.
        """
        return await self._database.in_thread(self.read_now, head, request)

    def read_now(self, head: SourceHead, request: ResultsRequest) -> PlacementResults:
        """Return the same, for callers that are in a thread already; raises as `read`."""
        storage = self._database.storage
        row = storage.store(PlacementStore).read_in_force(head.source_id, request.placement)
        if row is None:
            raise UnknownPlacement(f"The source has no placement {request.placement!r}.")
        placement, began = read_row(row), row.recorded_at // DAY_MS
        today = self._clock.today()
        last = today if request.last is None else request.last
        first = min(began, last) if request.first is None else request.first
        if not 0 <= last - first < MAX_DAYS:
            raise invalid_parameter("from", f"Found {last - first + 1} days; 1 to {MAX_DAYS} are accepted.")
        counts = storage.store(ImpressionStore).read_counts(
            head.source_id, head.incarnation, request.placement, (first, last)
        )
        tallies = tallies_of(counts.table, request.type, _names(placement))
        base = request.base or BASE
        if base not in tallies:
            raise invalid_parameter("base", f"Found another variant; accepted are {', '.join(sorted(tallies))}.")
        if first <= began and today <= last:
            # What was read holds all since that version was stored: of a year it takes longest to read.
            worse = _stopped(counts.table.between(began, today), placement)
        else:
            worse = worse_variants(storage, head, placement, today)
        # The people of a stopped variant see the base: their shares are others from then on.
        shares = {} if worse else _shares(placement)
        comparison = _Comparison(tallies, tallies[base], shares, began)
        stops = {name: stop for name, stop in noted_stops(row).items() if name in worse}
        gone = tallies.keys() - _names(placement)
        if gone:
            stops |= _ends(storage.store(PlacementStore).list_versions(head.source_id, request.placement), gone)
        # Of the days on which a piece was shown only the first and the last are kept: how many were shown within a
        # window is exact for windows that reach to the present.
        pieces = counts.pieces if last >= today else None
        courses = comparison.courses() if request.with_courses else {}
        return PlacementResults(
            placement=request.placement,
            first=_day(first),
            last=_day(last),
            base=base,
            counted="successes" if request.type is None else request.type.value,
            design_effect=_rounded(comparison.effect),
            pieces_of_person=comparison.pieces_of_person,
            stopped=sorted(worse),
            variants=[
                replace(
                    comparison.result(each, pieces, head.piece_count, stops.get(each.name)),
                    course=courses.get(each.name, UNSET),
                )
                for each in tallies.values()
            ],
        )


class _Comparison:
    """The variants of a placement beside its base; ``shares`` are what they should have of the lists after a day."""

    def __init__(
        self, tallies: Mapping[str, VariantTally], base: VariantTally, shares: Mapping[str, float], began: int
    ) -> None:
        self._tallies = tallies
        self._base = base
        self._shares = shares
        self._began = began
        self._arms = arms_of(tallies)
        self.effect = experiments.design_effect(*self._arms.by_name.values())
        # Lists of the first day may be from before the version in force, when variants had other shares.
        self._lists = sum((self._lists_of(each) for each in tallies.values()), np.zeros(GROUPS))
        # Several variants are several chances of a false alarm, which they share.
        self._alpha = experiments.ALPHA / max(1, len(tallies) - 1)

    @property
    def pieces_of_person(self) -> int | UnsetType:
        """How many pieces count of each person at most, where some were shown more."""
        is_beyond = any((each.staged.shown.sum(-1) * ~self._arms.kept).any() for each in self._tallies.values())
        return int(self._arms.pieces) if is_beyond else UNSET

    def result(
        self, own: VariantTally, pieces: Mapping[str, int] | None, piece_count: int, stop: VariantStop | None
    ) -> VariantResult:
        """Return what is shown of a variant."""
        difference, doubt = self.difference(own), self._doubt(own)
        decision = verdict(difference)
        shown_pieces = None if pieces is None else pieces.get(own.name, 0)
        return VariantResult(
            variant=own.name,
            lists=own.lists,
            shown=own.shown,
            anonymous=own.shown - own.known,
            successes=own.successes,
            interactions=own.interactions,
            pinned=own.pinned,
            raised=own.raised if own.raised.shown else UNSET,
            rate=_interval(experiments.rate_interval(self._arms.by_name[own.name], self.effect)),
            difference=None if difference is None else _interval(difference),
            verdict=self.verdict(own),
            doubt=UNSET if doubt is None or decision == "undecided" else doubt,
            stop=UNSET if stop is None else stop,
            pieces=shown_pieces,
            coverage=None if shown_pieces is None else _rounded(shown_pieces / max(1, piece_count)),
            share=self._share(own),
            positions=[PositionCount(position=at or None, shown=n, successes=s) for at, n, s in own.positions],
            days=[DayCount(day=_day(day), shown=n, successes=s) for day, n, s in own.days],
        )

    def difference(self, own: VariantTally) -> BoundedRate | None:
        """Return how a variant differs from the base; ``None`` of the base itself."""
        if own is self._base:
            return None
        return experiments.difference(*self._pair(own), self.effect, self._alpha)

    def verdict(self, own: VariantTally) -> str:
        """Return what may be said of a variant."""
        return verdict(self.difference(own)) if self._doubt(own) is None else "undecided"

    def courses(self) -> dict[str, list[CoursePoint]]:
        """Return how the variants came to differ from the base."""
        return courses_of(self._tallies, self._base, self._alpha, most=MAX_POINTS)

    def _doubt(self, own: VariantTally) -> Doubt | None:
        """Return why nothing may be said of a variant, whatever its difference: a few people may have made it."""
        if own is self._base:
            return None
        few = experiments.share_of_few(*self._pair(own), self._arms.pieces)
        group = experiments.share_of_group(*self._pair(own))
        if few > experiments.MOST_OF_FEW:
            return Doubt(code="few-people", share=_rounded(few))
        return Doubt(code="one-group", share=_rounded(group)) if group > experiments.MOST_OF_GROUP else None

    def _pair(self, own: VariantTally) -> tuple[Arm, Arm]:
        return self._arms.by_name[self._base.name], self._arms.by_name[own.name]

    def _lists_of(self, own: VariantTally) -> experiments.Numbers:
        return np.asarray((own.lists_after(self._began) * self._arms.kept[:, None]).sum(0))

    def _share(self, own: VariantTally) -> ListShare | None:
        expected = self._shares.get(own.name)
        if expected is None:
            return None
        share = experiments.share_interval(self._lists_of(own), self._lists)
        interval = _interval(share)
        off = not interval.lower <= expected <= interval.upper
        return ListShare(value=interval.value, lower=interval.lower, upper=interval.upper, expected=expected, off=off)


def worse_variants(
    storage: Storage, head: SourceHead, placement: PlacementInForce, today: int
) -> Mapping[str, Interval]:
    """Return the variants of a placement that are stopped: certainly worse than its base, by all since that version.

    Each with how it differs. ``today`` is the present UTC day, counted from 1970.
    """
    row = storage.store(PlacementStore).read(head.source_id, placement.name, placement.version)
    if row is None or not placement.spec.variants:
        return {}
    days = (row.recorded_at // DAY_MS, today)
    counts = storage.store(ImpressionStore).read_counts(head.source_id, head.incarnation, placement.name, days)
    return _stopped(counts.table, placement)


def noted_stops(row: PlacementRow) -> Mapping[str, VariantStop]:
    """Return when and why variants of a version were stopped, as far as that is noted."""
    return {} if row.stops is None else _decode_stops(row.stops)


def _ends(rows: Sequence[PlacementRow], variants: Collection[str]) -> dict[str, VariantStop]:
    """Return when and by whom variants were taken out of a placement, by its versions, newest first."""
    named = [_names(read_row(row)) for row in rows]
    ends = {}
    for name in variants:
        last = next((at for at, names in enumerate(named) if name in names), 0)
        if last:
            after = rows[last - 1]
            ends[name] = VariantStop(
                reason="edited", timestamp=format_timestamp(after.recorded_at), by=after.actor or UNSET
            )
    return ends


def _stopped(table: CountsTable, placement: PlacementInForce) -> Mapping[str, Interval]:
    """Return the variants that counts show to be certainly worse, by those reports that may stop one."""
    auto_stop = placement.spec.auto_stop
    if auto_stop is False:
        return {}
    tallies = tallies_of(table if auto_stop else table.only(~table.by_page), None, _names(placement))
    comparison = _Comparison(tallies, tallies[BASE], {}, 0)
    worse = {name: each for name, each in tallies.items() if comparison.verdict(each) == "worse"}
    differences = {name: comparison.difference(each) for name, each in worse.items()}
    return {name: _interval(each) for name, each in differences.items() if each is not None}


def verdict(difference: BoundedRate | None) -> str:
    """Return what may be said of a variant by its difference from the base; the base itself has none."""
    if difference is None:
        return "base"
    if difference.upper < 0:
        return "worse"
    return "better" if difference.lower > 0 else "undecided"


def _names(placement: PlacementInForce) -> set[str]:
    return {BASE, *(each.name for each in placement.spec.variants)}


def _shares(placement: PlacementInForce) -> dict[str, float]:
    """Return the share of all people that each variant has, the base what is left."""
    shares = {each.name: each.share / BUCKETS for each in placement.spec.variants}
    return {BASE: round(1 - sum(shares.values()), DIGITS)} | shares


def _interval(rate: BoundedRate) -> Interval:
    return Interval(value=_rounded(rate.value), lower=_rounded(rate.lower), upper=_rounded(rate.upper))


def _rounded(number: npt.ArrayLike) -> float:
    return round(float(np.asarray(number)), DIGITS)


def _day(day: int) -> str:
    return (_EPOCH + timedelta(days=day)).isoformat()
