"""Lists with their reasons: entries with bars whose parts are the reasons' shares, from the interface's own answers.

A page has a list with its choices and the question why a piece is in it or not.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penchant_client.records import Settings
from penchant_client.requests import Request
from penchant_desk.filters import short
from penchant_desk.pieces import CalledPiece, labels_of, piece_called, piece_tiles
from penchant_desk.site import PageVisit, Section, section

SHOWN_REASONS = 4
"""Reasons of an entry that are named; the rest is one."""
NEAR = 6
"""Pieces that are offered where none is called as was typed."""
ALGORITHMS = ("jaccard", "cosine")
SHOWN_IN_LINE = 2
"""Reasons that stand below a picture."""
SHOWN_CAUSES = 2
"""Keywords or liked pieces that a part of a recommendation is explained with."""
LEAST_SHARE = 0.0005
"""What would be shown as 0.0 % is not."""
_PARTS = {
    "content": "content",
    "audience": "people with a like taste",
    "popularity": "popularity",
    "new": "new pieces",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonShare:
    """A reason and its share of an entry's score; ``x`` and ``width`` are of its stretch of the bar, in percent."""

    kind: str
    text: str
    share: float
    x: float = 0.0
    width: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceReasons:
    """A piece in a list: its score, the reasons for it, and the rules that moved it."""

    id: str
    label: str | None
    score: float
    shares: Sequence[ReasonShare] = ()
    rules: Sequence[str] = ()
    reason: str = ""
    """The two strongest reasons, in a line."""

    @property
    def total(self) -> float:
        """The sum of the shares."""
        return 1 - self.score


def ids_of(answer: Mapping[str, Any]) -> list[str]:
    """Return the ids whose labels an answer is shown with: of what is listed, and of what people liked."""
    listed = answer.get("content", [answer])
    ids = dict.fromkeys(each["id"] for each in listed)
    for each in listed:
        for part in (each.get("why") or {}).get("parts", ()):
            for piece in part.get("pieces", ())[:SHOWN_CAUSES]:
                ids |= dict.fromkeys((piece["id"], piece.get("through", piece["id"])))
    return list(ids)


def entries(result: Mapping[str, Any], labels: Mapping[str, str], *, relative: bool = False) -> list[PieceReasons]:
    """Return the entries of an answer with a list; ``relative`` makes the longest bar as long as can be."""
    listed = result["content"]
    # Shares of a recommendation have no natural whole, so that the bars of a list are relative to each other.
    longest = max((_length(each["why"]) for each in listed), default=0.0) if relative else 1.0
    return [_entry(each, labels, longest) for each in listed]


def _length(why: Mapping[str, Any]) -> float:
    return float(sum(max(0.0, each["share"]) for each in why.get("parts") or why["terms"]))


def _entry(fields: Mapping[str, Any], labels: Mapping[str, str], longest: float) -> PieceReasons:
    """Return an entry of a list in the interface's form as it is shown; a bar is full at a length of ``longest``."""
    why = fields["why"]
    return PieceReasons(
        id=fields["id"],
        label=labels.get(fields["id"]),
        score=fields["score"],
        shares=_placed(_parts(why, labels) if "parts" in why else _terms(why), longest or 1.0),
        rules=[_rule(rule) for rule in why["rules"]],
        reason=", ".join(_strongest(why, labels)),
    )


