"""Compiled kernel of the lists of many people: for each what `taste`, `shares` and `best` find, `LANES` people at once.

It allocates nothing, as those of `kernels`. What is known of a piece, its keywords and stand-ins, is read once for all
people of a group, who lie side by side in memory:

    direct, liked    (n_weights, LANES)   what each person's likes say of a piece, and lend to it
    values           (n_terms, LANES)     the tastes
    piece by piece   dots = sum of values over its keywords     | all lanes by an instruction or two
                     lent = sum of direct over its stand-ins    |
                     which lanes may score enough: these go into their person's list, by the exact key

Additions are those of the kernels for one person in the same order, or of integers: the bits are the same. A person is
``left`` where two doubles hold no sum of a taste exactly, to be served by these.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from penchant_engine.index import layout
from penchant_engine.index.compiled.kernels import SCORE_UNIT, inlined, lowest_bit
from penchant_engine.index.compiled.ridge_kernels import DIRECT_UNIT, LENT_UNIT, OWN_UNIT
from penchant_engine.index.compiled.taste_kernels import make_taste

LANES = layout.LANES


@intrinsic
def _add_lanes(_context: Any, sums: Any, _source: Any, _row: Any, factor: Any) -> Any:
    """Add a row of a source, times a factor, to the sums of all lanes.

    Written as vectors, as what follows: numba does not turn loops of a known length into them.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, signature, arguments)
        is_real = isinstance(signature.args[0].dtype, types.Float)
        multiply, add = (builder.fmul, builder.fadd) if is_real else (builder.mul, builder.add)
        added = add(lanes.loaded(0), multiply(lanes.loaded(1, arguments[2]), lanes.spread(arguments[3])))
        lanes.store(added, 0)
        return context.get_dummy_value()

    return types.void(sums, sums, types.int64, factor), generate


@intrinsic
def _near_lanes(
    _context: Any,
    dots: Any,
    _contents: Any,
    _least: Any,
    _norms: Any,
    lent: Any,
    _direct: Any,
    liked: Any,
    _row: Any,
    _parts: Any,
) -> Any:
    """Return a bit for each lane in which a piece may score enough: what `kernels._any_scores` says of a person's.

    The last are the evidence that the piece lacks, the loan, what part a counts, part p times what that counts, and the
    piece's share of what the dot product is divided by.
    """
    parts = types.UniTuple(types.float64, 5)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, signature, arguments)
        members = [builder.extract_value(arguments[8], place) for place in range(5)]
        evidence, loan, shared, popular, root = map(lanes.spread, members)
        multiply, add, subtract = builder.fmul, builder.fadd, builder.fsub

        def whole(number: int, unit: float, row: Any = None) -> Any:
            values = builder.sitofp(lanes.loaded(number, row), lanes.reals)
            return multiply(values, ir.Constant(lanes.reals, [1 / unit] * LANES))

        borrowed = add(whole(4, LENT_UNIT), multiply(loan, whole(6, OWN_UNIT, arguments[7])))
        alike = add(whole(5, DIRECT_UNIT, arguments[7]), multiply(evidence, borrowed))
        rest = subtract(subtract(lanes.loaded(2), popular), multiply(shared, alike))
        needed = multiply(rest, multiply(lanes.loaded(3), root))
        found = builder.fcmp_ordered(">=", multiply(lanes.loaded(0), lanes.loaded(1)), needed)
        return builder.zext(builder.bitcast(found, ir.IntType(LANES)), ir.IntType(32))

    return types.uint32(dots, dots, dots, dots, lent, lent, liked, types.int64, parts), generate


