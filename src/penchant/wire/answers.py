"""What do answers look like? Records whose fields are the interface's members, in its order and spelling."""

import msgspec


class Receipt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a submission: accepted = created + replaced + superseded."""

    source: str
    version: int
    accepted: int
    created: int
    replaced: int
    superseded: int
    ignored: tuple[str, ...]


class SourceStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a source stands, and the version that its index has reached."""

    source: str
    pieces: int
    version: int
    indexed_version: int
    created_at: str
    updated_at: str


class RecommendedPiece(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of a list: the lower the score, the nearer."""

    id: str
    score: float


class RecommendationResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A list of similar or recommended pieces; id is the piece or the person asked for."""

    id: str
    content: list[RecommendedPiece]


class AnonymousResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A list for somebody without an id."""

    id: None
    content: list[RecommendedPiece]


class Profile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A person's taste: categories to keywords to scores between -1000 and 1000."""

    source: str
    user_id: str
    categories: dict[str, dict[str, int]]


class InteractionKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whose interaction it is."""

    source: str
    user_id: str


class InteractionAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A recorded interaction."""

    key: InteractionKey
    type: str
    content_id: str
    timestamp: str


class BulkReceipt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many interactions were newly stored, and how many were known by their event id."""

    accepted: int
    duplicates: int


class UserExport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All that is stored of a person, newest first."""

    source: str
    user_id: str
    interactions: list[InteractionAnswer]


class ProblemFault(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One thing wrong with a request: where, and what is accepted."""

    pointer: str | None = None
    parameter: str | None = None
    detail: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[ProblemFault, ...] | None = None
