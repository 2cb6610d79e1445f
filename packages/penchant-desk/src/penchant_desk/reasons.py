"""Lists with their reasons: entries with bars whose parts are the reasons' shares, from the interface's own answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penchant_desk.filters import short

SHOWN_REASONS = 4
"""Reasons of an entry that are named; the rest is one."""
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
