"""Audience weights: what a like of each piece says of others, and the stand-ins of pieces of little evidence.

Made from the likes of all people and one catalogue (interface, section 6): integers in, a fixed order, integers out. So
the same likes give the same bytes on every node, and a person who is erased was never there.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from penchant_engine.computed import computed
from penchant_engine.index.arrays import starts_of
from penchant_engine.index.compiled import engine
from penchant_engine.index.factors import rarities_of, root_norms, values_of
from penchant_engine.index.layout import (
    SHARE_SCALE,
    FloatArray,
    IntArray,
    ItemItemMatrix,
    LikeMatrix,
    LikenessNorms,
    SparseRows,
    SparseShares,
    StandIns,
)
from penchant_engine.index.people.likes import like_matrix
from penchant_engine.index.people.order import successor_rows
from penchant_engine.index.people.statistics import FullLike, SourceStatistics, figures_of
from penchant_engine.index.records import ArrayMembers
from penchant_engine.index.segment import Segment, sums_by_piece
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings, rows_in
from penchant_engine.model import LARGE_SOURCE

NEIGHBOURS, NEIGHBOURS_OF_LARGE = 80, 50
"""Neighbours of a piece at most, in a source of fewer than `LARGE_SOURCE` pieces, and in a larger one."""
STAND_INS = 10
FEW_PEOPLE = 50
"""A piece that fewer people like has stand-ins."""
EVIDENCE = 3
"""The people after whom stand-ins count half as much."""
SMALL_SEGMENT = 16
"""Of a segment with so many times fewer pieces than there are weights its own are looked up, not those with shares."""
BLOCK_BYTES = 512 << 20
"""Memory for triangles: a block has as many pieces as fit, and adds up the rows of all its neighbours once more."""


class LikeRows(NamedTuple):
    """By liked piece others, ascending, with a value in `WEIGHT_SCALE` and the people behind it, up to 255."""

    starts: IntArray
    targets: NDArray[np.uint32]
    values: NDArray[np.int32]
    people: NDArray[np.uint8]


class StandInQuery(NamedTuple):
    """The pieces (m,) that want stand-ins, and what tells how alike pieces are, as `engine.stand_ins` takes it."""

    terms: SparseRows
    postings: SparseRows
    norms: LikenessNorms
    pieces: IntArray


FoundStandIns = tuple[IntArray, FloatArray]
"""Of each piece that wants them its stand-ins, -1 for none, and how alike they are; shapes (m, `STAND_INS`)."""
StandInSearch = Callable[[StandInQuery], FoundStandIns | None]
"""Has the stand-ins found elsewhere, the same to the bit; ``None`` where nobody there finds them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemItemModel(ArrayMembers):
    """The weights of ``n`` pieces, whose ``ids`` ascend; see `layout.ItemItemMatrix` for the arrays it takes over.

    ``people`` (w,) tells beside each of ``values`` how many people like both pieces, up to 255, ``successor_people``
    beside each of ``successor_values`` how many like one soon after the other. ``figures`` (11,) are the members of
    `SourceStatistics` in their order.
    """

    ids: Strings
    starts: IntArray
    targets: NDArray[np.uint32]
    values: NDArray[np.int32]
    people: NDArray[np.uint8]
    lent_starts: IntArray
    borrowers: NDArray[np.uint32]
    lent_shares: NDArray[np.int32]
    evidence: NDArray[np.int32]
    successor_starts: IntArray
    successors: NDArray[np.uint32]
    successor_values: NDArray[np.int32]
    successor_people: NDArray[np.uint8]
    figures: IntArray
    # A segment is found by identity, and what is kept of it goes when it does.
    _rows: WeakKeyDictionary[Segment, IntArray] = field(init=False, default_factory=WeakKeyDictionary)
    _places: WeakKeyDictionary[Segment, NDArray[np.int32] | None] = field(init=False, default_factory=WeakKeyDictionary)

    @classmethod
    def none(cls) -> "ItemItemModel":
        """Return the weights of a source before the first ones are made."""
        return fit_item_item(no_likes(), Snapshot.empty().merged(), {})

    @computed
    def source_statistics(self) -> SourceStatistics:
        """The figures of the source."""
        names = [each.name for each in structs.fields(SourceStatistics)]
        return SourceStatistics(**dict(zip(names, self.figures.tolist(), strict=True)))

    @computed
    def matrix(self) -> ItemItemMatrix:
        """The arrays that kernels take."""
        return ItemItemMatrix(
            self.starts,
            self.targets,
            self.values,
            self.lent_starts,
            self.borrowers,
            self.lent_shares,
            self.evidence,
            self.successor_starts,
            self.successors,
            self.successor_values,
        )

    @computed
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def spoken(self) -> LikeRows:
        """What a like of each piece says of others, W."""
        return LikeRows(self.starts, self.targets, self.values, self.people)

    @property
    def succeeding(self) -> LikeRows:
        """What is liked soon after each piece, T."""
        return LikeRows(self.successor_starts, self.successors, self.successor_values, self.successor_people)

    @computed
    def stand_ins(self) -> StandIns:
        """The stand-ins of each piece."""
        order = np.argsort(self.borrowers, kind="stable")
        owners = np.repeat(np.arange(len(self.ids), dtype=np.uint32), np.diff(self.lent_starts))
        starts = starts_of(np.bincount(self.borrowers, minlength=len(self.ids) + 1))
        return StandIns(starts, owners[order], self.lent_shares[order])

    def stand_ins_of(self, row: int) -> Iterator[tuple[int, int]]:
        """Return the stand-ins of a piece and their shares; looks through those of all pieces."""
        entries = np.flatnonzero(self.borrowers == row)
        stand_ins = np.searchsorted(self.lent_starts, entries, side="right") - 1
        return zip(stand_ins.tolist(), self.lent_shares[entries].tolist(), strict=True)

    def rows_of(self, segment: Segment) -> IntArray:
        """Return the row of each of a segment's pieces, -1 for those without; found once for each."""
        rows = self._rows.get(segment)
        if rows is None:
            rows = self._rows[segment] = rows_in(self.ids, segment.ids)
        return rows

    def shares_in(self, segment: Segment, shares: SparseShares) -> SparseShares:
        """Return shares by row of these weights as those of a segment's pieces."""
        if len(segment) * SMALL_SEGMENT < len(self.ids):
            wanted = self.rows_of(segment)
            found = np.searchsorted(shares.rows, wanted)
            rows = np.flatnonzero(np.append(shares.rows, -2)[found] == wanted)
            return SparseShares(rows, shares.values[found[rows]])
        all_places = self._places_in(segment)
        if all_places is None:
            return shares
        places = all_places[shares.rows]
        # By number: a mask costs five times as much. Both are in the order of ids, so these rows ascend as well.
        known = np.flatnonzero(places >= 0)
        return SparseShares(places[known].astype(np.int64), shares.values[known])

    def _places_in(self, segment: Segment) -> NDArray[np.int32] | None:
        """Return the row in a segment of each piece, -1 for those that it has not; found once for each.

        ``None`` where it has these very pieces, and so the same rows.
        """
        with contextlib.suppress(KeyError):
            return self._places[segment]
        rows, places = self.rows_of(segment), None
        found = np.flatnonzero(rows >= 0)
        if not len(found) == len(rows) == len(self.ids):
            places = np.full(len(self.ids), -1, dtype=np.int32)
            places[rows[found]] = found
        self._places[segment] = places
        return places


