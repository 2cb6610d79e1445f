"""Kernels: the compiled searches of a segment, and how tables of strings and of numbers are looked up and turned.

`native_compiling` makes machine code of them, and nothing else imports this file: searches run that code
alone (`native_kernels`). They allocate nothing, so that it needs nothing of numba; room to work in is an
argument. `exact` is the definition in numpy, and a property test holds both equal bit by bit.

How a query runs. Rows are cut into blocks whose sums fit the second-level cache, and each block goes through four
steps; here one of 96 rows, a chunk being 32:

    postings of a term    3  17  40  41  90 ...      ascending rows; one cursor for each term of the query
                          |   |   |   |   |
    1 accumulate   sums  [..2...1.. | ..5.4..... | .......3.]   terms one after the other, sums[row - begin] += value
    2 mask         sums  [..2...0.. | ..5.4..... | .......0.]   0 for what is not live, not shown or excluded
    3 chunk test         [   no     |  row 40    |    no    ]   sum >= least + slope * bound, 32 rows at once
    4 exact key                        40 -> 0.3712... -> heap of `take` entries, the worst one at its root

Step 3 never turns away what step 4 would take: it compares with norms rounded down (`Norms.bounds`) and with the worst
key of the heap, made easier by `MARGIN`. As the heap fills with near pieces the test becomes harder, and soon whole
blocks pass it with nothing left. Step 4 divides, rounds and compares as the definition does. Rows ascend and only what
is strictly nearer than the worst enters, so that of equal keys the lesser row, which is the lesser id, stays
(`penchant_engine.index.best`).

Sums are integers of the narrowest type that holds them, so they are exact, and as many as can be fit a register.
Figures in comments are p50 at a million pieces of 20 keywords, one thread.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from penchant_engine.index import layout

BLOCK = 65_536
"""Pieces whose sums are held at once: they stay in the second-level cache (16,384 took 25 % longer)."""
REAL_BLOCK = 8_192
"""The same for sums of eight bytes (16,384 took 5 % longer)."""
CHUNK = 32
"""Pieces tested together, by a few vector instructions."""
MARGIN = 1e-5
"""Slack of the chunk test against the rounding of the exact key: never tighter than it."""

COUNT, DOT, SIZE = layout.COUNT, layout.DOT, layout.SIZE
UNIT = float(layout.DISTANCE_SCALE)
SCORE_UNIT = float(layout.SCORE_SCALE)

inlined = register_jitable(_nrt=False, error_model="numpy", no_cfunc_wrapper=True)
"""Marks a function that kernels call: it allocates nothing, divides by zero as numpy does, and is called by no C."""


@intrinsic
def _bits(_context: Any, _word: Any) -> Any:
    """Count the set bits of a word (one instruction; numba has no name for it)."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def lowest_bit(_context: Any, _word: Any) -> Any:
    """Return the number of the lowest set bit of a word that has one."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1)), ir.IntType(64))

    return types.int64(types.uint32), generate


@inlined
def upto(pieces, low, high, end):
    """Return the first index in [low, high) whose piece is `end` or later: by doubling steps, then by halves."""
    step = 1
    while low + step < high and pieces[low + step] < end:
        low += step
        step <<= 1
    # The doubling stopped because low + step is past the last index, or its piece is not before `end`.
    high = min(high, low + step + 1)
    while low < high:
        middle = (low + high) >> 1
        if pieces[middle] < end:
            low = middle + 1
        else:
            high = middle
    return low


# The loops below index slices from 0 by unsigned numbers: no test for the end of the posting, none for negative
# indexes. The same algorithm without that took three times as long (1.47 ms against 0.50).
@inlined
def _add_ones(sums, pieces, value, begin):
    """Add a term's value to the sums of the pieces that have it."""
    for i in range(len(pieces)):
        sums[np.uint64(pieces[i]) - np.uint64(begin)] += value


@inlined
def _add_products(sums, pieces, weights, value, begin):
    """Add a term's value times its weight in each of the pieces that have it."""
    for i in range(len(pieces)):
        sums[np.uint64(pieces[i]) - np.uint64(begin)] += value * weights[i]


