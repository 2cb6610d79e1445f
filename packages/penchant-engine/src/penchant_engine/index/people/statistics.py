"""Figures of a source: how much its popularity and its keywords say of what people like, from likes and catalogue.

See interface, section 6. All sums are of integers, so that the figures are the same wherever they are made.
"""

import math
import operator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from penchant_engine.index.arrays import exact_sum, run_sums
from penchant_engine.index.compiled import engine
from penchant_engine.index.factors import unit_vectors
from penchant_engine.index.layout import FloatArray, IntArray, LikeMatrix
from penchant_engine.index.segment import Segment
from penchant_engine.model import TOP_GRADE, OrderUse

LEAST_EVENNESS = Fraction(1, 64)
PRIOR_TELLING, PRIOR_LIKES = Fraction(3, 2), 50
"""The value of telling before there are likes, and the number of likes after which it weighs one half."""
LEAST_KAPPA, GREATEST_KAPPA = Fraction(1, 4), Fraction(6)
HUNDREDTHS, MILLIONTHS = 100, 1_000_000
CONTENT_LEAD = 1.5
"""How much content leads in a source without likes, in units of kappa."""
DENSITY_SQUARE = 100
"""With as many likes for each piece as the root of this, half of that lead is left."""
MOST_FULL_LIKES = 20
"""Nobody counts for more full likes than this in what keywords tell: one person who likes at random moves little."""
OWN_LOAN, LOAN_LIKES = 0.3, 500
"""How much a person's own like of a stand-in counts at most, and after how many likes a half, at a kappa of 1."""


