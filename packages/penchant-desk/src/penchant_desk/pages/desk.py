"""The first page of a source: was the week good, what needs somebody, and who changed what."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from penchant_client import flows, operations
from penchant_client.records import ActivityDay, CatalogueFindings, DraftSummary, PlacementResults
from penchant_client.requests import request_of
from penchant_desk.changes import PIECE_CHANGES
from penchant_desk.changing import done_notice
from penchant_desk.charts import DaysLine, spark_line
from penchant_desk.drafts import list_drafts
from penchant_desk.filters import count_text
from penchant_desk.pages.changes import ChangedNames, change_text, name_in, named_in, steered_lists
from penchant_desk.pages.weeks import DAYS, RowVerdict, WeekFigure, judged, verdict_of, week_figure
from penchant_desk.pieces import offered_titles, piece_tiles
from penchant_desk.rows.stored import list_rows
from penchant_desk.rows.words import kind_words
from penchant_desk.site import DeskPage, PageVisit

POPULAR = 12
"""Pieces of the shelves of what people like, and of what they played from lists."""
MAX_WAITING = 5
"""Drafts that are named."""
EXAMPLES = 3
"""Covers beside what needs a look."""
MAX_CHANGES = 8
MAX_JUDGED = 8
"""Rows with variants whose results are read; of more the page of the row tells."""
ENDING_DAYS = timedelta(days=7)
"""How long before its end a pin is told of."""
WAITING = {
    "proposed": "waits to be looked at",
    "sent-back": "was sent back",
    "scheduled": "will be published",
    "draft": "is a draft, shown to nobody",
}
"""What a draft waits for, by its state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureText:
    """A number of a week with its line, and how it compares."""

    name: str
    number: int
    line: DaysLine | None
    change: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWeek:
    """A row with what it is, what it showed this week, how it fares, and, where one of its variants does, which."""

    name: str
    title: str
    kind: str
    shown: WeekFigure
    opened: WeekFigure
    verdict: RowVerdict
    variant: str = ""

    @property
    def rate(self) -> float | None:
        """How much of what was shown in the week was opened."""
        return self.opened.week / self.shown.week if self.shown.week else None

    @property
    def text(self) -> str:
        """How it fares, in words."""
        return self.verdict.words.format(self.variant)

    @property
    def line(self) -> DaysLine | None:
        """How often it was opened by day."""
        return spark_line(self.opened.days) if any(self.opened.days) else None


