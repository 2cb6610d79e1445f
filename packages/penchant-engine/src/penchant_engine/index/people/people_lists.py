"""People lists: the lists of many people of a table, found together by one kernel, bit by bit those found one by one.

Whose list takes more than the kernel knows is left to who makes it alone: where a number is too large for it, and where
a list comes to pieces that nothing speaks for, which stand in the order of the day.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penchant_engine.index.arrays import over_ranges, run_places, run_sums, starts_of
from penchant_engine.index.compiled import engine
from penchant_engine.index.factors import root_norms
from penchant_engine.index.layout import (
    LENT_BITS,
    NOWHERE,
    SHARE_SCALE,
    BlendFactors,
    BoolArray,
    FloatArray,
    GroupPeople,
    GroupPieces,
    IntArray,
    LikeSeeds,
    Numbers,
    PersonPairs,
)
from penchant_engine.index.masks import Filter
from penchant_engine.index.people.audience import Audience
from penchant_engine.index.people.order import like_factors
from penchant_engine.index.people.personal import roots_in
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.index.people.table import PeopleTable
from penchant_engine.index.people.target_users import blends_of
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.model import RankingSettings

TOGETHER = 1_024
"""People whose pairs and lists are worked on at once: some megabytes."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BatchLists:
    """The lists of ``u`` people, best first, (u, take): rows of pieces, and s in its unit.

    ``lengths`` (u,) says how many there are; what comes after them means nothing. A list of -1 has to be made alone.
    """

    rows: IntArray
    units: IntArray
    lengths: IntArray


class _Pairs(NamedTuple):
    """What some people did with pieces: ``starts`` (u + 1,) cuts the others into people; see `PeopleTable`."""

    starts: IntArray
    rows: Numbers
    values: FloatArray
    grades: IntArray
    ranks: IntArray
    seen: BoolArray


class BatchRecommender:
    """The people of a table over a snapshot of one segment, and what their lists are made from, under some settings.

    ``popular`` is part p, ``blending`` gives the factors of a person who has met so many pieces. Nothing is known here
    of preferences: lists of people who have any are not theirs. Any number of threads may ask; each takes 200 bytes a
    piece, and 160 a term.
    """

    def __init__(
        self,
        people: PeopleTable,
        catalogue: Snapshot,
        settings: RankingSettings,
        audience: Audience,
        popular: Popularity,
        blending: Callable[[int], BlendFactors],
    ) -> None:
        (self._part,) = catalogue.parts
        segment, weights = self._part.segment, audience.weights
        self._people = people
        self._blending = blending
        self._figures = audience.figures
        self._strength = audience.figures.strength(settings.order)
        self._matrix = weights.matrix
        values, after = weights.values, weights.successor_values
        # What a like says of a piece at most, and of one that is liked soon after it.
        self._most = int(np.abs(values).max(initial=0)), int(np.abs(after).max(initial=0))
        rows = weights.rows_of(segment)
        self._pieces = GroupPieces(
            terms=catalogue.piece_terms(settings.category_factors),
            table=roots_in(segment),
            mask=self._part.live,
            weight_rows=np.where(rows < 0, len(weights.ids), rows),
            lacking=np.append(weights.evidence, 0)[rows] / SHARE_SCALE,
            roots=root_norms(segment, settings.category_factors),
            half_mean_norm=catalogue.mean_norm(settings.category_factors) / 2,
            popular=popular.lifted[0],
            stand_ins=weights.stand_ins,
            loan=audience.figures.loan,
        )

    def lists(
        self,
        people: IntArray,
        shown: Filter,
        take: int,
        *,
        fill: bool = True,
        with_seen: bool = False,
        threads: int = 1,
    ) -> BatchLists:
        """Return the lists of people by number; without ``fill`` of what something speaks for alone."""
        size = len(people), take
        keys, rows = np.full(size, NOWHERE if fill else 0, dtype=np.int64), np.full(size, NOWHERE, dtype=np.int64)
        lengths = np.zeros(len(people), dtype=np.int64)
        mask = self._part.allowed(shown).copy()
        mask[self._part.excluded(shown)] = 0
        pieces = self._pieces._replace(mask=mask)

        def search(cut: slice) -> None:
            for begin in range(cut.start, cut.stop, TOGETHER):
                own = slice(begin, min(cut.stop, begin + TOGETHER))
                pairs = self._pairs_of(people[own], with_seen=with_seen)
                lengths[own] = self._search(pairs, pieces, keys[own], rows[own])

        over_ranges(len(people), threads, search)
        return BatchLists(rows=rows, units=-keys, lengths=lengths)

    def _pairs_of(self, people: IntArray, *, with_seen: bool) -> _Pairs:
        table = self._people
        counts = table.starts[people + 1] - table.starts[people]
        own = run_places(table.starts[people], counts)
        seen = np.zeros(len(own), dtype=np.bool_) if with_seen else table.seen[own] > 0
        grades, ranks = table.grades[own].astype(np.int64), table.ranks[own].astype(np.int64)
        return _Pairs(starts_of(counts), table.rows[own], table.values[own], grades, ranks, seen)

    def _search(self, pairs: _Pairs, pieces: GroupPieces, keys: IntArray, rows: IntArray) -> IntArray:
        """Fill keys and rows of lists, so far the limit and nowhere; return the lengths of these."""
        limit, starts = keys[:1, :1].copy(), pairs.starts
        blends = blends_of(np.diff(starts), self._blending)
        # Nothing of people where they do not count.
        like_starts, likes, are_large = self._likes_of(pairs, (pairs.grades > 0) & (blends.audience > 0))
        group = GroupPeople(
            pairs=PersonPairs(starts, pairs.rows, pairs.values),
            like_starts=like_starts,
            likes=likes,
            seen_starts=_starts_among(pairs.seen, starts),
            seen=pairs.rows[pairs.seen],
        )
        left = engine.best_of_many(group, pieces, self._matrix, blends, (keys, rows)) | are_large
        lengths = np.count_nonzero(keys < limit, axis=1)
        last = np.take_along_axis(keys, np.maximum(lengths - 1, 0)[:, None], axis=1)[:, 0]
        return np.where(left | ((lengths > 0) & (last >= 0)), -1, lengths)

    def _likes_of(self, pairs: _Pairs, are_likes: BoolArray) -> tuple[IntArray, LikeSeeds, BoolArray]:
        """Return people's likes, cut by the first, as `Audience` has those of one; and whose sums may be too large."""
        starts = _starts_among(are_likes, pairs.starts)
        grades = self._figures.grades[pairs.grades[are_likes]]
        factors, successor_factors = like_factors(grades, pairs.ranks[are_likes], self._strength, starts)
        most, most_after = self._most
        are_large = run_sums(factors * most + successor_factors * most_after, starts) >> LENT_BITS > 0
        rows = self._pieces.weight_rows[pairs.rows[are_likes]]
        known = rows < len(self._matrix.evidence)
        likes = LikeSeeds(*(each[known] for each in (rows, grades, factors, successor_factors)))
        return _starts_among(known, starts), likes, are_large


def _starts_among(chosen: BoolArray, starts: IntArray) -> IntArray:
    """Return where those chosen of each run begin among all that are chosen, and the end."""
    running: IntArray = starts_of(chosen)[starts]
    return running
