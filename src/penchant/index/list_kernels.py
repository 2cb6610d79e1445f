"""Compiled kernel of the lists of many people, of pieces in one segment: bit by bit those of one after the other.

It allocates nothing, as those of `penchant.index.kernels`. For each person:

    pairs -> values x roots of weights, added up by term -> scores -> taste      `index.person` in numpy
    pairs -> grades -> weights of the audience -> part a, of the pieces met alone  `ridge_kernels.shares`
    a bound of each piece's score: part a, part p, and what the taste can give at most (Cauchy and Schwarz)
    the exact score of those whose bound passes the worst of the list so far       `kernels.best`

So few pieces are compared term by term: of 10,000 some hundred. Scores by term are rounded once, as `math.fsum` does:
a sum is held as two doubles, and where these do not hold it exactly, which needs numbers 2^50 apart, the person is left
out (``inexact``) for others to list.
"""

import numpy as np

from penchant.index import layout
from penchant.index.inlining import inlined
from penchant.index.kernels import lowest_bit, replace_worst
from penchant.model import GREATEST_SCORE, HALF

SCORE_UNIT = float(layout.SCORE_SCALE)
SHARE_UNIT = float(layout.SHARE_SCALE)
DIRECT_UNIT = float(layout.DIRECT_SCALE)
LENT_UNIT = float(layout.LENT_SCALE)
OWN_UNIT = float(layout.OWN_SCALE)
TOP = float(GREATEST_SCORE)
CHUNK = 32
"""Pieces whose bounds are tested together."""
SAMPLED, SAMPLES = 16, 8
"""One of so many pieces is looked at for a first threshold, which so many of them pass: four times a list."""
SLACK = 1.0 + 1e-9
"""What bounds of doubles may be less exact by, with room."""


@inlined
def _two_sum(one, other):
    """Return a sum, rounded, and what the rounding lost, exactly (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


@inlined
def _add_terms(p, pairs, terms, room):
    """Add up the values of a person's pieces by term; return whether two doubles do not hold a sum."""
    is_inexact = False
    for e in range(pairs.starts[p], pairs.starts[p + 1]):
        value, row = pairs.values[e], pairs.rows[e]
        if value == 0.0:
            continue
        for j in range(terms.starts[row], terms.starts[row + 1]):
            term = terms.terms[j]
            room.bits[term >> np.uint32(5)] |= np.uint32(1) << (term & np.uint32(31))
            high, lost = _two_sum(room.highs[term], value * terms.table[terms.weights[j]])
            room.highs[term] = high
            if lost != 0.0:
                low, rest = _two_sum(room.lows[term], lost)
                room.lows[term] = low
                is_inexact |= rest != 0.0
    return is_inexact


@inlined
def _gather_scores(terms, room):
    """Move the sums of all terms met to ``numbers``, ascending, and ``scores``; return how many, and the greatest."""
    count, greatest = 0, 0.0
    for word in range(len(room.bits)):
        bits = room.bits[word]
        if bits == 0:
            continue
        room.bits[word] = 0
        while bits:
            term = word * 32 + lowest_bit(bits)
            bits &= bits - np.uint32(1)  # without its lowest bit
            score = (room.highs[term] + room.lows[term]) * terms.factors[term]
            room.highs[term], room.lows[term] = 0.0, 0.0
            room.numbers[count], room.scores[count] = term, score
            count += 1
            greatest = max(greatest, abs(score))
    return count, greatest


@inlined
def _make_taste(count, greatest, terms, room):
    """Make ``taste`` of the scores; return how many terms it has, its norm, the length of what is above 0, if inexact.

    ``numbers`` are then those of its terms alone.
    """
    kept, reach, high, low, is_inexact = 0, 0.0, 0.0, 0.0, False
    for i in range(count):
        scaled = room.scores[i] / greatest * TOP
        size = abs(scaled)
        whole = np.floor(size)
        if size - whole >= HALF:
            whole += 1.0
        if whole == 0.0:
            continue
        term = room.numbers[i]
        rare = terms.rarities[term] * np.copysign(whole, scaled)
        value = rare * terms.factors[term]
        room.taste[term] = value
        room.numbers[kept] = term
        kept += 1
        if value > 0.0:
            reach += value * value
        high, lost = _two_sum(high, rare * rare)
        low, rest = _two_sum(low, lost)
        is_inexact |= rest != 0.0
    return kept, np.sqrt(high + low), np.sqrt(reach), is_inexact


@inlined
def _touch(piece, count, room):
    """Note a piece as met, once; return how many are."""
    if room.touched[piece] == 0:
        room.touched[piece] = 1
        room.pieces[count] = piece
        return count + 1
    return count


@inlined
def _add_audience(p, pairs, weights, loan, room):
    """Make ``alike`` part a of the pieces that a person's likes speak for; return how many, in ``pieces``."""
    count = 0
    for e in range(pairs.starts[p], pairs.starts[p + 1]):
        grade, seed = np.int64(pairs.grades[e]), pairs.rows[e]
        if grade == 0:
            continue
        for i in range(weights.starts[seed], weights.starts[seed + 1]):
            target = weights.targets[i]
            count = _touch(target, count, room)
            room.sums[target] += grade * np.int64(weights.values[i])
        for i in range(weights.lent_starts[seed], weights.lent_starts[seed + 1]):
            borrower = weights.borrowers[i]
            count = _touch(borrower, count, room)
            room.liked[borrower] += grade * np.int64(weights.lent_shares[i])
    # Pieces that are met from here on lend nothing: likes say nothing of them directly.
    for k in range(count):
        piece = room.pieces[k]
        if room.sums[piece] != 0:
            for i in range(weights.lent_starts[piece], weights.lent_starts[piece + 1]):
                borrower = weights.borrowers[i]
                count = _touch(borrower, count, room)
                room.lent[borrower] += room.sums[piece] * np.int64(weights.lent_shares[i])
    for k in range(count):
        piece = room.pieces[k]
        evidence = np.float64(weights.evidence[piece]) / SHARE_UNIT
        borrowed = np.float64(room.lent[piece]) / LENT_UNIT + loan * (np.float64(room.liked[piece]) / OWN_UNIT)
        room.alike[piece] = np.float64(room.sums[piece]) / DIRECT_UNIT + evidence * borrowed
        room.sums[piece], room.lent[piece], room.liked[piece], room.touched[piece] = 0, 0, 0, 0
    return count


