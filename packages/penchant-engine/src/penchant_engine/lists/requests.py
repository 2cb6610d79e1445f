"""Requests for lists, as the interface has read them: what is similar to a piece, and what a person may like.

``matching`` is a filter by attributes of the pieces that any list may show, ``boosts`` what counts more or less in it.
``listed`` are the marks (`penchant_engine.index.mark_of`) of the pieces that pages before have listed, in their order.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from penchant_engine.attributes import AttributeFilter, Boost
from penchant_engine.model import DAY_MS, MAX_TAKE, Algorithm, Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A piece that is to stand at a position of a list, from 1, from a moment until before another one.

    Moments are in ms since 1970 UTC, ``None`` for ever. ``number`` is its place among the pins of its placement.
    """

    number: int
    piece_id: str
    position: int
    begins: int | None = None
    ends: int | None = None

    def holds_at(self, moment: int) -> bool:
        """Return whether there is the pin at a moment."""
        return (self.begins is None or self.begins <= moment) and (self.ends is None or moment < self.ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """So many pieces at least that a filter holds for are to be among the first ``of`` of a list."""

    matching: AttributeFilter
    at_least: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDemands:
    """What a list is to have beside the best: pins, quotas, and ``most`` pieces with a keyword of some categories.

    Only placements have any. Recommendations take ``most`` from the settings.
    """

    pins: tuple[Pin, ...] = ()
    quotas: tuple[Quota, ...] = ()
    most: tuple[tuple[str, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pins or self.quotas)


NO_DEMANDS = ListDemands()


class SimilarRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for similar content; ``at`` is the last millisecond of a day, or ``None`` for now.

    What people like, where it goes ``by`` that, is as of ``min_audience_version`` of the interactions at least.
    """

    piece_id: str
    take: int = MAX_TAKE
    algorithm: Algorithm | None = None
    catalogs: frozenset[str] | None = None
    matching: AttributeFilter | None = None
    boosts: tuple[Boost, ...] = ()
    at: int | None = None
    exclude: frozenset[str] = frozenset()
    by: Basis = Basis.CONTENT
    diversity: float = 0.0
    demands: ListDemands = NO_DEMANDS
    listed: bytes = b""
    min_audience_version: int = 0


class PlainRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a list that is the same for everybody; ``at`` is as in `SimilarRequest`.

    ``half_life_days`` of ``None`` leaves it to the list.
    """

    take: int = MAX_TAKE
    catalogs: frozenset[str] | None = None
    matching: AttributeFilter | None = None
    boosts: tuple[Boost, ...] = ()
    at: int | None = None
    exclude: frozenset[str] = frozenset()
    half_life_days: int | None = None
    diversity: float = 0.0
    demands: ListDemands = NO_DEMANDS
    listed: bytes = b""
    min_audience_version: int = 0


class PersonalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for recommendations; ``include_seen`` of ``None`` leaves it to the source's settings.

    ``diversity`` from 0 to 1 tells how much pieces are to be unlike each other, ``calibration`` how much the list is to
    keep the shares that keywords of the ``calibration_category`` have of what the person likes. What people like is as
    of ``min_audience_version`` of the interactions at least. ``unhidden`` pieces count as not hidden by the person; no
    request of the interface has any, but remedies are tried out by them. ``sinking`` says by which factor, 1 at most,
    s of a piece is multiplied; only placements have any.
    """

    user_id: str
    take: int = MAX_TAKE
    algorithm: Algorithm | None = None
    catalogs: frozenset[str] | None = None
    matching: AttributeFilter | None = None
    boosts: tuple[Boost, ...] = ()
    at: int | None = None
    include_seen: bool | None = None
    fill: bool = True
    exclude: frozenset[str] = frozenset()
    diversity: float = 0.0
    calibration: float = 0.0
    calibration_category: str = ""
    demands: ListDemands = NO_DEMANDS
    listed: bytes = b""
    sinking: Mapping[str, float] = msgspec.field(default_factory=dict)
    unhidden: frozenset[str] = frozenset()
    min_audience_version: int = 0


class RankRequest(PersonalRequest, frozen=True, kw_only=True):
    """A request for pieces that somebody else chose, in the order of ``content``, ranked for a person.

    ``weight``, from 0 to 1, tells how much the person counts for the order, and the order as given otherwise.
    """

    content: tuple[str, ...]
    weight: float = 1.0


def moment_of(at: int | None, now: int) -> int:
    """Return the moment that a day stands for: its end, but for today the present."""
    return now if at is None or at // DAY_MS == now // DAY_MS else at
