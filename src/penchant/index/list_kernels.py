"""Compiled kernel of the lists of many people, of pieces in one segment: bit by bit those of one after the other.

It allocates nothing, as those of `penchant.index.kernels`. Eight people go together, each in a lane of vectors, so that
what is looked up for one is there for all. For each group of eight:

    pairs -> values x roots of weights, added up by term -> scores -> taste    by lane; `index.person` in numpy
    pairs -> grades -> weights of the audience -> sums                         by lane; `ridge_kernels.shares`

                          taste                  sums
    term    0  | 0 0 2.1 0 0 .3 0 0 |   piece 0 | 0 9 0 0 0 4 0 0 |            eight doubles each
    term    1  | 1 0 0 0 .7 0 0 0   |   piece 1 | ...

    each piece: its terms' vectors x roots, added up -> content; its stand-ins' vectors x shares -> part a
                a vector of scores, but for rounding; lanes that pass the worst of their list -> exact score -> heap

Scores by term are rounded once, as `math.fsum` does: a sum is held as two doubles, and where these do not hold it
exactly, which needs numbers 2^50 apart, the person is left out (``inexact``) for others to list. Sums of the audience
are of integers below 2^53, which doubles hold exactly.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from penchant.index import layout
from penchant.index.kernels import inlined, lowest_bit, replace_worst
from penchant.index.taste_kernels import add_terms, gather_scores, two_sum, whole_score

LANES = layout.LANES
SCORE_UNIT = float(layout.SCORE_SCALE)
DIRECT_UNIT = float(layout.DIRECT_SCALE)
LENT_UNIT = float(layout.LENT_SCALE)
OWN_UNIT = float(layout.OWN_SCALE)
_REALS = ir.VectorType(ir.DoubleType(), LANES)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Return the address of an array's entry."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _lanes_at(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Return eight doubles of an array, from an entry on, as a vector."""
    pointer = _pointer(context, builder, kind, array, at)
    loaded = builder.load(builder.bitcast(pointer, _REALS.as_pointer()))
    loaded.align = 8  # that of a double: LLVM would take that of the vector
    return loaded


def _put_lanes(context: Any, builder: Any, kind: Any, array: Any, vector: Any) -> None:
    pointer = _pointer(context, builder, kind, array, ir.Constant(ir.IntType(64), 0))
    builder.store(vector, builder.bitcast(pointer, _REALS.as_pointer())).align = 8


def _spread(builder: Any, number: Any) -> Any:
    """Return a vector with the same number in each lane."""
    undefined = ir.Constant(_REALS, ir.Undefined)
    one = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, undefined, zeros)


@intrinsic
def _add_lanes(
    _context: Any, places: Any, amounts: Any, table: Any, begin: Any, end: Any, vectors: Any, found: Any
) -> Any:
    """Fill found with the sum of vectors[places[i]] x table[amounts[i]], i from `begin` to before `end`, in this order.

    Without a table where amounts are doubles. Written as vectors, which numba makes of no loop over lanes.
    """
    is_listed = isinstance(amounts.dtype, types.Integer)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        before, body = builder.block, builder.append_basic_block("lanes")
        after, zero = builder.append_basic_block("lanes.end"), ir.Constant(_REALS, [0.0] * LANES)
        builder.cbranch(builder.icmp_signed("<", arguments[3], arguments[4]), body, after)
        builder.position_at_end(body)
        i, total = builder.phi(word), builder.phi(_REALS)
        place = builder.zext(builder.load(_pointer(context, builder, signature.args[0], arguments[0], i)), word)
        amount = builder.load(_pointer(context, builder, signature.args[1], arguments[1], i))
        if is_listed:
            at = builder.zext(amount, word)
            amount = builder.load(_pointer(context, builder, signature.args[2], arguments[2], at))
        first = builder.mul(place, ir.Constant(word, LANES))
        vector = _lanes_at(context, builder, signature.args[5], arguments[5], first)
        # No fused multiplication: what one person's list rounds twice is rounded twice here.
        added = builder.fadd(total, builder.fmul(vector, _spread(builder, amount)))
        following = builder.add(i, ir.Constant(word, 1))
        for phi, start, later in ((i, arguments[3], following), (total, zero, added)):
            phi.add_incoming(start, before)
            phi.add_incoming(later, body)
        builder.cbranch(builder.icmp_signed("<", following, arguments[4]), body, after)
        builder.position_at_end(after)
        result = builder.phi(_REALS)
        result.add_incoming(zero, before)
        result.add_incoming(added, body)
        _put_lanes(context, builder, signature.args[6], arguments[6], result)
        return context.get_dummy_value()

    return types.void(places, amounts, table, types.int64, types.int64, vectors, found), generate


