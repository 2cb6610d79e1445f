"""Compiled kernels of the audience part; `ridge_exact` says in numpy what they compute, bit by bit.

They allocate nothing, as those of `kernels`: ``sums`` of zeros and ``met`` are arguments, and are of
zeros again at the end.

How weights are made, for pieces j in blocks::

    likes of j -> people -> their likes: one row of G, with the people of each pair in its upper bits
    the k best of the row by G_ij^2 / G_ii: neighbours of j
    once more the row of every neighbour: G among the neighbours, a lower triangle for each j of the block
    Cholesky of each triangle, forwards, backwards: weights of j

A row of G is added up in one word for each piece (``sums``), of which few are met::

    sums[i]    63                40 39                              0
               | people of i and j |   overlap G_ij, at most 2^8     |     one addition counts both
               |                   |   for each person               |

    met        17 3 90 ...         the pieces i that are not 0, in the order of meeting: what comes after runs over
                                   these alone and sets them back to 0, so a row costs what its people like, not n

Pieces are numbered by how much they are liked, the most liked first (ranks), so that most additions fall upon the same
few lines of the cache; ``ids`` has the number of each rank in the catalogue, by which ties and equations go.
"""

import numpy as np

from penchant_engine.index import layout
from penchant_engine.index.compiled.kernels import inlined, lowest_bit, upto

PEOPLE_SHIFT = layout.PEOPLE_SHIFT
OVERLAP_MASK = (1 << layout.PEOPLE_SHIFT) - 1
ONE_PERSON = 1 << layout.PEOPLE_SHIFT
PENALTY = float(layout.PENALTY)
WEIGHT_UNIT = float(layout.WEIGHT_SCALE)
SHARE_UNIT = float(layout.SHARE_SCALE)
LIKENESS_UNIT = float(layout.LIKENESS_SCALE)
DIRECT_UNIT = float(layout.DIRECT_SCALE)
LENT_UNIT = float(layout.LENT_SCALE)
WIDE = 1 << layout.LENT_BITS
WORD_BITS = layout.WORD_BITS
WORD_MASK = (1 << layout.WORD_BITS) - 1
WORD_UNIT = float(1 << layout.WORD_BITS)
OWN_UNIT = float(layout.OWN_SCALE)
CHUNK = 64
"""Pieces that are looked at together for a stand-in."""
SLACK = 1.0 - 1e-12
"""What products of doubles are less exact by than the comparison of integers, with room."""


@inlined
def _add_row(likes, piece, end, sums, met):
    """Add up a row of G up to a rank, and how many people each pair has; return how many pieces are met."""
    count = 0
    # Every addition counts a person, so a sum is 0 only before its piece is met.
    for a in range(likes.piece_starts[piece], likes.piece_starts[piece + 1]):
        person, grade = likes.people[a], np.int64(likes.piece_grades[a])
        for b in range(likes.person_starts[person], likes.person_starts[person + 1]):
            i = likes.pieces[b]
            # A person's likes ascend.
            if i >= end:
                break
            if sums[i] == 0:
                met[count] = i
                count += 1
            sums[i] += grade * np.int64(likes.grades[b]) + ONE_PERSON
    return count


@inlined
def _is_nearer(overlap, square, piece, other_overlap, other_square, other):
    """Compare G_ij^2 / G_ii of two pieces in whole numbers: quotients, then remainders, then ids."""
    # G_ij^2 <= G_ii G_jj, and a remainder is less than its G_ii: all products fit 63 bits while G_ii is below 2^31, as
    # with 8 million people of the top grade.
    one, two = overlap * overlap, other_overlap * other_overlap
    quotient, other_quotient = one // square, two // other_square
    if quotient != other_quotient:
        return quotient > other_quotient
    rest, other_rest = (one - quotient * square) * other_square, (two - other_quotient * other_square) * square
    if rest != other_rest:
        return rest > other_rest
    return piece < other


