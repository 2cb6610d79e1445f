"""Personal lists: the ranking over a snapshot, from the figures of a person and an audience (interface, section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penchant.index import engine, exact
from penchant.index.best import BestPieces, Hits
from penchant.index.building import term_table
from penchant.index.layout import NOWHERE, BlendFactors, Choice, FloatArray, PieceFigures, Taste
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.popularity import Popularity
from penchant.index.snapshot import Scan, Snapshot, root_norms
from penchant.index.strings import Strings
from penchant.model import MAX_WEIGHT, Term

_ROOTS = np.sqrt(np.arange(MAX_WEIGHT + 1, dtype=np.float64))
"""What a keyword's weight counts in a taste, by weight."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PersonVector:
    """A person's taste as the ranking takes it: values by term, ascending by term, and the norm of f x P.

    The values are f x P x category weight (interface, section 6).
    """

    values: Mapping[Term, float]
    norm: float

    @cached_property
    def keys(self) -> Strings:
        """The terms as they are written in the table of a segment, ascending."""
        return term_table(self.values)

    @cached_property
    def array(self) -> FloatArray:
        """The values in the order of ``keys``."""
        return np.fromiter(self.values.values(), np.float64, len(self.values))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ListSpec:
    """What a list is made of: what may be shown, how parts are mixed, and how many pieces.

    Without ``fill`` scores of 0 and less are left out.
    """

    shown: Filter
    blending: BlendFactors
    category_weights: Mapping[str, float]
    take: int
    fill: bool


def recommended(
    snapshot: Snapshot, person: PersonVector, popular: Popularity, liked: Sequence[FloatArray], wanted: ListSpec
) -> list[tuple[int, str]]:
    """Return the best pieces: scores in their unit, descending, ties by ascending id.

    ``liked`` holds part a of all pieces, an array (n_pieces,) for each part of the snapshot.
    """
    mean_norm = snapshot.mean_norm(wanted.category_weights)
    best = BestPieces(wanted.take, NOWHERE if wanted.fill else 0)
    for part, shares, alike in zip(snapshot.parts, popular.lifted, liked, strict=True):
        segment = part.segment
        figures = PieceFigures(root_norms(segment, wanted.category_weights), shares, alike)
        choice = Choice(part.allowed(wanted.shown), part.excluded(wanted.shown), wanted.take, best.limit)
        taste = _taste(part, person, mean_norm)
        best.add(part.named(*engine.best(taste, wanted.blending, segment.postings, figures, choice)))
    return [(-key, piece_id) for key, piece_id in best.ranked()]


def scan_of(
    snapshot: Snapshot, person: PersonVector, popular: Popularity, liked: Sequence[FloatArray], wanted: ListSpec
) -> Scan:
    """Return a scan of a part by how well its pieces suit a person, by numpy."""
    mean_norm = snapshot.mean_norm(wanted.category_weights)
    by_part = dict(zip(snapshot.parts, zip(popular.lifted, liked, strict=True), strict=True))

    def scan(part: Part, choice: Choice) -> Hits:
        segment = part.segment
        figures = PieceFigures(root_norms(segment, wanted.category_weights), *by_part[part])
        return exact.best(_taste(part, person, mean_norm), wanted.blending, segment.postings, figures, choice)

    return scan


def _taste(part: Part, person: PersonVector, mean_norm: float) -> Taste:
    """Return a person's taste against one part; terms that this lacks add nothing to any of its pieces."""
    # Both ascend, so the terms found do too, and additions run in the same order in each segment.
    terms = part.segment.terms.find_all(person.keys)
    known = terms >= 0
    table = _ROOTS[:256] if part.segment.posting_weights.dtype == np.uint8 else _ROOTS
    return Taste(terms[known], person.array[known], table, person.norm, mean_norm)
