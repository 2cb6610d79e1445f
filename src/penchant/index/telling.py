"""Telling by category: how much the keywords of each category say of what people like.

The same figure as lambda of a source (interface, section 6), with the terms of one category alone. It serves people who
better their keywords, and no list: so it is counted from as many people as a bound of work allows.
"""

from typing import NamedTuple

import numpy as np

from penchant.index.arrays import starts_of
from penchant.index.factors import rarities_of
from penchant.index.layout import IntArray, LikeMatrix
from penchant.index.people.figures import telling_of, unit_vectors
from penchant.index.people.grades import like_matrix
from penchant.index.people.weights import values_of
from penchant.index.segment import Segment

MAX_ENTRIES = 3_000_000
"""Keywords of liked pieces that are looked at, one for each like: about a second."""
MAX_CATEGORIES = 20
"""Categories that are looked at: those of which liked pieces have the most keywords."""


class CategoryTelling(NamedTuple):
    """How many times as alike two pieces are that one person likes as those of two people, by one category."""

    name: str
    telling: float


class TellingFindings(NamedTuple):
    """How much each category tells, the most telling first: counted from likes of so many of all who like something."""

    categories: tuple[CategoryTelling, ...]
    likes: int
    people: int
    of: int


def telling_by_category(
    likes: LikeMatrix, catalogue: Segment, *, most: int = MAX_ENTRIES, categories: int = MAX_CATEGORIES
) -> TellingFindings:
    """Return how much each category of a catalogue tells of likes of its pieces.

    Of weights of categories none counts: a category that the source weighs with 0 is judged as others are.
    """
    everybody = len(likes.person_starts) - 1
    likes = _some(likes, np.diff(catalogue.starts), most)
    values, rarities = values_of(catalogue, {}), rarities_of(np.diff(catalogue.posting_starts), len(catalogue))
    kinds = catalogue.category_of[catalogue.piece_terms]
    # How often each entry of the catalogue is liked.
    times = np.repeat(np.diff(likes.piece_starts), np.diff(catalogue.starts))
    counts = np.bincount(kinds, weights=times, minlength=len(catalogue.category_names))
    found = []
    for number in np.argsort(-counts, kind="stable")[:categories].tolist():
        if not counts[number]:
            break
        own = np.where(kinds == number, values, 0.0)
        units = unit_vectors(catalogue, own, rarities)
        squares = _squares(likes, catalogue, units)
        telling = telling_of(likes, catalogue, units, squares)
        found.append(CategoryTelling(catalogue.category_names[number], float(telling)))
    found.sort(key=lambda each: (-each.telling, each.name))
    return TellingFindings(tuple(found), len(likes.pieces), len(likes.person_starts) - 1, everybody)


def _some(likes: LikeMatrix, sizes: IntArray, most: int) -> LikeMatrix:
    """Return the likes of people evenly chosen, all of them if possible, whose pieces have ``most`` entries at most."""
    counts = np.diff(likes.person_starts)
    running = np.zeros(len(likes.pieces) + 1, dtype=np.int64)
    np.cumsum(sizes[likes.pieces], out=running[1:])
    entries = running[likes.person_starts[1:]] - running[likes.person_starts[:-1]]
    total = int(entries.sum())
    if total <= most:
        return likes
    kept = np.arange(len(counts)) % -(-total // most) == 0
    # People are unlike each other: what the stride leaves may still be too much.
    kept &= np.cumsum(np.where(kept, entries, 0)) <= most
    owners = np.repeat(np.arange(len(counts)), counts)
    chosen = kept[owners]
    return like_matrix(owners[chosen], likes.pieces[chosen].astype(np.int64), likes.grades[chosen], len(sizes))


def _squares(likes: LikeMatrix, catalogue: Segment, units: IntArray) -> IntArray:
    """Return by person the square of the sum of the vectors of all likes, as `engine.likeness_squares` does.

    In numpy for few terms: the kernel, and all the more its definition, would go over those of all categories.
    """
    count = len(likes.person_starts) - 1
    used = np.flatnonzero(units)
    owners = np.repeat(np.arange(len(catalogue)), np.diff(catalogue.starts))[used]
    starts = starts_of(np.bincount(owners, minlength=len(catalogue)))
    sizes = np.diff(starts)[likes.pieces]
    people = np.repeat(np.repeat(np.arange(count), np.diff(likes.person_starts)), sizes)
    ends = np.cumsum(sizes)
    entries = used[np.arange(len(people)) + np.repeat(starts[likes.pieces] - (ends - sizes), sizes)]
    pairs, places = np.unique(people * len(catalogue.terms) + catalogue.piece_terms[entries], return_inverse=True)
    # Integers in doubles would be exact to 2^53 only; of 64 bits they are whatever a person likes.
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, places, units[entries])
    squares = np.zeros(count, dtype=np.int64)
    np.add.at(squares, pairs // max(1, len(catalogue.terms)), sums * sums)
    return squares