@inlined
def _bound_all(share, blends, figures, room):
    """Make ``bounds`` the most that each piece's parts can come to, times their factors."""
    audience, popularity = blends.audience, blends.popularity
    for row in range(len(room.bounds)):
        bound = share * figures.reaches[row] + audience * room.alike[row] + popularity * figures.popular[row]
        room.bounds[row] = bound if figures.mask[row] else -np.inf


@inlined
def _first_threshold(bounds):
    """Return a bound that about four lists of pieces pass, from a sample; minus infinity for a few pieces."""
    if len(bounds) < SAMPLED * SAMPLES * 2:
        return -np.inf
    # The best of the sample, the least one first, by insertion.
    a, b, c, d = -np.inf, -np.inf, -np.inf, -np.inf
    e, f, g, h = -np.inf, -np.inf, -np.inf, -np.inf
    for i in range(0, len(bounds), SAMPLED):
        x = bounds[i]
        if x > a:
            a = x
            if a > b:
                a, b = b, a
            if b > c:
                b, c = c, b
            if c > d:
                c, d = d, c
            if d > e:
                d, e = e, d
            if e > f:
                e, f = f, e
            if f > g:
                f, g = g, f
            if g > h:
                g, h = h, g
    return a


@inlined
def _score(row, terms, norm, p, blends, figures, room):
    """Return the exact score of a piece, its terms added in ascending order, as `kernels.best` adds them."""
    dot = 0.0
    for j in range(terms.starts[row], terms.starts[row + 1]):
        dot += room.taste[terms.terms[j]] * terms.table[terms.weights[j]]
    divisor = norm * (figures.roots[row] + figures.mean_norm / 2)
    content = dot / divisor if divisor > 0 else 0.0
    mixed = blends.contents[p] * content + blends.audience * room.alike[row]
    return (mixed + blends.popularity * figures.popular[row]) / blends.totals[p]


@inlined
def _least(worst, total):
    """Return the bound below which no piece enters a list: two units below its worst score."""
    return -np.inf if worst == layout.NOWHERE else (-np.float64(worst) - 2.0) / SCORE_UNIT * total


@inlined
def _any_between(bounds, least, below):
    found = 0
    for i in range(len(bounds)):
        found |= (bounds[i] >= least) & (bounds[i] < below)
    return found != 0


@inlined
def _offer_between(least, below, p, norm, terms, blends, figures, room, keys, rows):
    """Offer the pieces whose bounds are from ``least``, which rises as the list fills, to below ``below``."""
    bounds = room.bounds
    for begin in range(0, len(bounds), CHUNK):
        end = min(begin + CHUNK, len(bounds))
        if not _any_between(bounds[begin:end], least, below):
            continue
        for row in range(begin, end):
            if bounds[row] < least or bounds[row] >= below or bounds[row] == -np.inf:
                continue
            score = _score(row, terms, norm, p, blends, figures, room)
            key = -np.int64(np.rint(score * SCORE_UNIT))
            if key < keys[0] or (key == keys[0] and row < rows[0]):
                replace_worst(keys, rows, key, row)
                least = max(least, _least(keys[0], blends.totals[p]))


def lists(first, pairs, terms, weights, blends, figures, room, keys, rows, inexact):
    """Fill keys and rows (b, take) with the lists of people from ``first`` on, in no order, as `kernels.best`.

    ``inexact`` (b,) gets 1 where a list has to be made in another way.
    """
    for b in range(len(keys)):
        p = first + b
        own_keys, own_rows = keys[b], rows[b]
        own_keys[:] = layout.NOWHERE
        own_rows[:] = layout.NOWHERE
        is_inexact = _add_terms(p, pairs, terms, room)
        count, greatest = _gather_scores(terms, room)
        kept, norm, reach = 0, 0.0, 0.0
        if greatest > 0.0:
            kept, norm, reach, is_rough = _make_taste(count, greatest, terms, room)
            is_inexact |= is_rough
        inexact[b] = 1 if is_inexact else 0
        met = 0
        if blends.audience > 0.0:
            met = _add_audience(p, pairs, weights, figures.loan, room)
        share = blends.contents[p] * reach / norm * SLACK if norm > 0.0 else 0.0
        _bound_all(share, blends, figures, room)
        if figures.excludes_seen:
            for e in range(pairs.starts[p], pairs.starts[p + 1]):
                if pairs.seen[e]:
                    room.bounds[pairs.rows[e]] = -np.inf
        threshold = _first_threshold(room.bounds)
        _offer_between(threshold, np.inf, p, norm, terms, blends, figures, room, own_keys, own_rows)
        least = _least(own_keys[0], blends.totals[p])
        if least < threshold:
            _offer_between(least, threshold, p, norm, terms, blends, figures, room, own_keys, own_rows)
        for i in range(kept):
            room.taste[room.numbers[i]] = 0.0
        for i in range(met):
            room.alike[room.pieces[i]] = 0.0
