"""Reading kernels: how the keywords of stored pieces become numbers, without an object of Python for each.

Bodies lie one behind the other in ``text``, each as `penchant.wire` writes it, with a byte more at the end. `read` goes
over one like this:

    {"id":"p1","label":"One","categories":{"genre":["noir",{"key":"drama","weight":80}],"tag":[]},"filters":{},...
    form.id    form.label    form.categories       form.key      form.weight             form.filters

Whatever looks otherwise (a backslash in a name, nested categories, a repeated keyword) is left to the caller, who
decodes it by the definition, and so is what filters say; most pieces share theirs, so that few are left. A term has the
number of its first occurrence; equal ones meet in an open hash table, ``slots``, whose ``seed`` nobody can foretell, so
that nobody can choose keywords that collide.
"""

import numpy as np

from penchant.index.inlining import inlined

QUOTE, COMMA, BACKSLASH = 34, 44, 92
END_OF_LIST, OBJECT, END_OF_OBJECT = 93, 123, 125
ZERO = 48
MOST_DIGITS = 5
NO_ROOM = -2
MOST_TRIES = 8
"""Slots of a table that are looked at for equal filters: a full one costs time alone."""
PRIME = 1_099_511_628_211
MIXER = -7_046_029_254_386_353_131
"""Odd numbers that spread the bits of a hash, the first for each byte, the second at its end."""


@inlined
def _behind(text, at, end, wanted):
    """Return where these bytes end if they begin at a place, -1 otherwise."""
    if at < 0 or at + len(wanted) > end:
        return -1
    for i in range(len(wanted)):
        if text[at + i] != wanted[i]:
            return -1
    return at + len(wanted)


@inlined
def _quote_at(text, at, end, escapes):
    """Return where a string that begins at a place has its closing quote; -1 without one, or where it has an escape."""
    if at < 0:
        return -1
    while at < end:
        if text[at] == QUOTE:
            return at
        if text[at] == BACKSLASH:
            if not escapes:
                return -1
            at += 1
        at += 1
    return -1


@inlined
def _end_of_object(text, at, end):
    """Return where an object that begins at a place is over; -1 without one."""
    depth = 0
    while 0 <= at < end:
        if text[at] == QUOTE:
            at = _quote_at(text, at + 1, end, True)
            if at < 0:
                return -1
        elif text[at] == OBJECT:
            depth += 1
        elif text[at] == END_OF_OBJECT:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1


@inlined
def _categories_at(text, begin, end, form):
    """Return where the first category of a body stands, or the end of its object; -1 where it looks otherwise."""
    at = _quote_at(text, _behind(text, begin, end, form.id), end, True)
    label = _behind(text, at, end, form.label)
    if label >= 0:
        at = _quote_at(text, label, end, True)
    return _behind(text, at, end, form.categories)


@inlined
def _keyword_at(text, at, end, form):
    """Return where a keyword begins and ends, its weight, 0 for none, and where it is over; -1: it looks otherwise."""
    begin, weight = _behind(text, at, end, form.key), 0
    if begin < 0:
        if text[at] != QUOTE:
            return 0, 0, 0, -1
        key_end = _quote_at(text, at + 1, end, False)
        return at + 1, key_end, 0, -1 if key_end < 0 else key_end + 1
    key_end = _quote_at(text, begin, end, False)
    if key_end < 0:
        return 0, 0, 0, -1
    over = key_end + 1
    digits = _behind(text, key_end, end, form.weight)
    if digits >= 0:
        over = digits
        # The byte at the end of a body is no digit, and there is one.
        while over - digits < MOST_DIGITS and ZERO <= text[over] < ZERO + 10:
            weight = weight * 10 + np.int64(text[over]) - ZERO
            over += 1
    return begin, key_end, weight, over + 1 if text[over] == END_OF_OBJECT else -1


@inlined
def _hashed(text, begin, end, hashed):
    """Return a hash that goes on over some bytes."""
    for i in range(begin, end):
        hashed = (hashed ^ np.int64(text[i])) * PRIME
    return (hashed ^ (hashed >> 29)) * MIXER


@inlined
def _is_same(text, begin, end, other, other_begin):
    """Return whether some bytes of a text stand in another one at a place."""
    # A generator is nothing that kernels can have.
    for i in range(end - begin):  # noqa: SIM110
        if text[begin + i] != other[other_begin + i]:
            return False
    return True


@inlined
def _number_of(text, name, name_end, key, key_end, hashed, table, count):
    """Return the number of a term, which is ``count`` if it comes for the first time; -1 without room for it."""
    length, behind = name_end - name + 1 + key_end - key, name_end - name + 1
    slot = (hashed ^ (hashed >> 32)) & (len(table.slots) - 1)
    while table.slots[slot, 1]:
        number = table.slots[slot, 1] - 1
        begin = table.starts[number]
        if (
            table.slots[slot, 0] == hashed
            and table.starts[number + 1] - begin == length
            and table.text[begin + behind - 1] == 0
            and _is_same(text, key, key_end, table.text, begin + behind)
            and _is_same(text, name, name_end, table.text, begin)
        ):
            return number
        slot = (slot + 1) & (len(table.slots) - 1)
    begin = table.starts[count]
    if 2 * count >= len(table.slots) or begin + length > len(table.text):
        return -1
    table.slots[slot, 0], table.slots[slot, 1] = hashed, count + 1
    for i in range(behind - 1):
        table.text[begin + i] = text[name + i]
    table.text[begin + behind - 1] = 0
    for i in range(key_end - key):
        table.text[begin + behind + i] = text[key + i]
    table.starts[count + 1] = begin + length
    return count