class _Lanes:
    """Vectors of all lanes out of and into arrays that are arguments of an intrinsic function."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> None:
        self._context, self._builder, self._types, self._arguments = context, builder, signature.args, arguments
        self.reals = ir.VectorType(ir.DoubleType(), LANES)

    def loaded(self, number: int, row: Any = None) -> Any:
        """Return a row of an argument, the first one without any."""
        found = self._builder.load(self._place(number, row))
        found.align = found.type.element.get_abi_alignment(self._context.target_data)
        return found

    def store(self, values: Any, number: int) -> None:
        """Store values as the first row of an argument."""
        self._builder.store(values, self._place(number, None)).align = 8

    def spread(self, number: Any) -> Any:
        """Return a number for each lane."""
        kind = ir.VectorType(number.type, LANES)
        one = self._builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self._builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)

    def _place(self, number: int, row: Any) -> Any:
        kind = self._types[number]
        pointer = self._context.make_array(kind)(self._context, self._builder, self._arguments[number]).data
        if row is not None:
            pointer = self._builder.gep(pointer, [self._builder.mul(row, ir.Constant(row.type, LANES))])
        # No alignment of vectors is taken for granted: numpy's arrays begin anywhere.
        vector = ir.VectorType(self._context.get_value_type(kind.dtype), LANES)
        return self._builder.bitcast(pointer, vector.as_pointer())


@inlined
def _place_tastes(first, count, people, terms, room, left):
    """Put the tastes of a group's people into their lanes; return how many terms these have all together."""
    met = 0
    for lane in range(count):
        size, room.norms[lane], is_inexact = make_taste(first + lane, people.pairs, terms, room.taste)
        if is_inexact:
            left[first + lane] = 1
        for i in range(size):
            term = room.taste.numbers[i]
            if room.has_term[term] == 0:
                room.has_term[term], room.terms[met] = 1, term
                met += 1
            room.values[term * LANES + lane] = room.taste.scores[i]
    return met


@inlined
def _add_run(numbers, values, factor, lane, sums):
    """Add to a lane what one like says of pieces; slices, as in `kernels`, so that no index is tested."""
    for e in range(len(numbers)):
        sums[np.uint64(numbers[e]) * np.uint64(LANES) + np.uint64(lane)] += factor * np.int64(values[e])


@inlined
def _place_likes(first, count, people, weights, room):
    """Add up in their lanes what the likes of a group's people say of pieces."""
    likes = people.likes
    for lane in range(count):
        for s in range(people.like_starts[first + lane], people.like_starts[first + lane + 1]):
            row, soon = likes.rows[s], likes.successor_factors[s]
            own = slice(weights.starts[row], weights.starts[row + 1])
            _add_run(weights.targets[own], weights.values[own], likes.factors[s], lane, room.direct)
            if soon != 0:
                own = slice(weights.successor_starts[row], weights.successor_starts[row + 1])
                _add_run(weights.successors[own], weights.successor_values[own], soon, lane, room.direct)


@inlined
def _lend(first, count, people, weights, room, is_lent):
    """Add up in their lanes what the likes of a group's people lend to pieces, or set it back to 0."""
    for lane in range(count):
        for s in range(people.like_starts[first + lane], people.like_starts[first + lane + 1]):
            row, grade = people.likes.rows[s], people.likes.grades[s]
            for e in range(weights.lent_starts[row], weights.lent_starts[row + 1]):
                place = np.int64(weights.borrowers[e]) * LANES + lane
                room.liked[place] = room.liked[place] + grade * np.int64(weights.lent_shares[e]) if is_lent else 0


@inlined
def _bound(worst, total):
    """Return what lanes compare with: two units below the worst score."""
    return (-np.float64(worst) - 2.0) / SCORE_UNIT * total


@inlined
def _insert(keys, rows, key, row):
    """Put a piece into a list instead of the last one, behind others of its key: rows come ascending."""
    i = len(keys) - 1
    while i > 0 and keys[i - 1] > key:
        keys[i], rows[i] = keys[i - 1], rows[i - 1]
        i -= 1
    keys[i], rows[i] = key, row


