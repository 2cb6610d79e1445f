"""Personal lists: the ranking over a snapshot, from the figures of a person and an audience (interface, section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penchant.index import engine, exact
from penchant.index.best import BestPieces, Hits
from penchant.index.building import term_table
from penchant.index.factors import root_norms
from penchant.index.layout import NOWHERE, BlendFactors, Choice, FloatArray, IntArray, PieceFigures, Taste
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.person import PlacedTaste
from penchant.index.popularity import Popularity
from penchant.index.snapshot import Scan, Snapshot
from penchant.index.strings import Strings
from penchant.model import MAX_WEIGHT, Term

ROOTS = np.sqrt(np.arange(MAX_WEIGHT + 1, dtype=np.float64))
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

    Without ``fill`` scores of 0 and less are left out. ``seen`` are rows to leave out beside what ``shown`` does,
    ascending, for each part of the snapshot; none for nothing.
    """

    shown: Filter
    blending: BlendFactors
    category_weights: Mapping[str, float]
    take: int
    fill: bool
    seen: tuple[IntArray, ...] = ()


def recommended(
    snapshot: Snapshot,
    person: PersonVector | PlacedTaste,
    popular: Popularity,
    liked: Sequence[FloatArray],
    wanted: ListSpec,
) -> list[tuple[int, str]]:
    """Return the best pieces: scores in their unit, descending, ties by ascending id.

    ``liked`` holds part a of all pieces, an array (n_pieces,) for each part of the snapshot.
    """
    placed = person if isinstance(person, PlacedTaste) else place_taste(snapshot, person)
    mean_norm = snapshot.mean_norm(wanted.category_weights)
    best = BestPieces(wanted.take, NOWHERE if wanted.fill else 0)
    for number, part in enumerate(snapshot.parts):
        segment = part.segment
        figures = PieceFigures(root_norms(segment, wanted.category_weights), popular.lifted[number], liked[number])
        excluded = part.excluded(wanted.shown)
        if wanted.seen:
            # Mostly nothing else is left out.
            excluded = np.union1d(excluded, wanted.seen[number]) if len(excluded) else wanted.seen[number]
        choice = Choice(part.allowed(wanted.shown), excluded, wanted.take, best.limit)
        taste = _taste(part, placed.by_part[number], (placed.norm, mean_norm))
        best.add(part.named(*engine.best(taste, wanted.blending, segment.postings, figures, choice)))
    return [(-key, piece_id) for key, piece_id in best.ranked()]


def scan_of(
    snapshot: Snapshot, person: PersonVector, popular: Popularity, liked: Sequence[FloatArray], wanted: ListSpec
) -> Scan:
    """Return a scan of a part by how well its pieces suit a person, by numpy."""
    placed, mean_norm = place_taste(snapshot, person), snapshot.mean_norm(wanted.category_weights)
    by_part = dict(zip(snapshot.parts, zip(placed.by_part, popular.lifted, liked, strict=True), strict=True))

    def scan(part: Part, choice: Choice) -> Hits:
        segment = part.segment
        terms, shares, alike = by_part[part]
        figures = PieceFigures(root_norms(segment, wanted.category_weights), shares, alike)
        taste = _taste(part, terms, (placed.norm, mean_norm))
        return exact.best(taste, wanted.blending, segment.postings, figures, choice)

    return scan


def place_taste(snapshot: Snapshot, person: PersonVector) -> PlacedTaste:
    """Return a person's taste against the parts of a snapshot; terms that one lacks add nothing to its pieces."""
    # Both ascend, so the terms found do too, and additions run in the same order in each segment.
    placed = [part.segment.terms.find_all(person.keys) for part in snapshot.parts]
    return PlacedTaste(
        by_part=tuple((terms[terms >= 0], person.array[terms >= 0]) for terms in placed),
        norm=person.norm,
    )


def _taste(part: Part, placed: tuple[IntArray, FloatArray], norms: tuple[float, float]) -> Taste:
    table = ROOTS[:256] if part.segment.posting_weights.dtype == np.uint8 else ROOTS
    return Taste(*placed, table, *norms)
