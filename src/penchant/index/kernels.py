"""How are postings searched at the speed of memory? The compiled kernels, and nothing else that numba sees.

All jitted functions of a search live in this one file: numba does not notice a change in a jitted function of
another file and would serve a stale cache. Import it through `penchant.index.engine`, which says where that cache lies.

A query runs block by block, in ascending order of pieces: add up the postings of its terms, zero what may not
be shown, test whole chunks against a bound that no better piece can fail, and give what is left to a heap with
its exact key. Figures in comments are p50 at a million pieces of 20 keywords, one thread.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from penchant.index import layout, people_kernels

_jit = njit(nogil=True, cache=bool(config.CACHE_DIR))

BLOCK = 65_536
"""Pieces whose sums are held at once: they stay in the second-level cache (16,384 took 25 % longer)."""
REAL_BLOCK = 8_192
"""The same for sums of eight bytes (16,384 took 5 % longer)."""
CHUNK = 32
"""Pieces tested together, by a few vector instructions."""
MARGIN = 1e-5
"""Slack of the chunk test against the rounding of the exact key: never tighter than it."""

overlaps = people_kernels.overlaps
COUNT, DOT, SIZE = layout.COUNT, layout.DOT, layout.SIZE
UNIT = float(layout.DISTANCE_SCALE)
SCORE_UNIT = float(layout.SCORE_SCALE)


@intrinsic
def _bits(_context: Any, _word: Any) -> Any:
    """Count the set bits of a word (one instruction; numba has no name for it)."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _lowest(_context: Any, _word: Any) -> Any:
    """Return the place of the lowest set bit."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1)), ir.IntType(64))

    return types.int64(types.uint32), generate


@_jit
def _upto(pieces, low, high, end):
    """Return the first place in [low, high) whose piece is `end` or later: by doubling steps, then by halves."""
    step = 1
    while low + step < high and pieces[low + step] < end:
        low += step
        step <<= 1
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


@_jit
def _add_ones(sums, pieces, value, begin):
    for i in range(len(pieces)):
        sums[np.uint64(pieces[i]) - np.uint64(begin)] += value


@_jit
def _add_products(sums, pieces, weights, value, begin):
    for i in range(len(pieces)):
        sums[np.uint64(pieces[i]) - np.uint64(begin)] += value * weights[i]


@_jit
def _add_column(sums, column, value):
    for i in range(len(sums)):
        sums[i] += value * column[i]


@_jit
def _add_columns(sums, one, one_value, other, other_value):
    """Two columns in one pass over the sums: 15 % less than one after the other."""
    for i in range(len(sums)):
        sums[i] += one_value * one[i] + other_value * other[i]


@_jit
def _count_signatures(sums, signatures, wanted):
    """Set sums to the number of the query's frequent terms: 64 terms, nine tenths of all postings, in 82 us."""
    for i in range(len(sums)):
        sums[i] = _bits(signatures[i] & wanted)


@_jit
def _accumulate(sums, begin, end, query, postings, frequent, cursors):
    """Make sums[i] the overlap or dot product of piece begin + i with the query."""
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
        high = _upto(postings.pieces, low, postings.starts[term + 1], end)
        cursors[j] = high
        if query.mode == DOT:
            _add_products(sums, postings.pieces[low:high], postings.weights[low:high], query.values[j], begin)
        else:
            _add_ones(sums, postings.pieces[low:high], query.values[j], begin)
    if pending >= 0:
        column = frequent.columns[frequent.slots[query.terms[pending]], begin:end]
        _add_column(sums, column, query.values[pending])


@_jit
def _hide(sums, mask, nothing):
    """Zero what may not be shown: a filter costs the same at any selectivity."""
    for i in range(len(sums)):
        sums[i] = sums[i] if mask[i] else nothing


