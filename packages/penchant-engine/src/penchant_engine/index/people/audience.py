"""Audience: what requests see of what all people like, at one moment: popularity, and part a for a person's likes.

Immutable but for what it remembers of its own results, which any number of threads may ask for. Part a of one piece for
many people is added up from what a like of each piece says for it (`LikeColumns`).
"""

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.arrays import run_places, run_sums
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import (
    DIRECT_SCALE,
    LENT_SCALE,
    NO_SHARES,
    OWN_SCALE,
    SHARE_SCALE,
    FloatArray,
    IntArray,
    LikeSeeds,
    Numbers,
    SparseShares,
)
from penchant_engine.index.part import Part
from penchant_engine.index.people.item_item import ItemItemModel, LikeRows
from penchant_engine.index.people.order import OwnLikes, like_factors
from penchant_engine.index.people.popularity import Credits, PieceCounts, Popularity, PopularityMeter
from penchant_engine.index.people.shared_audience import SharedAudience
from penchant_engine.index.people.statistics import SourceStatistics
from penchant_engine.index.segment import Segment
from penchant_engine.model import TOP_GRADE, OrderUse

Query = TypeVar("Query")


class LikeColumns:
    """A piece's column of the weights W, those of its stand-ins, and their shares, by the rows of a catalogue.

    Beside W what is liked soon after each piece, T. All are integers, so that part a comes out as `engine.shares` has
    it. A piece that the weights do not know gets nothing from anybody.
    """

    def __init__(self, weights: ItemItemModel, piece_id: str, catalogue: Segment, strength: int) -> None:
        self._loan, self._grades = weights.source_statistics.loan, weights.source_statistics.grades
        self._strength = strength
        self._evidence = 0.0
        # The last entry, 0, is that of pieces without a row, -1.
        columns = np.zeros((5, len(weights.ids) + 1), dtype=np.int64)
        direct, soon, lent, soon_lent, own = columns
        row = weights.ids.find(piece_id)
        if row is not None:
            self._evidence = int(weights.evidence[row]) / SHARE_SCALE
            _add_columns(direct, soon, weights, row, 1)
            for stand_in, share in weights.stand_ins_of(row):
                _add_columns(lent, soon_lent, weights, stand_in, share)
                own[stand_in] += share
        self._direct, self._soon, self._lent, self._soon_lent, self._own = columns[:, weights.rows_of(catalogue)]

    def alike(
        self,
        starts: IntArray,
        rows: Numbers | IntArray,
        weights: NDArray[np.uint8] | IntArray,
        ranks: NDArray[np.uint16] | IntArray,
    ) -> FloatArray:
        """Return part a of the piece for people: ``starts`` (u + 1,) cuts the others into them, 0 is no like.

        ``weights`` are those of likes.
        """
        grades = self._grades[weights]
        factors, successor_factors = like_factors(grades, ranks, self._strength, starts)

        def sums(column: IntArray, soon: IntArray) -> IntArray:
            return run_sums(column[rows] * factors + soon[rows] * successor_factors, starts)

        # What is lent may pass 64 bits. Both words are exact as doubles: their sum is rounded once.
        low = sums(self._lent & _LOW_MASK, self._soon_lent & _LOW_MASK)
        high = sums(self._lent >> _LOW_BITS, self._soon_lent >> _LOW_BITS) + (low >> _LOW_BITS)
        lent = high * float(1 << _LOW_BITS) + (low & _LOW_MASK)
        liked = run_sums(self._own[rows] * grades, starts)
        found: FloatArray = sums(self._direct, self._soon) / DIRECT_SCALE + self._evidence * (
            lent / LENT_SCALE + self._loan * (liked / OWN_SCALE)
        )
        return found


_LOW_BITS = 24
_LOW_MASK = (1 << _LOW_BITS) - 1
"""The lower word of a column: v' of a person add up to 2^26, h g v to 2^30, and a column has 47 bits at most."""


def _add_columns(direct: IntArray, soon: IntArray, weights: ItemItemModel, row: int, factor: int) -> None:
    """Add, by liked piece, so many times what its like says of the piece of a row, and what comes soon after it."""
    for sums, (starts, targets, values, _) in ((direct, weights.spoken), (soon, weights.succeeding)):
        entries = np.flatnonzero(targets == row)
        owners = np.searchsorted(starts, entries, side="right") - 1
        # A like says one thing of a piece, so no owner comes twice.
        sums[owners] += factor * values[entries].astype(np.int64)


