"""Samples of kernels: for each kind arguments with no pieces, in order, of the types that searches give."""

from typing import Any

import numpy as np

from penchant_engine.index.layout import (
    COUNT,
    DOT,
    NO_WEIGHTS,
    BlendFactors,
    Choice,
    CodeTables,
    FactsBuffers,
    FrequentTerms,
    GroupBuffers,
    GroupPeople,
    GroupPieces,
    ItemItemMatrix,
    KernelQuery,
    LikeMatrix,
    LikenessNorms,
    LikeSeeds,
    LikeSequences,
    Norms,
    PersonBlends,
    PersonEvents,
    PersonPairs,
    PieceEntries,
    PieceFacts,
    PieceFeatures,
    PieceTerms,
    Postings,
    ProfileBuffers,
    ShareBuffers,
    SparseRows,
    SparseShares,
    StandIns,
    Taste,
    Weights,
)

Kind = tuple[str, str]
"""What kernels are compiled for: the type of their sums and that of weights, as numpy's characters."""
FINDING: Kind = ("find", "")
RIDGE: Kind = ("ridge", "")
KINDS: tuple[Kind, ...] = (FINDING, RIDGE, ("B", "B"), ("h", "B"), ("i", "B"), ("d", "B"))
"""The kinds that most catalogues need."""
WIDE_KINDS: tuple[Kind, ...] = (("h", "H"), ("i", "H"), ("d", "H"))
"""The kinds for weights of 16 bits."""
SERVED: tuple[Kind, ...] = (*KINDS, *WIDE_KINDS)
"""The kinds that a service has, those first that most requests need."""
LISTS: tuple[Kind, ...] = (("lists", "B"), ("lists", "H"))
"""The kinds that make the lists of many people at once, for weights of 8 and of 16 bits."""
Sample = tuple[Any, ...]


def samples_of(kind: Kind) -> dict[str, Sample]:
    """Return the samples of a kind's kernels by their names."""
    numbers, none, choice = np.zeros(1, dtype=np.int64), np.zeros(0), _NOTHING
    of_one_type = {FINDING: _finding_samples, RIDGE: _ridge_samples}
    if kind in of_one_type:
        return of_one_type[kind]()
    if kind in LISTS:
        return _list_samples(np.zeros(0, dtype=kind[1]))
    sums_type, weights_type = (np.dtype(name) for name in kind)
    postings = Postings(numbers, np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=weights_type))
    if sums_type == np.float64:
        taste = Taste(numbers, none, none, 1.0, 1.0)
        blending = BlendFactors(1.0, 1.0, 1.0, total=1.0)
        figures = PieceFeatures(none, none, SparseShares(numbers, none))
        best = (taste, blending, postings, figures, choice, 0, 0, none, 0, none, numbers, numbers, numbers)
        dots = (none, none, PieceEntries(numbers, postings.pieces, postings.weights), numbers, none)
        return {"best": best, "dots": dots, **_taste_samples(postings.weights)}
    norms = Norms(np.zeros(0, dtype=np.uint16), 1.0, none)
    if sums_type == np.uint8:
        norms = Norms(NO_WEIGHTS, 1.0, np.zeros(0, dtype=np.uint32))
    sums = np.zeros(0, dtype=sums_type)
    query = KernelQuery(COUNT if sums_type == np.uint8 else DOT, numbers, sums, 1.0)
    frequent = FrequentTerms(
        np.zeros(0, dtype=np.int8),
        np.zeros(0, dtype=np.uint64),
        np.zeros(0, dtype=np.int16),
        np.zeros((0, 0), dtype=np.uint8),
    )
    return {"nearest": (query, postings, frequent, norms, choice, 0, 0, sums, numbers, numbers, numbers)}


_NOTHING = Choice(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64), 1, 1)


