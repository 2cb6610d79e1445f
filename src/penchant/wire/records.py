"""Records of the interface for clients: typed forms of what the service itself handles as bytes.

The service keeps pieces and settings as they came; a program wants to look into them. Nothing here is checked
beyond its shape: what is acceptable the service says.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from penchant.wire.answers import RevisitPiece
from penchant.wire.frames import Record, RecordList
from penchant.wire.placements import Placement


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


class KnownPieces(RecordList[RevisitPiece[datetime]], frozen=True, kw_only=True, rename="camel"):
    """What the person with this id began or keeps coming back to."""

    id: str


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
