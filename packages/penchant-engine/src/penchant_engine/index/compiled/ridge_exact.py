"""Definitions of the audience part in plain numpy: served until the kernels are compiled, and tested against.

Overlaps are counted as doubles, which hold such integers exactly in any order of additions; all other sums are of
integers, or run in one fixed order.
"""

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.layout import (
    CLOSENESS,
    DIRECT_SCALE,
    LENT_SCALE,
    LIKENESS_SCALE,
    OWN_SCALE,
    PENALTY,
    SHARE_SCALE,
    SUCCESSION_PENALTY,
    TOTAL_BITS,
    WEIGHT_SCALE,
    WINDOW,
    WORD_BITS,
    FloatArray,
    IntArray,
    ItemItemMatrix,
    LikeMatrix,
    LikenessNorms,
    LikeSeeds,
    SparseRows,
)

PEOPLE_AT_ONCE = 1_000
WORD_MASK = (1 << WORD_BITS) - 1
MOST_PEOPLE = 255
"""People of a pair are counted up to so many: a byte holds them."""


def overlap_matrix(likes: LikeMatrix) -> tuple[IntArray, IntArray]:
    """Return G and the people of each pair, both of shape (n_pieces, n_pieces); for small sources."""
    people, pieces = len(likes.person_starts) - 1, len(likes.piece_starts) - 1
    overlaps, counts = np.zeros((pieces, pieces)), np.zeros((pieces, pieces))
    for first in range(0, people, PEOPLE_AT_ONCE):
        last = min(people, first + PEOPLE_AT_ONCE)
        cut = slice(likes.person_starts[first], likes.person_starts[last])
        owners = np.repeat(np.arange(last - first), np.diff(likes.person_starts[first : last + 1]))
        grades = np.zeros((last - first, pieces))
        grades[owners, likes.pieces[cut]] = likes.grades[cut]
        overlaps += grades.T @ grades
        counts += (grades > 0).T.astype(np.float64) @ (grades > 0)
    return overlaps.astype(np.int64), counts.astype(np.int64)


def nearest_pieces(overlaps: IntArray, piece: int, k: int) -> IntArray:
    """Return the k other pieces of greatest G_ij^2 / G_ii above 0, ascending; ties by piece.

    Quotients and remainders of integers are compared; the latter as fractions, which doubles tell apart where no piece
    has more than 2^18 people.
    """
    row, squares = overlaps[piece], np.diag(overlaps)
    others = np.flatnonzero(row > 0)
    others = others[others != piece]
    quotients, rests = np.divmod(row[others] ** 2, squares[others])
    # The last key is the first to decide.
    order = np.lexsort((others, -(rests / squares[others]), -quotients))
    return np.sort(others[order[:k]])


def ridge_weights(overlaps: IntArray, near: IntArray, piece: int) -> IntArray:
    """Return the weights of a piece by neighbour, as integers: Cholesky column by column.

    Each entry loses its products one by one, in ascending order of columns, as the definition's sums do.
    """
    matrix = overlaps[np.ix_(near, near)].astype(np.float64)
    matrix[np.diag_indices(len(near))] += PENALTY
    b = overlaps[piece, near].astype(np.float64)
    # Below the diagonal lies the factor in the end; what stands above it is never read.
    for column in range(len(near)):
        matrix[column, column] = np.sqrt(matrix[column, column])
        below = matrix[column + 1 :, column] / matrix[column, column]
        matrix[column + 1 :, column] = below
        matrix[column + 1 :, column + 1 :] -= below[:, None] * below[None, :]
        b[column] /= matrix[column, column]
        b[column + 1 :] -= below * b[column]
    for row in reversed(range(len(near))):
        for column in range(row + 1, len(near)):
            b[row] -= matrix[column, row] * b[column]
        b[row] /= matrix[row, row]
    weights: IntArray = np.rint(b * WEIGHT_SCALE).astype(np.int64)
    return weights


def stand_ins(
    terms: SparseRows, postings: SparseRows, norms: LikenessNorms, pieces: IntArray, most: int
) -> tuple[IntArray, FloatArray]:
    """Return the likest liked pieces of each of some pieces, and how alike they are; shape (len(pieces), most).

    ``terms`` has the values of a profile by piece, ``postings`` the liked pieces by term. Most alike first, ties of
    twelve decimals by piece; -1 where there are fewer that share a term.
    """
    found = np.full((len(pieces), most), -1, dtype=np.int64)
    likenesses = np.zeros((len(pieces), most))
    for row, piece in enumerate(pieces.tolist()):
        sums = np.zeros(len(norms.roots))
        for entry in range(terms.starts[piece], terms.starts[piece + 1]):
            cut = slice(postings.starts[terms.numbers[entry]], postings.starts[terms.numbers[entry] + 1])
            # A piece is in a posting once, so no addition of this line is lost.
            sums[postings.numbers[cut]] += terms.values[entry] * postings.values[cut]
        sums[piece] = 0.0
        others = np.flatnonzero(sums)
        likeness = sums[others] / (norms.profiles[piece] * (norms.roots[others] + norms.mean / 2))
        order = np.lexsort((others, -np.rint(likeness * LIKENESS_SCALE)))[:most]
        found[row, : len(order)], likenesses[row, : len(order)] = others[order], likeness[order]
    return found, likenesses


