"""Handlers of a row's results: what its variants showed and what came of it, in sentences first, then in pictures."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from markupsafe import Markup
from msgspec import UnsetType

from penchant_client.records import CoursePoint, InteractionType, Interval, PlacementResults, VariantResult
from penchant_client.requests import request_of
from penchant_desk.changes import names_of_people
from penchant_desk.drafts import needs_review
from penchant_desk.moments import time_element
from penchant_desk.problems import PageProblem
from penchant_desk.rows.courses import COURSE_HEIGHT, COURSE_WIDTH, CourseLines, course_picture, is_told
from penchant_desk.rows.stored import propose_row, put_row, rows_and_settings, version_of
from penchant_desk.site import DeskPage, PageVisit, Redirect, section

BASE = "base"
"""What the row itself is called where its variants have names."""
LEAST_SUCCESSES = 20
"""Successes of two variants together below which nothing is told of their difference, as of the service."""
_ASKED = ("from", "to", "type", "base")
_DOUBTS = {
    "few-people": "Ten people could have made {:.0%} of it.",
    "one-group": "One group of people made {:.0%} of it.",
}
_TAKEN_UP: Mapping[str, str] = {
    InteractionType.CLICK.value: "opened",
    InteractionType.PLAY.value: "played",
    InteractionType.WATCH.value: "watched",
    InteractionType.BOOKMARK.value: "bookmarked",
    InteractionType.PREVIEW.value: "previewed",
    InteractionType.PURCHASE.value: "bought",
    InteractionType.RATE_LIKE.value: "liked",
    InteractionType.RATE_DISLIKE.value: "disliked",
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
    picture: CourseLines | None

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


async def results(visit: PageVisit) -> DeskPage:
    """Show the results of a row, of the days and by the success that the query names."""
    name = visit.text("name")
    (rows, settings), read, who = await asyncio.gather(
        rows_and_settings(visit), section(_read(visit, name)), names_of_people(visit)
    )
    row = rows.get(name)
    if row is None:
        raise unknown_row(name)
    members, found, zone = row["placement"], read.value, visit.zone(settings.time_zone)
    variants = [] if found is None else _variants(visit, found, zone, who)
    shown = sum(each.result.shown for each in variants)
    values = {
        "source": visit.source,
        "zone": zone,
        "name": name,
        "title": members.get("title") or name,
        "notice": _STALE if visit.text("said") == "stale" else None,
        "seen": row["version"],
        "four_eyes": needs_review(visit, settings),
        "current": {each["name"] for each in members.get("variants") or ()},
        "chosen": {each: visit.text(each) for each in _ASKED},
        "types": [*_TAKEN_UP.items()],
        "faults": read.faults,
        "results": found,
        "shown": shown,
        "rate_of_1000": round(_MILLE * sum(each.result.successes for each in variants) / shown) if shown else 0,
        "pinned": sum(each.result.pinned.shown for each in variants),
        "taken": sum(each.result.pinned.successes for each in variants),
        "variants": variants,
        "stated": [each for each in variants if each.statement is not None],
        "kinds": [each for each in _TAKEN_UP.items() if any(each[0] in one.result.interactions for one in variants)],
        "positions": _positions(variants),
        "width": COURSE_WIDTH,
        "height": COURSE_HEIGHT,
    }
    return DeskPage(template="results.html", values=values)


async def decide(visit: PageVisit) -> DeskPage | Redirect:
    """Put a variant in the place of its row, for everybody, or end it; in a draft where nobody publishes alone."""
    form = visit.form
    rows, settings = await rows_and_settings(visit)
    name, variant = form.text("name"), form.text("variant")
    if form.text("seen") != str(version_of(rows, name)):
        return Redirect(path=visit.link("results", source=visit.source, name=name, said="stale"))
    if name not in rows:
        raise unknown_row(name)
    decided = with_decision(rows[name]["placement"], variant, adopt=form.text("do") == "adopt")
    if needs_review(visit, settings):
        return await propose_row(visit, name, decided)
    await visit.client.send(put_row(visit.source, name, decided))
    return Redirect(path=visit.link("placement", source=visit.source, name=name, said="saved"))


def unknown_row(name: str) -> PageProblem:
    """Return that a source has no row of a name."""
    return PageProblem(404, "unknown-placement", "No such placement", f"The source has no placement {name!r}.")


def with_decision(members: Mapping[str, Any], variant: str, *, adopt: bool) -> dict[str, Any]:
    """Return a row with a variant in its place, for everybody, or without it.

    Raises:
        PageProblem: it has no such variant.
    """
    variants = members.get("variants") or []
    chosen = next((each for each in variants if each["name"] == variant), None)
    if chosen is None:
        detail = "The row has no such variant any more."
        raise PageProblem(404, "unknown-placement", "No such placement", detail)
    rest = {key: value for key, value in members.items() if key != "variants"}
    if adopt:
        own = {key: value for key, value in chosen.items() if key not in {"name", "share"}}
        return {key: value for key, value in (rest | own).items() if value is not None}
    others = [each for each in variants if each["name"] != variant]
    return rest | ({"variants": others} if others else {})


async def _read(visit: PageVisit, name: str) -> PlacementResults:
    # A field that is left blank is not given; what is wrong with one, the interface says.
    options = {each: text for each in _ASKED if (text := visit.text(each))} | {"courses": True}
    template = "/{source}/placements/{name}/results"
    return await visit.client.send(request_of("GET", template, PlacementResults, visit.source, name, options=options))


def _variants(visit: PageVisit, found: PlacementResults, zone: tzinfo, who: Callable[[str], str]) -> list[ShownVariant]:
    """Return the variants, the base first."""
    # The service's day, unless others were asked for.
    today = datetime.now(UTC).date() if visit.text("to") else date.fromisoformat(found.last)
    ordered = sorted(found.variants, key=lambda each: (each.difference is not None, each.variant))
    return [_with_end(zone, who, _variant(each, found, today, zone)) for each in ordered]


def _with_end(zone: tzinfo, who: Callable[[str], str], shown: ShownVariant) -> ShownVariant:
    """Return a variant with when and by whom it was taken out of its row, if it was."""
    stop, said = shown.result.stop, shown.statement
    if isinstance(stop, UnsetType) or stop.reason != "edited" or said is None:
        return shown
    by = "Somebody" if isinstance(stop.by, UnsetType) else who(stop.by)
    behind = Markup("{} ended it on {}. {}").format(by, time_element(stop.timestamp, zone), said.behind)
    return replace(shown, statement=replace(said, behind=behind))


def _variant(result: VariantResult, results: PlacementResults, today: date, zone: tzinfo) -> ShownVariant:
    if isinstance(result.course, UnsetType):
        return ShownVariant(result=result, statement=None, points=(), picture=None)
    difference = result.difference if result.course and is_told(result.course[-1]) else None
    said = _too_early(result, results, today) if difference is None else _told(result, difference, results, zone)
    points = [each for each in result.course if is_told(each)]
    return ShownVariant(result=result, statement=said, points=points, picture=course_picture(result.course))


def _told(result: VariantResult, difference: Interval, results: PlacementResults, zone: tzinfo) -> VariantStatement:
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
        after = "The people in it see the row as it is again, until another version."
        behind = Markup("{} {} {}").format(behind, _why_off(result, zone), after)
    return VariantStatement(
        verdict=f"Certainly {result.verdict}{', stopped by itself' if is_stopped else ''}",
        kind=result.verdict,
        sentence=sentence,
        behind=behind,
    )


def _why_off(result: VariantResult, zone: tzinfo) -> str:
    """Return since when a variant is off that was certainly worse, and how much worse it was then."""
    stop = result.stop
    if isinstance(stop, UnsetType) or isinstance(stop.difference, UnsetType):
        return "So it is off."
    then = _between(round(stop.difference.lower * _MILLE), round(stop.difference.upper * _MILLE))
    return Markup("It stopped on {}, when it was {}.").format(time_element(stop.timestamp, zone), then)


def _too_early(result: VariantResult, results: PlacementResults, today: date) -> VariantStatement:
    """Return what may be said of a variant of which there is too little: how far along it is, and no rate."""
    base = next(each for each in results.variants if each.variant == results.base)
    found = result.successes + base.successes
    progress = min(1.0, found / LEAST_SUCCESSES)
    days = [counted.day for each in results.variants for counted in each.days]
    if not result.shown:
        sentence = f"“{result.variant}” has not been shown yet."
        behind = "None of it was reported as seen. A first word takes lists that people see and take something up of."
    else:
        sentence = f"“{result.variant}” began {'today' if not days or min(days) == str(today) else f'on {min(days)}'}."
        behind = (
            f"It has shown {result.shown:,} pieces, {result.successes:,} of which led to something. "
            f"{_first_word(found, len(set(days)), today)} Until then no rate is told, since it would mean nothing."
        )
    return VariantStatement(verdict="Too early to say", kind="", sentence=sentence, behind=behind, progress=progress)


def _first_word(found: int, days: int, today: date) -> str:
    """Return when a first word is likely, if days go on as those until now."""
    if not found:
        return "A first word is possible once people take something up."
    missing = -(-max(0, LEAST_SUCCESSES - found) * max(1, days) // found)
    if missing > 365:
        return "At this pace a first word takes more than a year: give it to more people."
    return f"If days go on so, a first word is possible about {today + timedelta(days=max(1, missing))}."


def _between(lower: int, upper: int) -> str:
    """Return an interval in words."""
    if lower >= 0:
        return f"between {lower} and {upper} more"
    if upper <= 0:
        return f"between {-upper} and {-lower} fewer"
    return f"between {-lower} fewer and {upper} more"


def _what(counted: str) -> str:
    return _TAKEN_UP.get(counted, "taken up")


def _positions(variants: Sequence[ShownVariant]) -> list[PositionRow]:
    """Return the positions at which any variant showed something; what is of no known position comes last."""
    counts = [{each.position: (each.shown, each.successes) for each in one.result.positions} for one in variants]
    every = sorted({position for one in counts for position in one}, key=lambda each: (each is None, each or 0))
    return [PositionRow(position=each, counts=[one.get(each, (0, 0)) for one in counts]) for each in every]
