"""The first page of a source: was the week good, what needs somebody, and who changed what."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penchant.live.views import View
from penchant.model import Feature
from penchant.service.browsing import PieceCard
from penchant.service.grants import PERSON
from penchant.service.health import Findings
from penchant.service.health_reports import HealthReports, fall_answer
from penchant.storage import AuditEntry
from penchant.web.dashboard.changing import done_notice
from penchant.web.dashboard.pictures import SparkLine, spark_line
from penchant.web.dashboard.shown import count_text
from penchant.web.dashboard.site import DashboardSite, PageAnswer, Visit
from penchant_engine.lists.requests import ListRequest
from penchant_rows.model import PlacementKind
from penchant_rows.service.outcomes import Desk, DeskFigures, RowStanding, RowVerdict, WeekFigure
from penchant_rows.service.versions import placements_of
from penchant_rows.service.wiring import row_services
from penchant_rows.storage.drafts import DraftRow

POPULAR = 12
"""Pieces of the shelf of what people like."""
MAX_WAITING = 5
"""Drafts that are named."""
EXAMPLES = 3
"""Covers beside what needs a look."""
DRAFTS = {
    "proposed": "waits to be looked at",
    "sent-back": "was sent back",
    "scheduled": "will be published",
    "draft": "is a draft, shown to nobody",
}
"""What a draft waits for, by its state."""
_KIND_NAMES = {
    PlacementKind.RECOMMENDATIONS: "For a person",
    PlacementKind.BECAUSE: "Because you liked …",
    PlacementKind.KEYWORD: "More of a keyword",
    PlacementKind.SIMILAR: "Beside a piece",
    PlacementKind.POPULAR: "Popular",
    PlacementKind.NEW: "Newest",
    PlacementKind.AGAIN: "Go on",
    PlacementKind.PICKS: "Your picks",
}
"""What kinds of rows are called."""
_VERDICTS = {
    RowVerdict.UNSEEN: ("", "Not shown yet"),
    RowVerdict.EARLY: ("", "Too early to say"),
    RowVerdict.UNDECIDED: ("", "No difference shown yet"),
    RowVerdict.STEADY: ("", "Steady"),
    RowVerdict.ROSE: ("better", "Opened more often than the week before"),
    RowVerdict.FELL: ("worse", "Opened less often than the week before"),
    RowVerdict.BETTER: ("better", "{} is certainly better"),
    RowVerdict.WORSE: ("worse", "{} is certainly worse"),
}
"""How a row fares: the kind of verdict, and its words."""
_PIECE_CHANGES = {
    "blacklist.add": "hid {} everywhere",
    "blacklist.remove": "showed {} again",
    "whitelist.add": "boosted {}",
    "whitelist.remove": "took back the boost of {}",
}
"""Changes of a piece, each of which the next one undoes."""
_UNDONE = {"blacklist.add": "show", "blacklist.remove": "hide", "whitelist.add": "unboost", "whitelist.remove": "boost"}
_CHANGES = {
    "blacklist.replace": "changed the list of hidden pieces",
    "whitelist.replace": "changed the list of boosted pieces",
    "settings.replace": "changed the settings",
    "placement.replace": "changed the row {}",
    "placement.put": "changed the row {}",
    "placement.delete": "deleted the row {}",
    "user.erase": "erased a person",
    "source.create": "made the source",
    "source.clear": "removed all pieces",
    "pull.add": "had {} be read again and again",
    "pull.remove": "ended the reading of {}",
    "draft.save": "saved the draft {}",
    "draft.delete": "deleted the draft {}",
    "draft.publish": "published {}",
    "draft.undo": "took back {}",
    "draft.accept": "accepted {}",
    "draft.propose": "asked others to look at {}",
    "draft.send-back": "sent back {}",
    "source.delete": "deleted the source {}",
    "key.create": "made the key {}",
    "key.plan": "gave another plan to the key {}",
    "key.origins": "gave other origins to the key {}",
    "key.revoke": "revoked the key {}",
    "account.secret": "made another signing secret",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureText:
    """A number of a week with its line, and how it compares."""

    name: str
    number: int
    line: SparkLine | None
    change: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowText:
    """A row with what it is and how it fares in words."""

    row: RowStanding
    kind: str
    verdict: str
    text: str
    line: SparkLine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeText:
    """A change in words around what it was of; a piece has its card, and what takes the change back, if it can.

    ``row`` is the name of a row that is there, whose page has its versions, ``draft`` that of a draft that is there.
    """

    who: str
    before: str
    after: str
    recorded_at: int
    count: int = 1
    name: str = ""
    piece: PieceCard | None = None
    row: str = ""
    draft: str = ""
    undo: str = ""


async def desk(visit: Visit, site: DashboardSite) -> PageAnswer:
    """Show what happened in a source, and what needs somebody."""
    view = await visit.view()
    figures = await visit.services.of(Desk).figures(view)
    findings = visit.services.health.findings(view, (await visit.services.audience_health.standing(view))[1])
    fall = await visit.services.of(HealthReports).kappa_fall(view, findings)
    popular = await visit.services.lists.answer(await visit.services.lists.popular(view, ListRequest(take=POPULAR)))
    popular_ids = [each.id for each in popular.content]
    changes = await visit.services.of(Desk).changes(view)
    seen = await visit.services.of(Desk).seen(view)
    unseen = seen.unseen[:EXAMPLES] if seen is not None and seen.pieces else ()
    ids = [
        *popular_ids,
        *_examples(findings),
        *unseen,
        *(each.piece_id for each in figures.ending),
        *(_name_in(view, each) for each in changes if each.action in _PIECE_CHANGES),
    ]
    cards, drafts = (
        await visit.cards(view, ids),
        await row_services(visit).drafts.list(visit.access, visit.source),
    )
    titles = {each.name: each.title for each in figures.rows}
    draft_titles = {each.name: each.title or each.name for each in drafts}
    values = {
        "source": view.head.name,
        "done": await done_notice(visit, view, site),
        "figures": figures,
        "headline": headline(figures),
        "lead": _lead(figures),
        "numbers": _numbers(figures),
        "rows": [_row(each) for each in figures.rows],
        "findings": findings,
        "fall": None if fall is None else fall_answer(fall),
        "seen": seen,
        "waiting": _waiting(drafts),
        "drafts": DRAFTS,
        "examples": EXAMPLES,
        "popular": [cards[each] for each in popular_ids],
        "cards": cards,
        "changes": [change_text(visit, view, each, cards, titles, draft_titles) for each in changes],
        "pieces": view.head.piece_count,
        "hidden": len(view.blacklist),
        "may_edit": visit.may_edit(Feature.LISTS),
        "changed_at": view.head.changed_at,
        "titles": await visit.titles(view),
    }
    return PageAnswer(template="desk.html", values=values)


def _waiting(drafts: Sequence[DraftRow]) -> Sequence[DraftRow]:
    """Return the drafts that wait for somebody, those first that others are asked to look at."""
    waiting = [each for each in drafts if each.state in DRAFTS]
    return sorted(waiting, key=lambda each: list(DRAFTS).index(each.state))[:MAX_WAITING]


def headline(figures: DeskFigures) -> str:
    """Return in a sentence how the week was."""
    shown, succeeded = figures.shown, figures.succeeded
    if not figures.rows:
        return "There is no row yet."
    if not shown.week:
        return "Rows were shown for the first time today." if shown.today else "No row was shown this week."
    if succeeded.is_usual is None:
        return f"Rows showed {count_text(shown.week, 'piece')} this week."
    if succeeded.is_usual:
        return "A week like the others."
    return f"Rows were opened {'more' if succeeded.week > (succeeded.before or 0) else 'less'} often than usual."


def _lead(figures: DeskFigures) -> Sequence[tuple[str, Sequence[RowStanding]]]:
    """Return sentences below the headline, each with the rows that it ends with."""
    most = max(figures.rows, key=lambda each: each.succeeded.week, default=None)
    sentences: list[tuple[str, Sequence[RowStanding]]] = []
    if most is not None and most.succeeded.week and len(figures.rows) > 1:
        sentences.append(("Most of what was opened came from", [most]))
    if fallen := [each for each in figures.rows if each.verdict is RowVerdict.FELL]:
        sentences.append(("Opened less often than the week before:", fallen))
    return sentences


def _numbers(figures: DeskFigures) -> list[FigureText]:
    shown = figures.shown
    return [
        _number("Shown", shown, None),
        _number("Opened", figures.succeeded, shown),
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
        change = change_words(figure.change)
        parts.append("last week" + {None: "", True: ", as usual", False: ", unusual"}[figure.is_usual])
    if total and number:
        parts.append(f"{100 * number / total:.1f} of 100")
    line = None if is_first_day else spark_line(figure.days)
    return FigureText(name=name, number=number, line=line, change=change, told="; ".join(parts))


def change_words(change: float) -> str:
    """Return how much there was compared with another number, which follows it."""
    percent = round(100 * abs(change))
    if not percent:
        return "as many as"
    return f"{percent:,} % {'more' if change > 0 else 'fewer'} than"


def _row(row: RowStanding) -> RowText:
    kind, text = _VERDICTS[row.verdict]
    rates = [100 * each for each in row.succeeded.days]
    return RowText(
        row=row,
        kind=_KIND_NAMES[PlacementKind(row.kind)],
        verdict=kind,
        text=text.format(row.variant),
        line=spark_line(rates) if any(rates) else None,
    )


def _examples(findings: Findings) -> Iterable[str]:
    if findings.unreached is not None:
        yield from findings.unreached.pieces[:EXAMPLES]
    if findings.vocabulary is not None:
        yield from findings.vocabulary.lonely[:EXAMPLES]


def _name_in(view: View, entry: AuditEntry) -> str:
    """Return the name, within the source, of what was changed; "" for the source itself."""
    return entry.subject.removeprefix(view.head.name).removeprefix("/")


def who(visit: Visit, actor: str) -> str:
    """Return who did something, as pages name people: as a proxy does, or by the key that they were signed in with."""
    if actor == visit.access.key_id:
        return "You"
    if actor.startswith(PERSON):
        return actor.removeprefix(PERSON)
    return "The command line" if actor == "command-line" else f"Key {actor}"


def action_words(action: str, *, has_name: bool) -> str:
    """Return what was done, by the audit log's name for it, in words around ``{}`` for what it was done to, if any."""
    words = _PIECE_CHANGES.get(action) or _CHANGES.get(action)
    return words or f"did {action}" + (" of {}" if has_name else "")


def change_text(
    visit: Visit,
    view: View,
    entry: AuditEntry,
    cards: Mapping[str, PieceCard],
    titles: Mapping[str, str],
    drafts: Mapping[str, str],
) -> ChangeText:
    """Return a change in words, with the titles of rows and drafts that are there."""
    name = _name_in(view, entry)
    of_piece = _PIECE_CHANGES.get(entry.action)
    before, _, after = action_words(entry.action, has_name=bool(name)).partition("{}")
    values: dict[str, Any] = {}
    if entry.action.startswith("placement."):
        values = {"row": name if name in placements_of(view) else ""}
        name = titles.get(name, name)
    if entry.action.startswith("draft.") and name in drafts:
        values, name = {"draft": name}, drafts[name]
    if of_piece:
        # What was changed again since has nothing to take back.
        kind, _, did = entry.action.partition(".")
        listed = view.blacklist if kind == "blacklist" else view.whitelist
        holds = (name in listed) == (did == "add")
        values = {"piece": cards[name], "undo": _UNDONE[entry.action] if holds else ""}
    return ChangeText(
        who=who(visit, entry.actor),
        before=before,
        after=after,
        name=name,
        recorded_at=entry.recorded_at,
        count=entry.count,
        **values,
    )