def no_likes(piece_count: int = 0) -> LikeMatrix:
    """Return a matrix without likes."""
    none = np.zeros(0, dtype=np.int64)
    return like_matrix(none, none, none.astype(np.uint8), piece_count)


def fit_item_item(
    likes: LikeMatrix,
    catalogue: Segment,
    category_weights: Mapping[str, float],
    *,
    k: int | None = None,
    threads: int = 1,
    elsewhere: StandInSearch = lambda _query: None,
) -> ItemItemModel:
    """Return the weights that likes of a catalogue's pieces, by weight, give; ``k``: so many neighbours has a piece.

    Stand-ins, most of the work of a large catalogue, are found ``elsewhere`` where that can be.

    Takes 1 to 3 s for 10,000 pieces and half a million likes once the kernels are compiled. The bytes are the same in
    any number of ``threads``.
    """
    count = len(catalogue)
    if k is None:
        k = NEIGHBOURS_OF_LARGE if count >= LARGE_SOURCE else NEIGHBOURS
    graded = FullLike.of(likes).grade(likes)
    # First: its rows take more memory than what is kept of them.
    after = successor_rows(graded, threads=threads)
    near, weights, people = _solved(graded, count, k, threads)
    values = values_of(catalogue, category_weights)
    rarities = rarities_of(np.diff(catalogue.posting_starts), count)
    liked_by = np.diff(likes.piece_starts)
    numbers = figures_of(likes, catalogue, values, rarities, direction=after.direction, threads=threads)
    query = _stand_in_query(catalogue, values, rarities, liked_by, category_weights)
    found = elsewhere(query) or engine.stand_ins(*query, STAND_INS, threads=threads)
    return ItemItemModel(
        ids=catalogue.ids,
        **_transposed(near, weights, people),
        **_stood_in(count, query.pieces, *found),
        evidence=np.rint(EVIDENCE / (EVIDENCE + liked_by) * SHARE_SCALE).astype(np.int32),
        successor_starts=after.starts,
        successors=after.pieces,
        successor_values=after.values,
        successor_people=after.people,
        figures=np.asarray([getattr(numbers, each.name) for each in structs.fields(SourceStatistics)], dtype=np.int64),
    )