CONTENT_ALONE = 255
"""The people of a share that comes from the person's own like alone, and so reveals nobody else's."""


class LikeShare(NamedTuple):
    """How much of a piece's part a is owed to a like, and how many people like both pieces of its weight.

    ``through`` is the stand-in by which it came, ``None`` for none. A like of the stand-in itself tells of nobody else.
    ``is_soon_after``: people like the piece soon after this one.
    """

    id: str
    share: float
    people: int
    through: str | None = None
    is_soon_after: bool = False


class Audience:
    """What all people like, as of ``version`` of the interactions for part a, and as counted last for popularity."""

    def __init__(self, counts: PieceCounts | None, weights: ItemItemModel, version: int = 0) -> None:
        self.counts = counts
        self._weights = weights
        self.version = version
        self._popular: tuple[Sequence[Part], Hashable, Popularity] | None = None
        self._meter: tuple[Sequence[Part], Hashable, PopularityMeter] | None = None
        self._shares: tuple[LikeSeeds, Sequence[Part], tuple[SparseShares, ...]] | None = None
        """Part a of who asked last: the rows of a page, and the pages of a list, are asked for by one person."""
        self._query: tuple[Hashable, Any] | None = None
        """What the list of who asked last was searched by."""

    def recounted(self, counts: PieceCounts | None) -> "Audience":
        """Return the audience with other counts: what changes little is measured on from these."""
        other = copy.copy(self)
        other.counts, other._popular, other._query = counts, None, None  # noqa: SLF001  # the same class
        return other

    @property
    def weights(self) -> ItemItemModel:
        """What a like of each piece says of others."""
        return self._weights

    @property
    def figures(self) -> SourceStatistics:
        """The figures of the source."""
        return self._weights.source_statistics

    def popular(self, parts: Sequence[Part], moment: tuple[int, float], credits_by_age: Credits) -> Popularity:
        """Return part p for the parts of a snapshot, on a UTC day under a half-life of new pieces.

        ``credits_by_age`` is asked where these were not asked for last.
        """
        # Parts by identity: a new snapshot has new ones.
        known = self._popular
        if known is None or known[0] is not parts or known[1] != moment:
            meter = self._meter
            if meter is None or meter[0] is not parts or meter[1] != moment:
                floors = self._floors(parts, moment[0], credits_by_age())
                meter = self._meter = (parts, moment, PopularityMeter(parts, floors, self.figures.evenness))
            none = [np.zeros(len(part.segment)) for part in parts]
            people = none if self.counts is None else self.counts.by_part(parts, self.figures.grades)
            known = self._popular = (parts, moment, meter[2].measure(people))
        return known[2]

    def _floors(self, parts: Sequence[Part], today: int, credits_by_age: FloatArray) -> list[FloatArray]:
        """Return by part what pieces' shares are at least, in times of the median: their start credits."""
        # The last entry, 1, is that of pieces without a row, -1.
        evidence = np.append(self._weights.evidence, SHARE_SCALE) / SHARE_SCALE
        floors = []
        for part in parts:
            ages = np.clip(today - part.segment.days.astype(np.int64), 0, len(credits_by_age) - 1)
            floors.append(evidence[self._weights.rows_of(part.segment)] * credits_by_age[ages])
        return floors

    def alike(self, parts: Sequence[Part], likes: OwnLikes, use: OrderUse) -> tuple[SparseShares, ...]:
        """Return part a for the parts of a snapshot, of those pieces that have any, for what a person likes."""
        seeds = self._seeds(parts, likes, use)
        if not len(seeds.rows):
            return (NO_SHARES,) * len(parts)
        # Read once, since another thread may put somebody else there.
        last = self._shares
        if last is None or last[0] is not seeds or last[1] is not parts:
            shares = engine.shares(self._weights.matrix, seeds, self.figures.loan)
            found = tuple(self._weights.shares_in(part.segment, shares) for part in parts)
            last = self._shares = seeds, parts, found
        return last[2]

    def query_of(self, asked: Hashable, make: Callable[[], Query]) -> Query:
        """Return the query that lists are searched by, made anew where something else was asked for last."""
        last = self._query
        if last is None or last[0] != asked:
            last = self._query = asked, make()
        query: Query = last[1]
        return query

    def shared_with(self, piece_id: str) -> SharedAudience:
        """Return what likes of one piece say of all others."""
        return SharedAudience(self._weights, piece_id)

    def likes_for(self, piece_id: str, catalogue: Segment, use: OrderUse) -> LikeColumns:
        """Return what a like of each piece of a catalogue says for one piece."""
        return LikeColumns(self._weights, piece_id, catalogue, self.figures.strength(use))

    def isolate(self) -> "Audience":
        """Return a copy with a memory of its own, for single questions: they displace nothing remembered for lists."""
        other = copy.copy(self)
        other._popular = other._meter = other._shares = other._query = None  # noqa: SLF001  # the same class
        return other

    def like_shares_of(self, parts: Sequence[Part], likes: OwnLikes, use: OrderUse) -> Callable[[str], list[LikeShare]]:
        """Return a function that gives, by piece id, the shares of likes in its part a: greatest first, none of 0.

        A like has a share for what it says of a piece, and one where people like that soon after it.
        """
        weights = self._weights
        seeds = self._seeds(parts, likes, use)
        own = dict(zip(seeds.rows.tolist(), seeds.grades.tolist(), strict=True))
        spoken = _SpokenShares(weights.spoken, seeds.rows, seeds.factors)
        following = seeds.successor_factors > 0
        soon = _SpokenShares(weights.succeeding, seeds.rows[following], seeds.successor_factors[following])

        def direct(row: int, factor: float, through: str | None) -> list[LikeShare]:
            # What the likes say of this row, as much of it as the factor lets through.
            return [
                LikeShare(weights.ids[liked], amount / DIRECT_SCALE * factor, people, through, is_soon_after)
                for is_soon_after, each in ((False, spoken), (True, soon))
                for liked, amount, people in each.of_row(row)
            ]

        def owed(piece_id: str) -> list[LikeShare]:
            row = weights.ids.find(piece_id)
            if row is None:
                return []
            shares = direct(row, 1.0, None)
            evidence = int(weights.evidence[row]) / SHARE_SCALE
            for other, share in weights.stand_ins_of(row):
                part = evidence * share / SHARE_SCALE
                name = weights.ids[other]
                shares += direct(other, part, name)
                if other in own:
                    lent = part * self.figures.loan * own[other] / TOP_GRADE
                    shares.append(LikeShare(name, lent, CONTENT_ALONE, name))
            return sorted((each for each in shares if each.share), key=lambda each: (-each.share, each.id))

        return owed

    def _seeds(self, parts: Sequence[Part], likes: OwnLikes, use: OrderUse) -> LikeSeeds:
        """Return those likes whose pieces have weights, and what each of them counts among all of the person."""
        strength, remembered = self.figures.strength(use), likes.seeds
        if remembered is not None and remembered[0]() is self._weights and remembered[1] == strength:
            return remembered[2]
        known = [self._weights.rows_of(part.segment)[own] for part, own in zip(parts, likes.rows, strict=True)]
        rows, weights, ranks = (np.concatenate([_NO_ROWS, *each]) for each in (known, likes.grades, likes.ranks))
        grades = self.figures.grades[weights]
        factors = like_factors(grades, ranks, strength)
        has_weights = rows >= 0
        seeds = LikeSeeds(*(each[has_weights] for each in (rows, grades, *factors)))
        # With the person, who comes again with the same likes; weakly, since weights are many times as large.
        likes.seeds = ref(self._weights), strength, seeds
        return seeds