@inlined
def _precedes(piece, other, sums, squares, inverses, ids):
    """Return whether a piece is nearer than another one: by doubles, and by whole numbers where these hardly differ."""
    overlap, other_overlap = sums[piece] & OVERLAP_MASK, sums[other] & OVERLAP_MASK
    one = np.float64(overlap) * np.float64(overlap) * inverses[piece]
    two = np.float64(other_overlap) * np.float64(other_overlap) * inverses[other]
    if one * SLACK > two:
        return True
    if two * SLACK > one:
        return False
    return _is_nearer(overlap, squares[piece], ids[piece], other_overlap, squares[other], ids[other])


@inlined
def _sift(heap, size, start, sums, squares, inverses, ids):
    """Let an entry sink below those that are less near: the root is the least near of all.

    The heap holds pieces; what they are compared by is looked up in the other arrays.
    """
    i, entry = start, heap[start]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _precedes(heap[child], heap[child + 1], sums, squares, inverses, ids):
            child += 1
        if not _precedes(entry, heap[child], sums, squares, inverses, ids):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = entry


@inlined
def _ascend(numbers, size, ids):
    """Sort the first numbers by their ids, by insertion: they are eighty at most."""
    for i in range(1, size):
        number, j = numbers[i], i
        while j > 0 and ids[numbers[j - 1]] > ids[number]:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = number