@intrinsic
def _reaching(_context: Any, sums: Any, bounds: Any, first: Any, least: Any, slope: Any) -> Any:
    """Return a bit for each piece of a chunk: does its sum reach least + slope * its bound, rounded down?

    In fixed point: 7 bits of fraction for sums of 8 bits, for others 16 bits of `slope` and none of `least`.
    Written as vectors because numba does not turn the loop into them: as a loop it took 4 times as long.
    """
    narrow = sums.dtype.bitwidth == 8
    wide = ir.IntType({8: 16, 16: 32}.get(sums.dtype.bitwidth, 64))

    def vector(context: Any, builder: ir.IRBuilder, kind: Any, array: Any, place: Any) -> Any:
        element = context.get_value_type(kind.dtype)
        pointer = builder.gep(context.make_array(kind)(context, builder, array).data, [place])
        loaded = builder.load(builder.bitcast(pointer, ir.VectorType(element, CHUNK).as_pointer()))
        loaded.align = 1
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


@_jit
def _replace_worst(keys, places, key, place):
    """Put an entry in the place of the heap's root, the worst: greatest key, then greatest place."""
    size, i = len(keys), 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            keys[right] > keys[child] or (keys[right] == keys[child] and places[right] > places[child])
        ):
            child = right
        if keys[child] > key or (keys[child] == key and places[child] > place):
            keys[i], places[i] = keys[child], places[child]
            i = child
        else:
            break
    keys[i], places[i] = key, place


@_jit
def _distance(mode, query_norm, total, norm):
    """Return the rounded distance as an integer: the same operations in the same order as `exact`, bit by bit."""
    similarity = total / (np.sqrt(query_norm * norm) if mode == DOT else query_norm + norm - total)
    return max(np.int64(0), np.int64(np.rint((1.0 - similarity) * UNIT)))


@_jit
def _bound(sums, mode, query_norm, scale, limit):
    """Return least, slope: what a nearer piece reaches in `_reaching`, and 1 at least."""
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


@_jit
def _offer(place, total, query, norms, keys, places):
    """Put a piece into the heap if it is near enough; tell whether it was."""
    if total <= 0:
        return False
    key = _distance(query.mode, query.norm, total, np.float64(norms.exact[place]))
    if key >= keys[0]:
        return False
    _replace_worst(keys, places, key, place)
    return True


@_jit
def nearest(query, postings, frequent, norms, choice, sums, keys, places):
    """Fill keys and places with the nearest pieces, in no order; entries not needed keep key `limit`.

    A piece enters if its key is less than `limit` and than the worst entry's: of equal keys the first come stay,
    and as pieces come in ascending order, ties go to the lesser one.
    """
    mask, skipped, limit = choice.mask, choice.skipped, choice.limit
    keys[:] = limit
    places[:] = layout.NOWHERE
    least, slope = _bound(sums, query.mode, query.norm, norms.scale, limit)
    cursors = np.empty(len(query.terms), np.int64)
    for j in range(len(query.terms)):
        cursors[j] = postings.starts[query.terms[j]]
    skip = 0
    for begin in range(0, len(mask), BLOCK):
        end = min(len(mask), begin + BLOCK)
        block, bounds = sums[: end - begin], norms.bounds[begin:end]
        _accumulate(block, begin, end, query, postings, frequent, cursors)
        _hide(block, mask[begin:end], sums.dtype.type(0))
        while skip < len(skipped) and skipped[skip] < end:
            block[skipped[skip] - begin] = 0
            skip += 1
        whole = (end - begin) // CHUNK * CHUNK
        for chunk in range(0, whole, CHUNK):
            found = _reaching(block, bounds, chunk, least, slope)
            while found:
                i = chunk + _lowest(found)
                found &= found - np.uint32(1)
                if _offer(begin + i, np.float64(block[i]), query, norms, keys, places):
                    least, slope = _bound(sums, query.mode, query.norm, norms.scale, keys[0])
        for i in range(whole, end - begin):
            if _offer(begin + i, np.float64(block[i]), query, norms, keys, places):
                least, slope = _bound(sums, query.mode, query.norm, norms.scale, keys[0])


@_jit
def _add_roots(sums, pieces, weights, value, table, begin):
    for i in range(len(pieces)):
        sums[np.uint64(pieces[i]) - np.uint64(begin)] += value * table[weights[i]]


@_jit
def _blended(dot, taste, blending, root, day, popular, liked):
    """Return a score, its parts added in the order of the definition."""
    divisor = taste.norm * (root + taste.mean_norm / 2)
    content = dot / divisor if divisor > 0 else 0.0
    age = min(max(0, blending.today - day), len(blending.credits) - 1)
    credit = blending.credits[age]
    audience = max(liked, credit * layout.NEW_CONTENT_SHARE * content)
    popularity = max(popular, credit * blending.median)
    mixed = blending.content * content + blending.audience * audience + blending.popularity * popularity
    return mixed / blending.total


