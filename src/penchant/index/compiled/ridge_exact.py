"""Definitions of the audience part in plain numpy: served until the kernels are compiled, and tested against.

Overlaps are counted as doubles, which hold such integers exactly in any order of additions; all other sums are of
integers, or run in one fixed order.
"""

import numpy as np
from numpy.typing import NDArray

from penchant.index.layout import (
    DIRECT_SCALE,
    LENT_SCALE,
    LIKENESS_SCALE,
    OWN_SCALE,
    PENALTY,
    SHARE_SCALE,
    WEIGHT_SCALE,
    FloatArray,
    IntArray,
    LikeMatrix,
    LikenessNorms,
    SparseRows,
    WeightMatrix,
)

PEOPLE_AT_ONCE = 1_000
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
    """Return by person the square of the sum of the unit vectors of what the person likes; shape (n_people,)."""
    found = np.zeros(len(likes.person_starts) - 1, dtype=np.int64)
    for person in range(len(found)):
        sums = np.zeros(term_count, dtype=np.int64)
        for piece in likes.pieces[likes.person_starts[person] : likes.person_starts[person + 1]].tolist():
            cut = slice(starts[piece], starts[piece + 1])
            sums[terms[cut]] += units[cut]
        found[person] = int((sums * sums).sum())
    return found


def shares(weights: WeightMatrix, seeds: IntArray, grades: IntArray, loan: float) -> FloatArray:
    """Return part a of all pieces for a person's likes, given by piece and grade; ``loan`` is L."""
    count = len(weights.starts) - 1
    sums, own = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    own[seeds] = grades
    for seed, grade in zip(seeds.tolist(), grades.tolist(), strict=True):
        cut = slice(weights.starts[seed], weights.starts[seed + 1])
        sums[weights.targets[cut]] += grade * weights.values[cut].astype(np.int64)
    stand_ins = np.repeat(np.arange(count), np.diff(weights.lent_starts))
    parts = weights.lent_shares.astype(np.int64)
    lent, liked = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    # A piece has several stand-ins: `+=` would add one of them alone.
    np.add.at(lent, weights.borrowers, parts * sums[stand_ins])
    np.add.at(liked, weights.borrowers, parts * own[stand_ins])
    evidence = weights.evidence / SHARE_SCALE
    found: FloatArray = sums / DIRECT_SCALE + evidence * (lent / LENT_SCALE + loan * (liked / OWN_SCALE))
    return found