@inlined
def _add_column(sums, column, value):
    """Add a frequent term's value times its weights, which lie there for all pieces: no row is looked up."""
    for i in range(len(sums)):
        sums[i] += value * column[i]


@inlined
def _add_columns(sums, one, one_value, other, other_value):
    """Add two columns in one pass over the sums: 15 % less time than one after the other."""
    for i in range(len(sums)):
        sums[i] += one_value * one[i] + other_value * other[i]


@inlined
def _count_signatures(sums, signatures, wanted):
    """Set sums to the number of the query's frequent terms: 64 terms, nine tenths of all postings, in 82 us."""
    for i in range(len(sums)):
        sums[i] = _bits(signatures[i] & wanted)


@inlined
def _accumulate(sums, begin, end, query, postings, frequent, cursors):
    """Make sums[i] the overlap or dot product of piece begin + i with the query.

    ``cursors`` holds for each term where its postings go on with this block. Few terms make most of the postings, so
    the most frequent ones do not go by postings: an overlap counts them with one instruction for a piece, a dot
    product adds their columns, two by two.
    """
    # The number of a term whose column waits for another one.
    pending = -1
    if query.mode == COUNT:
        wanted = np.uint64(0)
        for j in range(len(query.terms)):
            bit = frequent.bits[query.terms[j]]
            if bit >= 0:
                wanted |= np.uint64(1) << np.uint64(bit)
        _count_signatures(sums, frequent.signatures[begin:end], wanted)
    else:
        sums[:] = 0
    for j in range(len(query.terms)):
        term = query.terms[j]
        if query.mode == COUNT and frequent.bits[term] >= 0:
            continue
        if query.mode == DOT and frequent.slots[term] >= 0:
            if pending < 0:
                pending = j
            else:
                one = frequent.columns[frequent.slots[query.terms[pending]], begin:end]
                other = frequent.columns[frequent.slots[term], begin:end]
                _add_columns(sums, one, query.values[pending], other, query.values[j])
                pending = -1
            continue
        low = cursors[j]
        high = upto(postings.pieces, low, postings.starts[term + 1], end)
        cursors[j] = high
        if query.mode == DOT:
            _add_products(sums, postings.pieces[low:high], postings.weights[low:high], query.values[j], begin)
        else:
            _add_ones(sums, postings.pieces[low:high], query.values[j], begin)
    if pending >= 0:
        column = frequent.columns[frequent.slots[query.terms[pending]], begin:end]
        _add_column(sums, column, query.values[pending])


@inlined
def _apply_mask(sums, mask, nothing):
    """Zero what may not be shown: looked up for all pieces, so that a filter costs the same at any selectivity."""
    for i in range(len(sums)):
        sums[i] = sums[i] if mask[i] else nothing


@intrinsic
def _reaching(_context: Any, sums: Any, bounds: Any, first: Any, least: Any, slope: Any) -> Any:
    """Return a bit for each piece of a chunk: does its sum reach least + slope * its bound, rounded down?

    In fixed point, since a conversion to floating point would cost more than all the rest: 7 bits of fraction for
    sums of 8 bits (they are shifted up to it), for others 16 bits of `slope` (the product is shifted down) and none of
    `least`. ``wide`` is a type in which neither overflows. Written as vectors because numba does not turn the loop into
    them: as a loop it took 4 times as long.
    """
    narrow = sums.dtype.bitwidth == 8
    wide = ir.IntType({8: 16, 16: 32}.get(sums.dtype.bitwidth, 64))

    def vector(context: Any, builder: ir.IRBuilder, kind: Any, array: Any, first: Any) -> Any:
        element = context.get_value_type(kind.dtype)
        pointer = builder.gep(context.make_array(kind)(context, builder, array).data, [first])
        loaded = builder.load(builder.bitcast(pointer, ir.VectorType(element, CHUNK).as_pointer()))
        loaded.align = 1  # or LLVM would take an array of numpy to begin at the width of a vector
        return builder.zext(loaded, ir.VectorType(wide, CHUNK))

    def spread(builder: ir.IRBuilder, number: Any) -> Any:
        kind = ir.VectorType(wide, CHUNK)
        number = builder.trunc(number, wide) if wide.width < 64 else number
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), CHUNK), [0] * CHUNK)
        return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        reached = vector(context, builder, signature.args[0], arguments[0], arguments[2])
        bound = vector(context, builder, signature.args[1], arguments[1], arguments[2])
        share = builder.mul(bound, spread(builder, arguments[4]))
        if narrow:
            reached = builder.shl(reached, ir.Constant(reached.type, [7] * CHUNK))
        else:
            share = builder.lshr(share, ir.Constant(share.type, [16] * CHUNK))
        found = builder.icmp_unsigned(">=", reached, builder.add(share, spread(builder, arguments[3])))
        return builder.bitcast(found, ir.IntType(CHUNK))

    return types.uint32(sums, bounds, types.int64, types.int64, types.int64), generate


