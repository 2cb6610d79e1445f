"""Prospects: how well one piece suits each of many people, by the very s that their own lists give it.

people's pairs --`taste_kernels`--> norm of the taste, dot product with the piece --.
'--`LikeColumns`----> part a ----------------------------------------+--> s, in units of scores
part p of the piece, blend by pieces met ------'
"""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.compiled import engine, exact
from penchant_engine.index.factors import root_norms
from penchant_engine.index.layout import BlendFactors, BoolArray, FloatArray, IntArray, PersonBlends, PersonPairs
from penchant_engine.index.people.audience import LikeColumns
from penchant_engine.index.people.person import UserFeatures
from penchant_engine.index.people.personal import ROOTS
from penchant_engine.index.people.table import PeopleTable
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.model import RankingSettings


class TargetPiece(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a piece brings to everybody's s: what its likes say, part p, and how the parts are blended.

    ``row`` is that in the catalogue of a `TargetUsers`; ``blending`` gives the factors of a person who has met so
    many pieces.
    """

    row: int
    likes: LikeColumns
    popular: float
    blending: Callable[[int], BlendFactors]


class PieceUnits(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """By person s of a piece in its unit; who has seen the piece; and whose s has to be found in another way."""

    units: IntArray
    seen: BoolArray
    inexact: BoolArray


class TargetUsers:
    """The people of a table over a snapshot of one segment, and what they make of its pieces under some settings."""

    def __init__(self, people: PeopleTable, catalogue: Snapshot, settings: RankingSettings) -> None:
        (part,) = catalogue.parts
        segment = part.segment
        self.people = people
        self.catalogue = catalogue
        self._segment = segment
        self._terms = catalogue.piece_terms(settings.category_factors)
        self._half_mean = catalogue.mean_norm(settings.category_factors) / 2
        self._roots = root_norms(segment, settings.category_factors)

    @property
    def nbytes(self) -> int:
        """How much memory the arrays of people take, and those of the catalogue where they are its own."""
        return sum(each.nbytes for each in self.people.arrays().values()) + self._segment.nbytes

    def units_of(self, piece: TargetPiece) -> PieceUnits:
        """Return what everybody makes of a piece; with all of them ``inexact`` where there is no kernel."""
        people = self.people
        pairs = PersonPairs(people.starts, people.rows, people.values)
        terms, weights = self._segment.piece(piece.row)
        amounts = np.zeros(len(self._segment.terms))
        amounts[terms] = ROOTS[weights]
        dots, norms, inexact = engine.tastes(pairs, self._terms, amounts) or _unknown(len(people))
        alike = piece.likes.alike(people.starts, people.rows, people.grades, people.ranks)
        seen = np.zeros(len(people), dtype=np.bool_)
        entries = np.flatnonzero((people.rows == piece.row) & (people.seen > 0))
        seen[np.searchsorted(people.starts, entries, side="right") - 1] = True
        units = self._units(piece, dots, norms, alike, blends_of(np.diff(people.starts), piece.blending))
        return PieceUnits(units=units, seen=seen, inexact=inexact)

    def units_for(self, person: UserFeatures, piece: TargetPiece) -> int:
        """Return what a person makes of a piece; the figures are of this catalogue."""
        ((placed, values),) = person.taste.by_part
        (rows,), (grades,), (ranks,) = person.likes
        terms, weights = self._segment.piece(piece.row)
        _, own, of_piece = np.intersect1d(placed, terms, assume_unique=True, return_indices=True)
        dot = 0.0
        # One after the other, as a search adds them up.
        for each in (values[own] * ROOTS[weights[of_piece]]).tolist():
            dot += each
        blends = blends_of(np.asarray([person.met]), piece.blending)
        alike = piece.likes.alike(np.asarray([0, len(rows)]), rows, grades, ranks)
        return int(self._units(piece, np.asarray([dot]), np.asarray([person.taste.norm]), alike, blends)[0])

    def _units(
        self, piece: TargetPiece, dots: FloatArray, norms: FloatArray, alike: FloatArray, blends: PersonBlends
    ) -> IntArray:
        """Return s by person, of one piece."""
        return exact.blended(dots, norms * (self._roots[piece.row] + self._half_mean), alike, piece.popular, blends)


def _unknown(count: int) -> tuple[FloatArray, FloatArray, BoolArray]:
    return np.zeros(count), np.zeros(count), np.ones(count, dtype=np.bool_)


def blends_of(met: IntArray, blending: Callable[[int], BlendFactors]) -> PersonBlends:
    """Return the factors of people who have met so many pieces each."""
    met, places = np.unique(met, return_inverse=True)
    factors = [blending(each) for each in met.tolist()] or [blending(0)]
    table: NDArray[Any] = np.asarray([(each.content, each.total) for each in factors], dtype=np.float64)
    contents, totals = np.ascontiguousarray(table[places].T)
    return PersonBlends(contents, factors[0].audience, factors[0].popularity, totals)