@intrinsic
def _passing(_context: Any, row: Any, room: Any, content: Any, audience: Any, popular: Any, own: Any, loan: Any) -> Any:
    """Return a bit for each lane whose list a piece may enter, by a score without its last rounding.

    Fills ``room.alike`` with part a. ``content`` is what a dot product is multiplied by beside each lane's factor,
    ``popular`` part p times its factor, ``own`` how much stand-ins count.
    """
    members = dict(zip(room.fields, room.types, strict=True))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(ir.IntType(64), 0)
        first = builder.mul(arguments[0], ir.Constant(ir.IntType(64), LANES))

        def lanes(name: str, at: Any = zero) -> Any:
            array = builder.extract_value(arguments[1], room.fields.index(name))
            return _lanes_at(context, builder, members[name], array, at)

        def times(vector: Any, number: Any) -> Any:
            return builder.fmul(vector, _spread(builder, number))

        def over(vector: Any, unit: float) -> Any:
            # A power of two: to divide by it is to multiply by one over it.
            return times(vector, ir.Constant(ir.DoubleType(), 1 / unit))

        lent = over(lanes("lent"), LENT_UNIT)
        liked = times(over(lanes("liked", first), OWN_UNIT), arguments[6])
        borrowed = times(builder.fadd(lent, liked), arguments[5])
        alike = builder.fadd(over(lanes("sums", first), DIRECT_UNIT), borrowed)
        array = builder.extract_value(arguments[1], room.fields.index("alike"))
        _put_lanes(context, builder, members["alike"], array, alike)
        score = times(builder.fmul(lanes("dots"), lanes("factors")), arguments[2])
        score = builder.fadd(score, times(alike, arguments[3]))
        score = builder.fadd(score, _spread(builder, arguments[4]))
        found = builder.fcmp_ordered(">=", score, lanes("least"))
        return builder.zext(builder.bitcast(found, ir.IntType(LANES)), ir.IntType(32))

    real = types.float64
    return types.uint32(types.int64, room, real, real, real, real, real), generate


@inlined
def _make_taste(lane, count, greatest, terms, room):
    """Make a lane of ``taste`` of the scores; return its norm, and whether two doubles do not hold that."""
    high, low, is_inexact = 0.0, 0.0, False
    for i in range(count):
        whole = whole_score(room.scores[i], greatest)
        if whole == 0.0:
            continue
        term = room.numbers[i]
        rare = terms.rarities[term] * whole
        room.taste[term * LANES + lane] = rare * terms.factors[term]
        high, lost = two_sum(high, rare * rare)
        low, rest = two_sum(low, lost)
        is_inexact |= rest != 0.0
    return np.sqrt(high + low), is_inexact


@inlined
def _add_likes(p, lane, pairs, weights, room):
    """Add up in a lane of ``sums`` what likes say of each piece directly, in ``liked`` as its stand-ins."""
    for e in range(pairs.starts[p], pairs.starts[p + 1]):
        grade, seed = np.float64(pairs.grades[e]), np.int64(pairs.rows[e])
        if grade == 0.0:
            continue
        for i in range(weights.starts[seed], weights.starts[seed + 1]):
            room.sums[np.int64(weights.targets[i]) * LANES + lane] += grade * weights.values[i]
        for i in range(weights.lent_starts[seed], weights.lent_starts[seed + 1]):
            room.liked[np.int64(weights.borrowers[i]) * LANES + lane] += grade * weights.lent_shares[i]