def neighbours(likes, squares, inverses, ids, first, step, near, overlaps, people, counts, sums, met, heap):
    """Fill near (n, k) with the neighbours of every `step`-th piece, by ascending id, and G and people of each.

    ``squares`` are G_ii and ``inverses`` 1 / G_ii. ``counts`` (n,) gets how many neighbours there are; entries past it
    stay as they are. Costs for each piece the likes of all people who like it, and so the most for the first ones.
    """
    k = near.shape[1]
    for piece in range(first, len(near), step):
        size = 0
        met_count = _add_row(likes, piece, len(squares), sums, met)
        worst = 0.0
        for a in range(met_count):
            i = met[a]
            overlap = sums[i] & OVERLAP_MASK
            # Most pieces fail here.
            if np.float64(overlap) * np.float64(overlap) * inverses[i] < worst or i == piece:
                continue
            if size < k:
                heap[size] = i
                size += 1
                # Entries are only gathered until there are k, and become a heap then.
                if size < k:
                    continue
                for start in range(k // 2 - 1, -1, -1):
                    _sift(heap, k, start, sums, squares, inverses, ids)
            else:
                if not _precedes(i, heap[0], sums, squares, inverses, ids):
                    continue
                heap[0] = i
                _sift(heap, k, 0, sums, squares, inverses, ids)
            worst_overlap = np.float64(sums[heap[0]] & OVERLAP_MASK)
            worst = worst_overlap * worst_overlap * inverses[heap[0]] * SLACK
        counts[piece] = size
        # Equations are written by ascending id: of doubles, another order would make other weights.
        _ascend(heap, size, ids)
        for p in range(size):
            near[piece, p] = heap[p]
            overlaps[piece, p] = sums[heap[p]] & OVERLAP_MASK
            people[piece, p] = min(sums[heap[p]] >> PEOPLE_SHIFT, 255)
        for a in range(met_count):
            sums[met[a]] = 0


def triangles(likes, near, owner_starts, owners, first, step, found, sums, met):
    """Fill found (b, k (k + 1) / 2) with G among the neighbours of each row of near: the rows of every `step`-th piece.

    ``owner_starts`` cuts ``owners`` into the entries of near, as numbers, that hold each piece::

        near[r]    5 8 2           found[r]   55 | 85 88 | 25 28 22     G of these, row p from p (p + 1) / 2 on

    A row of G is added up once for all entries of its piece, however many pieces of the block have it for a neighbour,
    as far as the piece itself: G is symmetric, and what is past it stands in the rows of pieces that are less liked.
    """
    n, k = len(owner_starts) - 1, near.shape[1]
    for piece in range(first, n, step):
        if owner_starts[piece] == owner_starts[piece + 1]:
            continue
        met_count = _add_row(likes, piece, piece + 1, sums, met)
        for e in range(owner_starts[piece], owner_starts[piece + 1]):
            r, p = owners[e] // k, owners[e] % k
            base = p * (p + 1) // 2
            for q in range(k):
                other = near[r, q]
                # -1 stands after the neighbours only.
                if other < 0:
                    break
                if other <= piece:
                    found[r, base + q if q <= p else q * (q + 1) // 2 + p] = sums[other] & OVERLAP_MASK
        for a in range(met_count):
            sums[met[a]] = 0


def solve(triangle, overlaps, counts, weights, lower, b):
    """Fill weights (b, k) with those of each row, by Cholesky in doubles, sums from left to right.

    (G + penalty) b = g, of as many neighbours as ``counts`` says: G + penalty = L L', then L y = g, then L' b = y. L is
    made column by column into the rows of ``lower`` (k, k), which so holds L': all entries of a column subtract the
    same products of the columns before, one after the other: of four columns at once, for several entries at once.
    """
    for r in range(len(counts)):
        size = counts[r]
        for j in range(size):
            column = lower[j, j:size]
            for i in range(len(column)):
                row = i + j
                column[i] = np.float64(triangle[r, row * (row + 1) // 2 + j])
            column[0] += PENALTY
            # Numba keeps this order, without fastmath, and so every machine rounds alike.
            whole = j - j % 4
            for q in range(0, whole, 4):
                one, two, three, four = (
                    lower[q, j:size],
                    lower[q + 1, j:size],
                    lower[q + 2, j:size],
                    lower[q + 3, j:size],
                )
                f, g, h, m = one[0], two[0], three[0], four[0]
                for i in range(len(column)):
                    column[i] = (((column[i] - one[i] * f) - two[i] * g) - three[i] * h) - four[i] * m
            for q in range(whole, j):
                one = lower[q, j:size]
                f = one[0]
                for i in range(len(column)):
                    column[i] -= one[i] * f
            root = np.sqrt(column[0])
            column[0] = root
            for i in range(1, len(column)):
                column[i] /= root
        for i in range(size):
            total = np.float64(overlaps[r, i])
            for q in range(i):
                total -= lower[q, i] * b[q]
            b[i] = total / lower[i, i]
        # From y to the weights in place: b[i] is still y_i, and all after it are weights.
        for i in range(size - 1, -1, -1):
            total = b[i]
            for q in range(i + 1, size):
                total -= lower[i, q] * b[q]
            b[i] = total / lower[i, i]
        for i in range(size):
            weights[r, i] = np.int32(np.rint(b[i] * WEIGHT_UNIT))


def stand_ins(terms, postings, norms, inverses, pieces, found, likenesses, sums, keys):
    """Fill found (w, m) with the likest liked pieces of each of some pieces, -1 for none, and how alike they are.

    Most alike first, ties of twelve decimals by piece; see `ridge_exact.stand_ins`. ``inverses`` are 1 over the length
    of each piece. The best so far lie in order, and a better one moves those after it down: they are ten.
    """
    most, n = found.shape[1], len(sums)
    for w in range(len(pieces)):
        piece, size, floor = pieces[w], 0, 0.0
        profile = norms.profiles[piece]
        for e in range(terms.starts[piece], terms.starts[piece + 1]):
            term, value = terms.numbers[e], terms.values[e]
            for a in range(postings.starts[term], postings.starts[term + 1]):
                sums[postings.numbers[a]] += value * postings.values[a]
        # Frequent terms meet most pieces, so all are looked at: many at once, of which seldom one is good enough.
        for begin in range(0, n, CHUNK):
            end = min(begin + CHUNK, n)
            better = 0
            for other in range(begin, end):
                better += sums[other] * inverses[other] > floor
            if better == 0:
                continue
            for other in range(begin, end):
                if other == piece or not sums[other] * inverses[other] > floor:
                    continue
                likeness = sums[other] / (profile * (norms.roots[other] + norms.mean / 2))
                key = np.int64(np.rint(likeness * LIKENESS_UNIT))
                # Of equals the first stays.
                if size == most and key <= keys[size - 1]:
                    continue
                p = size if size < most else size - 1
                while p > 0 and key > keys[p - 1]:
                    keys[p], found[w, p], likenesses[w, p] = keys[p - 1], found[w, p - 1], likenesses[w, p - 1]
                    p -= 1
                keys[p], found[w, p], likenesses[w, p] = key, other, likeness
                size = min(size + 1, most)
                if size == most:
                    # One less than the last key leaves room for what products of doubles are less exact by.
                    floor = max(0.0, (keys[size - 1] - 1) * profile / LIKENESS_UNIT)
        sums[:] = 0.0


def likeness_squares(likes, starts, terms, units, found, sums, met):
    """Fill found (u,) with the square of the sum of the unit vectors of what each person likes, times the grades.

    At most 1,000 likes of a length of about 16 x 2^16 count for a person: squares of some 2^60 fit 64 bits.
    """
    for person in range(len(found)):
        met_count, total = 0, np.int64(0)
        for a in range(likes.person_starts[person], likes.person_starts[person + 1]):
            piece, grade = likes.pieces[a], np.int64(likes.grades[a])
            for e in range(starts[piece], starts[piece + 1]):
                # It would leave a sum of 0, and its term be noted as met again and again.
                if units[e] == 0:
                    continue
                if sums[terms[e]] == 0:
                    met[met_count] = terms[e]
                    met_count += 1
                sums[terms[e]] += grade * units[e]
        for a in range(met_count):
            total += sums[met[a]] * sums[met[a]]
            sums[met[a]] = 0
        found[person] = total


@inlined
def _add_runs(starts, numbers, values, owners, factors, cursors, span, sums, met, marks):
    """Add what owners' runs have of a span of pieces, each times its owner's factor; those that are met get a bit.

    Runs ascend; ``cursors`` are by owner where its run goes on, to its end in the last span, where mostly it begins as
    well. Without ``marks`` all have their bits already.
    """
    begin, end, is_last = span
    for o in range(len(owners)):
        first, last = cursors[o], starts[owners[o] + 1]
        if not is_last:
            last = upto(numbers, first, last, end)
        factor = factors[o]
        if marks:
            for e in range(first, last):
                piece = np.int64(numbers[e]) - begin
                sums[piece] += factor * np.int64(values[e])
                met[piece >> 5] |= np.uint32(1) << np.uint32(piece & 31)
        else:
            for e in range(first, last):
                sums[np.int64(numbers[e]) - begin] += factor * np.int64(values[e])
        cursors[o] = last


@inlined
def _add_direct(weights, seeds, room):
    """Fill the rows of a room, ascending, and A of them, what likes say of pieces themselves; return how many."""
    count, block = 0, len(room.sums)
    cursors, soon = room.cursors, room.own_cursors
    for s in range(len(seeds.rows)):
        cursors[s] = weights.starts[seeds.rows[s]]
        # What follows a like that counts for nothing there is passed over: its run is at its end.
        soon[s] = weights.successor_starts[seeds.rows[s] + (seeds.successor_factors[s] == 0)]
    targets, values, successors, found = weights.targets, weights.values, weights.successors, weights.successor_values
    for begin in range(0, len(weights.evidence), block):
        span = begin, begin + block, begin + block >= len(weights.evidence)
        _add_runs(weights.starts, targets, values, seeds.rows, seeds.factors, cursors, span, room.sums, room.met, True)
        starts, factors = weights.successor_starts, seeds.successor_factors
        _add_runs(starts, successors, found, seeds.rows, factors, soon, span, room.sums, room.met, True)
        for word in range(len(room.met)):
            bits = room.met[word]
            room.met[word] = 0
            while bits:
                piece = word * 32 + lowest_bit(bits)
                bits &= bits - np.uint32(1)  # without its lowest bit
                if room.sums[piece] != 0:
                    room.rows[count], room.direct[count] = begin + piece, room.sums[piece]
                    room.sums[piece] = 0
                    count += 1
    return count


@inlined
def _cut(direct, highs):
    """Cut sums into words of 32 bits where one of them is so large that what is lent passes 64; return whether so."""
    greatest = np.int64(0)
    for i in range(len(direct)):
        greatest = max(greatest, abs(direct[i]))
    if greatest < WIDE:
        return False
    for i in range(len(direct)):
        highs[i] = direct[i] >> WORD_BITS
        direct[i] &= WORD_MASK
    return True


@inlined
def _mark_all(met, count):
    for word in range(len(met)):
        size = min(32, max(0, count - word * 32))
        met[word] = np.uint32((np.uint64(1) << np.uint64(size)) - np.uint64(1))


@inlined
def _add_lent(weights, lenders, direct, highs, is_wide, marks, span, room):
    """Add up what stand-ins lend to a span of pieces, in two words where one does not do."""
    starts, borrowers, parts, cursors = weights.lent_starts, weights.borrowers, weights.lent_shares, room.cursors
    if not marks:
        _mark_all(room.met, min(len(room.sums), len(weights.evidence) - span[0]))
    if is_wide:
        # These go by the same pieces before the lower words do.
        for i in range(len(lenders)):
            room.high_cursors[i] = cursors[i]
        _add_runs(starts, borrowers, parts, lenders, highs, room.high_cursors, span, room.lent_highs, room.met, marks)
    _add_runs(starts, borrowers, parts, lenders, direct, cursors, span, room.lent, room.met, marks)


def shares(weights, likes, loan, room, rows, found, sizes):
    """Fill rows, ascending, and found with part a of all pieces that have any for a person's likes: sizes[0] of them.

    All sums are of integers, and each is divided once. Pieces go by in blocks, so that all that is added up fits the
    cache: once for what likes say, then for what stand-ins lend, which is what all likes say of them.
    """
    seeds, grades = likes.rows, likes.grades
    count = _add_direct(weights, likes, room)
    lenders, direct, highs = room.rows[:count], room.direct[:count], room.highs[:count]
    is_wide = _cut(direct, highs)
    own, cursors = room.own_cursors, room.cursors
    for s in range(len(seeds)):
        own[s] = weights.lent_starts[seeds[s]]
    entries = np.int64(0)
    for i in range(count):
        cursors[i] = weights.lent_starts[lenders[i]]
        entries += weights.lent_starts[lenders[i] + 1] - cursors[i]
    # Where more is lent than there are pieces, nearly all of these are met: to look at all is quicker than to mark.
    marks = entries < len(weights.evidence)
    borrowers, parts, block = weights.borrowers, weights.lent_shares, len(room.sums)
    written, next_direct = 0, 0
    for begin in range(0, len(weights.evidence), block):
        span = begin, begin + block, begin + block >= len(weights.evidence)
        _add_lent(weights, lenders, direct, highs, is_wide, marks, span, room)
        _add_runs(weights.lent_starts, borrowers, parts, seeds, grades, own, span, room.liked, room.met, True)
        while next_direct < count and lenders[next_direct] < span[1]:
            piece = lenders[next_direct] - begin
            room.sums[piece] = direct[next_direct]
            if is_wide:
                room.sums[piece] += highs[next_direct] << WORD_BITS
            room.met[piece >> 5] |= np.uint32(1) << np.uint32(piece & 31)
            next_direct += 1
        for word in range(len(room.met)):
            bits = room.met[word]
            room.met[word] = 0
            while bits:
                piece = word * 32 + lowest_bit(bits)
                bits &= bits - np.uint32(1)
                evidence = np.float64(weights.evidence[begin + piece]) / SHARE_UNIT
                lent = np.float64(room.lent[piece])
                if is_wide:
                    # Both words are exact as doubles, so that their sum is rounded once, as one word is.
                    lent += np.float64(room.lent_highs[piece]) * WORD_UNIT
                    room.lent_highs[piece] = 0
                borrowed = lent / LENT_UNIT + loan * (np.float64(room.liked[piece]) / OWN_UNIT)
                share = np.float64(room.sums[piece]) / DIRECT_UNIT + evidence * borrowed
                room.sums[piece], room.lent[piece], room.liked[piece] = 0, 0, 0
                if share != 0:
                    rows[written], found[written] = begin + piece, share
                    written += 1
    sizes[0] = written