def likeness_squares(
    likes: LikeMatrix, starts: IntArray, terms: NDArray[np.uint32], units: IntArray, term_count: int
) -> IntArray:
    """Return by person the square of the sum of the unit vectors of likes times their grades; shape (n_people,)."""
    found = np.zeros(len(likes.person_starts) - 1, dtype=np.int64)
    for person in range(len(found)):
        sums = np.zeros(term_count, dtype=np.int64)
        own = slice(likes.person_starts[person], likes.person_starts[person + 1])
        for piece, grade in zip(likes.pieces[own].tolist(), likes.grades[own].tolist(), strict=True):
            cut = slice(starts[piece], starts[piece + 1])
            sums[terms[cut]] += grade * units[cut]
        found[person] = int((sums * sums).sum())
    return found


def successors(
    likes: LikeMatrix,
    near: NDArray[np.uint32],
    values: NDArray[np.int32],
    people: NDArray[np.uint8],
    totals: IntArray,
) -> None:
    """Fill rows (n, k) of what is liked soon after each piece, and ``totals`` (n, 5), as `order_kernels.successors`."""
    count, most = near.shape
    keys, added = _pairs_in_order(likes, count)
    cells, places = np.unique(keys, return_inverse=True)
    sums, counts = np.zeros(len(cells), dtype=np.int64), np.bincount(places, minlength=len(cells))
    np.add.at(sums, places, added)
    before, after = np.divmod(cells, max(1, count))
    back = np.append(sums, 0)[_found(cells, after * count + before)]
    np.add.at(totals[:, 0], keys // max(1, count), added * added)
    for column, other in ((1, sums), (3, back)):
        for word, amounts in enumerate(_products(sums, other)):
            np.add.at(totals[:, column + word], before, amounts)
    whole = np.zeros(count, dtype=np.int64)
    np.add.at(whole, before, sums)
    for piece in np.flatnonzero(whole).tolist():
        own = np.arange(*np.searchsorted(before, [piece, piece + 1]))
        own = np.sort(own[np.lexsort((after[own], -sums[own]))[:most]])
        divisor = int(whole[piece]) + SUCCESSION_PENALTY
        near[piece, : len(own)] = after[own]
        values[piece, : len(own)] = (2 * WEIGHT_SCALE * sums[own] + divisor) // (2 * divisor)
        people[piece, : len(own)] = np.minimum(counts[own], MOST_PEOPLE)


def _pairs_in_order(likes: LikeMatrix, count: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of likes of which one comes soon after the other, as a x count + b, and what each adds to C."""
    owners = np.repeat(np.arange(len(likes.person_starts) - 1), np.diff(likes.person_starts))
    order = np.lexsort((likes.ranks, owners))
    pieces, ranks, owners = likes.pieces[order].astype(np.int64), likes.ranks[order].astype(np.int64), owners[order]
    grades = likes.grades[order].astype(np.int64)
    keys, added = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    places = likes.person_starts[owners] + ranks
    for step in range(1, WINDOW + 1):
        # Before the likes of its own moment stand those that are later.
        rows = np.flatnonzero(ranks >= step)
        later = places[rows] - step
        distances = ranks[rows] - ranks[later]
        rows, later, distances = (each[distances <= WINDOW] for each in (rows, later, distances))
        keys.append(pieces[rows] * count + pieces[later])
        added.append(np.asarray(CLOSENESS)[distances] * grades[rows] * grades[later])
    return np.concatenate(keys), np.concatenate(added)


def _products(one: IntArray, two: IntArray) -> tuple[IntArray, IntArray]:
    """Return the products of numbers of up to `TOTAL_BITS` as upper and lower words, of which the lower has as many."""
    half = TOTAL_BITS // 2
    mask = (1 << half) - 1
    middle = (one >> half) * (two & mask) + (one & mask) * (two >> half)
    low = (one & mask) * (two & mask) + ((middle & mask) << half)
    return (one >> half) * (two >> half) + (middle >> half) + (low >> TOTAL_BITS), low & ((1 << TOTAL_BITS) - 1)


def _found(ascending: IntArray, wanted: IntArray) -> IntArray:
    """Return the place of each wanted number among ascending ones, their length where it is not there."""
    places = np.searchsorted(ascending, wanted)
    return np.where(np.append(ascending, -1)[places] == wanted, places, len(ascending))


def shares(weights: ItemItemMatrix, seeds: LikeSeeds, loan: float) -> FloatArray:
    """Return part a of all pieces for a person's likes; ``loan`` is L."""
    count = len(weights.starts) - 1
    sums, own = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    own[seeds.rows] = seeds.grades
    for starts, targets, values, factors in (
        (weights.starts, weights.targets, weights.values, seeds.factors),
        (weights.successor_starts, weights.successors, weights.successor_values, seeds.successor_factors),
    ):
        for row, factor in zip(seeds.rows.tolist(), factors.tolist(), strict=True):
            cut = slice(starts[row], starts[row + 1])
            sums[targets[cut]] += factor * values[cut].astype(np.int64)
    stand_ins = np.repeat(np.arange(count), np.diff(weights.lent_starts))
    parts = weights.lent_shares.astype(np.int64)
    lent, lent_highs, liked = np.zeros((3, count), dtype=np.int64)
    # A piece has several stand-ins: `+=` would add one of them alone. What they lend may pass 64 bits.
    np.add.at(lent, weights.borrowers, parts * (sums & WORD_MASK)[stand_ins])
    np.add.at(lent_highs, weights.borrowers, parts * (sums >> WORD_BITS)[stand_ins])
    np.add.at(liked, weights.borrowers, parts * own[stand_ins])
    # Both words are exact as doubles: their sum is rounded once.
    borrowed = lent_highs * float(1 << WORD_BITS) + lent
    evidence = weights.evidence / SHARE_SCALE
    found: FloatArray = sums / DIRECT_SCALE + evidence * (borrowed / LENT_SCALE + loan * (liked / OWN_SCALE))
    return found
