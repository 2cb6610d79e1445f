"""Answers: records whose fields are the interface's members, in its order and spelling."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from msgspec import UNSET, UnsetType

from penchant.wire.fields import Number, Record, stated
from penchant.wire.preferences import PersonPreferences

Moment = TypeVar("Moment", str, datetime)
"""A time in an answer: the service has it as text, clients read it as what it says."""


class Receipt(Record, frozen=True, kw_only=True, rename="camel"):
    """What became of a submission: accepted = created + replaced + superseded."""

    source: str
    version: int
    accepted: int
    created: int
    replaced: int
    superseded: int
    ignored: tuple[str, ...]


class SourceStatus(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """Where a source stands, and the version that its index has reached.

    ``words_pending`` is true while the words of its pieces are worked out anew, after another setting of these.
    """

    source: str
    pieces: int
    version: int
    indexed_version: int
    created_at: Moment
    updated_at: Moment
    words_pending: bool | UnsetType = UNSET


class RecommendedPiece(Record, frozen=True, rename="camel", gc=False):
    """One entry of a list: the lower the score, the nearer. All else is of the piece, where the request includes it."""

    id: str
    score: float
    label: str | UnsetType = UNSET
    extras: Mapping[str, Any] | UnsetType = UNSET
    catalogs: Sequence[str] | UnsetType = UNSET
    available_from: str | UnsetType = UNSET
    available_until: str | UnsetType = UNSET
    words: Sequence[str] | UnsetType = UNSET


class RecommendationResult(Record, frozen=True, kw_only=True, rename="camel"):
    """A list of similar or recommended pieces; id is the piece or the person asked for."""

    id: str
    content: list[RecommendedPiece]


class AnonymousResult(Record, frozen=True, kw_only=True, rename="camel"):
    """A list for somebody without an id."""

    id: None
    content: list[RecommendedPiece]


class RevisitPiece(RecommendedPiece, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """A piece that a person may take up again, and why: begun, or met on several days, last at ``timestamp``."""

    began: bool
    days: int
    timestamp: Moment


class RevisitResult(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """What a person began or keeps coming back to."""

    id: str
    content: list[RevisitPiece[Moment]]


class ProspectScore(Record, frozen=True, kw_only=True, rename="camel"):
    """A person whom a piece may suit: the lower the score, the better."""

    id: str
    score: float


class ProspectList(Record, frozen=True, kw_only=True, rename="camel"):
    """The people whom the piece with this id would suit best."""

    id: str
    people: list[ProspectScore]


class Profile(Record, frozen=True, kw_only=True, rename="camel"):
    """A person's taste: categories to keywords to scores between -1000 and 1000."""

    source: str
    user_id: str
    categories: dict[str, dict[str, int]]


class TasteSegment(Record, frozen=True, kw_only=True):
    """A keyword that a person likes, with its score in the profile, of which there is enough to show."""

    keyword: str
    score: int


class TasteSegments(Record, frozen=True, kw_only=True):
    """The keywords of a category that the person with this id likes, the strongest first."""

    id: str
    segments: list[TasteSegment]


class InteractionKey(Record, frozen=True, kw_only=True, rename="camel"):
    """Whose interaction it is."""

    source: str
    user_id: str


class InteractionAnswer(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A recorded interaction; ``value``, what part of the piece it was of, is there where it was given."""

    key: InteractionKey
    type: str
    content_id: str
    timestamp: Moment
    value: Number | None = None


class RecordedInteraction(
    InteractionAnswer[Moment], Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """An interaction as it was recorded; ``stored`` is there where it is false, of a person who is switched off."""

    stored: bool = True


class ExportedInteraction(
    InteractionAnswer[Moment], Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """An interaction with all that is stored of it."""

    event_id: str | None = None


class Removal(Record, frozen=True, kw_only=True):
    """How many interactions were taken back."""

    removed: int


class BulkReceipt(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How many interactions or seen pieces were newly stored, and how many were known already.

    ``unstored`` are those of people who are switched off, ``expired`` those of the accepted that are older than the
    source's retention, and so count for nothing: each if there are any.
    """

    accepted: int
    duplicates: int
    unstored: int = 0
    expired: int = 0


class UserExport(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """All that is stored of a person: interactions, newest first; preferences, and what packages keep, if any."""

    source: str
    user_id: str
    interactions: list[ExportedInteraction[Moment]]
    preferences: PersonPreferences | None = None


class Addresses(Record, frozen=True, kw_only=True, rename="camel"):
    """Where the service's own pages and documents are, by their paths; ``None`` of a dashboard that is not there."""

    name: str
    version: str
    documents: str
    dashboard: str | None
    openapi: str
    openapi_for_generators: str
    health: str
    metrics: str


class ServiceVersion(Record, frozen=True, kw_only=True, rename="camel"):
    """What is installed: the service, and each package that brings something to it, by its name."""

    version: str
    packages: Mapping[str, str]


class ProblemFault(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One thing wrong with a request: where, and what is accepted."""

    pointer: str | None = None
    parameter: str | None = None
    detail: str


class Problem(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[ProblemFault, ...] | None = None


class Health(Record, frozen=True, kw_only=True):
    """That the service is there; ``warnings`` tell its operator what to change."""

    status: Annotated[str, stated({"const": "ok"})]
    warnings: Annotated[
        Sequence[str], stated({"description": "What the operator should change; left out where there is nothing."})
    ] = ()
