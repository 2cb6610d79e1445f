"""The request for a list, as the interface has read it.

``listed`` are the marks (`penchant_engine.index.mark_of`) of the pieces that pages before have listed, in their order.
"""

from collections.abc import Mapping

import msgspec

from penchant_engine.attributes import AttributeFilter, Boost
from penchant_engine.model import DAY_MS, MAX_TAKE, Algorithm, Basis


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A piece that is to stand at a position of a list, from 1, from a moment until before another one.

    Moments are in ms since 1970 UTC, ``None`` for ever. ``number`` is its place among the pins of its list.
    """

    number: int
    piece_id: str
    position: int
    begins: int | None = None
    ends: int | None = None

    def holds_at(self, moment: int) -> bool:
        """Return whether there is the pin at a moment."""
        return (self.begins is None or self.begins <= moment) and (self.ends is None or moment < self.ends)


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """So many pieces at least that a filter holds for are to be among the first ``of`` of a list."""

    matching: AttributeFilter
    at_least: int
    of: int


class ListDemands(msgspec.Struct, frozen=True, kw_only=True):
    """What a list is to have beside the best: pins, quotas, and ``most`` pieces with a keyword of some categories.

    No list of the interface has any but rows of pages. Recommendations take ``most`` from the settings.
    """

    pins: tuple[Pin, ...] = ()
    quotas: tuple[Quota, ...] = ()
    most: tuple[tuple[str, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pins or self.quotas)


NO_DEMANDS = ListDemands()


class ListRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a list, of whatever kind its ranking is: each takes what it knows of, and leaves the rest.

    What it is about: the piece ``piece_id``, the person ``user_id``, or the given pieces ``content``, of whose order
    the person's taste has the ``weight``, from 0 to 1.

    Which pieces: those of ``catalogs`` that the filter is ``matching``, without ``exclude``, as they are shown ``at``
    the last millisecond of a day, ``None`` for now. ``include_seen`` of ``None`` leaves it to the source's settings.
    ``unhidden`` pieces count as not hidden by the person; no request of the interface has any, but remedies are tried
    out by them.

    By what: ``algorithm``, ``by`` content or audience, ``half_life_days`` (``None``: the list's own), ``boosts``.
    ``sinking`` says by which factor, 1 at most, s of a piece is multiplied; only rows have any. ``fill`` lists
    what nothing speaks for. ``diversity`` from 0 to 1 tells how much pieces are to be unlike each other,
    ``calibration`` how much the list is to keep the shares that keywords of the ``calibration_category`` have of what
    the person likes. What people like is as of ``min_audience_version`` of the interactions at least.

    How much: ``take`` entries after those ``listed``, with what the list ``demands`` beside the best.
    """

    piece_id: str = ""
    user_id: str = ""
    content: tuple[str, ...] = ()
    weight: float = 1.0
    catalogs: frozenset[str] | None = None
    matching: AttributeFilter | None = None
    exclude: frozenset[str] = frozenset()
    at: int | None = None
    include_seen: bool | None = None
    unhidden: frozenset[str] = frozenset()
    algorithm: Algorithm | None = None
    by: Basis = Basis.CONTENT
    half_life_days: int | None = None
    boosts: tuple[Boost, ...] = ()
    sinking: Mapping[str, float] = msgspec.field(default_factory=dict)
    fill: bool = True
    diversity: float = 0.0
    calibration: float = 0.0
    calibration_category: str = ""
    min_audience_version: int = 0
    take: int = MAX_TAKE
    listed: bytes = b""
    demands: ListDemands = NO_DEMANDS


def moment_of(at: int | None, now: int) -> int:
    """Return the moment that a day stands for: its end, but for today the present."""
    return now if at is None or at // DAY_MS == now // DAY_MS else at
