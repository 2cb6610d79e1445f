"""Figures of a source: how much its popularity and its keywords say of what people like, from likes and catalogue.

See interface, section 6. All sums are of integers, so that the figures are the same wherever they are made.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from penchant.index.arrays import exact_sum
from penchant.index.compiled import engine
from penchant.index.factors import unit_vectors
from penchant.index.layout import FloatArray, IntArray, LikeMatrix
from penchant.index.segment import Segment
from penchant.model import OrderUse

LEAST_EVENNESS = Fraction(1, 64)
PRIOR_TELLING, PRIOR_LIKES = Fraction(3, 2), 50
"""The value of telling before there are likes, and the number of likes after which it weighs one half."""
LEAST_KAPPA, GREATEST_KAPPA = Fraction(1, 4), Fraction(6)
HUNDREDTHS, MILLIONTHS = 100, 1_000_000
CONTENT_LEAD = 1.5
"""How much content leads in a source without likes, in units of kappa."""
DENSITY_SQUARE = 100
"""With as many likes for each piece as the root of this, half of that lead is left."""
OWN_LOAN, LOAN_LIKES = 0.3, 500
"""How much a person's own like of a stand-in counts at most, and after how many likes a half, at a kappa of 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFigures:
    """The figures that a source's likes give, as integers: likes, pieces, and pairs of people who like a same piece.

    ``kappa`` is in hundredths, ``telling`` (lambda, for people to read) in millionths. The defaults are those of a
    source before its first weights. ``direction`` (eta) is in `DIRECTION_SCALE`, 0 where it is less; ``gaps`` are the
    differences above 0 between moments of people's neighbouring likes, ``commonest_gaps`` those of the commonest value.
    """

    likes: int = 0
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
        return OWN_LOAN * self.likes / (self.likes + LOAN_LIKES / kappa**2)

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
        density = self.likes / self.pieces if self.pieces else 0.0
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
) -> SourceFigures:
    """Return the figures of likes of a catalogue's pieces.

    ``values`` (z,) are the roots of weights, times category weight, by entry of the catalogue; ``rarities`` (v,) are f
    by term; the ``direction`` is that of `order.follower_rows`.
    """
    counts = np.diff(likes.piece_starts)
    units = unit_vectors(np.sqrt(rarities)[catalogue.piece_terms] * values, catalogue.starts)
    arrays = (catalogue.starts, catalogue.piece_terms, units)
    squares = engine.likeness_squares(likes, *arrays, len(catalogue.terms), threads=threads)
    telling = telling_of(likes, catalogue, units, squares)
    square = min(GREATEST_KAPPA, max(LEAST_KAPPA, telling**2 - 1))
    return SourceFigures(
        likes=len(likes.pieces),
        pieces=len(catalogue),
        pairs=int((counts * (counts - 1)).sum()) // 2,
        kappa=math.floor(square * HUNDREDTHS + Fraction(1, 2)),
        telling=round(telling * MILLIONTHS),
        direction=direction,
        gaps=int(likes.gaps[0]),
        commonest_gaps=int(likes.gaps[1]),
    )


def telling_of(likes: LikeMatrix, catalogue: Segment, units: IntArray, together: IntArray) -> Fraction:
    """Return lambda: how much more alike two pieces are that one person likes than those of two people.

    No pair is looked at: with the sums of unit vectors, of all likes and of each person's,

        |sum of all|^2 - sum over people |own sum|^2     is z_i z_j over all pairs of likes of two people,
        |own sum|^2 - sum of own |z_i|^2                 the same over the pairs of likes of one person,

    each pair counted in both directions, as in ``pairs``. ``units`` (z,) are those vectors, by entry of the catalogue;
    ``together`` (u,) is |own sum|^2 by person.
    """
    own = np.diff(likes.person_starts)
    # Differences of running sums, which hold for pieces without terms as well; 2^32 a like fits for 2 billion likes.
    squares = np.zeros(len(units) + 1, dtype=np.int64)
    np.cumsum(units * units, out=squares[1:])
    by_piece = squares[catalogue.starts[1:]] - squares[catalogue.starts[:-1]]
    running = np.zeros(len(likes.pieces) + 1, dtype=np.int64)
    np.cumsum(by_piece[likes.pieces], out=running[1:])
    alone = running[likes.person_starts[1:]] - running[likes.person_starts[:-1]]
    pairs = len(likes.pieces) ** 2 - exact_sum(own * own)
    between = _total_square(likes, catalogue, units) - exact_sum(together)
    if between <= 0 or not pairs:
        return PRIOR_TELLING
    # One fraction for all people of as many likes: to add fractions is slow, and there are far more people.
    order = np.argsort(own, kind="stable")
    sizes, begins = np.unique(own[order], return_index=True)
    differences = np.split((together - alone)[order], begins[1:])
    within = sum(
        (
            Fraction(exact_sum(each), size - 1)
            for size, each in zip(sizes.tolist(), differences, strict=True)
            if size > 1
        ),
        Fraction(0),
    )
    count = int(own[own > 1].sum())
    return (within * pairs / between + PRIOR_TELLING * PRIOR_LIKES) / (count + PRIOR_LIKES)


def _total_square(likes: LikeMatrix, catalogue: Segment, units: IntArray) -> int:
    """Return the square of the sum of the vectors of all likes."""
    counts = np.repeat(np.diff(likes.piece_starts), np.diff(catalogue.starts))
    # A total fits 64 bits, its square need not: those are squared as integers of Python.
    totals = np.zeros(len(catalogue.terms), dtype=np.int64)
    np.add.at(totals, catalogue.piece_terms, units * counts)
    return sum(total * total for total in totals.tolist())
