"""How are lists with their reasons drawn? Entries with bars whose parts are the reasons' shares.

Read from the interface's own form, so that a page and an answer cannot tell two stories.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

SHOWN_REASONS = 4
"""Reasons of an entry that are named; the rest is one."""
_PARTS = {
    "content": "content",
    "audience": "people with a like taste",
    "popularity": "popularity",
    "new": "new pieces",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A reason and its share of an entry's score; ``x`` and ``width`` are of its stretch of the bar, in percent."""

    kind: str
    text: str
    share: float
    x: float = 0.0
    width: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A piece in a list: its score, the reasons for it, and the rules that moved it."""

    id: str
    label: str | None
    score: float
    shares: Sequence[Share] = ()
    rules: Sequence[str] = ()

    @property
    def total(self) -> float:
        """What the shares come to."""
        return 1 - self.score


def ids_of(result: Any) -> list[str]:
    """Return the ids in an answer with a list."""
    return [each["id"] for each in msgspec.to_builtins(result)["content"]]


def entries(result: Any, labels: Mapping[str, str]) -> list[Entry]:
    """Return the entries of an answer with a list, reasons where it has some."""
    found = []
    for each in msgspec.to_builtins(result)["content"]:
        why = each.get("why") or {}
        found.append(
            Entry(
                id=each["id"],
                label=labels.get(each["id"]),
                score=each["score"],
                shares=shares(why),
                rules=[_rule(rule) for rule in why.get("rules", ())],
            )
        )
    return found


def shares(why: Mapping[str, Any]) -> list[Share]:
    """Return the reasons in a ``why``, placed one after the other on a bar; what speaks against it has no width."""
    if why.get("parts"):
        named = [_part(part) for part in why["parts"] if part["share"]]
    else:
        named = [
            Share(kind=f"term{min(place, SHOWN_REASONS - 1)}", text=_term(term), share=term["share"])
            for place, term in enumerate(why.get("terms", ())[:SHOWN_REASONS])
        ]
        rest = why.get("terms", ())[SHOWN_REASONS:]
        if rest:
            text = f"{len(rest)} more keywords" if len(rest) > 1 else "another keyword"
            named.append(Share(kind="rest", text=text, share=sum(term["share"] for term in rest)))
    placed, x = [], 0.0
    for each in named:
        width = round(min(max(100 * each.share, 0.0), 100 - x), 2)
        placed.append(replace(each, x=x, width=width))
        x = round(x + width, 2)
    return placed


def _term(term: Mapping[str, Any]) -> str:
    return f"{term['category']}: {term['keyword']}"


def _part(part: Mapping[str, Any]) -> Share:
    name = _PARTS.get(part["part"], part["part"])
    because = [_term(term) for term in part.get("terms", ())[:2]]
    because += [f"liked {piece['id']}" for piece in part.get("pieces", ())[:2]]
    return Share(kind=part["part"], text=f"{name} ({', '.join(because)})" if because else name, share=part["share"])


def _rule(rule: Mapping[str, Any]) -> str:
    if rule.get("rule") == "whitelist":
        return f"whitelist, position {rule['position'] + 1}" if "position" in rule else "whitelist"
    return str(rule.get("rule", ""))
