"""Records of rows: what lists show, lists that were made, and what was seen of them."""

import enum

import msgspec

from penchant_engine.model import InteractionType

MAX_IMPRESSIONS_PER_REQUEST = 10_000
"""Pieces in one request of impressions."""
IMPRESSION_DAYS = 30
"""How long it is kept at most what a person was shown, and how old a list may be of which something is reported."""


class PlacementKind(enum.StrEnum):
    """The lists that a placement can show, each of which has an address of its own as well."""

    SIMILAR = "similar"
    RECOMMENDATIONS = "recommendations"
    POPULAR = "popular"
    NEW = "new"
    AGAIN = "again"
    PICKS = "picks"
    BECAUSE = "because"
    KEYWORD = "keyword"


class PickOrder(enum.StrEnum):
    """How picked pieces stand: as they are given, or as they suit the person."""

    GIVEN = "given"
    PERSONAL = "personal"


class ListIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What a list's id says: the list of which placement and variant, for whom, made when.

    ``person`` is a keyed hash of the person, empty where the list is for nobody in particular; ``key`` names the list
    within its source, and keys sort by ``made_at``, which is in milliseconds since 1970 UTC, in whole seconds.
    ``proof`` tells which pieces were in the list (`wire.rows.list_ids`); ids from before they told that have none.
    """

    placement: str
    variant: str
    person: bytes
    made_at: int
    key: bytes
    proof: bytes | None = None


class NewImpression(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a list that was seen, at a position from 1 (0: unknown) and a moment in milliseconds.

    ``rule`` is `PIN` or `QUOTA` where it stood there by one of the placement.
    """

    identity: ListIdentity
    piece_id: str
    position: int
    shown_at: int
    rule: str = ""


class StoredImpression(msgspec.Struct, frozen=True, kw_only=True):
    """A piece that a person was shown, and the types of interaction that it led to; times as in `StoredInteraction`."""

    placement: str
    variant: str
    piece_id: str
    position: int
    made_at: int
    shown_at: int
    led_to: tuple[InteractionType, ...] = ()