class FullLike(NamedTuple):
    """What a full like is in a source: the mean weight of the heavier half of its likes, as their sum and number."""

    weight: int = TOP_GRADE
    likes: int = 1

    @classmethod
    def of(cls, likes: LikeMatrix) -> "FullLike":
        """Return the full like of a source's likes by weight, U over H; the default where there are none."""
        half = -(-len(likes.pieces) // 2)
        if not half:
            return cls()
        left, total = half, 0
        for weight, count in reversed(list(enumerate(np.bincount(likes.grades).tolist()))):
            taken = min(left, count)
            total, left = total + weight * taken, left - taken
        return cls(total, half)

    @property
    def grades(self) -> IntArray:
        """The grades v by weight u, from 0 for no like to `TOP_GRADE`; shape (17,), never written to."""
        return _grades(self)

    def grade(self, likes: LikeMatrix) -> LikeMatrix:
        """Return likes by weight as likes by grade."""
        if self.weight == TOP_GRADE * self.likes:
            return likes
        grades = self.grades.astype(np.uint8)
        return likes._replace(grades=grades[likes.grades], piece_grades=grades[likes.piece_grades])


@lru_cache(maxsize=1024)
def _grades(full: FullLike) -> IntArray:
    weights = range(1, TOP_GRADE + 1)
    found = (max(1, (2 * TOP_GRADE * each * full.likes + full.weight) // (2 * full.weight)) for each in weights)
    return np.asarray([0, *(min(TOP_GRADE, each) for each in found)], dtype=np.int64)


class SourceStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The figures that a source's likes give, as integers: likes, pieces, and pairs of people who like a same piece.

    ``worth`` is how many full likes the likes are worth, N; ``full_total`` over ``full_count`` is the full like.
    ``kappa`` is in hundredths, ``telling`` (lambda, for people to read) in millionths. The defaults are those of a
    source before its first weights. ``direction`` (eta) is in `DIRECTION_SCALE`, 0 where it is less; ``gaps`` are the
    differences above 0 between moments of people's neighbouring likes, ``commonest_gaps`` those of the commonest value.
    """

    likes: int = 0
    worth: int = 0
    full_total: int = TOP_GRADE
    full_count: int = 1
    pieces: int = 0
    pairs: int = 0
    kappa: int = 125
    telling: int = 1_500_000
    direction: int = 0
    gaps: int = 0
    commonest_gaps: int = 0

    @property
    def evenness(self) -> float:
        """Phi: 1 where popularity is more uneven than chance, less where it is not."""
        if not self.pieces or not self.likes:
            return 1.0
        # E: the pairs that as many likes would make if each fell on a piece by chance.
        expected = Fraction(self.likes * (self.likes - 1), 2 * self.pieces)
        return float(min(Fraction(1), max(LEAST_EVENNESS, (self.pairs - expected + 1) / (expected + 1))))

    @property
    def loan(self) -> float:
        """L: how much a person's own like of a stand-in counts."""
        kappa = self.kappa / HUNDREDTHS
        return OWN_LOAN * self.worth / (self.worth + LOAN_LIKES / kappa**2)

    @property
    def grades(self) -> IntArray:
        """The grade of a like by its weight; see `FullLike.grades`."""
        return FullLike(self.full_total, self.full_count).grades

    @property
    def has_even_gaps(self) -> bool:
        """Whether times look made up: more than half of the gaps have one value."""
        return 2 * self.commonest_gaps > self.gaps

    def strength(self, use: OrderUse) -> int:
        """Return h: how much what is liked soon after something counts, 0 to `DIRECTION_SCALE`."""
        is_used = use is OrderUse.ON or (use is OrderUse.AUTO and not self.has_even_gaps)
        return self.direction if is_used else 0

    def content_factor(self, met: int) -> float:
        """Return gamma, the factor of the content part, for a person who has interacted with ``met`` pieces."""
        density = self.worth / self.pieces if self.pieces else 0.0
        lead = CONTENT_LEAD * (self.kappa / HUNDREDTHS) * met / (met + 1) - 1
        return 1 + lead * DENSITY_SQUARE / (DENSITY_SQUARE + density**2)


def figures_of(
    likes: LikeMatrix,
    catalogue: Segment,
    values: FloatArray,
    rarities: FloatArray,
    *,
    direction: int = 0,
    threads: int = 1,
) -> SourceStatistics:
    """Return the figures of likes of a catalogue's pieces, given by weight.

    ``values`` (z,) are the roots of weights, times category weight, by entry of the catalogue; ``rarities`` (v,) are f
    by term; the ``direction`` is that of `order.follower_rows`.
    """
    counts, full = np.diff(likes.piece_starts), FullLike.of(likes)
    by_weight, grades = np.bincount(likes.grades, minlength=TOP_GRADE + 1), full.grades
    units = unit_vectors(np.sqrt(rarities)[catalogue.piece_terms] * values, catalogue.starts)
    arrays = (catalogue.starts, catalogue.piece_terms, units)
    squares = engine.likeness_squares(likes, *arrays, len(catalogue.terms), threads=threads)
    telling = telling_of(likes, full, catalogue, units, squares)
    return SourceStatistics(
        likes=len(likes.pieces),
        worth=int(grades @ by_weight) ** 2 // max(1, int(grades * grades @ by_weight)),
        full_total=full.weight,
        full_count=full.likes,
        pieces=len(catalogue),
        pairs=int((counts * (counts - 1)).sum()) // 2,
        kappa=kappa_of(telling),
        telling=round(telling * MILLIONTHS),
        direction=direction,
        gaps=int(likes.gaps[0]),
        commonest_gaps=int(likes.gaps[1]),
    )


def kappa_of(telling: Fraction) -> int:
    """Return kappa in hundredths, by lambda."""
    return math.floor(min(GREATEST_KAPPA, max(LEAST_KAPPA, telling**2 - 1)) * HUNDREDTHS + Fraction(1, 2))


def telling_of(likes: LikeMatrix, full: FullLike, catalogue: Segment, units: IntArray, together: IntArray) -> Fraction:
    """Return lambda: how much more alike two different pieces are that one person likes than those of two people.

    No pair is looked at. With sums of unit vectors times the weights of likes, of all and of each person's,

        |sum of all|^2 - sum over people |own sum|^2     is u_i u_j z_i z_j over all pairs of likes of two people,
        |own sum|^2 - sum of own u^2 |z_i|^2             the same over the pairs of likes of one person,

    each pair counted in both directions. Of the first those of one same piece are taken off: one person never has
    them, and a crowd at a piece says nothing about keywords. ``units`` (z,) are the vectors, by entry of the
    catalogue; ``together`` (u,) is |own sum|^2 by person.
    """
    weights = likes.grades.astype(np.int64)
    sums, squares = run_sums(weights, likes.person_starts), run_sums(weights * weights, likes.person_starts)
    lengths = run_sums(units * units, catalogue.starts)
    by_piece = likes.piece_grades.astype(np.int64)
    of_pieces = run_sums(by_piece, likes.piece_starts)
    crowds = of_pieces * of_pieces - run_sums(by_piece * by_piece, likes.piece_starts)
    # Products may pass 64 bits, and are those of integers of Python.
    same = sum(map(operator.mul, crowds.tolist(), lengths.tolist()))
    between = _total_square(of_pieces, catalogue, units) - exact_sum(together) - same
    pairs = exact_sum(of_pieces) ** 2 - exact_sum(sums * sums) - exact_sum(crowds)
    several = np.diff(likes.person_starts) > 1
    if between <= 0 or pairs <= 0 or not several.any():
        return PRIOR_TELLING
    # Running sums may wrap around: their differences are right all the same.
    alone = run_sums(weights * weights * lengths[likes.pieces], likes.person_starts)
    sums, squares, within = sums[several], squares[several], (together - alone)[several]
    alike = within // (sums * sums - squares)
    most = MOST_FULL_LIKES * full.weight // full.likes
    counted = np.minimum(sums, most)
    squares = np.where(sums > most, most * most * squares // (sums * sums), squares)
    total = exact_sum(counted)
    evidence = total * total // exact_sum(squares)
    likeness = Fraction(exact_sum(counted * alike), total) / Fraction(between, pairs)
    return (evidence * likeness + PRIOR_TELLING * PRIOR_LIKES) / (evidence + PRIOR_LIKES)


def _total_square(weights: IntArray, catalogue: Segment, units: IntArray) -> int:
    """Return the square of the sum of the vectors of all likes, given the sum of weights by piece."""
    # A total fits 64 bits, its square need not: those are squared as integers of Python.
    totals = np.zeros(len(catalogue.terms), dtype=np.int64)
    np.add.at(totals, catalogue.piece_terms, units * np.repeat(weights, np.diff(catalogue.starts)))
    return sum(total * total for total in totals.tolist())
