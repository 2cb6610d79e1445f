"""Compiled kernels of tastes: of one person, and of how well one piece suits those of many; as numpy makes them.

They allocate nothing, as those of `kernels`. What a person did becomes scores by term, and these a taste.

Scores by term are rounded once, as `math.fsum` does: a sum is held as two doubles. Where these do not hold it, which
needs numbers 2^50 apart, as interactions years before others are, what was lost is mostly too little to matter. Where
it might, the taste has to be found in another way (``inexact``).
"""

import numpy as np

from penchant_engine.index.compiled.kernels import inlined, lowest_bit
from penchant_engine.model import DAY_MS, GREATEST_SCORE, HALF, InteractionType

TOP = float(GREATEST_SCORE)
NOTHING = 4.0 * TOP
"""A score that many times below the greatest becomes 0, whatever rounding does to it."""
ROUGHLY = 2.0**-50
"""More than rounding changes of a number, in times of it."""
DISLIKE = InteractionType.RATE_DISLIKE.code


@inlined
def _two_sum(one, other):
    """Return a sum, rounded, and what the rounding lost, exactly (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


@inlined
def _add_terms(p, pairs, terms, room):
    """Add up the values of a person's pieces by term; return what sums lost at most that two doubles do not hold."""
    spilled = 0.0
    for e in range(pairs.starts[p], pairs.starts[p + 1]):
        value, row = pairs.values[e], pairs.rows[e]
        if value == 0.0:
            continue
        for j in range(terms.starts[row], terms.starts[row + 1]):
            term = terms.terms[j]
            room.bits[term >> np.uint32(5)] |= np.uint32(1) << (term & np.uint32(31))
            high, lost = _two_sum(room.highs[term], value * np.sqrt(np.float64(terms.weights[j])))
            room.highs[term] = high
            if lost != 0.0:
                low, rest = _two_sum(room.lows[term], lost)
                room.lows[term] = low
                spilled += abs(rest)
    return spilled


@inlined
def _gather_scores(terms, room, spilled):
    """Move the sums of all terms met to ``numbers``, ascending, and ``scores``; return how many, and the greatest.

    And beside it the greatest of those that may be rounded otherwise with what was ``spilled``.
    """
    count, greatest, doubtful = 0, 0.0, 0.0
    for word in range((len(terms.rarities) >> 5) + 1):
        bits = room.bits[word]
        if bits == 0:
            continue
        room.bits[word] = 0
        while bits:
            term = word * 32 + lowest_bit(bits)
            bits &= bits - np.uint32(1)  # without its lowest bit
            factor = terms.factors[terms.categories[term]]
            high, low = room.highs[term], room.lows[term]
            score = (high + low) * factor
            if spilled != 0.0:
                margin = 2.0 * spilled + ROUGHLY * abs(low)
                least, most = high + (low - margin), high + (low + margin)
                if least != most:
                    doubtful = max(doubtful, max(abs(least), abs(most)) * factor)
            room.highs[term], room.lows[term] = 0.0, 0.0
            room.numbers[count], room.scores[count] = term, score
            count += 1
            greatest = max(greatest, abs(score))
    return count, greatest, doubtful


@inlined
def _whole_score(score, greatest):
    """Return a score as an integer from -1000 to 1000, half away from zero, where the greatest is 1000."""
    scaled = score / greatest * TOP
    size = abs(scaled)
    whole = np.floor(size)
    if size - whole >= HALF:
        whole += 1.0
    return np.copysign(whole, scaled)


@inlined
def make_taste(p, pairs, terms, room):
    """Fill ``numbers``, ascending, and ``scores`` of the room with a person's terms and f x P x category weight.

    Return how many they are, the norm of f x P, 0 where there is no taste, and whether these may be inexact.
    """
    met_count, greatest, doubtful = _gather_scores(terms, room, _add_terms(p, pairs, terms, room))
    is_inexact = doubtful * NOTHING > greatest
    count, high, low = 0, 0.0, 0.0
    if greatest > 0.0:
        for i in range(met_count):
            whole = _whole_score(room.scores[i], greatest)
            if whole == 0.0:
                continue
            term = room.numbers[i]
            rare = terms.rarities[term] * whole
            high, lost = _two_sum(high, rare * rare)
            low, rest = _two_sum(low, lost)
            is_inexact |= rest != 0.0
            room.numbers[count], room.scores[count] = term, rare * terms.factors[terms.categories[term]]
            count += 1
    return count, np.sqrt(high + low), is_inexact


@inlined
def _add_events(events, length, tables, today, facts, room):
    """Fill values, seen and the latest ratings, and give each piece its highest grade.

    Return whether two doubles do not hold a sum.
    """
    is_inexact = False
    for e in range(len(events.numbers)):
        piece, code = events.numbers[e], events.codes[e]
        facts.seen[piece] |= tables.mark_seen[code]
        facts.grades[piece] = max(facts.grades[piece], np.int64(tables.grades[code]))
        if tables.are_ratings[code]:
            if room.ratings[piece] != 0:
                continue
            room.ratings[piece] = 2 if code == DISLIKE else 1
        if e < length:
            age = min(max(0, today - events.moments[e] // DAY_MS), len(tables.halves) - 1)
            high, lost = _two_sum(facts.values[piece], tables.weights[code] * tables.halves[age])
            facts.values[piece] = high
            low, rest = _two_sum(room.lows[piece], lost)
            room.lows[piece] = low
            is_inexact |= rest != 0.0
    return is_inexact


def facts(events, length, tables, today, exists, facts, room, sizes):
    """Fill the facts of a person's pieces, zeros so far; sizes[0] gets how many likes there are, -1 where inexact.

    All interactions count but for the taste, which is of so many (``length``). ``exists`` (n,) is of the source.
    """
    is_inexact = _add_events(events, length, tables, today, facts, room)
    for p in range(len(facts.grades)):
        facts.values[p] += room.lows[p]
        if room.ratings[p] == 2 or not exists[p]:
            facts.grades[p] = 0
    # Newest first, so that the first positive interaction with a piece tells since when it is liked.
    count, rank, last = 0, 0, 0
    for e in range(len(events.numbers)):
        piece = events.numbers[e]
        if facts.grades[piece] == 0 or tables.grades[events.codes[e]] == 0 or room.ranked[piece] != 0:
            continue
        if count == 0 or events.moments[e] != last:
            rank, last = count, events.moments[e]
        facts.ranks[piece], room.ranked[piece] = rank, 1
        count += 1
    sizes[0] = -1 if is_inexact else count


def taste(pairs, terms, room, norms, sizes):
    """Leave the taste of one person in the room: norms[0] is its norm, sizes[0] how many terms, -1 where inexact."""
    count, norms[0], is_inexact = make_taste(0, pairs, terms, room)
    sizes[0] = -1 if is_inexact else count


def tastes(pairs, terms, amounts, room, dots, norms, inexact):
    """Fill ``dots`` and ``norms`` (u,) of all people; norms are 0 where there is no taste.

    ``amounts`` (v,) are the roots of the piece's weights by term, 0 for terms that it lacks. ``inexact`` (u,) gets 1
    where they may be inexact, and both have to be found in another way.
    """
    for p in range(len(dots)):
        count, norms[p], is_inexact = make_taste(p, pairs, terms, room)
        dot = 0.0
        # Terms ascend, as in a search: the order of additions is fixed.
        for i in range(count):
            dot += room.scores[i] * amounts[room.numbers[i]]
        dots[p], inexact[p] = dot, 1 if is_inexact else 0
