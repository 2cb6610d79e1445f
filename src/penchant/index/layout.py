"""Which numbers do the index's parts share? Units, layouts and the records that kernels take.

Plain values: no numba here, so that commands which never search do not load it.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Mask: TypeAlias = NDArray[np.uint8]
"""One byte a piece, 1 where it may be shown."""
Numbers: TypeAlias = NDArray[np.uint32]
Days: TypeAlias = NDArray[np.int32]
"""UTC days since 1970."""
Weights: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]
"""Weights of keywords: bytes where all of a segment fit, else 16 bits."""

DISTANCE_SCALE = 10**12
"""Distances are rounded to 12 decimals (interface, section 5) and compared as integers of this unit."""
SCORE_SCALE = 10**9
"""Scores of recommendations are rounded to nine decimals (interface, section 6) and compared likewise."""
LIKE_SCALE = 1 << 42
"""A person who likes n pieces counts 1/n, as an integer of this unit: a million people fit 64 bits."""
OVERLAP_SCALE = 1 << 50
"""The unit of overlaps between a person's audience and a piece's, which are below the root of its people."""
SQUARE_SCALE = 1 << 38
"""The unit of the squares that make the norm of a person's audience, as parts of the greatest."""
NEW_CONTENT_SHARE = 0.2
"""How much of its content part a wholly new piece is credited as audience (interface, section 6)."""
NOWHERE = 1 << 62
"""The place of an empty entry of a heap."""
FARTHEST = DISTANCE_SCALE + 1
"""A distance that every piece with any similarity is nearer than."""

Values: TypeAlias = NDArray[np.uint8] | NDArray[np.int16] | NDArray[np.int32] | FloatArray
"""What each term of a query adds, in the type that sums are counted in."""

COUNT, DOT, SIZE = 0, 1, 2
"""What a query adds up: shared terms, products of weights, or shared terms by their category's weight."""


class Query(NamedTuple):
    """A query against one segment; ``values`` has the type that sums are counted in."""

    mode: int
    terms: IntArray
    values: Values
    norm: float


class Postings(NamedTuple):
    """By term: the places, ascending, of the pieces that have it, and its weight in each."""

    starts: IntArray
    pieces: Numbers
    weights: Weights


class Frequent(NamedTuple):
    """What speeds frequent terms up: a bit each of the 64 most frequent in a word a piece, and dense columns.

    ``bits`` and ``slots`` tell by term its bit or column, -1 for none. Shapes: (n_terms,), (n_pieces,),
    (n_terms,), (n_columns, n_pieces).
    """

    bits: NDArray[np.int8]
    signatures: NDArray[np.uint64]
    slots: NDArray[np.int16]
    columns: NDArray[np.uint8]


class Taste(NamedTuple):
    """A person's taste against one segment; terms ascend, since the order of additions is fixed.

    ``table`` is what a keyword's weight counts, by weight: its square root times the unit of category weights.
    """

    terms: IntArray
    values: FloatArray
    table: FloatArray
    norm: float
    mean_norm: float


class Blending(NamedTuple):
    """What the parts of a recommendation are mixed with; see `penchant.ranking`.

    ``credits`` holds the start credit by age in days; its last entry holds for all that are older.
    """

    content: float
    audience: float
    popularity: float
    total: float
    median: float
    credits: FloatArray
    today: int


class Norms(NamedTuple):
    """What distances divide by; shapes (n_pieces,).

    ``bounds`` is ``scale`` times the norm, rounded down and cut off at what its type holds: never more than the
    truth, so that a test against it is conservative.
    """

    bounds: NDArray[np.uint8] | NDArray[np.uint16]
    scale: float
    exact: Numbers | FloatArray


class Figures(NamedTuple):
    """What a recommendation needs of every piece beside its terms: norm, day, parts p and a; shapes (n_pieces,)."""

    roots: FloatArray
    days: Days
    popular: FloatArray
    audience: FloatArray


class Crowd(NamedTuple):
    """Who likes what: ``u`` people, ``n`` pieces, both by their numbers; what is ``more`` came later.

    ``starts`` and ``ends`` (u,) cut ``pieces`` into what each person likes, ``piece_starts`` (n + 1,)
    ``piece_people`` into who likes each piece. ``inverse`` (u,) is 1 / n_x in `LIKE_SCALE`, 0 for who is gone.
    """

    starts: IntArray
    ends: IntArray
    pieces: Numbers
    piece_starts: IntArray
    piece_people: Numbers
    more_starts: IntArray
    more_pieces: Numbers
    more_piece_starts: IntArray
    more_people: Numbers
    inverse: IntArray


class Choice(NamedTuple):
    """Which pieces may be returned, and how many: those with a key below ``limit``; ``skipped`` ascends."""

    mask: Mask
    skipped: IntArray
    take: int
    limit: int
