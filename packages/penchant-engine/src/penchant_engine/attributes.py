"""Filters as the values that all parts share: by keywords, by catalogs, and by attributes, members of pieces' extras.

What a piece has of an attribute is kept as *marks*: texts that begin with the attribute's own character, and sort as
the values do. In an ascending table of marks "one of these", "from here to there" and "any at all" are then runs:

    0en 0fr | 1c028… 1c030… | 21        languages, years as doubles, and a boolean that is true
"""

import enum
import functools
import itertools
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import msgspec

from penchant_engine.model import Term

MAX_ATTRIBUTES = 32
"""Attributes of a source at most: each has a character of its own."""
_FIRST = ord("0")
_SIGN = 1 << 63
_AFTER = "\0"
"""Behind a text it makes the next one: nothing sorts between them."""


class AttributeType(enum.StrEnum):
    """What values of an attribute are; only ``keywords`` are several."""

    KEYWORD = "keyword"
    KEYWORDS = "keywords"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"

    @property
    def is_ordered(self) -> bool:
        """Whether values can be more or less than others."""
        return self in {AttributeType.INTEGER, AttributeType.NUMBER, AttributeType.TIME}


class Attribute(msgspec.Struct, frozen=True, order=True):
    """A member of extras, by its JSON pointer, and the type that its values must have to count."""

    type: AttributeType
    pointer: str

    @property
    def steps(self) -> tuple[str, ...]:
        """The names and positions that lead to the member."""
        return steps_of(self.pointer)

    def __str__(self) -> str:
        return f"{self.type} {self.pointer}"


@functools.lru_cache(maxsize=1_024)
def steps_of(pointer: str) -> tuple[str, ...]:
    """Return the names and positions by which a JSON pointer leads to a member."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def numbered(attributes: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """Return attributes in the order of their numbers, each once: it depends on nothing but what they are."""
    return tuple(sorted(set(attributes)))


class MarkSpan(NamedTuple):
    """The marks from one text until before another."""

    first: str
    behind: str


def mark_of(number: int, value: str | float | bool) -> str:  # noqa: FBT001  # a value, no switch
    """Return the mark of a value of the attribute with this number; moments are numbers of milliseconds."""
    if isinstance(value, str):
        return chr(_FIRST + number) + value
    if isinstance(value, bool):
        return chr(_FIRST + number) + str(int(value))
    return f"{chr(_FIRST + number)}{_ascending(value):016x}"


def marks_of_all(number: int) -> MarkSpan:
    """Return the marks of all values of the attribute with this number."""
    return MarkSpan(chr(_FIRST + number), chr(_FIRST + number + 1))


def just_behind(mark: str) -> str:
    """Return the text that comes next after a mark."""
    return mark + _AFTER


def _ascending(value: float) -> int:
    """Return the bits of a double such that they ascend as doubles do."""
    # Adding 0 makes -0 the same as 0.
    bits: int = struct.unpack(">Q", struct.pack(">d", value + 0.0))[0]
    return ~bits & (2 * _SIGN - 1) if bits & _SIGN else bits | _SIGN


@dataclass(frozen=True, slots=True)
class MarkCondition:
    """Holds for pieces that have a mark in one of the spans, all of the attribute that is called so."""

    spans: tuple[MarkSpan, ...]
    name: str = field(default="", compare=False)


class TermCondition(msgspec.Struct, frozen=True):
    """Holds for pieces that have one of the terms."""

    terms: tuple[Term, ...]


class CategoryCondition(msgspec.Struct, frozen=True):
    """Holds for pieces that have any keyword of a category."""

    category: str


class CatalogCondition(msgspec.Struct, frozen=True):
    """Holds for pieces in one of the catalogs."""

    names: tuple[str, ...]


class ClauseGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Holds where all of ``must`` hold, of ``should`` one if there are any, and of ``must_not`` none."""

    must: tuple["Clause", ...] = ()
    should: tuple["Clause", ...] = ()
    must_not: tuple["Clause", ...] = ()


ClauseCondition: TypeAlias = MarkCondition | TermCondition | CategoryCondition | CatalogCondition
Clause: TypeAlias = ClauseCondition | ClauseGroup


@dataclass(frozen=True, slots=True)
class AttributeFilter:
    """A filter of pieces: ``text``, its JSON in one form, and what it means.

    The meaning is that under the settings of one version of a source: the same text may mean another one later.
    """

    text: str
    clause: Clause = field(hash=False)  # the text tells nearly all apart, and is hashed sooner


BOOST_SCALE = 100
"""Factors of boosts have two decimals at most, and are integers of this unit."""


class Boost(msgspec.Struct, frozen=True):
    """What a filter holds for counts by a factor, in hundredths: more above 100, less below."""

    matching: AttributeFilter
    factor: int


class BoostClass(NamedTuple):
    """Pieces that the same boosts hold for, as a filter, and the product of all factors, in `BOOST_SCALE` ** boosts."""

    matching: AttributeFilter
    factor: int


def boost_classes(matching: AttributeFilter | None, boosts: Sequence[Boost]) -> Iterator[BoostClass]:
    """Yield the classes that boosts cut pieces into, of those that ``matching`` holds for; every piece is in one."""
    for chosen in itertools.product((True, False), repeat=len(boosts)):
        raised, others = (
            tuple(boost.matching for boost, is_held in zip(boosts, chosen, strict=True) if is_held is is_raised)
            for is_raised in (True, False)
        )
        own = () if matching is None else (matching,)
        must, must_not = (*own, *raised), others
        # Line breaks are in no text of a filter: what is joined by them can be told apart.
        text = "\n".join([*(f"+{each.text}" for each in must), *(f"-{each.text}" for each in must_not)])
        clause = ClauseGroup(must=tuple(each.clause for each in must), must_not=tuple(each.clause for each in must_not))
        factors = (boost.factor if is_held else BOOST_SCALE for boost, is_held in zip(boosts, chosen, strict=True))
        yield BoostClass(AttributeFilter(text, clause), math.prod(factors))
