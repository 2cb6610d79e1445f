"""Kinds of lists: a row each, how the ranking of a request is made of its view and of what is known.

A new kind is a class of `ListRanking` and a row, which a package brings by the hook `list_kinds`.
"""

import enum
import functools
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from penchant.hooks import packages
from penchant.live.views import View
from penchant.service.lists.inputs import ListInputs
from penchant.wire import StatedLikings
from penchant_engine.index.people.popularity import HALF_LIFE_DAYS
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.plain import NewRanking, PopularRanking, RepeatRanking
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.reranking import CandidateRanking
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.model import Basis, IndexedPiece


async def rank_similar(
    inputs: ListInputs, view: View, request: ListRequest, unstored: IndexedPiece | None = None
) -> SimilarRanking:
    """Return what is similar to a piece, or to one that is not stored."""
    now, audience = inputs.now(view), None
    if request.by is not Basis.CONTENT:
        audience = await inputs.audience(view, now, request.min_audience_version)
    return SimilarRanking(view, request, now, audience, unstored)


async def rank_personal(
    inputs: ListInputs, view: View, request: ListRequest, likings: StatedLikings | None = None
) -> PersonalRanking:
    """Return what a person may like; with ``likings``, what somebody may like of whom nothing else is known."""
    now = inputs.now(view)
    person = await inputs.person(view, request, now, likings)
    audience = await inputs.audience(view, now, request.min_audience_version)
    return PersonalRanking(view, request, now, person, audience, is_known=likings is None)


async def rank_picks(
    inputs: ListInputs, view: View, request: ListRequest, likings: StatedLikings | None = None
) -> CandidateRanking:
    """Return given pieces in the order in which they suit a person, or that in which they are given, or between."""
    now = inputs.now(view)
    person = await inputs.person(view, request, now, likings)
    audience = await inputs.audience(view, now, request.min_audience_version)
    return CandidateRanking(view, request, now, person, audience, is_known=likings is None)


async def rank_popular(inputs: ListInputs, view: View, request: ListRequest) -> PopularRanking:
    """Return what most people like, each of them counting half after the half-life."""
    now = inputs.now(view)
    audience = await inputs.audience(view, now, request.min_audience_version)
    counts = audience.counts
    if counts_trend(request.half_life_days):
        counts = await inputs.count_likes(view, now, request.half_life_days or 0)
    return PopularRanking(view, request, now, audience, counts)


async def rank_new(inputs: ListInputs, view: View, request: ListRequest) -> NewRanking:
    """Return what became available last."""
    return NewRanking(view, request, inputs.now(view))


async def rank_again(inputs: ListInputs, view: View, request: ListRequest) -> RepeatRanking:
    """Return what a person began or came back to on another day."""
    now = inputs.now(view)
    history = await inputs.history(view, request, now)
    request = replace(request, exclude=request.exclude.union(history.preferences.hidden))
    return RepeatRanking(view, request, now, history.interactions)


def counts_trend(half_life_days: int | None) -> bool:
    """Return whether a half-life of popularity is another than that by which all recommendations go."""
    return half_life_days not in {None, HALF_LIFE_DAYS}


class ListSubject(enum.Enum):
    """What a kind of list is about."""

    NOTHING = enum.auto()
    PIECE = enum.auto()
    ANYBODY = enum.auto()
    """A person, or somebody of whom stated likings alone are known."""
    KNOWN_PERSON = enum.auto()

    @property
    def is_person(self) -> bool:
        """Whether it is a person: then the list leaves out by itself what they have hidden."""
        return self in {ListSubject.ANYBODY, ListSubject.KNOWN_PERSON}


class RankingKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of list: its name, what it is about, and what makes its ranking.

    ``rank`` is called with inputs, a view and a request, about anybody with stated likings, too.
    """

    name: str
    subject: ListSubject
    rank: Callable[..., Awaitable[ListRanking]]


KINDS = (
    RankingKind(name="similar", subject=ListSubject.PIECE, rank=rank_similar),
    RankingKind(name="recommendations", subject=ListSubject.ANYBODY, rank=rank_personal),
    RankingKind(name="popular", subject=ListSubject.NOTHING, rank=rank_popular),
    RankingKind(name="new", subject=ListSubject.NOTHING, rank=rank_new),
    RankingKind(name="again", subject=ListSubject.KNOWN_PERSON, rank=rank_again),
    RankingKind(name="picks", subject=ListSubject.ANYBODY, rank=rank_picks),
)
"""The kinds of the service itself."""


@functools.cache
def list_kinds() -> Mapping[str, RankingKind]:
    """Return all kinds of lists by their names: the service's, then those of packages.

    Raises:
        BrokenPackage: two have the same name.
    """
    return MappingProxyType({each.name: each for each in packages().list_kinds(KINDS)})
