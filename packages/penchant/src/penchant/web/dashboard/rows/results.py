"""Handlers of a row's results: what its variants showed and what came of it, in sentences first, then in pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import UnsetType

from penchant.errors import invalid_parameter
from penchant.experiments import LEAST_SUCCESSES
from penchant.live.views import View
from penchant.rows.errors import UnknownPlacement
from penchant.service.placements.results import CoursePoint, ResultsOverTime, ResultsRequest, VariantCourse
from penchant.service.placements.versions import placements_of
from penchant.service.rows import row_services
from penchant.web.dashboard.desk import who
from penchant.web.dashboard.pictures import COURSE_HEIGHT, COURSE_WIDTH, CoursePicture, course_picture
from penchant.web.dashboard.rows.drafting import propose_row
from penchant.web.dashboard.rows.placement import rows_view
from penchant.web.dashboard.shown import day, moment
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit, section
from penchant.web.rows.parameters import BASE_VARIANT, FROM, SUCCESS, TO
from penchant.wire import encode, parse_timestamp
from penchant.wire.placement_answers import Interval, PlacementResults, VariantResult
from penchant.wire.placements import BASE, decode_placement
from penchant.wire.rows.settings import RowSettings
from penchant_engine.model import DAY_MS, InteractionType

_ASKED = (FROM, TO, SUCCESS, BASE_VARIANT)
_DOUBTS = {
    "few-people": "Ten people could have made {:.0%} of it.",
    "one-group": "One group of people made {:.0%} of it.",
}
_TAKEN_UP = {
    InteractionType.CLICK: "opened",
    InteractionType.PLAY: "played",
    InteractionType.WATCH: "watched",
    InteractionType.PURCHASE: "bought",
    InteractionType.RATE_LIKE: "liked",
    InteractionType.RATE_DISLIKE: "disliked",
    InteractionType.BOOKMARK: "bookmarked",
    InteractionType.PREVIEW: "previewed",
}
"""What came of what was shown, in words."""
_MILLE = 1_000
_STALE = "The row was changed since this page was made. Look at it again before you decide."


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantStatement:
    """What may be said of a variant: a verdict of few words with its kind, a sentence, and what stands behind it.

    ``progress`` is which part of what a first word takes there is, where it is too early for one.
    """

    verdict: str
    kind: str
    sentence: str
    behind: str
    progress: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVariant:
    """A variant as a page shows it: its result, what may be said of it (nothing of the base), and its course."""

    result: VariantResult
    statement: VariantStatement | None
    points: Sequence[CoursePoint]
    picture: CoursePicture | None

    @property
    def name(self) -> str:
        """What it is called at the desk."""
        return "As it is" if self.result.variant == BASE else self.result.variant

    @property
    def is_told(self) -> bool:
        """Whether there is enough to tell a rate."""
        return self.statement is None or self.statement.progress is None


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionRow:
    """What each variant showed at a position and how much of it succeeded, in the order of the variants."""

    position: int | None
    counts: Sequence[tuple[int, int]]


async def results(visit: Visit) -> PageAnswer:
    """Show the results of a row, of the days and by the success that the query names."""
    view, name = await rows_view(visit), visit.text("name")
    results = await section(visit, lambda: _read(visit, view, name))
    variants = [] if results.value is None else _variants(visit, results.value)
    shown = sum(each.result.shown for each in variants)
    spec = (await row_services(visit).placements.in_force(view, name)).spec
    values = {
        "source": view.head.name,
        "name": name,
        "title": spec.members.get("title") or name,
        "notice": _STALE if visit.text("said") == "stale" else None,
        "seen": placements_of(view).get(name, 0),
        "four_eyes": view.settings.of(RowSettings).four_eyes,
        "current": {each.name for each in spec.variants},
        "chosen": {each.name: visit.text(each.name) for each in _ASKED},
        "types": [(each.value, _TAKEN_UP[each]) for each in InteractionType],
        "faults": results.faults,
        "results": None if results.value is None else results.value.results,
        "shown": shown,
        "rate_of_1000": round(_MILLE * sum(each.result.successes for each in variants) / shown) if shown else 0,
        "pinned": sum(each.result.pinned.shown for each in variants),
        "taken": sum(each.result.pinned.successes for each in variants),
        "variants": variants,
        "stated": [each for each in variants if each.statement is not None],
        "kinds": [
            (each.value, _TAKEN_UP[each])
            for each in InteractionType
            if any(each.value in one.result.interactions for one in variants)
        ],
        "positions": _positions(variants),
        "width": COURSE_WIDTH,
        "height": COURSE_HEIGHT,
    }
    return PageAnswer(template="results.html", values=values)


async def decide(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Put a variant in the place of its row, for everybody, or end it; in a draft where nobody publishes alone."""
    view, form = await rows_view(visit), visit.form
    name, variant = form.text("name"), form.text("variant")
    if form.text("seen") != str(placements_of(view).get(name, 0)):
        return RedirectAnswer(path=site.link("results", source=visit.source, name=name, said="stale"))
    members = (await row_services(visit).placements.in_force(view, name)).spec.members
    decided = with_decision(members, variant, adopt=form.text("do") == "adopt")
    spec = decode_placement(encode(decided))
    if view.settings.of(RowSettings).four_eyes:
        return await propose_row(visit, view, name, spec, site)
    await row_services(visit).placements.put(visit.access, visit.source, name, spec)
    return RedirectAnswer(path=site.link("placement", source=visit.source, name=name, said="saved"))


