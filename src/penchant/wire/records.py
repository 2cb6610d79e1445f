"""Records of the interface for clients: typed forms of what the service itself handles as bytes.

The service keeps pieces and settings as they came; a program wants to look into them. Nothing here is checked
beyond its shape: what is acceptable the service says.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penchant.model import Scope
from penchant.wire.answers import InteractionKey
from penchant.wire.frames import Record, RecordList
from penchant.wire.placements import Placement
from penchant.wire.preferences import PersonPreferences


class Piece(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A piece as it is submitted and returned.

    A category holds keywords, plain (``"noir"``) or as objects (``{"key": "noir", "weight": 80}``), or further
    categories by name. ``filters`` may hold ``catalogs``, ``availableFrom`` and ``availableUntil``.
    """

    id: str
    label: str | None = None
    categories: Mapping[str, Any]
    filters: Mapping[str, Any] = {}
    extras: Mapping[str, Any] = {}


class IdList(RecordList[str], frozen=True, kw_only=True):
    """Ids, ascending; ``count`` is how many the source has, also where only some were asked for."""

    count: int


class ContentList(RecordList[Piece], frozen=True, kw_only=True):
    """Pieces, ascending by id, and when the source last changed."""

    source: str
    timestamp: datetime


class PersonImpression(Record, frozen=True, kw_only=True, rename="camel"):
    """A piece that a person was shown in a list of a placement, and the types of interaction that it led to."""

    placement: str
    variant: str
    content_id: str
    position: int | None = None
    timestamp: datetime
    led_to: Sequence[str] = ()


class RecordedInteraction(Record, frozen=True, kw_only=True, rename="camel"):
    """An interaction that is stored."""

    key: InteractionKey
    type: str
    content_id: str
    timestamp: datetime


class StoredPersonInteraction(RecordedInteraction, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An interaction with all that is stored of it."""

    event_id: str | None = None


class KnownPiece(Record, frozen=True, kw_only=True, rename="camel"):
    """A piece that a person began, or did something with on several days, last at ``timestamp``."""

    id: str
    score: float
    began: bool
    days: int
    timestamp: datetime


class KnownPieces(RecordList[KnownPiece], frozen=True, kw_only=True, rename="camel"):
    """What the person with this id began or keeps coming back to."""

    id: str


class PersonExport(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """All that is stored of a person: interactions, newest first, and preferences where there are any."""

    source: str
    user_id: str
    interactions: list[StoredPersonInteraction]
    preferences: PersonPreferences | None = None
    impressions: Sequence[PersonImpression] = ()


class SourceState(Record, frozen=True, kw_only=True, rename="camel"):
    """Where a source stands, and the version that its index has reached."""

    source: str
    pieces: int
    version: int
    indexed_version: int
    created_at: datetime
    updated_at: datetime


class AccountKey(Record, frozen=True, kw_only=True, rename="camel"):
    """A key by its id: whose it is, what it may do, and whether it works. Never the key itself."""

    key_id: str
    account: str
    plan: str
    role: str
    state: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    scopes: list[Scope]
    origins: list[str]
    requests_per_second: int | None = None
    requests_per_month: int | None = None


class IssuedKey(AccountKey, frozen=True, kw_only=True, rename="camel"):
    """A key that was just made, with the key itself: it cannot be shown again."""

    key: str


class AccountKeys(Record, frozen=True, kw_only=True):
    """Every key, oldest first."""

    keys: list[AccountKey]


class AuditRecord(Record, frozen=True, kw_only=True, rename="camel"):
    """Who changed what, when: ``actor`` is a key's id, or ``command-line``."""

    recorded_at: datetime
    account: str
    actor: str
    action: str
    subject: str


class AuditRecords(Record, frozen=True, kw_only=True):
    """Changes, newest first."""

    entries: list[AuditRecord]


class StoredPlacement(Record, frozen=True, kw_only=True, rename="camel"):
    """A version of a placement, when it was stored, and with which key."""

    name: str
    version: int
    timestamp: datetime
    key_id: str
    placement: Placement


class StoredPlacements(Record, frozen=True, kw_only=True):
    """The placements of a source as they are in force, ascending by name."""

    placements: list[StoredPlacement]


class PlacementVersions(Record, frozen=True, kw_only=True):
    """The versions of a placement that are kept, newest first; the first is in force."""

    versions: list[StoredPlacement]


class Health(Record, frozen=True, kw_only=True):
    """That the service is there; ``warnings`` tell its operator what to change."""

    status: str
    warnings: Sequence[str] = ()
