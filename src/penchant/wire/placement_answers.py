"""Answers about placements: their lists, what is stored of them, and previews of drafts."""

from typing import Any

from msgspec import UNSET, UnsetType

from penchant.model import PlacementKind
from penchant.wire.answers import Problem, RecommendedPiece
from penchant.wire.explanations import KeywordShare, Move, MovingRule, PartShare, TermRest
from penchant.wire.frames import Record


class PlacedWhy(Record, frozen=True, kw_only=True, rename="camel"):
    """Why a piece is in the list of a placement: the members that `SimilarWhy` or `PersonalWhy` has, by its kind.

    Lists that know nothing of a person, and what a person takes up again, have one part, with the name of their kind.
    """

    parts: list[PartShare] | UnsetType = UNSET
    terms: list[KeywordShare] | UnsetType = UNSET
    rest: TermRest | UnsetType = UNSET
    audience: float | UnsetType = UNSET
    rules: list[MovingRule]


class PlacedPiece(RecommendedPiece, frozen=True, kw_only=True, rename="camel"):
    """One entry of the list of a placement, with reasons where these were asked for."""

    why: PlacedWhy | UnsetType = UNSET


class PlacementResult(Record, frozen=True, kw_only=True, rename="camel"):
    """The list of a placement: whose variant it is of, and which kind of list it came to be.

    With reasons, ``category_weights`` are those by which it was made.
    """

    placement: str
    variant: str
    kind: PlacementKind
    user_id: str | None
    content_id: str | None
    category_weights: dict[str, float] | UnsetType = UNSET
    content: list[PlacedPiece]


class PageEntry(Record, frozen=True, kw_only=True, rename="camel"):
    """One of the lists that were asked for at once, or what is wrong with the request for it.

    ``list_id`` is what the header ``x-penchant-list`` says of a list that is asked for alone.
    """

    placement: str
    variant: str | UnsetType = UNSET
    kind: PlacementKind | UnsetType = UNSET
    content_id: str | None
    list_id: str | UnsetType = UNSET
    category_weights: dict[str, float] | UnsetType = UNSET
    content: list[PlacedPiece] | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class PageResult(Record, frozen=True, kw_only=True, rename="camel"):
    """The lists of a page, in the order of the request; no piece is in two of them."""

    user_id: str | None
    lists: list[PageEntry]


class PlacementVersion(Record, frozen=True, kw_only=True, rename="camel"):
    """A version of a placement: when it was stored, with which key, and what it is."""

    name: str
    version: int
    timestamp: str
    key_id: str
    placement: dict[str, Any]


class PlacementListing(Record, frozen=True, kw_only=True, rename="camel"):
    """The placements of a source as they are in force, ascending by name."""

    placements: list[PlacementVersion]


class PlacementHistory(Record, frozen=True, kw_only=True, rename="camel"):
    """The versions of a placement that are kept, newest first; the first is in force."""

    versions: list[PlacementVersion]


class PreviewedPlacement(Record, frozen=True, kw_only=True, rename="camel"):
    """A person's list as it is and as it would be, with the variants that they are of; null where there is none."""

    user_id: str | None
    variant_before: str | None
    variant_after: str
    before: list[RecommendedPiece]
    after: list[RecommendedPiece]
    moves: list[Move]


class PlacementPreview(Record, frozen=True, kw_only=True, rename="camel"):
    """Lists under a placement that is not stored, beside those of the one in force."""

    lists: list[PreviewedPlacement]
