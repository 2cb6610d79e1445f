"""Personal lists: the blend of content, audience and popularity that suits a person (interface, section 6)."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from penchant_engine.index.arrays import is_first, merged, run_places
from penchant_engine.index.best import Hits, Keys, allowed_rows, smallest
from penchant_engine.index.building import term_of
from penchant_engine.index.compiled import engine, exact
from penchant_engine.index.factors import root_norms
from penchant_engine.index.layout import (
    NOWHERE,
    BlendFactors,
    Choice,
    FloatArray,
    IntArray,
    PieceFeatures,
    SparseShares,
    Taste,
)
from penchant_engine.index.masks import Filter
from penchant_engine.index.part import Part
from penchant_engine.index.people.order import OwnLikes
from penchant_engine.index.people.person import UserProfile
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.index.queries import ScanQuery
from penchant_engine.index.segment import Segment
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings
from penchant_engine.model import MAX_WEIGHT

ROOTS = np.sqrt(np.arange(MAX_WEIGHT + 1, dtype=np.float64))
"""What a keyword's weight counts in a taste, by weight."""


class PersonBlend(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What s of any piece of a snapshot is made of for one person.

    ``liked`` holds part a for each part of the snapshot, ``factors`` say how the parts are mixed.
    """

    taste: UserProfile
    popular: Popularity
    liked: Sequence[SparseShares]
    factors: BlendFactors
    category_weights: Mapping[str, float]


class BlendQuery:
    """A person's list as a query: by a blend; keys are minus the scores.

    Without ``fill`` scores of 0 and less are left out. ``left_out`` are rows beside those that a filter excludes,
    ascending, for each part of the snapshot; none for nothing.
    """

    def __init__(
        self, snapshot: Snapshot, blend: PersonBlend, *, fill: bool, left_out: Sequence[IntArray] = ()
    ) -> None:
        self.limit = NOWHERE if fill else 0
        self._blend = blend
        self._mean_norm = snapshot.mean_norm(blend.category_weights)
        self._left_out = left_out
        self._numbers = {part: number for number, part in enumerate(snapshot.parts)}
        self._kept: dict[Part, tuple[Taste, PieceFeatures]] = {}

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one part, and of what the person is not shown."""
        return _with(part.excluded(shown), self._left_out, self._numbers[part])

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> Hits:
        """Return keys and rows of the best pieces of one part."""
        choice = Choice(part.allowed(shown), self.excluded_in(part, shown), take, limit)
        dots = part.dots_of(self._blend.taste)
        are_known = dots is not None and dots.are_known
        if shown.among is not None or (shown.having is not None and not are_known):
            rows = allowed_rows(choice.mask, choice.excluded)
            if engine.are_few(rows, len(choice.mask)):
                return smallest(self.scan(part, rows), choice)
        taste, figures = self._taste_and_figures(part)
        found = engine.best(taste, self._blend.factors, part.segment.postings, figures, choice, dots)
        if dots is not None:
            part.keep_dots(self._blend.taste, dots)
        return found

    def scan(self, part: Part, rows: IntArray) -> Keys:
        """Return how well one part's pieces at some rows suit the person."""
        taste, figures = self._taste_and_figures(part)
        segment = part.segment
        return engine.scores(taste, self._blend.factors, segment.postings, segment.entries, figures, rows)

    def _taste_and_figures(self, part: Part) -> tuple[Taste, PieceFeatures]:
        known = self._kept.get(part)
        if known is None:
            blend, segment, number = self._blend, part.segment, self._numbers[part]
            norms = root_norms(segment, blend.category_weights)
            figures = PieceFeatures(norms, blend.popular.lifted[number], blend.liked[number])
            taste = taste_in(segment, blend.taste.by_part[number], (blend.taste.norm, self._mean_norm))
            known = self._kept[part] = taste, figures
        return known


class OverlapQuery(ScanQuery):
    """Finds the pieces whose terms overlap most with those that a person likes, whatever the weights.

    Keys are minus the Jaccard similarities in their unit. ``terms`` are written as in the table of a segment,
    ascending. Without ``fill`` pieces without any overlap are left out; ``left_out`` as in `BlendQuery`.
    """

    def __init__(self, snapshot: Snapshot, terms: Strings, *, fill: bool, left_out: Sequence[IntArray] = ()) -> None:
        super().__init__(self._overlaps)
        self.limit = NOWHERE if fill else 0
        self._terms = terms
        self._left_out = left_out
        self._numbers = {part: number for number, part in enumerate(snapshot.parts)}

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one part, and of what the person is not shown."""
        return _with(part.excluded(shown), self._left_out, self._numbers[part])

    def _overlaps(self, part: Part, rows: IntArray) -> Keys:
        segment = part.segment
        known = segment.terms.find_all(self._terms)
        return exact.overlaps(known[known >= 0], len(self._terms), segment.starts, segment.postings, rows)


def _with(excluded: IntArray, left_out: Sequence[IntArray], number: int) -> IntArray:
    return merged(excluded, left_out[number]) if left_out else excluded


def liked_terms(snapshot: Snapshot, taste: UserProfile) -> Strings:
    """Return the terms that a person likes, ascending, as they are written in the table of a segment."""
    keys = set[bytes]()
    for part, (terms, values) in zip(snapshot.parts, taste.by_part, strict=True):
        keys.update(part.segment.terms.encoded(term) for term in terms[values > 0].tolist())
    return Strings.of_encoded(sorted(keys))


def roots_in(segment: Segment) -> FloatArray:
    """Return what a keyword's weight counts in a taste, by weight, as far as those of a segment go."""
    return ROOTS[:256] if segment.posting_weights.dtype == np.uint8 else ROOTS


def taste_in(segment: Segment, placed: tuple[IntArray, FloatArray], norms: tuple[float, float]) -> Taste:
    """Return a taste as kernels take it, of its terms in a segment, its own norm, and the mean norm of the pieces."""
    return Taste(*placed, roots_in(segment), *norms)


def keyword_parts(parts: Sequence[Part], likes: OwnLikes, category: str, whole: int) -> dict[str, int]:
    """Return how much of a person's likes is of each keyword of a category: those of likes, in any order.

    A like counts its grade times ``whole``, in equal parts, rounded down, for its keywords of the category; one that
    has none counts for nothing. Costs one pass over the keywords of the likes.
    """
    found = dict[str, int]()
    for part, rows, grades in zip(parts, likes.rows, likes.grades, strict=True):
        segment = part.segment
        if category not in segment.category_names or not len(rows):
            continue
        begins = segment.starts[rows].astype(np.int64)
        counts = segment.starts[rows + 1] - begins
        terms = segment.piece_terms[run_places(begins, counts)]
        own = segment.category_of[terms] == segment.category_names.index(category)
        owners, terms = np.repeat(np.arange(len(rows)), counts)[own], terms[own]
        held = np.bincount(owners, minlength=len(rows))
        order = np.argsort(terms, kind="stable")
        begin = np.flatnonzero(is_first(terms[order]))
        sums = np.add.reduceat((grades[owners] * (whole // held[owners]))[order], begin) if len(begin) else begin
        for key, amount in zip(segment.terms.take(terms[order][begin]), sums.tolist(), strict=True):
            keyword = term_of(key).keyword
            found[keyword] = found.get(keyword, 0) + amount
    return found
