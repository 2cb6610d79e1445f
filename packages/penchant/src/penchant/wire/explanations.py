"""Reasons and previews: records whose fields are the interface's members."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from penchant.wire.answers import Problem, RecommendedPiece
from penchant.wire.fields import Id, Record, stated
from penchant_engine.model import MAX_TAKE

Rank = Annotated[int, stated({"minimum": 1, "maximum": MAX_TAKE})]
"""A place in a list, from 1."""


class KeywordShare(Record, frozen=True, kw_only=True, rename="camel"):
    """What a keyword of a category adds to a score; ``stated`` as `liked` or `disliked` by the person, if it is."""

    category: str
    keyword: str
    share: float
    stated: Literal["liked", "disliked"] | UnsetType = UNSET


class TermRest(Record, frozen=True, kw_only=True, rename="camel"):
    """How many further terms add to a score that are not named, and what they add together."""

    count: int
    share: float


class PieceShare(Record, frozen=True, kw_only=True, rename="camel"):
    """What a liked piece adds to the audience part: directly, or ``through`` a piece that stands in for this one.

    Negative: less, because it was liked. With ``soonAfter`` true it is what people like soon after the liked piece.
    With `include=label` it has its label.
    """

    id: str
    label: str | UnsetType = UNSET
    share: float
    through: str | UnsetType = UNSET
    soon_after: bool | UnsetType = UNSET


class MovingRule(Record, frozen=True, kw_only=True, rename="camel"):
    """What moved a piece: `whitelist` with the place on that list, from 0, `fill`, `diversity`, or `boost`.

    A boost has its ``factor``, and for ``position`` its place among those asked for, from 0; `given` has the place at
    which the piece is given. `calibration` has the ``keyword`` of which the person's tastes have more than the list
    has without the piece, where there is one.
    """

    rule: str
    position: int | UnsetType = UNSET
    factor: float | UnsetType = UNSET
    keyword: str | UnsetType = UNSET


class SimilarWhy(Record, frozen=True, kw_only=True, rename="camel"):
    """Why a piece is similar: shares that add up to 1 - score before boosts, ``rest`` and ``audience`` included.

    ``audience`` is what people add who like both pieces, where at least three do.
    """

    terms: list[KeywordShare]
    rest: TermRest | UnsetType = UNSET
    audience: float | UnsetType = UNSET
    rules: list[MovingRule]


class PartShare(Record, frozen=True, kw_only=True, rename="camel"):
    """What a part adds to a score: content with its terms, audience with its pieces, popularity, new."""

    part: str
    share: float
    terms: list[KeywordShare] | UnsetType = UNSET
    rest: TermRest | UnsetType = UNSET
    pieces: list[PieceShare] | UnsetType = UNSET


class PersonalWhy(Record, frozen=True, kw_only=True, rename="camel"):
    """Why a piece is recommended: shares of parts that add up to its s before boosts; score is 1 - max(0, s)."""

    parts: list[PartShare]
    rules: list[MovingRule]


class ExplainedPiece(RecommendedPiece, frozen=True, kw_only=True, rename="camel"):
    """One entry of a list with its reasons."""

    why: SimilarWhy | PersonalWhy


class ExplainedResult(Record, frozen=True, kw_only=True, rename="camel"):
    """A list of similar or recommended pieces with reasons; no id for an unstored piece without one."""

    id: str | None
    content: list[ExplainedPiece]


class LeftPiece(Record, frozen=True, kw_only=True):
    """A piece that was given and may not be shown, and why: the code of a `Reason`."""

    id: str
    why: str


class RankResult(Record, frozen=True, kw_only=True):
    """Given pieces as they suit the person with this id, and those that are left out."""

    id: Id
    content: Sequence[RecommendedPiece]
    left: list[LeftPiece]


class Reason(Record, frozen=True, kw_only=True, rename="camel"):
    """Why a piece is not in a list, and the one change that brings it in where there is one."""

    code: str
    detail: str
    remedy: dict[str, Any] | None


class Place(Record, frozen=True, kw_only=True, rename="camel"):
    """Where a piece stands in a list, and why, or why not; id is the piece or the person whose list it is."""

    id: Id
    content_id: Id
    rank: Rank | None
    score: float | None
    why: SimilarWhy | PersonalWhy | None
    reasons: list[Reason]


class SimilarEntry(Record, frozen=True, kw_only=True, rename="camel"):
    """One of the lists that were asked for at once, or what is wrong with its id."""

    id: Id
    content: Sequence[RecommendedPiece] | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class Move(Record, frozen=True, kw_only=True, rename="camel"):
    """A piece whose rank changes; ``None`` where it is not in the list."""

    id: str
    before: int | None
    after: int | None


class PreviewedList(Record, frozen=True, kw_only=True, rename="camel"):
    """A list as it is and as it would be; id is the piece or the person whose list it is."""

    id: str
    before: list[RecommendedPiece]
    after: list[RecommendedPiece]
    moves: list[Move]


class SettingsPreview(Record, frozen=True, kw_only=True, rename="camel"):
    """Lists under settings that are not stored, beside those in force."""

    pieces: list[PreviewedList]
    users: list[PreviewedList]


class SimilarPlace(Place, frozen=True, kw_only=True, rename="camel"):
    """Where a piece stands among those similar to another, and why, or why not."""

    why: SimilarWhy | None


class PersonalPlace(Place, frozen=True, kw_only=True, rename="camel"):
    """Where a piece stands among those recommended to a person, and why, or why not."""

    why: PersonalWhy | None