@_jit
def _score_bounds(taste, blending, worst):
    """Return what `_any_scores` compares with: two units below the worst score, and what content counts at most."""
    least = (-np.float64(worst) - 2.0) / SCORE_UNIT * blending.total
    credit = blending.credits.max()
    most = blending.content + blending.audience * credit * layout.NEW_CONTENT_SHARE
    half, median = taste.mean_norm / 2, credit * blending.median
    return least, blending.content, most, blending.popularity, median, taste.norm, half, blending.audience


@_jit
def _any_scores(dots, bounds, roots, popular, liked):
    """Tell whether a piece of a chunk can score as much: no division, no branch (0.9 ms where scores took 3.9)."""
    least, low, high, share, median, norm, half, shared = bounds
    found = 0
    for i in range(len(dots)):
        rest = least - share * max(popular[i], median) - shared * liked[i]
        found |= max(dots[i] * low, dots[i] * high) >= rest * (norm * (roots[i] + half))
    return found != 0


@_jit
def best(taste, blending, postings, figures, choice, keys, places):
    """Fill keys and places with the best recommendations, keys being minus the score in its unit; as `nearest`."""
    mask, skipped, limit = choice.mask, choice.skipped, choice.limit
    roots, days, popular, liked = figures.roots, figures.days, figures.popular, figures.audience
    keys[:] = limit
    places[:] = layout.NOWHERE
    cursors = np.empty(len(taste.terms), np.int64)
    for j in range(len(taste.terms)):
        cursors[j] = postings.starts[taste.terms[j]]
    scores = np.empty(REAL_BLOCK, np.float64)
    bounds = _score_bounds(taste, blending, keys[0])
    skip = 0
    for begin in range(0, len(mask), REAL_BLOCK):
        end = min(len(mask), begin + REAL_BLOCK)
        block = scores[: end - begin]
        block[:] = 0.0
        for j in range(len(taste.terms)):
            low = cursors[j]
            high = _upto(postings.pieces, low, postings.starts[taste.terms[j] + 1], end)
            cursors[j] = high
            _add_roots(
                block, postings.pieces[low:high], postings.weights[low:high], taste.values[j], taste.table, begin
            )
        for chunk in range(0, end - begin, CHUNK):
            last = min(chunk + CHUNK, end - begin)
            figures_of = slice(begin + chunk, begin + last)
            if not _any_scores(block[chunk:last], bounds, roots[figures_of], popular[figures_of], liked[figures_of]):
                continue
            for i in range(chunk, last):
                place = begin + i
                score = _blended(block[i], taste, blending, roots[place], days[place], popular[place], liked[place])
                # Rounding moves a score by half a unit at most.
                if score * SCORE_UNIT + 1.0 <= -keys[0]:
                    continue
                while skip < len(skipped) and skipped[skip] < place:
                    skip += 1
                hidden = not mask[place] or (skip < len(skipped) and skipped[skip] == place)
                key = -np.int64(np.rint(score * SCORE_UNIT))
                if not hidden and key < keys[0]:
                    _replace_worst(keys, places, key, place)
                    bounds = _score_bounds(taste, blending, keys[0])


@_jit
def _compare(one, other):
    """Return -1, 0 or 1 as one string of bytes is before, equal to or after another."""
    for i in range(min(len(one), len(other))):
        if one[i] != other[i]:
            return -1 if one[i] < other[i] else 1
    return (len(one) > len(other)) - (len(one) < len(other))


@_jit
def find(starts, text, wanted_starts, wanted_text, numbers, found):
    """Set found[i] to the place of wanted string numbers[i] in an ascending table, or to -1."""
    for i in range(len(numbers)):
        wanted = wanted_text[wanted_starts[numbers[i]] : wanted_starts[numbers[i] + 1]]
        low, high = 0, len(starts) - 1
        found[i] = -1
        while low < high:
            middle = (low + high) >> 1
            order = _compare(text[starts[middle] : starts[middle + 1]], wanted)
            if order == 0:
                found[i] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