def with_decision(members: Mapping[str, Any], variant: str, *, adopt: bool) -> dict[str, Any]:
    """Return a row with a variant in its place, for everybody, or without it.

    Raises:
        UnknownPlacement: it has no such variant.
    """
    variants = members.get("variants") or []
    chosen = next((each for each in variants if each["name"] == variant), None)
    if chosen is None:
        raise UnknownPlacement("The row has no such variant any more.")
    rest = {key: value for key, value in members.items() if key != "variants"}
    if adopt:
        own = {key: value for key, value in chosen.items() if key not in {"name", "share"}}
        return {key: value for key, value in (rest | own).items() if value is not None}
    others = [each for each in variants if each["name"] != variant]
    return rest | ({"variants": others} if others else {})


async def _read(visit: Visit, view: View, name: str) -> ResultsOverTime:
    values = {}
    for each in _ASKED:
        try:
            # A field that is left blank is not given.
            values[each.name] = each.read(text) if (text := visit.text(each.name)) else None
        except ValueError as error:
            raise invalid_parameter(each.name, str(error)) from None
    request = ResultsRequest(
        placement=name,
        first=None if values["from"] is None else values["from"] // DAY_MS,
        last=None if values["to"] is None else values["to"] // DAY_MS,
        type=values["type"],
        base=values["base"],
    )
    return await row_services(visit).results.read_over_time(view.head, request)


def _variants(visit: Visit, found: ResultsOverTime) -> list[ShownVariant]:
    """Return the variants, the base first."""
    today = row_services(visit).results.today()
    courses = {each.variant: each for each in found.courses}
    ordered = sorted(found.results.variants, key=lambda each: (each.difference is not None, each.variant))
    shown = [_variant(each, found.results, courses.get(each.variant), today) for each in ordered]
    return [_with_end(visit, each) for each in shown]


def _with_end(visit: Visit, shown: ShownVariant) -> ShownVariant:
    """Return a variant with when and by whom it was taken out of its row, if it was."""
    stop, said = shown.result.stop, shown.statement
    if isinstance(stop, UnsetType) or stop.reason != "edited" or said is None:
        return shown
    by = "Somebody" if isinstance(stop.by, UnsetType) else who(visit, stop.by)
    ended = f"{by} ended it on {moment(parse_timestamp(stop.timestamp))} UTC."
    return replace(shown, statement=replace(said, behind=f"{ended} {said.behind}"))


def _variant(
    result: VariantResult, results: PlacementResults, course: VariantCourse | None, today: int
) -> ShownVariant:
    if course is None:
        return ShownVariant(result=result, statement=None, points=(), picture=None)
    difference = result.difference if course.points and course.points[-1].is_told else None
    said = _too_early(result, results, today) if difference is None else _told(result, difference, results)
    return ShownVariant(result=result, statement=said, points=course.points, picture=course_picture(course))


