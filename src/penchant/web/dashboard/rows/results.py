"""Handler of a placement's results: what its variants showed and what came of it, in words, numbers and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UnsetType

from penchant.errors import invalid_parameter
from penchant.experiments import LEAST_SUCCESSES
from penchant.live.views import View
from penchant.model import DAY_MS, Feature, InteractionType
from penchant.service.placements.results import CoursePoint, ResultsOverTime, ResultsRequest, VariantCourse
from penchant.web.dashboard.pictures import COURSE_HEIGHT, COURSE_WIDTH, CoursePicture, course_picture
from penchant.web.dashboard.site import PageAnswer, Visit, section
from penchant.web.parameters import BASE_VARIANT, FROM, SUCCESS, TO
from penchant.wire import VariantResult

_ASKED = (FROM, TO, SUCCESS, BASE_VARIANT)
_DOUBTS = {
    "few-people": "undecided: ten people could have made {:.0%} of it",
    "one-group": "undecided: one group of people made {:.0%} of it",
}
_VERDICTS = {"better": "certainly better", "worse": "certainly worse", "undecided": "no difference shown yet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVariant:
    """A variant as a page shows it: its result, the verdict in words, and its course."""

    result: VariantResult
    verdict: str
    points: Sequence[CoursePoint]
    picture: CoursePicture | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionRow:
    """What each variant showed at a position and how much of it succeeded, in the order of the variants."""

    position: int | None
    counts: Sequence[tuple[int, int]]


async def results(visit: Visit) -> PageAnswer:
    """Show the results of a placement, of the days and by the success that the query names."""
    view, name = await visit.view(), visit.text("name")
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    results = await section(visit, lambda: _read(visit, view, name))
    variants = [] if results.value is None else _variants(results.value)
    values = {
        "source": view.head.name,
        "name": name,
        "chosen": {each.name: visit.text(each.name) for each in _ASKED},
        "types": list(InteractionType),
        "faults": results.faults,
        "results": None if results.value is None else results.value.results,
        "variants": variants,
        "kinds": [
            each.value for each in InteractionType if any(each.value in one.result.interactions for one in variants)
        ],
        "positions": _positions(variants),
        "least": LEAST_SUCCESSES,
        "width": COURSE_WIDTH,
        "height": COURSE_HEIGHT,
    }
    return PageAnswer(template="results.html", values=values)


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
    return await visit.services.results.read_over_time(view.head, request)


def _variants(results: ResultsOverTime) -> list[ShownVariant]:
    """Return the variants, the base first."""
    courses = {each.variant: each for each in results.courses}
    ordered = sorted(results.results.variants, key=lambda each: (each.difference is not None, each.variant))
    return [_variant(each, courses.get(each.variant)) for each in ordered]


def _variant(result: VariantResult, course: VariantCourse | None) -> ShownVariant:
    if course is None:
        return ShownVariant(result=result, verdict="what others are compared with", points=(), picture=None)
    is_told = bool(course.points) and course.points[-1].is_told
    verdict = _VERDICTS[result.verdict] if is_told else "too early to say"
    if not isinstance(result.doubt, UnsetType):
        verdict = _DOUBTS[result.doubt.code].format(result.doubt.share)
    return ShownVariant(result=result, verdict=verdict, points=course.points, picture=course_picture(course))


def _positions(variants: Sequence[ShownVariant]) -> list[PositionRow]:
    """Return the positions at which any variant showed something; what is of no known position comes last."""
    counts = [{each.position: (each.shown, each.successes) for each in one.result.positions} for one in variants]
    every = sorted({position for one in counts for position in one}, key=lambda each: (each is None, each or 0))
    return [PositionRow(position=each, counts=[one.get(each, (0, 0)) for one in counts]) for each in every]
