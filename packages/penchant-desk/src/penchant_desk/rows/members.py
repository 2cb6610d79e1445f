"""Members of a row as its form has them: what each is called, how it is shown, and for which kinds of row it is.

A test holds them to those of the interface.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class Widget(enum.StrEnum):
    """How a member is shown in a form."""

    CHOICE = "choice"
    SWITCH = "switch"
    STEPS = "steps"
    NUMBER = "number"
    TEXT = "text"
    VALUES = "values"
    PIECES = "pieces"
    AMOUNTS = "amounts"
    FILTER = "filter"
    BOOSTS = "boosts"
    PINS = "pins"
    QUOTAS = "quotas"
    VARIANTS = "variants"


@dataclass(frozen=True, slots=True)
class RowMember:
    """A member of a row; one that names no kinds is for all, ``choices`` are what may be chosen."""

    key: str
    label: str
    widget: Widget
    kinds: frozenset[str] | None = None
    choices: Sequence[str] = ()

    def takes_part(self, kinds: set[str]) -> bool:
        """Return whether any of these lists takes account of it."""
        return self.kinds is None or not self.kinds.isdisjoint(kinds)


KINDS = ("similar", "recommendations", "popular", "new", "again", "picks", "because", "keyword")
_NEAR = frozenset({"similar", "because"})
_RECOMMENDED = frozenset({"recommendations", "keyword"})
_SUITED = _RECOMMENDED | {"picks"}
_SEEDED = frozenset({"because", "keyword"})
_PICKED = frozenset({"picks"})
_RAISED = frozenset(KINDS) - {"again", "picks"}
_TABLE = (
    RowMember("title", "Title that people read", Widget.TEXT),
    RowMember("purpose", "What the row is for, in a sentence", Widget.TEXT),
    RowMember("kind", "Kind of row", Widget.CHOICE, choices=KINDS),
    RowMember("algorithm", "Alike by", Widget.CHOICE, _NEAR, ("content", "audience", "both")),
    RowMember("blend", "What counts", Widget.AMOUNTS, _SUITED),
    RowMember("categoryWeights", "Weight of categories", Widget.AMOUNTS, _NEAR | _SUITED),
    RowMember("maxPerValue", "At most so many of the same", Widget.AMOUNTS),
    RowMember("diversity", "How mixed", Widget.STEPS),
    RowMember("calibration", "Keep the shares of tastes", Widget.STEPS, _SUITED),
    RowMember("calibrationCategory", "Shares by the category", Widget.TEXT, _SUITED),
    RowMember("rotation", "Change what was passed over", Widget.STEPS, _RECOMMENDED),
    RowMember("excludeSeen", "Leave out what a person knows already", Widget.SWITCH, _SUITED | _SEEDED),
    RowMember("halfLifeDays", "Half-life, days", Widget.NUMBER, frozenset({"popular", "new"})),
    RowMember("catalogs", "Catalogs", Widget.VALUES),
    RowMember("filter", "Conditions", Widget.FILTER),
    RowMember("boosts", "Shown sooner or later", Widget.BOOSTS),
    RowMember("pins", "Pinned", Widget.PINS),
    RowMember("quotas", "Always some of", Widget.QUOTAS),
    RowMember("whitelist", "Raised in this row", Widget.PIECES, _RAISED),
    RowMember("blacklist", "Hidden in this row", Widget.PIECES),
    RowMember("content", "The pieces, in their order", Widget.PIECES, _PICKED),
    RowMember("order", "They stand", Widget.CHOICE, _PICKED, ("given", "personal")),
    RowMember("rows", "Rows of a page, at most", Widget.NUMBER, _SEEDED),
    RowMember("seriesCategory", "One of each series, by the category", Widget.TEXT, frozenset({"because"})),
    RowMember("fallback", "If it would be empty", Widget.CHOICE, choices=KINDS),
    RowMember("experiment", "Name of the experiment", Widget.TEXT),
    RowMember("autoStop", "Stop a variant that is certainly worse", Widget.SWITCH),
    RowMember("variants", "Variants", Widget.VARIANTS),
)
MEMBERS: Mapping[str, RowMember] = {each.key: each for each in _TABLE}
LABELS: Mapping[str, str] = {key: member.label for key, member in MEMBERS.items()}
BLEND: Mapping[str, str] = {"content": "Content", "audience": "People with a like taste", "popularity": "Popularity"}
"""The parts of a blend, and what they are called."""
