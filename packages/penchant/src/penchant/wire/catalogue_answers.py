"""Answers about a source as a catalogue: what a search found, its categories and keywords."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from penchant.wire.fields import Record

MatchPlace: TypeAlias = Literal["id", "label", "keyword", "text", "several"]


class MatchedPiece(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A piece that a search found: where the text is, and, where that is neither id nor label, the text it is in."""

    id: str
    label: str | None = None
    place: MatchPlace
    text: str = ""


class KeywordCount(Record, frozen=True, kw_only=True):
    """A keyword, and how many pieces have it."""

    category: str
    keyword: str
    pieces: int


class SearchAnswer(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a search found: a page of ``content``, ``users`` or ``keywords``, and how many there are of these in all.

    Where not everything was looked through, ``complete`` is false; ``after`` is there where a search can go on.
    """

    kind: Literal["piece", "person", "keyword"]
    count: int
    complete: bool
    after: str | None = None
    content: Sequence[MatchedPiece] = ()
    users: Sequence[str] = ()
    keywords: Sequence[KeywordCount] = ()


class CategorySize(Record, frozen=True, kw_only=True):
    """A category, how many keywords it has, and how many pieces have one of them."""

    category: str
    keywords: int
    pieces: int


class CategoryListing(Record, frozen=True, kw_only=True):
    """A page of the categories, ascending, and how many there are."""

    count: int
    categories: Sequence[CategorySize]


class KeywordListing(Record, frozen=True, kw_only=True):
    """A page of the keywords, those of the most pieces first, and how many there are."""

    count: int
    keywords: Sequence[KeywordCount]
