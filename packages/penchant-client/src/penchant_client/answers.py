"""Answers that the client has records of its own for: lists that can be iterated over, drafts, placements."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from penchant_client.records import (
    DraftSummary,
    LeftPiece,
    PersonalWhy,
    Piece,
    Placement,
    Problem,
    RecommendedPiece,
    RevisitPiece,
    Settings,
    SimilarWhy,
)
from penchant_client.tables import Record, RecordList


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


class RankedPieces(RecordList[PersonalPiece], frozen=True, kw_only=True, rename="camel"):
    """Given pieces as they suit the person with this id, and those that are left out."""

    id: str
    left: list[LeftPiece]


class AnonymousPieces(RecordList[PersonalPiece], frozen=True, kw_only=True, rename="camel"):
    """What somebody may like of whom nothing is stored."""

    id: None


class KnownPieces(RecordList[RevisitPiece], frozen=True, kw_only=True, rename="camel"):
    """What the person with this id began or keeps coming back to."""

    id: str


class StoredPlacement(Record, frozen=True, kw_only=True, rename="camel"):
    """A version of a placement, when it was stored, and with which key."""

    name: str
    version: int
    timestamp: datetime
    key_id: str
    draft: str | UnsetType = UNSET
    placement: Placement


class PieceSeen(Record, frozen=True, kw_only=True):
    """How often placements showed a piece since a moment, and how often that led to something."""

    since: datetime
    shown: int
    opened: int


class StoredPlacements(Record, frozen=True, kw_only=True):
    """The placements of a source as they are in force, ascending by name, and what was seen of a piece."""

    placements: list[StoredPlacement]
    seen: PieceSeen | UnsetType | None = UNSET


class PlacementVersions(Record, frozen=True, kw_only=True):
    """The versions of a placement that are kept, newest first; the first is in force."""

    versions: list[StoredPlacement]


class ListEdit(Record, frozen=True, kw_only=True):
    """What a draft adds to a list, each id with the one before which it stands (null: the end), and what it removes."""

    added: dict[str, str | None]
    removed: list[str]


class SourceDraft(DraftSummary, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A draft: what it edits, and where it stands."""

    note: str | UnsetType = UNSET
    placements: dict[str, Placement | None] | UnsetType = UNSET
    settings: Settings | UnsetType = UNSET
    blacklist: list[str] | UnsetType = UNSET
    whitelist: list[str] | UnsetType = UNSET
    changes: dict[str, ListEdit] | UnsetType = UNSET
    content: list[Piece] | UnsetType = UNSET
