"""Which pieces suit a person best? The ranking of section 6 over a snapshot, from figures that others gather."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penchant.index import engine, exact
from penchant.index.audience import Popular
from penchant.index.building import term_key
from penchant.index.exact import Best
from penchant.index.layout import NOWHERE, Blending, Choice, Figures, FloatArray, Taste
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.snapshot import Scan, Snapshot, root_norms
from penchant.index.strings import Strings
from penchant.model import MAX_WEIGHT, Term

_ROOTS = np.sqrt(np.arange(MAX_WEIGHT + 1, dtype=np.float64))
"""What a keyword's weight counts in a taste, by weight."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Person:
    """What the ranking knows of a person: values by term, ascending by term, and the norm of f x P.

    The values are f x P x category weight (interface, section 6).
    """

    values: Mapping[Term, float]
    norm: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Wanted:
    """What a list is made of: what may be shown, how parts are mixed, and how many pieces.

    Without ``fill`` scores of 0 and less are left out.
    """

    shown: Filter
    blending: Blending
    category_weights: Mapping[str, float]
    take: int
    fill: bool


def recommended(
    snapshot: Snapshot, person: Person, popular: Popular, liked: Sequence[FloatArray], wanted: Wanted
) -> list[tuple[int, str]]:
    """Return the best pieces: scores in their unit, descending, ties by ascending id.

    ``liked`` holds part a of all pieces, an array (n_pieces,) for each part of the snapshot.
    """
    keys = Strings.of(map(term_key, person.values))
    values = np.fromiter(person.values.values(), np.float64, len(person.values))
    norms = (person.norm, snapshot.mean_norm(wanted.category_weights))
    best: list[tuple[int, str]] = []
    limit = NOWHERE if wanted.fill else 0
    for part, shares, alike in zip(snapshot.parts, popular.shares, liked, strict=True):
        segment = part.segment
        figures = Figures(root_norms(segment, wanted.category_weights), segment.days, shares, alike)
        choice = Choice(part.allowed(wanted.shown), part.skipped(wanted.shown), wanted.take, limit)
        taste = _taste(part, keys, values, norms)
        best += part.named(*engine.best(taste, wanted.blending, segment.postings, figures, choice))
        best.sort()
        if len(best) >= wanted.take:
            del best[wanted.take :]
            # Of other segments only what is as good can enter: as good, since the lesser id comes first.
            limit = best[-1][0] + 1
    return [(-key, piece_id) for key, piece_id in best]


def scan_of(snapshot: Snapshot, person: Person, popular: Popular, liked: Sequence[FloatArray], wanted: Wanted) -> Scan:
    """Return what finds any number of a part's pieces by how well they suit a person, by numpy."""
    keys = Strings.of(map(term_key, person.values))
    values = np.fromiter(person.values.values(), np.float64, len(person.values))
    norms = (person.norm, snapshot.mean_norm(wanted.category_weights))
    by_part = dict(zip(snapshot.parts, zip(popular.shares, liked, strict=True), strict=True))

    def scan(part: Part, choice: Choice) -> Best:
        segment = part.segment
        figures = Figures(root_norms(segment, wanted.category_weights), segment.days, *by_part[part])
        return exact.best(_taste(part, keys, values, norms), wanted.blending, segment.postings, figures, choice)

    return scan


def _taste(part: Part, keys: Strings, values: FloatArray, norms: tuple[float, float]) -> Taste:
    terms = part.segment.terms.find_all(keys)
    known = terms >= 0
    table = _ROOTS[:256] if part.segment.posting_weights.dtype == np.uint8 else _ROOTS
    return Taste(terms[known], values[known], table, *norms)