@inlined
def replace_worst(keys, rows, key, row):
    """Replace the heap's root, the worst entry: that of the greatest key, then of the greatest row.

    The root is a gap that sinks, worse children rising into it, to where the new entry is worse than both.
    """
    size, i = len(keys), 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (keys[right] > keys[child] or (keys[right] == keys[child] and rows[right] > rows[child])):
            child = right
        if keys[child] > key or (keys[child] == key and rows[child] > row):
            keys[i], rows[i] = keys[child], rows[child]
            i = child
        else:
            break
    keys[i], rows[i] = key, row


@inlined
def _distance(mode, query_norm, total, norm):
    """Return the rounded distance as an integer: the same operations in the same order as `exact`, bit by bit."""
    similarity = total / (np.sqrt(query_norm * norm) if mode == DOT else query_norm + norm - total)
    return max(np.int64(0), np.int64(np.rint((1.0 - similarity) * UNIT)))


@inlined
def _bound(sums, mode, query_norm, scale, limit):
    """Return least, slope: what a nearer piece reaches in `_reaching`; a sum of 0 may do so too, for `_offer` to see.

    With s = 1 - limit the similarity to be passed, q and n the norms of query and piece: a dot product must pass
    s * sqrt(q * n), so least is 0 and slope s * sqrt(q), bounds being roots; an overlap o with o / (q + n - o) > s
    must pass s / (1 + s) * (q + n), so q gives least and n slope.
    """
    # Both in the fixed point of `_reaching`; a slope cut off at what its type holds only lets more pieces through.
    one = 128 if sums.itemsize == 1 else 1
    most = (1 << 16) - 1 if sums.itemsize == 2 else (1 << 40)
    unit = 128 if sums.itemsize == 1 else 65_536
    similarity = (1.0 - limit / UNIT) * (1.0 - MARGIN)
    if similarity <= 0.0:
        return np.int64(one), np.int64(0)
    if mode == DOT:
        return np.int64(0), np.int64(min(most, similarity * np.sqrt(query_norm) / scale * unit))
    share = similarity / (1.0 + similarity)
    return np.int64(share * query_norm * one), np.int64(min(most, share / scale * unit))


@inlined
def _offer(row, total, query, norms, keys, rows):
    """Put a piece into the heap if it is near enough; return whether it was."""
    if total <= 0:
        return False
    key = _distance(query.mode, query.norm, total, np.float64(norms.exact[row]))
    if key >= keys[0]:
        return False
    replace_worst(keys, rows, key, row)
    return True