def _solved(likes: LikeMatrix, count: int, k: int, threads: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return by piece its neighbours, ascending, -1 for none, their weights and people; shapes (n_pieces, k)."""
    # G_ii. A triangle has k (k + 1) / 2 entries of four bytes.
    squares = np.zeros(count, dtype=np.int64)
    owners = np.repeat(np.arange(count), np.diff(likes.piece_starts))
    np.add.at(squares, owners, likes.piece_grades.astype(np.int64) ** 2)
    return engine.ridge_rows(likes, squares, k, max(1, BLOCK_BYTES // (2 * k * (k + 1))), threads=threads)


def _transposed(near: NDArray[Any], weights: NDArray[Any], people: NDArray[Any]) -> dict[str, Any]:
    """Return the weights by liked piece instead of by the piece that they speak for; none of 0.

    Made by piece j, a row has what likes of its neighbours say of j; a request comes with likes and needs for each of
    them all that it says: the columns, in which the pieces j ascend.
    """
    # Where there is no neighbour, -1, the weight is 0: no such entry is left here.
    rows, columns = np.nonzero(weights)
    sources = near[rows, columns]
    order = np.lexsort((rows, sources))
    rows, columns = rows[order], columns[order]
    return {
        "starts": starts_of(np.bincount(sources, minlength=len(near))),
        "targets": rows.astype(np.uint32),
        "values": weights[rows, columns].astype(np.int32),
        "people": people[rows, columns].astype(np.uint8),
    }


def _stand_in_query(
    catalogue: Segment,
    values: FloatArray,
    rarities: FloatArray,
    liked_by: IntArray,
    category_weights: Mapping[str, float],
) -> StandInQuery:
    """Return what asks for the stand-ins of the pieces that few people like.

    A piece with few likes is the profile (f x), liked pieces are what it is compared with (x): content likeness as for
    a person (interface, section 6).
    """
    terms = _rows(catalogue.starts, catalogue.piece_terms, values * rarities[catalogue.piece_terms])
    # The order in which the segment made its postings, so that these values lie beside `posting_pieces`.
    by_term = np.argsort(catalogue.piece_terms, kind="stable")
    liked = (liked_by > 0)[catalogue.posting_pieces]
    postings = _rows(catalogue.posting_starts, catalogue.posting_pieces, np.where(liked, values[by_term], 0.0))
    profile = values * rarities[catalogue.piece_terms]
    norms = LikenessNorms(
        profiles=np.sqrt(sums_by_piece(profile * profile, catalogue.starts)),
        roots=root_norms(catalogue, category_weights),
        mean=Snapshot.of_segment(catalogue).mean_norm(category_weights),
    )
    return StandInQuery(terms, postings, norms, np.flatnonzero(liked_by < FEW_PEOPLE))


def _stood_in(count: int, pieces: IntArray, found: IntArray, likenesses: FloatArray) -> dict[str, Any]:
    """Return the pieces that each of ``count`` pieces stands in for, and the shares.

    By the stand-in, since most people's likes say something of few pieces, and what these lend is all there is to add.
    """
    # With the half, shares add up to less than 1, and to little where no piece is much alike.
    shares = np.rint(likenesses / (likenesses.sum(axis=1, keepdims=True) + 0.5) * SHARE_SCALE).astype(np.int32)
    rows, columns = np.nonzero((found >= 0) & (shares > 0))
    stand_ins = found[rows, columns]
    order = np.argsort(stand_ins, kind="stable")
    return {
        "lent_starts": starts_of(np.bincount(stand_ins, minlength=count)),
        "borrowers": pieces[rows][order].astype(np.uint32),
        "lent_shares": shares[rows, columns][order],
    }


def _rows(starts: IntArray, numbers: NDArray[np.uint32], values: FloatArray) -> SparseRows:
    """Return rows without their entries of 0."""
    kept = values > 0
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return SparseRows(starts_of(np.bincount(owners[kept], minlength=len(starts) - 1)), numbers[kept], values[kept])
