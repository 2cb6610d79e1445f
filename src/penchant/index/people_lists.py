"""People lists: the lists of many people at once, by a compiled kernel, where all may show the same pieces."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.index import engine
from penchant.index.arrays import starts_of
from penchant.index.engine import ListArrays
from penchant.index.factors import root_norms
from penchant.index.layout import (
    LANES,
    NOWHERE,
    SHARE_SCALE,
    BlendFactors,
    BoolArray,
    FloatArray,
    IntArray,
    ListFigures,
    ListRoom,
    PersonBlends,
    PersonPairs,
    PieceTerms,
    StandIns,
)
from penchant.index.masks import Filter
from penchant.index.people import PeopleTable
from penchant.index.personal import ROOTS
from penchant.index.segment import Segment
from penchant.index.snapshot import Snapshot
from penchant.index.weights import AudienceWeights, rarities_of
from penchant.model import SourceSettings


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ManyListsSpec:
    """What many lists are made of; ``blending`` gives the factors of a person who has met so many pieces."""

    shown: Filter
    settings: SourceSettings
    excludes_seen: bool
    popular: FloatArray
    blending: Callable[[int], BlendFactors]


class FoundLists(NamedTuple):
    """Lists of people: rows of the segment, best first, and scores in their unit, shapes (n, take).

    Of ``lengths`` (n,) places of a list the others mean nothing. Lists that are ``inexact`` (n,) have to be made in
    another way.
    """

    rows: IntArray
    units: IntArray
    lengths: IntArray
    inexact: BoolArray


class PeopleLists:
    """The lists of the people of a table, over a snapshot of the table's segment, whose rows the weights have, too."""

    def __init__(
        self, people: PeopleTable, snapshot: Snapshot, weights: AudienceWeights, wanted: ManyListsSpec
    ) -> None:
        (part,) = snapshot.parts
        segment, settings = part.segment, wanted.settings
        mask = part.allowed(wanted.shown).copy()
        mask[part.excluded(wanted.shown)] = 0
        roots, mean = root_norms(segment, settings.category_weights), snapshot.mean_norm(settings.category_weights)
        divisors = roots + mean / 2
        self._blending = wanted.blending
        self._arrays = ListArrays(
            pairs=_pairs(people),
            terms=terms_by_piece(segment, settings),
            weights=weights.matrix,
            stand_ins=_stand_ins(weights),
            blends=blends_of(np.diff(people.starts), wanted.blending),
            figures=ListFigures(
                roots=roots,
                shares=np.divide(1.0, divisors, out=np.zeros_like(roots), where=divisors > 0),
                popular=wanted.popular,
                mask=mask,
                mean_norm=mean,
                loan=weights.source_figures.loan,
                excludes_seen=int(wanted.excludes_seen),
            ),
            room=_room(len(segment), len(segment.terms)),
        )

    def among(self, people: PeopleTable) -> "PeopleLists":
        """Return the lists of other people of the same segment; both work in the same room, one after the other."""
        other = copy.copy(self)
        other._arrays = self._arrays._replace(  # noqa: SLF001  # the same class
            pairs=_pairs(people), blends=blends_of(np.diff(people.starts), self._blending)
        )
        return other

    def find(self, begin: int, end: int, take: int) -> FoundLists | None:
        """Return the lists of people from one number up to another, or ``None`` where the kernel is not ready."""
        found = engine.lists(self._arrays, begin, end, take)
        if found is None:
            return None
        keys, rows, inexact = found
        return FoundLists(rows, -keys, np.count_nonzero(rows != NOWHERE, axis=1), inexact)


def _pairs(people: PeopleTable) -> PersonPairs:
    return PersonPairs(people.starts, people.rows, people.values, people.grades, people.seen)


def terms_by_piece(segment: Segment, settings: SourceSettings) -> PieceTerms:
    """Return the terms of a segment's pieces as kernels of many people take them."""
    factors = [float(settings.category_weights.get(name, 1)) for name in segment.category_names]
    return PieceTerms(
        starts=segment.starts,
        terms=segment.piece_terms,
        weights=segment.piece_weights,
        rarities=rarities_of(np.diff(segment.posting_starts), len(segment)),
        factors=np.asarray(factors, dtype=np.float64)[segment.category_of],
        table=ROOTS,
    )


def blends_of(met: IntArray, blending: Callable[[int], BlendFactors]) -> PersonBlends:
    """Return the factors of people who have met so many pieces each."""
    met, places = np.unique(met, return_inverse=True)
    factors = [blending(each) for each in met.tolist()] or [blending(0)]
    table: NDArray[Any] = np.asarray([(each.content, each.total) for each in factors], dtype=np.float64)
    contents, totals = np.ascontiguousarray(table[places].T)
    return PersonBlends(contents, totals, factors[0].audience, factors[0].popularity)


def _stand_ins(weights: AudienceWeights) -> StandIns:
    """Return what the weights have by stand-in by the piece that it stands in for."""
    rows = np.repeat(np.arange(len(weights.ids)), np.diff(weights.lent_starts))
    order = np.argsort(weights.borrowers, kind="stable")
    return StandIns(
        starts=starts_of(np.bincount(weights.borrowers, minlength=len(weights.ids))),
        rows=rows[order].astype(np.uint32),
        shares=weights.lent_shares[order].astype(np.float64),
        evidence=weights.evidence / SHARE_SCALE,
    )


def _room(pieces: int, terms: int) -> ListRoom:
    by_term, by_lane = np.zeros((3, terms)), _vectors(6).reshape(6, LANES)
    return ListRoom(
        highs=by_term[0],
        lows=by_term[1],
        scores=by_term[2],
        numbers=np.zeros(terms, dtype=np.int64),
        bits=np.zeros(terms // 32 + 1, dtype=np.uint32),
        taste=_vectors(terms),
        sums=_vectors(pieces),
        liked=_vectors(pieces),
        dots=by_lane[0],
        lent=by_lane[1],
        alike=by_lane[2],
        factors=by_lane[3],
        norms=by_lane[4],
        least=by_lane[5],
        cursors=np.zeros(LANES, dtype=np.int64),
    )


def _vectors(count: int) -> FloatArray:
    """Return so many vectors of zeros, each within a line of the cache: across two of them takes two loads."""
    room = np.zeros((count + 1) * LANES)
    begin = -(room.ctypes.data // room.itemsize) % LANES
    return room[begin : begin + count * LANES]
