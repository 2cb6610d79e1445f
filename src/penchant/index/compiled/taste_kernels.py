"""Compiled kernel of how well one piece suits the tastes of many people: bit by bit as one person's list finds it.

It allocates nothing, as those of `kernels`. What a person did becomes scores by term, and these a taste,
of which only its norm and its dot product with the piece are kept.

Scores by term are rounded once, as `math.fsum` does: a sum is held as two doubles, and where these do not hold it
exactly, which needs numbers 2^50 apart, the person is left out (``inexact``).
"""

import numpy as np

from penchant.index.compiled.kernels import inlined, lowest_bit
from penchant.model import GREATEST_SCORE, HALF

TOP = float(GREATEST_SCORE)


@inlined
def two_sum(one, other):
    """Return a sum, rounded, and what the rounding lost, exactly (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


@inlined
def add_terms(p, pairs, terms, room):
    """Add up the values of a person's pieces by term; return whether two doubles do not hold a sum."""
    is_inexact = False
    for e in range(pairs.starts[p], pairs.starts[p + 1]):
        value, row = pairs.values[e], pairs.rows[e]
        if value == 0.0:
            continue
        for j in range(terms.starts[row], terms.starts[row + 1]):
            term = terms.terms[j]
            room.bits[term >> np.uint32(5)] |= np.uint32(1) << (term & np.uint32(31))
            high, lost = two_sum(room.highs[term], value * terms.table[terms.weights[j]])
            room.highs[term] = high
            if lost != 0.0:
                low, rest = two_sum(room.lows[term], lost)
                room.lows[term] = low
                is_inexact |= rest != 0.0
    return is_inexact


@inlined
def gather_scores(terms, room):
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
def whole_score(score, greatest):
    """Return a score as an integer from -1000 to 1000, half away from zero, where the greatest is 1000."""
    scaled = score / greatest * TOP
    size = abs(scaled)
    whole = np.floor(size)
    if size - whole >= HALF:
        whole += 1.0
    return np.copysign(whole, scaled)


def tastes(first, pairs, terms, amounts, room, dots, norms, inexact):
    """Fill ``dots`` and ``norms`` (b,) of the people from ``first`` on; norms are 0 where there is no taste.

    ``amounts`` (v,) are the roots of the piece's weights by term, 0 for terms that it lacks. ``inexact`` (b,) gets 1
    where two doubles do not hold a sum, and both have to be found in another way.
    """
    for place in range(len(dots)):
        is_inexact = add_terms(first + place, pairs, terms, room)
        count, greatest = gather_scores(terms, room)
        high, low, dot = 0.0, 0.0, 0.0
        if greatest > 0.0:
            for i in range(count):
                whole = whole_score(room.scores[i], greatest)
                if whole == 0.0:
                    continue
                term = room.numbers[i]
                rare = terms.rarities[term] * whole
                # Terms ascend, as in a search: the order of additions is fixed.
                dot += rare * terms.factors[term] * amounts[term]
                high, lost = two_sum(high, rare * rare)
                low, rest = two_sum(low, lost)
                is_inexact |= rest != 0.0
        dots[place], norms[place] = dot, np.sqrt(high + low)
        inexact[place] = 1 if is_inexact else 0