class SourceWeek(NamedTuple):
    """What happened in a source: the sums over all rows, those that are gone included, and its rows."""

    shown: WeekFigure
    opened: WeekFigure
    played: WeekFigure
    rows: Sequence[RowWeek]

    @property
    def is_counted(self) -> bool:
        """Whether anything was shown lately."""
        return bool(self.shown.week or self.shown.today or self.shown.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingPin:
    """A pin of a row that ends soon."""

    row: str
    title: str
    piece_id: str
    ends: datetime


async def desk(visit: PageVisit) -> DeskPage:
    """Show what happened in a source, and what needs somebody."""
    source = visit.source
    (status, settings, activity, findings, popular, log), drafts, rows, lists, titles = await asyncio.gather(
        visit.ask(
            flows.get_source(source),
            operations.get_settings(source),
            operations.source_activity(source, days=DAYS, placements=True),
            operations.source_health(source, wait=False),
            operations.popular_content(source, limit=POPULAR),
            operations.source_audit(source, limit=MAX_CHANGES),
        ),
        list_drafts(visit),
        _rows(visit),
        steered_lists(visit),
        offered_titles(visit),
    )
    ending, played = _ending(rows), findings.most_played[:POPULAR]
    changed = [name_in(source, each) for each in log.entries if each.action in PIECE_CHANGES]
    own = [each.id for each in (*played, *popular.content)]
    ids = [*own, *_examples(findings), *(each.piece_id for each in ending), *changed]
    figures, cards, done, labels = await asyncio.gather(
        _figures(visit, activity.days, rows),
        piece_tiles(visit, settings, ids),
        done_notice(visit, settings),
        named_in(visit, log.entries),
    )
    names = ChangedNames(
        rows={each.name: each.title for each in figures.rows},
        drafts={each.name: each.title or each.name for each in drafts},
        cards=cards,
        lists=lists,
        labels=labels,
    )
    values = {
        "source": source,
        "zone": visit.zone(settings.time_zone),
        "done": done,
        "today": date.fromisoformat(activity.days[-1].day),
        "figures": figures,
        "headline": headline(figures) if visit.may("placements") else count_text(status.pieces, "piece"),
        "lead": _lead(figures),
        "numbers": _numbers(figures),
        "findings": findings,
        "waiting": _waiting(drafts),
        "waits": WAITING,
        "ending": ending,
        "examples": EXAMPLES,
        "popular": [cards[each.id] for each in popular.content],
        "played": played,
        "cards": cards,
        "changes": [change_text(visit, each, names) for each in log.entries],
        "status": status,
        "hidden": len(lists["blacklist"]) if lists else None,
        "may_edit": visit.may_edit("lists"),
        "titles": titles,
    }
    return DeskPage(template="desk.html", values=values)


async def _rows(visit: PageVisit) -> Sequence[Mapping[str, Any]]:
    """Return the rows of a source, none where the plan has no rows."""
    if not visit.may("placements"):
        return ()
    rows: Sequence[Mapping[str, Any]] = (await visit.client.send(list_rows(visit.source)))["placements"]
    return rows


async def _figures(visit: PageVisit, days: Sequence[ActivityDay], rows: Sequence[Mapping[str, Any]]) -> SourceWeek:
    weeks = {each["name"]: _row(each, days) for each in rows}
    compared = [each["name"] for each in rows if each["placement"].get("variants")][:MAX_JUDGED]
    shown = [name for name in compared if weeks[name].verdict is not RowVerdict.UNSEEN]
    template = "/{source}/placements/{name}/results"
    read = await visit.ask(*(request_of("GET", template, PlacementResults, visit.source, name) for name in shown))
    for name, results in zip(shown, read, strict=True):
        verdict, variant = judged(results)
        weeks[name] = replace(weeks[name], verdict=verdict, variant=variant)
    return SourceWeek(
        shown=week_figure([each.shown for each in days]),
        opened=week_figure([each.opened for each in days]),
        played=week_figure([each.played for each in days]),
        rows=list(weeks.values()),
    )


def _row(row: Mapping[str, Any], days: Sequence[ActivityDay]) -> RowWeek:
    name, placement = row["name"], row["placement"]
    counted = [each.placements.get(name) for each in days]
    shown = week_figure([each.shown if each else 0 for each in counted])
    opened = week_figure([each.opened if each else 0 for each in counted])
    return RowWeek(
        name=name,
        title=placement.get("title") or name,
        kind=kind_words(placement["kind"]).name,
        shown=shown,
        opened=opened,
        verdict=verdict_of(shown, opened),
    )


def _ending(rows: Sequence[Mapping[str, Any]]) -> list[EndingPin]:
    """Return the pins that end soon, whatever variants have, the next one first."""
    now = datetime.now(UTC)
    pins = [
        EndingPin(
            row=each["name"],
            title=each["placement"].get("title") or each["name"],
            piece_id=pin["id"],
            ends=datetime.fromisoformat(pin["until"]),
        )
        for each in rows
        for pin in each["placement"].get("pins") or ()
        if pin.get("until")
    ]
    return sorted((each for each in pins if now < each.ends <= now + ENDING_DAYS), key=lambda each: each.ends)


def _waiting(drafts: Sequence[DraftSummary]) -> Sequence[DraftSummary]:
    """Return the drafts that wait for somebody, those first that others are asked to look at."""
    waiting = [each for each in drafts if each.state in WAITING]
    return sorted(waiting, key=lambda each: list(WAITING).index(each.state))[:MAX_WAITING]


def headline(figures: SourceWeek) -> str:
    """Return in a sentence how the week was."""
    shown, opened = figures.shown, figures.opened
    if not figures.rows:
        return "There is no row yet."
    if not shown.week:
        return "Rows were shown for the first time today." if shown.today else "No row was shown this week."
    if opened.is_usual is None:
        return f"Rows showed {count_text(shown.week, 'piece')} this week."
    if opened.is_usual:
        return "A week like the others."
    return f"Rows were opened {'more' if opened.week > (opened.before or 0) else 'less'} often than usual."


def _lead(figures: SourceWeek) -> Sequence[tuple[str, Sequence[RowWeek]]]:
    """Return sentences below the headline, each with the rows that it ends with."""
    most = max(figures.rows, key=lambda each: each.opened.week, default=None)
    sentences: list[tuple[str, Sequence[RowWeek]]] = []
    if most is not None and most.opened.week and len(figures.rows) > 1:
        sentences.append(("Most of what was opened came from", [most]))
    if fallen := [each for each in figures.rows if each.verdict is RowVerdict.FELL]:
        sentences.append(("Opened less often than the week before:", fallen))
    return sentences


def _numbers(figures: SourceWeek) -> list[FigureText]:
    shown = figures.shown
    return [
        _number("Shown", shown, None),
        _number("Opened", figures.opened, shown),
        _number("Played", figures.played, shown),
    ]


def _number(name: str, figure: WeekFigure, whole: WeekFigure | None) -> FigureText:
    # On the first day there is no week yet.
    is_first_day = not figure.week and figure.before is None
    number = figure.today if is_first_day else figure.week
    total = None if whole is None else whole.today if is_first_day else whole.week
    change, parts = "", []
    if is_first_day:
        parts.append("today, the first day" if figure.today else "not yet")
    elif figure.change is not None:
        change = _change_words(figure.change)
        parts.append("last week" + {None: "", True: ", as usual", False: ", unusual"}[figure.is_usual])
    if total and number:
        parts.append(f"{100 * number / total:.1f} of 100")
    line = None if is_first_day else spark_line(figure.days)
    return FigureText(name=name, number=number, line=line, change=change, told="; ".join(parts))


def _change_words(change: float) -> str:
    """Return how much there was compared with another number, which follows it."""
    percent = round(100 * abs(change))
    if not percent:
        return "as many as"
    return f"{percent:,} % {'more' if change > 0 else 'fewer'} than"


def _examples(findings: CatalogueFindings) -> Iterable[str]:
    for each in (findings.unseen, findings.unreached, findings.keywords and findings.keywords.lonely):
        yield from each.examples[:EXAMPLES] if each else ()