def _finding_samples() -> dict[str, Sample]:
    """Return the samples of the kernels that look up tables of strings, turn those of numbers, and read a person."""
    real, flags = np.zeros(0), np.zeros(0, dtype=np.bool_)
    starts, numbers, weights = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint16)
    return {
        "find": (starts, NO_WEIGHTS, starts, NO_WEIGHTS, starts, starts),
        "transpose": (starts, numbers, weights, starts, numbers, weights),
        "facts": (
            PersonEvents(starts, starts, starts),
            0,
            CodeTables(real, NO_WEIGHTS, flags, flags, real),
            0,
            flags,
            PieceFacts(starts, starts, real, flags),
            FactsBuffers(real, NO_WEIGHTS, NO_WEIGHTS),
            starts,
        ),
    }


def _ridge_samples() -> dict[str, Sample]:
    """Return the samples of the kernels of the audience part."""
    starts, numbers = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    bytes_ = np.zeros(0, dtype=np.uint8)
    real, reals, square = np.zeros(0), np.zeros((0, 0)), np.zeros((0, 1), dtype=np.int64)
    triangles = np.zeros((0, 1), dtype=np.uint32)
    ranks = np.zeros(0, dtype=np.uint16)
    likes = LikeMatrix(starts, numbers, bytes_, starts, numbers, bytes_, ranks, starts)
    sequences = LikeSequences(starts, numbers, bytes_, ranks, ranks, starts, numbers, bytes_, ranks)
    rows = SparseRows(starts, numbers, real)
    weights = _weight_matrix()
    near, values = np.zeros((0, 1), dtype=np.uint32), np.zeros((0, 1), dtype=np.int32)
    people = np.zeros((0, 1), dtype=np.uint8)
    norms = LikenessNorms(real, real, 0.0)
    room = ShareBuffers(starts, starts, starts, numbers, *[starts] * 7)
    return {
        "neighbours": (likes, starts, real, starts, 0, 1, square, square, people, starts, starts, starts, starts),
        "triangles": (likes, square, starts, starts, 0, 1, triangles, starts, starts),
        "solve": (triangles, square, starts, np.zeros((0, 1), dtype=np.int32), reals, real),
        "stand_ins": (rows, rows, norms, real, starts, square, reals, real, starts),
        "likeness_squares": (likes, starts, numbers, starts, starts, starts, starts),
        "shares": (weights, LikeSeeds(starts, starts, starts, starts), 0.0, room, starts, real, starts),
        "successors": (sequences, starts, 0, 1, near, values, people, square, starts, starts, starts, starts),
    }


def _taste_samples(weights: Weights) -> dict[str, Sample]:
    """Return the samples of the kernels of tastes, for pieces of such weights."""
    starts, numbers, none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0)
    pairs = PersonPairs(starts, numbers, none)
    terms = PieceTerms(starts, numbers, weights, none, numbers, none)
    room = ProfileBuffers.of(0)
    return {
        "taste": (pairs, terms, room, none, starts),
        "tastes": (pairs, terms, none, room, none, none, NO_WEIGHTS),
    }


def _list_samples(weights: Weights) -> dict[str, Sample]:
    """Return the samples of the kernel of many people's lists, for pieces of such weights."""
    starts, numbers, none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0)
    likes = LikeSeeds(starts, starts, starts, starts)
    people = GroupPeople(PersonPairs(starts, numbers, none), starts, likes, starts, numbers)
    terms = PieceTerms(starts, numbers, weights, none, numbers, none)
    stand_ins = StandIns(starts, numbers, np.zeros(0, dtype=np.int32))
    pieces = GroupPieces(terms, none, NO_WEIGHTS, starts, none, none, 1.0, none, stand_ins, 1.0)
    blends, keys = PersonBlends(none, 1.0, 1.0, none), np.zeros((0, 1), dtype=np.int64)
    many = (people, pieces, _weight_matrix(), blends, GroupBuffers.of(0, 0, 0))
    return {"best_of_many": (*many, keys, keys, NO_WEIGHTS)}


def _weight_matrix() -> ItemItemMatrix:
    starts, numbers, small = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int32)
    return ItemItemMatrix(starts, numbers, small, starts, numbers, small, small, starts, numbers, small)