@inlined
def _offer(lane, piece, row, parts, total, room, keys, rows):
    """Put a piece into a person's list if it is good enough."""
    evidence, loan, shared, popular, root = parts
    place = row * LANES + lane
    borrowed = np.float64(room.lent[lane]) / LENT_UNIT + loan * (np.float64(room.liked[place]) / OWN_UNIT)
    alike = np.float64(room.direct[place]) / DIRECT_UNIT + evidence * borrowed
    divisor = room.norms[lane] * root
    content = room.dots[lane] / divisor if divisor > 0 else 0.0
    mixed = room.contents[lane] * content + shared * alike + popular
    key = -np.int64(np.rint(mixed / total * SCORE_UNIT))
    if key < keys[-1]:
        _insert(keys, rows, key, piece)
        room.least[lane] = _bound(keys[-1], total)


@inlined
def _add_up(piece, row, pieces, room):
    """Add up the dot products of all lanes with a piece, and what stand-ins lend it."""
    terms, stand_ins = pieces.terms, pieces.stand_ins
    for lane in range(LANES):
        room.dots[lane], room.lent[lane] = 0.0, 0
    own = slice(terms.starts[piece], terms.starts[piece + 1])
    numbers, weights = terms.terms[own], terms.weights[own]
    for e in range(len(numbers)):
        if room.has_term[np.uint64(numbers[e])] != 0:
            _add_lanes(room.dots, room.values, np.int64(numbers[e]), pieces.table[np.uint64(weights[e])])
    own = slice(stand_ins.starts[row], stand_ins.starts[row + 1])
    others, shares = stand_ins.numbers[own], stand_ins.values[own]
    for e in range(len(others)):
        _add_lanes(room.lent, room.direct, np.int64(others[e]), np.int64(shares[e]))


@inlined
def _search(first, count, people, pieces, blends, room, keys, rows):
    """Fill the lists of a group's people."""
    all_lanes = np.uint32((1 << count) - 1)
    for lane in range(count):
        room.contents[lane] = blends.content[first + lane]
        room.least[lane] = _bound(keys[first + lane, -1], blends.total[first + lane])
        for s in range(people.seen_starts[first + lane], people.seen_starts[first + lane + 1]):
            room.hidden[people.seen[s]] |= np.uint32(1) << np.uint32(lane)
    for piece in range(len(pieces.mask)):
        if pieces.mask[piece] == 0:
            continue
        row = pieces.weight_rows[piece]
        _add_up(piece, row, pieces, room)
        root, popular = pieces.roots[piece] + pieces.half_mean_norm, blends.popularity * pieces.popular[piece]
        parts = pieces.lacking[piece], pieces.loan, blends.audience, popular, root
        near = _near_lanes(
            room.dots, room.contents, room.least, room.norms, room.lent, room.direct, room.liked, row, parts
        )
        near &= all_lanes & ~room.hidden[piece]
        while near:
            lane = lowest_bit(near)
            near &= near - np.uint32(1)
            own = first + lane
            _offer(lane, piece, row, parts, blends.total[own], room, keys[own], rows[own])


@inlined
def _clear(met, room):
    """Take the tastes out of the room, what likes say, and what is not shown."""
    room.direct[:] = 0
    room.hidden[:] = 0
    for i in range(met):
        term = room.terms[i]
        room.has_term[term] = 0
        for lane in range(LANES):
            room.values[term * LANES + lane] = 0.0


def best_of_many(people, pieces, weights, blends, room, keys, rows, left):
    """Fill keys and rows (u, take), of the limit so far, with the best recommendations of ``u`` people, in order.

    Keys are minus the score in its unit; ``left`` (u,) gets 1 for those whose taste two doubles do not hold.
    """
    count = len(left)
    for first in range(0, count, LANES):
        size = min(LANES, count - first)
        # What is left of the group before in further lanes is never looked at.
        met = _place_tastes(first, size, people, pieces.terms, room, left)
        _place_likes(first, size, people, weights, room)
        _lend(first, size, people, weights, room, True)
        _search(first, size, people, pieces, blends, room, keys, rows)
        _lend(first, size, people, weights, room, False)
        _clear(met, room)