def _strongest(why: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Return the two strongest reasons in a word or two each: keywords, or else what made the part."""
    if "parts" not in why:
        return [term["keyword"] for term in why["terms"][:SHOWN_IN_LINE]]
    words: dict[str, None] = {}
    for part in sorted(why["parts"], key=lambda each: -each["share"]):
        if part["share"] < LEAST_SHARE:
            continue
        words |= dict.fromkeys(term["keyword"] for term in part.get("terms", ()))
        for piece in part.get("pieces", ())[:1]:
            near = "soon after" if piece.get("soonAfter") else "with"
            words[f"liked {near} {short(labels.get(piece['id'], piece['id']), 30)}"] = None
        if not part.get("terms") and not part.get("pieces"):
            words[_PARTS.get(part["part"], part["part"])] = None
    return list(words)[:SHOWN_IN_LINE]


def _parts(why: Mapping[str, Any], labels: Mapping[str, str]) -> list[ReasonShare]:
    return [_part(part, labels) for part in why["parts"] if abs(part["share"]) >= LEAST_SHARE]


def _terms(why: Mapping[str, Any]) -> list[ReasonShare]:
    terms = why["terms"]
    named = [
        ReasonShare(kind=f"term{place}", text=_term(term), share=term["share"])
        for place, term in enumerate(terms[:SHOWN_REASONS])
    ]
    rest = terms[SHOWN_REASONS:]
    if rest:
        text = f"{len(rest)} more keywords" if len(rest) > 1 else "another keyword"
        named.append(ReasonShare(kind="rest", text=text, share=sum(term["share"] for term in rest)))
    return named


def _placed(named: Sequence[ReasonShare], longest: float) -> list[ReasonShare]:
    """Return shares one after the other on a bar; what speaks against a piece has no width."""
    placed, x = [], 0.0
    for each in named:
        # Rounded sums stay within 100, or a bar would leave its picture.
        width = round(min(max(100 * each.share / longest, 0.0), 100 - x), 2)
        placed.append(replace(each, x=x, width=width))
        x = round(x + width, 2)
    return placed


def _term(term: Mapping[str, Any]) -> str:
    stated = {"liked": " (said to be liked)", "disliked": " (said to be disliked)"}.get(term.get("stated", ""), "")
    return f"{term['category']}: {term['keyword']}{stated}"


def _part(part: Mapping[str, Any], labels: Mapping[str, str]) -> ReasonShare:
    name = _PARTS.get(part["part"], part["part"])
    because = [_term(term) for term in part.get("terms", ())[:SHOWN_CAUSES]]
    because += [_cause(piece, labels) for piece in part.get("pieces", ())[:SHOWN_CAUSES]]
    return ReasonShare(
        kind=part["part"], text=f"{name} ({', '.join(because)})" if because else name, share=part["share"]
    )


def _cause(fields: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return a liked piece that an audience part comes from in words, with the stand-in through which it does."""
    through = fields.get("through")
    liked = short(labels.get(fields["id"], fields["id"]), 40)
    if fields.get("soonAfter"):
        near = "" if through is None else f"{short(labels.get(through, through), 40)}, its nearest, is "
        return f"{near}often liked soon after {liked}"
    if through is None:
        return f"who liked {liked}"
    # A like of the stand-in itself tells of nobody else.
    if through == fields["id"]:
        return f"{liked}, its nearest, is liked"
    return f"who liked {liked} and {short(labels.get(through, through), 40)}, its nearest"


def _rule(rule: Mapping[str, Any]) -> str:
    """Return what moved a piece in words; places on the list are counted from 1 for people."""
    return f"{rule['rule']}, number {rule['position'] + 1}" if "position" in rule else str(rule["rule"])


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsenceText:
    """Why a piece is not in a list, and what would bring it in, in words."""

    code: str
    detail: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingInList:
    """The standing of a piece in a list: its rank, its entry as it would be there, or the reasons why it is not."""

    rank: int | None
    entry: PieceReasons | None
    reasons: Sequence[AbsenceText]


def standing(place: Mapping[str, Any], labels: Mapping[str, str]) -> StandingInList:
    """Return the standing of a piece from an answer of one of the two ``why`` operations."""
    entry = None
    if place["why"] is not None:
        longest = max(_length(place["why"]), 0.0) if "parts" in place["why"] else 1.0
        entry = _entry({**place, "id": place["contentId"]}, labels, longest)
    reasons = [
        AbsenceText(code=each["code"], detail=each["detail"], remedy=remedy_text(each["remedy"]))
        for each in place["reasons"]
    ]
    return StandingInList(rank=place["rank"], entry=entry, reasons=reasons)


_REMEDIES = {
    "limit": "show at least {}.",
    "take": "show at least {}.",
    "at": "ask for the day {}.",
    "catalogs": "ask in the catalogs {}.",
    "min-version": "wait for version {}.",
    "include-seen": "show what the person knows already, too.",
    "fill": "fill the list with what nothing speaks for.",
}
_REMOVALS = {
    "blacklist": "take it off the blacklist.",
    "catalogs": "ask without catalogs.",
    "at": "ask for now.",
}


def remedy_text(remedy: Mapping[str, Any] | None) -> str:
    """Return a remedy of the interface in words, "" for none."""
    if not remedy:
        return ""
    name, value = next(iter(remedy.items()))
    if name == "remove":
        return _REMOVALS.get(value, f"leave out {value}.")
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _REMEDIES.get(name, name + ": {}.").replace("{}", shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonedList:
    """How a page asks for its list, of so many entries with these options, and why a piece is in it or not.

    ``relative`` makes the longest bar as long as can be.
    """

    request: Callable[[Mapping[str, Any]], Request[Any]]
    why: Callable[[str, Mapping[str, Any]], Request[Any]]
    relative: bool = False


async def list_values(visit: PageVisit, settings: Settings, asked: ReasonedList, *, shown: int) -> dict[str, Any]:
    """Return what a page shows of a list: its first entries, by what they were chosen, and why a piece is in it or not.

    Reasons take longest, so that only what is ``shown`` has them.
    """
    algorithm, catalogs, other = visit.text("algo"), visit.text("catalogs"), visit.text("other")
    names = [name.strip() for name in catalogs.split(",") if name.strip()]
    # An algorithm that there is not is the default.
    options = {"algo": algorithm if algorithm in ALGORITHMS else None, "catalogs": names or None}
    listed, (called, why) = await asyncio.gather(
        section(_entries_of(visit, asked, options | {"limit": shown, "explain": True})),
        _why(visit, asked, other, options),
    )
    # As numbers a list is a table, which has no cards.
    with_cards = () if visit.text("view") == "numbers" else listed.value or ()
    return {
        "near": () if called is None or called.id is not None else called.near[:NEAR],
        "listed": listed,
        "cards": await piece_tiles(visit, settings, [each.id for each in with_cards]),
        "chosen": {"algo": algorithm, "catalogs": catalogs, "other": other},
        "why": why,
    }


async def _entries_of(visit: PageVisit, asked: ReasonedList, options: Mapping[str, Any]) -> list[PieceReasons]:
    answer = await visit.client.send(asked.request(options))
    return entries(answer, await labels_of(visit, ids_of(answer)), relative=asked.relative)


async def _why(
    visit: PageVisit, asked: ReasonedList, other: str, options: Mapping[str, Any]
) -> tuple[CalledPiece | None, Section | None]:
    """Return which piece a text means, and its standing in a list; nothing where nothing was asked."""
    if not other:
        return None, None
    called = await piece_called(visit, other)
    # What is neither a title nor an id is told as an unknown piece.
    return called, await section(_standing_of(visit, asked, called.id or other, options))


async def _standing_of(visit: PageVisit, asked: ReasonedList, other: str, options: Mapping[str, Any]) -> StandingInList:
    place = await visit.client.send(asked.why(other, options))
    return standing(place, await labels_of(visit, [other, *ids_of({"content": [{**place, "id": other}]})]))
