"""Explained lists for clients: each entry typed with the reasons of its kind of list."""

from penchant.wire.answers import Problem, RecommendedPiece
from penchant.wire.explanations import PersonalWhy, Reason, SimilarWhy
from penchant.wire.frames import Record, RecordList


class SimilarPiece(RecommendedPiece, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A similar piece; ``why`` where reasons were asked for."""

    why: SimilarWhy | None = None


class SimilarPieces(RecordList[SimilarPiece], frozen=True, kw_only=True, rename="camel"):
    """The pieces nearest to the piece with this id."""

    id: str


class DraftNeighbours(RecordList[SimilarPiece], frozen=True, kw_only=True, rename="camel"):
    """The pieces nearest to a piece that is not stored, which may have no id."""

    id: str | None


class NeighboursOfOne(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The pieces nearest to one of several pieces, or what is wrong with its id."""

    id: str
    content: list[SimilarPiece] | None = None
    error: Problem | None = None


class PersonalPiece(RecommendedPiece, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A recommended piece; ``why`` where reasons were asked for."""

    why: PersonalWhy | None = None


class PersonalPieces(RecordList[PersonalPiece], frozen=True, kw_only=True, rename="camel"):
    """What the person with this id may like."""

    id: str


class AnonymousPieces(RecordList[PersonalPiece], frozen=True, kw_only=True, rename="camel"):
    """What somebody may like of whom nothing is stored."""

    id: None


class SimilarPlace(Record, frozen=True, kw_only=True, rename="camel"):
    """Where a piece stands among those similar to another, and why, or why not."""

    id: str
    content_id: str
    rank: int | None
    score: float | None
    why: SimilarWhy | None
    reasons: list[Reason]


class PersonalPlace(Record, frozen=True, kw_only=True, rename="camel"):
    """Where a piece stands among those recommended to a person, and why, or why not."""

    id: str
    content_id: str
    rank: int | None
    score: float | None
    why: PersonalWhy | None
    reasons: list[Reason]
