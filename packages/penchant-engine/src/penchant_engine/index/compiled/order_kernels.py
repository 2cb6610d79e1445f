"""Compiled kernel of what is liked soon after what; `ridge_exact.successors` says in numpy what it computes.

It allocates nothing, as those of `kernels`: ``sums`` and ``back``, of zeros before and after, are arguments.

    a person's likes, the latest first    pieces  7  2 | 9 | 4 ...     2 and 7 were liked at one moment, after 9
                                          ranks   0  0 | 2 | 3

The rank of a like is where the likes of its moment begin. So what was liked soon after it stands before that place,
ten likes at most, and what was liked soon before it from the end of its moment on.
"""

import numpy as np

from penchant_engine.index import layout
from penchant_engine.index.compiled.kernels import inlined

PEOPLE_SHIFT = layout.PEOPLE_SHIFT
COUNT_MASK = (1 << layout.PEOPLE_SHIFT) - 1
ONE_PERSON = 1 << layout.PEOPLE_SHIFT
WINDOW = layout.WINDOW
WEIGHT_UNIT = layout.WEIGHT_SCALE
PENALTY = layout.SUCCESSION_PENALTY
HALF_BITS = layout.TOTAL_BITS // 2
HALF_MASK = (1 << HALF_BITS) - 1
TOTAL_BITS = layout.TOTAL_BITS
TOTAL_MASK = (1 << layout.TOTAL_BITS) - 1


@inlined
def _add_successors(likes, piece, closeness, sums, met):
    """Add up C of a piece with those after it, and people; return how many are met, and the squares of single pairs."""
    count, squares = 0, np.int64(0)
    for a in range(likes.piece_starts[piece], likes.piece_starts[piece + 1]):
        begin, grade = likes.person_starts[likes.people[a]], np.int64(likes.piece_grades[a])
        rank = np.int64(likes.piece_ranks[a])
        for place in range(rank - 1, -1, -1):
            distance = rank - np.int64(likes.ranks[begin + place])
            if distance > WINDOW:
                break
            other = likes.pieces[begin + place]
            pair = closeness[distance] * grade * np.int64(likes.grades[begin + place])
            if sums[other] == 0:
                met[count] = other
                count += 1
            sums[other] += pair + ONE_PERSON
            squares += pair * pair
    return count, squares


@inlined
def _add_back(likes, piece, closeness, sums, back):
    """Add up C of pieces that come after a piece as well as before it."""
    for a in range(likes.piece_starts[piece], likes.piece_starts[piece + 1]):
        person, grade = likes.people[a], np.int64(likes.piece_grades[a])
        begin, rank = likes.person_starts[person], np.int64(likes.piece_ranks[a])
        for place in range(begin + np.int64(likes.ends[begin + rank]), likes.person_starts[person + 1]):
            distance = np.int64(likes.ranks[place]) - rank
            if distance > WINDOW:
                break
            other = likes.pieces[place]
            if sums[other] != 0:
                back[other] += closeness[distance] * grade * np.int64(likes.grades[place])


@inlined
def _add_product(totals, at, one, two):
    """Add a product of two counts of up to 40 bits to a total of two words, of which the lower has as many."""
    middle = (one >> HALF_BITS) * (two & HALF_MASK) + (one & HALF_MASK) * (two >> HALF_BITS)
    low = totals[at + 1] + (one & HALF_MASK) * (two & HALF_MASK) + ((middle & HALF_MASK) << HALF_BITS)
    totals[at] += (one >> HALF_BITS) * (two >> HALF_BITS) + (middle >> HALF_BITS) + (low >> TOTAL_BITS)
    totals[at + 1] = low & TOTAL_MASK


@inlined
def _keep(kept, size, most, piece, sums):
    """Put a piece among those of greatest C, the greatest first, ties by piece; return how many there are."""
    count = sums[piece] & COUNT_MASK
    if size == most:
        least = sums[kept[most - 1]] & COUNT_MASK
        if count < least or (count == least and piece > kept[most - 1]):
            return size
    else:
        size += 1
    place = size - 1
    while place > 0:
        other = sums[kept[place - 1]] & COUNT_MASK
        if count < other or (count == other and piece > kept[place - 1]):
            break
        kept[place] = kept[place - 1]
        place -= 1
    kept[place] = piece
    return size


def successors(likes, closeness, first, step, near, values, people, totals, sums, met, back, kept):
    """Fill near (n, k) with the pieces liked soon after every `step`-th piece, ascending, and T and people of each.

    Entries past their number stay as they are. ``totals`` (n, 5) are as `order.direction_of` takes them.
    """
    most = near.shape[1]
    for piece in range(first, len(near), step):
        met_count, totals[piece, 0] = _add_successors(likes, piece, closeness, sums, met)
        _add_back(likes, piece, closeness, sums, back)
        row, size, total = totals[piece], 0, np.int64(0)
        for a in range(met_count):
            other = met[a]
            count = sums[other] & COUNT_MASK
            total += count
            _add_product(row, 1, count, count)
            _add_product(row, 3, count, back[other])
            size = _keep(kept, size, most, other, sums)
        divisor = total + PENALTY
        # By ascending piece, as rows are added up: they are eighty at most.
        for i in range(1, size):
            number, j = kept[i], i
            while j > 0 and kept[j - 1] > number:
                kept[j] = kept[j - 1]
                j -= 1
            kept[j] = number
        for i in range(size):
            count = sums[kept[i]] & COUNT_MASK
            near[piece, i] = kept[i]
            # Half up. Counts have 40 bits at most, so this has 61.
            values[piece, i] = (2 * WEIGHT_UNIT * count + divisor) // (2 * divisor)
            people[piece, i] = min(sums[kept[i]] >> PEOPLE_SHIFT, 255)
        for a in range(met_count):
            sums[met[a]], back[met[a]] = 0, 0