@inlined
def _begin(p, lane, pairs, terms, weights, blends, figures, room):
    """Make a lane that of a person; return whether the list has to be made in another way."""
    is_inexact = add_terms(p, pairs, terms, room)
    count, greatest = gather_scores(terms, room)
    norm = 0.0
    if greatest > 0.0:
        norm, is_rough = _make_taste(lane, count, greatest, terms, room)
        is_inexact |= is_rough
    if blends.audience > 0.0:
        _add_likes(p, lane, pairs, weights, room)
    room.norms[lane] = norm
    room.factors[lane] = blends.contents[p] / norm if norm > 0.0 else 0.0
    room.least[lane] = -np.inf
    room.cursors[lane] = pairs.starts[p]
    return is_inexact


@inlined
def _is_seen(p, lane, row, pairs, room):
    """Return whether a person has seen a piece; asked by ascending row."""
    cursor, end = room.cursors[lane], pairs.starts[p + 1]
    while cursor < end and pairs.rows[cursor] < row:
        cursor += 1
    room.cursors[lane] = cursor
    return cursor < end and pairs.rows[cursor] == row and pairs.seen[cursor] > 0


@inlined
def _offer(p, lane, row, blends, figures, room, keys, rows):
    """Put a piece into a person's list if it is good enough, by its exact score: the operations of `kernels.best`."""
    divisor = room.norms[lane] * (figures.roots[row] + figures.mean_norm / 2)
    content = room.dots[lane] / divisor if divisor > 0 else 0.0
    mixed = blends.contents[p] * content + blends.audience * room.alike[lane]
    score = (mixed + blends.popularity * figures.popular[row]) / blends.totals[p]
    key = -np.int64(np.rint(score * SCORE_UNIT))
    if key < keys[0]:
        replace_worst(keys, rows, key, row)
        if keys[0] != layout.NOWHERE:
            # Two units below the worst, so that no rounding keeps out what would enter.
            room.least[lane] = (-np.float64(keys[0]) - 2.0) / SCORE_UNIT * blends.totals[p]


def lists(first, pairs, terms, weights, stand_ins, blends, figures, room, keys, rows, inexact):
    """Fill keys and rows (b, take) with the lists of people from ``first`` on, in no order, as `kernels.best`.

    ``inexact`` (b,) gets 1 where a list has to be made in another way.
    """
    for begin in range(0, len(keys), LANES):
        room.taste[:] = 0.0
        room.sums[:] = 0.0
        room.liked[:] = 0.0
        # No piece passes in lanes without a person.
        room.least[:] = np.inf
        room.factors[:] = 0.0
        for lane in range(min(LANES, len(keys) - begin)):
            keys[begin + lane, :] = layout.NOWHERE
            rows[begin + lane, :] = layout.NOWHERE
            is_inexact = _begin(first + begin + lane, lane, pairs, terms, weights, blends, figures, room)
            inexact[begin + lane] = 1 if is_inexact else 0
        for row in range(len(figures.mask)):
            if not figures.mask[row]:
                continue
            at, end = terms.starts[row], terms.starts[row + 1]
            _add_lanes(terms.terms, terms.weights, terms.table, at, end, room.taste, room.dots)
            at, end = stand_ins.starts[row], stand_ins.starts[row + 1]
            _add_lanes(stand_ins.rows, stand_ins.shares, terms.table, at, end, room.sums, room.lent)
            passing = _passing(
                row,
                room,
                figures.shares[row],
                blends.audience,
                blends.popularity * figures.popular[row],
                stand_ins.evidence[row],
                figures.loan,
            )
            while passing:
                lane = lowest_bit(passing)
                passing &= passing - np.uint32(1)  # without its lowest bit
                p = first + begin + lane
                if not (figures.excludes_seen and _is_seen(p, lane, row, pairs, room)):
                    _offer(p, lane, row, blends, figures, room, keys[begin + lane], rows[begin + lane])
