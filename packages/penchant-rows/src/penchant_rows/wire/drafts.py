"""Answers about drafts: what one edits and where it stands, a listing, and what publishing one would change."""

from collections.abc import Sequence
from typing import Any, Generic

import msgspec
from msgspec import UNSET, UnsetType

from penchant.wire.answers import Moment
from penchant.wire.explanations import PreviewedList
from penchant.wire.fields import Record
from penchant.wire.syntax import encode
from penchant_rows.wire.placement_answers import PreviewedPlacement


class DraftEvent(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Something that was done to a draft: saved, proposed, sent back, scheduled, published, undone, or failed to be.

    ``version`` is that of the source after it, ``due`` the moment of a schedule.
    """

    step: str
    by: str
    timestamp: Moment
    note: str | UnsetType = UNSET
    version: int | UnsetType = UNSET
    due: Moment | UnsetType = UNSET


class DraftSummary(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Where a draft stands: who wrote it last and when, everybody who did since it was published, what was done.

    ``revision`` is another one each time it is written. ``steps`` are the newest ones, newest first; ``due`` is when a
    scheduled one is to be published.
    """

    name: str
    revision: str
    title: str | UnsetType = UNSET
    state: str
    by: str
    changed_at: Moment
    due: Moment | UnsetType = UNSET
    writers: Sequence[str]
    steps: Sequence[DraftEvent[Moment]]


class DraftListing(Record, Generic[Moment], frozen=True, kw_only=True):
    """The drafts of a source without what they edit, those of which something was done last first."""

    drafts: Sequence[DraftSummary[Moment]]


def format_revision(revision: int) -> str:
    """Return a stored revision as it is told: no number, since programs' numbers have no 62 bits."""
    return f"{revision:x}"


def parse_revision(text: str) -> int:
    """Return the revision that was told so; of what never was one, none that a draft has."""
    try:
        revision = int(text, 16)
    except ValueError:
        return -1
    return revision if format_revision(revision) == text else -1


def encode_draft(edits: bytes, summary: DraftSummary[str]) -> bytes:
    """Return a draft as it is answered: what it edits, as it is stored, and where it stands."""
    members: dict[str, Any] = msgspec.json.decode(edits, type=dict[str, msgspec.Raw])
    standing: dict[str, Any] = msgspec.to_builtins(summary)
    return encode(members | {key: value for key, value in standing.items() if key != "title"})


class PublishedVersion(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The version of the source at which all of a draft came into force, or what it had replaced.

    A list that others have changed meanwhile is told as it is then, where it is another one than the draft's.
    """

    version: int
    blacklist: Sequence[str] | UnsetType = UNSET
    whitelist: Sequence[str] | UnsetType = UNSET


class PlacementEffect(Record, frozen=True, kw_only=True):
    """What people would see in a placement that a draft edits, as previews of placements show it."""

    placement: str
    lists: Sequence[PreviewedPlacement]


class ReachEffect(Record, frozen=True, kw_only=True, rename="camel"):
    """How many pieces come into the first 10 similar ones of another piece, or drop out of all of these.

    ``lists`` of ``of`` were looked at, evenly chosen where it was not all of them; ``moved`` of these are others than
    before.
    """

    into: int
    out: int
    moved: int
    lists: int
    of: int


class SideFigures(Record, frozen=True, kw_only=True):
    """What lists of people show on one side: different pieces, the lists' variety (0 to 1), and the part of new pieces.

    The latter two are null where there is nothing to tell; they are defined as those of cards of rows.
    """

    pieces: int
    variety: float | None
    newness: float | None


class EffectFigures(Record, frozen=True, kw_only=True):
    """How the lists of people move, those in placements too: how many of how many, and by how many pieces as a rule.

    ``gaining`` pieces come into more of these lists than before, ``risen`` of them were in none.
    """

    lists: int
    moved: int
    moves: int
    gaining: int
    risen: int
    before: SideFigures
    after: SideFigures


class DraftEffect(Record, frozen=True, kw_only=True):
    """Lists as they are and as they would be, and what becomes of all pieces.

    ``left`` counts the lists for which there was no time, ``without`` names edits that are left out of it, ``active``
    is how many of the most active people there are, named or not.
    """

    users: Sequence[PreviewedList]
    pieces: Sequence[PreviewedList]
    placements: Sequence[PlacementEffect]
    reach: ReachEffect
    left: int
    without: Sequence[str]
    active: int
    figures: EffectFigures