def _told(result: VariantResult, difference: Interval, results: PlacementResults) -> VariantStatement:
    """Return what may be said of a variant of which there is enough."""
    name, what = result.variant, _what(results.counted)
    against = "the row as it is" if results.base == BASE else f"“{results.base}”"
    lower, value, upper = (round(each * _MILLE) for each in (difference.lower, difference.value, difference.upper))
    behind = (
        f"It is {_between(lower, upper)} than with {against}, by {result.shown:,} pieces shown since {results.first}. "
        "Look as often as you like: that holds at all looks together."
    )
    if not isinstance(result.doubt, UnsetType):
        doubt = _DOUBTS[result.doubt.code].format(result.doubt.share)
        return VariantStatement(
            verdict="Undecided",
            kind="",
            sentence=f"“{name}” may differ, but not by many people.",
            behind=f"{doubt} {behind}",
        )
    if result.verdict == "undecided":
        sentence = f"Between “{name}” and {against} no difference is shown yet."
        return VariantStatement(verdict="No difference yet", kind="", sentence=sentence, behind=behind)
    more = "more" if difference.value > 0 else "fewer"
    size = f"{abs(value):,} {more} are" if value else f"slightly {more} are"
    sentence = f"Of every 1,000 pieces that “{name}” shows {size} {what}."
    is_stopped = result.variant in results.stopped
    if is_stopped:
        behind += f" {_why_off(result)} The people in it see the row as it is again, until another version."
    return VariantStatement(
        verdict=f"Certainly {result.verdict}{', stopped by itself' if is_stopped else ''}",
        kind=result.verdict,
        sentence=sentence,
        behind=behind,
    )


def _why_off(result: VariantResult) -> str:
    """Return since when a variant is off that was certainly worse, and how much worse it was then."""
    stop = result.stop
    if isinstance(stop, UnsetType) or isinstance(stop.difference, UnsetType):
        return "So it is off."
    then = _between(round(stop.difference.lower * _MILLE), round(stop.difference.upper * _MILLE))
    return f"It stopped on {moment(parse_timestamp(stop.timestamp))} UTC, when it was {then}."


def _too_early(result: VariantResult, results: PlacementResults, today: int) -> VariantStatement:
    """Return what may be said of a variant of which there is too little: how far along it is, and no rate."""
    base = next(each for each in results.variants if each.variant == results.base)
    found = result.successes + base.successes
    progress = min(1.0, found / LEAST_SUCCESSES)
    days = [counted.day for each in results.variants for counted in each.days]
    if not result.shown:
        sentence = f"“{result.variant}” has not been shown yet."
        behind = "Nothing was reported as seen. A first word takes lists that people see and take something up of."
    else:
        sentence = f"“{result.variant}” began {'today' if not days or min(days) == day(today) else f'on {min(days)}'}."
        behind = (
            f"It has shown {result.shown:,} pieces, {result.successes:,} of which led to something. "
            f"{_first_word(found, len(set(days)), today)} Until then no rate is told, since it would mean nothing."
        )
    return VariantStatement(verdict="Too early to say", kind="", sentence=sentence, behind=behind, progress=progress)


def _first_word(found: int, days: int, today: int) -> str:
    """Return when a first word is likely, if days go on as those until now."""
    if not found:
        return "A first word is possible once people take something up."
    missing = -(-max(0, LEAST_SUCCESSES - found) * max(1, days) // found)
    if missing > 365:
        return "At this pace a first word takes more than a year: give it to more people."
    return f"If days go on so, a first word is possible about {day(today + max(1, missing))}."


def _between(lower: int, upper: int) -> str:
    """Return an interval in words."""
    if lower >= 0:
        return f"between {lower} and {upper} more"
    if upper <= 0:
        return f"between {-upper} and {-lower} fewer"
    return f"between {-lower} fewer and {upper} more"


def _what(counted: str) -> str:
    return _TAKEN_UP[InteractionType(counted)] if counted in set(InteractionType) else "taken up"


def _positions(variants: Sequence[ShownVariant]) -> list[PositionRow]:
    """Return the positions at which any variant showed something; what is of no known position comes last."""
    counts = [{each.position: (each.shown, each.successes) for each in one.result.positions} for one in variants]
    every = sorted({position for one in counts for position in one}, key=lambda each: (each is None, each or 0))
    return [PositionRow(position=each, counts=[one.get(each, (0, 0)) for one in counts]) for each in every]
