"""Personal lists: the ranking over a snapshot, from the figures of a person and an audience (interface, section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penchant.index import engine, exact
from penchant.index.best import Keys
from penchant.index.building import term_table
from penchant.index.factors import root_norms
from penchant.index.layout import NOWHERE, BlendFactors, Choice, FloatArray, IntArray, PieceFigures, SparseShares, Taste
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.person import PlacedTaste
from penchant.index.popularity import Popularity
from penchant.index.queries import best_of
from penchant.index.segment import Segment
from penchant.index.snapshot import Snapshot
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


class BlendQuery:
    """A person's list as a query: by the blend of content, audience and popularity; keys are minus the scores.

    ``liked`` holds part a for each part of the snapshot. Of the spec neither what may be shown nor how many counts
    here: both come with each search.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        person: PersonVector | PlacedTaste,
        popular: Popularity,
        liked: Sequence[SparseShares],
        wanted: ListSpec,
    ) -> None:
        self.limit = NOWHERE if wanted.fill else 0
        self._blending = wanted.blending
        self._category_weights = wanted.category_weights
        self._popular = popular
        self._liked = liked
        self._placed = person if isinstance(person, PlacedTaste) else place_taste(snapshot, person)
        self._norms = self._placed.norm, snapshot.mean_norm(wanted.category_weights)
        self._seen = wanted.seen
        self._numbers = {part: number for number, part in enumerate(snapshot.parts)}

    def _excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one part, and of what the person has seen."""
        excluded = part.excluded(shown)
        if not self._seen:
            return excluded
        seen = self._seen[self._numbers[part]]
        # Mostly nothing else is left out.
        return np.union1d(excluded, seen) if len(excluded) else seen

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> list[tuple[int, str]]:
        """Return keys and ids of the best pieces of one part."""
        choice = Choice(part.allowed(shown), self._excluded_in(part, shown), take, limit)
        taste, figures = self._taste_and_figures(part)
        return part.named(*engine.best(taste, self._blending, part.segment.postings, figures, choice))

    def scan(self, part: Part, rows: IntArray) -> Keys:
        """Return how well one part's pieces at some rows suit the person, by numpy."""
        taste, figures = self._taste_and_figures(part)
        return exact.scores(taste, self._blending, part.segment.postings, figures, rows)

    def _taste_and_figures(self, part: Part) -> tuple[Taste, PieceFigures]:
        segment, number = part.segment, self._numbers[part]
        norms = root_norms(segment, self._category_weights)
        figures = PieceFigures(norms, self._popular.lifted[number], self._liked[number])
        return taste_in(segment, self._placed.by_part[number], self._norms), figures


def recommended(
    snapshot: Snapshot,
    person: PersonVector | PlacedTaste,
    popular: Popularity,
    liked: Sequence[SparseShares],
    wanted: ListSpec,
) -> list[tuple[int, str]]:
    """Return the best pieces: scores in their unit, descending, ties by ascending id."""
    query = BlendQuery(snapshot, person, popular, liked, wanted)
    return [(-key, piece_id) for key, piece_id in best_of(snapshot.parts, query, wanted.shown, wanted.take)]


def place_taste(snapshot: Snapshot, person: PersonVector) -> PlacedTaste:
    """Return a person's taste against the parts of a snapshot; terms that one lacks add nothing to its pieces."""
    # Both ascend, so the terms found do too, and additions run in the same order in each segment.
    placed = [part.segment.terms.find_all(person.keys) for part in snapshot.parts]
    return PlacedTaste(
        by_part=tuple((terms[terms >= 0], person.array[terms >= 0]) for terms in placed),
        norm=person.norm,
    )


def taste_in(segment: Segment, placed: tuple[IntArray, FloatArray], norms: tuple[float, float]) -> Taste:
    """Return a taste as kernels take it, of its terms in a segment, its own norm, and the mean norm of the pieces."""
    table = ROOTS[:256] if segment.posting_weights.dtype == np.uint8 else ROOTS
    return Taste(*placed, table, *norms)