class _SpokenShares:
    """What each of some likes says of other pieces: entries of their rows times the likes' factors, by target."""

    def __init__(self, by_like: LikeRows, rows: IntArray, factors: IntArray) -> None:
        # The runs of all liked rows, one after the other, as indexes into the arrays; the owner of an entry is the like
        # that it belongs to.
        counts = by_like.starts[rows + 1] - by_like.starts[rows]
        owners = np.repeat(np.arange(len(rows)), counts)
        entries = run_places(by_like.starts[rows], counts)
        # By target, so that the entries of any piece are one slice.
        order = np.argsort(by_like.targets[entries], kind="stable")
        owners, entries = owners[order], entries[order]
        self._targets, self._liked, self._people = by_like.targets[entries], rows[owners], by_like.people[entries]
        self._amounts = factors[owners] * by_like.values[entries].astype(np.int64)

    def of_row(self, row: int) -> Iterable[tuple[int, int, int]]:
        """Return what likes say of a piece: the row of each, how much, and how many people it is from."""
        cut = slice(*np.searchsorted(self._targets, [row, row + 1]).tolist())
        return zip(self._liked[cut].tolist(), self._amounts[cut].tolist(), self._people[cut].tolist(), strict=True)


_NO_ROWS = np.zeros(0, dtype=np.int64)