def nearest(query, postings, frequent, norms, choice, first, last, sums, cursors, keys, rows):
    """Fill keys and rows with the nearest pieces of some rows, in no order; entries not needed keep key `limit`.

    ``sums`` has room for a block, ``cursors`` (n_terms of the query,) for where each term's postings go on.

    A piece enters if its key is less than `limit` and than the worst entry's: of equal keys the first come stay,
    and as rows come in ascending order, ties go to the lesser one.
    """
    # A heap of entries that are all as bad as the limit: there is no case of a heap that is not full yet.
    mask, excluded, limit = choice.mask, choice.excluded, choice.limit
    keys[:] = limit
    rows[:] = layout.NOWHERE
    least, slope = _bound(sums, query.mode, query.norm, norms.scale, limit)
    for j in range(len(query.terms)):
        term = query.terms[j]
        cursors[j] = upto(postings.pieces, postings.starts[term], postings.starts[term + 1], first)
    next_excluded = upto(excluded, 0, len(excluded), first)
    for begin in range(first, last, BLOCK):
        end = min(last, begin + BLOCK)
        block, bounds = sums[: end - begin], norms.bounds[begin:end]
        _accumulate(block, begin, end, query, postings, frequent, cursors)
        _apply_mask(block, mask[begin:end], sums.dtype.type(0))
        while next_excluded < len(excluded) and excluded[next_excluded] < end:
            block[excluded[next_excluded] - begin] = 0
            next_excluded += 1
        # `_reaching` loads whole vectors, so what the last block has beside whole chunks goes piece by piece.
        whole = (end - begin) // CHUNK * CHUNK
        for chunk in range(0, whole, CHUNK):
            found = _reaching(block, bounds, chunk, least, slope)
            # What enters makes the bound harder: these bits are then of an easier one, and `_offer` compares again.
            while found:
                i = chunk + lowest_bit(found)
                found &= found - np.uint32(1)  # without its lowest bit
                if _offer(begin + i, np.float64(block[i]), query, norms, keys, rows):
                    least, slope = _bound(sums, query.mode, query.norm, norms.scale, keys[0])
        for i in range(whole, end - begin):
            if _offer(begin + i, np.float64(block[i]), query, norms, keys, rows):
                least, slope = _bound(sums, query.mode, query.norm, norms.scale, keys[0])


@inlined
def _add_roots(sums, pieces, weights, value, table, begin):
    """Add a term's value times the root of its weight in each of the pieces that have it, from a table of roots."""
    for i in range(len(pieces)):
        sums[np.uint64(pieces[i]) - np.uint64(begin)] += value * table[weights[i]]


@inlined
def _blended(dot, taste, blending, root, popular, liked):
    """Return a score, its parts added in the order of the definition."""
    divisor = taste.norm * (root + taste.mean_norm / 2)
    content = dot / divisor if divisor > 0 else 0.0
    mixed = blending.content * content + blending.audience * liked + blending.popularity * popular
    return mixed / blending.total


@inlined
def _score_bounds(taste, blending, worst):
    """Return what `_any_scores` compares with: two units below the worst score, and what the parts count."""
    least = (-np.float64(worst) - 2.0) / SCORE_UNIT * blending.total
    return least, blending.content, blending.popularity, blending.audience, taste.norm, taste.mean_norm / 2


@inlined
def _any_scores(dots, bounds, roots, popular, liked):
    """Return whether a piece of a chunk can score as much: no division, no branch (0.9 ms where scores took 3.9)."""
    least, content, share, shared, norm, half = bounds
    found = 0
    for i in range(len(dots)):
        # `_blended` multiplied out; where its divisor is 0, both sides are 0 and the piece passes.
        rest = least - share * popular[i] - shared * liked[i]
        found |= dots[i] * content >= rest * (norm * (roots[i] + half))
    return found != 0