@inlined
def _weigh(weights, first, last):
    """Give keywords without a weight the mean of the piece's others, rounded half up, or 1; return if there are any."""
    total, count = 0, 0
    for pair in range(first, last):
        total += np.int64(weights[pair])
        count += weights[pair] > 0
    mean = max(1, (2 * total + count) // (2 * count)) if count else 1
    for pair in range(first, last):
        if not weights[pair]:
            weights[pair] = mean
    return count > 0


@inlined
def _read_piece(text, at, end, form, table, pairs, piece, pair, count, seed):
    """Read the categories of a piece; return where they are over, how many pairs there are now, and terms.

    -1 instead of where they are over says that they look otherwise, `NO_ROOM` that the table is too small.
    """
    while at >= 0 and text[at] == QUOTE:
        name = at + 1
        name_end = _quote_at(text, name, end, False)
        at = _behind(text, name_end, end, form.keywords)
        hashed = _hashed(text, name, name_end, seed)
        while at >= 0 and text[at] != END_OF_LIST:
            key, key_end, weight, at = _keyword_at(text, at, end, form)
            if at < 0:
                return -1, pair, count
            number = _number_of(text, name, name_end, key, key_end, _hashed(text, key, key_end, hashed), table, count)
            if number < 0:
                return NO_ROOM, pair, count
            if number == count:
                count += 1
            elif table.pieces[number] == piece:
                return -1, pair, count
            table.pieces[number] = piece
            pairs.terms[pair], pairs.weights[pair] = number, weight
            pair += 1
            at += text[at] == COMMA
        if at >= 0:
            at += 1
            at += text[at] == COMMA
    if at >= 0:
        at = at + 1 if text[at] == END_OF_OBJECT else -1
    return at, pair, count


@inlined
def _first_alike(text, filters, piece, hashed, slots):
    """Return the first piece with the same filters as one, which may be itself; itself, too, where there is no room."""
    begin, end = filters[piece, 0], filters[piece, 1]
    slot = hashed ^ (hashed >> 32)
    for _ in range(MOST_TRIES):
        slot &= len(slots) - 1
        first = slots[slot] - 1
        if first < 0:
            slots[slot] = piece + 1
            return piece
        other = filters[first, 0]
        if filters[first, 1] - other == end - begin and _is_same(text, begin, end, text, other):
            return first
        slot += 1
    return piece


def read(text, starts, form, table, pairs, seed, sizes):
    """Read some pieces: fill ``pairs``, add to ``table``, and set ``sizes`` to how many pairs and terms there are.

    The pairs are -1 where the table is too small; the terms are then as many as before, whatever else is in it.
    """
    pair, count = 0, sizes[1]
    for number in range(count):
        table.pieces[number] = -1
    for piece in range(len(starts) - 1):
        first, end = pair, starts[piece + 1]
        at = _categories_at(text, starts[piece], end, form)
        at, pair, count = _read_piece(text, at, end, form, table, pairs, piece, pair, count, seed)
        if at == NO_ROOM:
            sizes[0] = -1
            return
        at = _behind(text, at, end, form.filters)
        pairs.filters[piece, 0], pairs.filters[piece, 1] = at, _end_of_object(text, at, end)
        if pairs.filters[piece, 1] < 0:
            pair, pairs.filters[piece, 0] = first, -1
        else:
            hashed = _hashed(text, at, pairs.filters[piece, 1], seed)
            pairs.alike[piece] = _first_alike(text, pairs.filters, piece, hashed, pairs.slots)
        pairs.counts[piece] = pair - first
        pairs.weighted[piece] = _weigh(pairs.weights, first, pair)
    sizes[0], sizes[1] = pair, count


def rehash(slots, count, grown):
    """Put the slots of the first ``count`` terms into more slots, a power of 2, all empty."""
    for old in range(len(slots)):
        if 0 < slots[old, 1] <= count:
            slot = slots[old, 0] ^ (slots[old, 0] >> 32)
            while grown[slot & (len(grown) - 1), 1]:
                slot += 1
            slot &= len(grown) - 1
            grown[slot, 0], grown[slot, 1] = slots[old, 0], slots[old, 1]


def transpose(starts, columns, values, places, rows, moved):
    """Put the entries of rows in the order of their columns, those of one column in the order of rows.

    ``places`` are where the entries of each column begin; they are moved on to where these end.
    """
    for row in range(len(starts) - 1):
        for i in range(starts[row], starts[row + 1]):
            column = columns[i]
            rows[places[column]], moved[places[column]] = row, values[i]
            places[column] += 1