def best(taste, blending, postings, figures, choice, first, last, dots, are_known, shares, cursors, keys, rows):
    """Fill keys and rows with the best recommendations, keys being minus the score in its unit; as `nearest`.

    ``dots`` and ``shares`` have room for a block, or ``dots`` for all pieces: then it keeps their dot products with the
    taste, and where they ``are_known`` has them already.
    """
    mask, excluded, limit = choice.mask, choice.excluded, choice.limit
    roots, popular, audience = figures.roots, figures.popular, figures.audience
    keys[:] = limit
    rows[:] = layout.NOWHERE
    terms = taste.terms[:0] if are_known else taste.terms
    for j in range(len(terms)):
        term = terms[j]
        cursors[j] = upto(postings.pieces, postings.starts[term], postings.starts[term + 1], first)
    bounds = _score_bounds(taste, blending, keys[0])
    next_excluded, next_liked = 0, upto(audience.rows, 0, len(audience.rows), first)
    for begin in range(first, last, REAL_BLOCK):
        end = min(last, begin + REAL_BLOCK)
        base = begin if len(dots) == len(mask) else 0
        block, liked = dots[base : base + end - begin], shares[: end - begin]
        if not are_known:
            block[:] = 0.0
        liked[:] = 0.0
        while next_liked < len(audience.rows) and audience.rows[next_liked] < end:
            liked[audience.rows[next_liked] - begin] = audience.values[next_liked]
            next_liked += 1
        for j in range(len(terms)):
            low = cursors[j]
            high = upto(postings.pieces, low, postings.starts[terms[j] + 1], end)
            cursors[j] = high
            _add_roots(
                block, postings.pieces[low:high], postings.weights[low:high], taste.values[j], taste.table, begin
            )
        for chunk in range(0, end - begin, CHUNK):
            over = min(chunk + CHUNK, end - begin)
            figures_of = slice(begin + chunk, begin + over)
            if not _any_scores(block[chunk:over], bounds, roots[figures_of], popular[figures_of], liked[chunk:over]):
                continue
            for i in range(chunk, over):
                row = begin + i
                score = _blended(block[i], taste, blending, roots[row], popular[row], liked[i])
                # Rounding moves a score by half a unit at most.
                if score * SCORE_UNIT + 1.0 <= -keys[0]:
                    continue
                # Also over what lay in chunks that were skipped: rows ascend, so it is never needed again.
                while next_excluded < len(excluded) and excluded[next_excluded] < row:
                    next_excluded += 1
                is_excluded = not mask[row] or (next_excluded < len(excluded) and excluded[next_excluded] == row)
                key = -np.int64(np.rint(score * SCORE_UNIT))
                if not is_excluded and key < keys[0]:
                    replace_worst(keys, rows, key, row)
                    bounds = _score_bounds(taste, blending, keys[0])


def dots(values, table, entries, rows, found):
    """Set found[i] to the dot product of piece rows[i] with a taste that has a value for every term.

    Terms of a piece ascend: they are added in the order in which `best` adds them, those that the taste lacks as 0.
    """
    for i in range(len(rows)):
        total = 0.0
        for place in range(entries.starts[rows[i]], entries.starts[rows[i] + 1]):
            total += values[entries.terms[place]] * table[entries.weights[place]]
        found[i] = total


@inlined
def _compare(one, other, same):
    """Return -1, 0 or 1 as a string of bytes is before, equal to or after another, and how many bytes are the same.

    The first ``same`` ones are known to be.
    """
    shorter = min(len(one), len(other))
    while same < shorter and one[same] == other[same]:
        same += 1
    if same < shorter:
        return (-1 if one[same] < other[same] else 1), same
    return (len(one) > len(other)) - (len(one) < len(other)), same


def find(starts, text, wanted_starts, wanted_text, numbers, found):
    """Set found[i] to the number that string numbers[i] has in an ascending table, or to -1."""
    for i in range(len(numbers)):
        wanted = wanted_text[wanted_starts[numbers[i]] : wanted_starts[numbers[i] + 1]]
        # From the whole table each time: what is looked up need not ascend.
        low, high = 0, len(starts) - 1
        # All strings between two begin with what both have in common with the wanted one: ids begin alike.
        same_low, same_high = 0, 0
        found[i] = -1
        while low < high:
            middle = (low + high) >> 1
            order, same = _compare(text[starts[middle] : starts[middle + 1]], wanted, min(same_low, same_high))
            if order == 0:
                found[i] = middle
                break
            if order < 0:
                low, same_low = middle + 1, same
            else:
                high, same_high = middle, same


def transpose(starts, columns, values, places, rows, moved):
    """Put the entries of rows in the order of their columns, those of one column in the order of rows.

    ``places`` are where the entries of each column begin; they are moved on to where these end.
    """
    for row in range(len(starts) - 1):
        for i in range(starts[row], starts[row + 1]):
            column = columns[i]
            rows[places[column]], moved[places[column]] = row, values[i]
            places[column] += 1
