"""Strings: ids and keywords as tables, without an object for each: their UTF-8 in one array, and where it is cut."""

import functools
import itertools
import operator
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import IntArray
from penchant_engine.model import MARK_BYTES

Key = TypeVar("Key")
Value = TypeVar("Value")

SEARCH_COST = 32
"""So many strings of a table become a dictionary's in the time of one binary search."""
RANGE = 1 << 14
"""Strings of each table at most that become Python's objects at a time."""

MARK_BITS = 8 * MARK_BYTES
"""Of a million strings, one in three and a half thousand lists of 300 has a mark that another string has, too."""
_POWER = 0x9E3779B97F4A7C15
_SCATTERING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_WORD = (1 << 64) - 1


REMEMBERED = 16_384
"""Strings of a table whose places are remembered, and places whose strings are (D232 of docs/decisions.md)."""
REMEMBERED_LETTERS = 64
"""Letters of such strings on average: whoever makes up longer ones fills no memory with them."""
FEW_PLACES, FEW_STRINGS = 4, 512
"""Places that are found sooner one by one than by a kernel; strings that are taken out for a list, not for all."""
REMEMBERED_MARKS = 16_384
"""Marks that are remembered: lists show the same pieces again and again."""


@functools.lru_cache(maxsize=REMEMBERED_MARKS)
def mark_of(value: str) -> bytes:
    """Return the mark of a string, as `mark_numbers` reads it: a tenth of the time where there are few."""
    total, power = 0, _POWER
    for byte in value.encode():
        total += (byte + 1) * power
        power = power * _POWER & _WORD
    total &= _WORD
    for shift, factor in _SCATTERING:
        total = (total ^ (total >> shift)) * factor & _WORD
    return ((total ^ (total >> 31)) >> (64 - MARK_BITS)).to_bytes(MARK_BYTES, "big")


def mark_numbers(marks: bytes) -> NDArray[np.uint64]:
    """Return marks that stand one after the other as `Strings.marks` has them."""
    wide = np.zeros((len(marks) // MARK_BYTES, 8), dtype=np.uint8)
    wide[:, -MARK_BYTES:] = np.frombuffer(marks, dtype=np.uint8).reshape(-1, MARK_BYTES)
    return wide.view(">u8").ravel().astype(np.uint64)


class Strings:
    """A table of strings. Those in segments ascend; UTF-8 sorts by bytes as text does by code points.

    ``starts`` (n + 1,) cuts ``text`` (bytes) into strings. A million ids take 8 bytes each and their text,
    where a dictionary took 137.
    """

    __slots__ = ("_cuts", "_names", "_places", "_view", "starts", "text")

    def __init__(self, starts: IntArray, text: NDArray[np.uint8]) -> None:
        self.starts = starts
        self.text = text
        # Views of Python's own: to read a number through numpy takes three times as long.
        self._cuts = memoryview(starts)  # type: ignore[arg-type]  # numpy's arrays are buffers
        self._view = memoryview(text)  # type: ignore[arg-type]  # as above
        self._places: dict[str, int] = {}
        self._names: dict[int, str] = {}

    @classmethod
    def of(cls, values: Iterable[str]) -> "Strings":
        """Return a table of these strings, in this order."""
        texts = list(values)
        joined = "".join(texts)
        # Of ASCII, as most ids are, each character is a byte: no string is encoded on its own.
        return cls._cut(joined.encode(), texts) if joined.isascii() else cls.of_encoded(list(map(str.encode, texts)))

    @classmethod
    def of_encoded(cls, values: Sequence[bytes]) -> "Strings":
        """Return a table of these strings, given as UTF-8."""
        return cls._cut(b"".join(values), values)

    @classmethod
    def _cut(cls, text: bytes, values: Sequence[str] | Sequence[bytes]) -> "Strings":
        """Return the table of strings of these lengths."""
        starts = np.fromiter(itertools.accumulate(map(len, values), initial=0), np.int64, len(values) + 1)
        return cls(starts, np.frombuffer(text, dtype=np.uint8).copy())

    def inserting(self, place: int, value: bytes) -> "Strings":
        """Return the table with one string more, UTF-8, at a place."""
        cut = self.starts[place : place + 1]
        starts = np.concatenate((self.starts[:place], cut, self.starts[place:] + len(value)))
        text = np.frombuffer(value, dtype=np.uint8)
        return Strings(starts, np.concatenate((self.text[: cut[0]], text, self.text[cut[0] :])))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, place: int) -> str:
        return self.encoded(place).decode()

    def __iter__(self) -> Iterator[str]:
        return (self.encoded(place).decode() for place in range(len(self)))

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return self.starts.nbytes + self.text.nbytes

    def encoded(self, place: int) -> bytes:
        """Return a string as UTF-8."""
        return bytes(self._view[self._cuts[place] : self._cuts[place + 1]])

    def take(self, places: IntArray | Sequence[int]) -> list[str]:
        """Return the strings at these places, and remember those of a list: many lists name the same."""
        numbers = np.asarray(places, dtype=np.int64)
        known, wanted = self._names, numbers.tolist()
        try:
            return list(map(known.__getitem__, wanted))
        except KeyError:
            # Without a step of Python's for each.
            cuts = map(slice, self.starts[numbers].tolist(), self.starts[numbers + 1].tolist())
            found = list(map(str, map(self._view.__getitem__, cuts), itertools.repeat("utf-8")))
        if len(found) <= FEW_STRINGS and _are_short(found):
            self._names = _grown(known, wanted, found)
        return found

    def all_encoded(self) -> list[bytes]:
        """Return every string as UTF-8."""
        text, cuts = bytes(self._view), self.starts.tolist()
        return [text[begin:end] for begin, end in itertools.pairwise(cuts)]

    def take_encoded(self, places: IntArray) -> list[bytes]:
        """Return the strings at these places, ascending, as UTF-8."""
        if not len(places):
            return []
        begins, ends = self.starts[places], self.starts[places + 1]
        text = bytes(self._view[begins[0] : ends[-1]])
        cuts = zip((begins - begins[0]).tolist(), (ends - begins[0]).tolist(), strict=True)
        return [text[begin:end] for begin, end in cuts]

    def marks(self) -> NDArray[np.uint64]:
        """Return a hash of `MARK_BITS` bits of each string; shape (n,).

        A polynomial over the bytes, scattered: quick without an object for each string, and the same on every machine.
        Whoever makes strings can make two of one mark.
        """
        lengths = np.diff(self.starts)
        powers = np.cumprod(np.full(int(lengths.max(initial=0)), _POWER, dtype=np.uint64), dtype=np.uint64)
        found = [np.zeros(0, dtype=np.uint64)]
        for begin in range(0, len(self), RANGE):
            cuts = self.starts[begin : begin + RANGE + 1]
            own = lengths[begin : begin + RANGE]
            places = np.arange(cuts[0], cuts[-1]) - np.repeat(cuts[:-1], own)
            terms = (self.text[cuts[0] : cuts[-1]].astype(np.uint64) + np.uint64(1)) * powers[places]
            # Behind the last one a zero, so that an empty string has a place to begin at.
            sums = np.add.reduceat(np.append(terms, np.uint64(0)), cuts[:-1] - cuts[0])
            found.append(_scattered(np.where(own > 0, sums, np.uint64(0))))
        return np.concatenate(found)

    def find(self, value: str) -> int | None:
        """Return the place of a string in an ascending table, or ``None``, and remember it."""
        place = self._places.get(value)
        if place is None:
            place = self._place_of(value.encode())
            self._remember((value,), (place,))
        return None if place < 0 else place

    def position(self, value: str) -> int:
        """Return how many strings of an ascending table are less than a string."""
        return self.position_of(value.encode())

    def position_of(self, wanted: bytes) -> int:
        """Return how many strings of an ascending table are less than these bytes, which need be no UTF-8."""
        return bisect_left(range(len(self)), wanted, key=self.encoded)

    def find_all(self, wanted: "Strings", numbers: IntArray | None = None) -> IntArray:
        """Return the places in this ascending table of some (or all) strings of another one; -1 where missing."""
        numbers = np.arange(len(wanted)) if numbers is None else numbers
        found = engine.find(self.starts, self.text, wanted.starts, wanted.text, numbers)
        if found is None:
            found = np.asarray(self._find_in_python([wanted.encoded(each) for each in numbers.tolist()]), np.int64)
        return found

    def find_positions(self, values: Collection[str]) -> IntArray:
        """Return the places in this ascending table of some strings, as `find_all`, and remember them.

        To ask for the same ones again takes a fifth of the time. Another thread may do so meanwhile.
        """
        try:
            return np.fromiter(map(self._places.__getitem__, values), np.int64, len(values))
        except KeyError:
            is_few = len(values) <= FEW_PLACES
        one_by_one = map(self._place_of, map(str.encode, values))
        found = np.fromiter(one_by_one, np.int64) if is_few else self.find_all(Strings.of(values))
        self._remember(values, found.tolist())
        return found

    def _remember(self, values: Collection[str], places: Sequence[int]) -> None:
        """Remember where strings are; those that are missing as well, since each of several tables has a part."""
        if len(values) <= REMEMBERED and _are_short(values):
            self._places = _grown(self._places, values, places)

    def _find_in_python(self, wanted: Sequence[bytes]) -> list[int]:
        """Return the places of these strings, -1 where missing: what finds them before the kernel is compiled."""
        if len(wanted) * SEARCH_COST > len(self):
            places = {value: place for place, value in enumerate(self.all_encoded())}
            return [places.get(value, -1) for value in wanted]
        return list(map(self._place_of, wanted))

    def _place_of(self, wanted: bytes) -> int:
        """Return the place of a string, UTF-8, in this ascending table, -1 where it is missing."""
        place = self.position_of(wanted)
        return place if place < len(self) and self.encoded(place) == wanted else -1


def _grown(known: dict[Key, Value], keys: Collection[Key], values: Collection[Value]) -> dict[Key, Value]:
    """Return what is remembered with some more, without what was there where it would be too much."""
    if len(known) + len(keys) > REMEMBERED:
        known = {}
    known.update(zip(keys, values, strict=True))
    return known


def _are_short(values: Collection[str]) -> bool:
    """Return whether strings may be remembered."""
    return sum(map(len, values)) <= REMEMBERED_LETTERS * len(values)


def _scattered(sums: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the upper bits of sums after each bit has had its say in them (the finalizer of SplitMix64)."""
    for shift, factor in _SCATTERING:
        sums = (sums ^ (sums >> np.uint64(shift))) * np.uint64(factor)
    return (sums ^ (sums >> np.uint64(31))) >> np.uint64(64 - MARK_BITS)


def unite_tables(tables: Sequence[Strings], chosen: Sequence[IntArray]) -> tuple[Strings, list[IntArray]]:
    """Return the ascending union of some strings of ascending tables, and for each table their new places.

    ``chosen`` has for each table the places, ascending, of its strings that are taken. Goes from one range of strings
    to the next, so that few of them are Python's objects at a time.
    """
    found = [np.empty(len(places), dtype=np.int64) for places in chosen]
    lengths: list[IntArray] = []
    texts: list[bytes] = []
    count = 0
    for cuts in _ranges(tables, chosen):
        taken = [places[cut] for places, cut in zip(chosen, cuts, strict=True)]
        entries = list(itertools.chain.from_iterable(map(Strings.take_encoded, tables, taken)))
        # Sorting joined runs only merges them: linear in the number of entries.
        order = sorted(range(len(entries)), key=entries.__getitem__)
        ordered = [entries[entry] for entry in order]
        is_new = [True, *map(operator.ne, ordered[1:], ordered)][: len(ordered)]
        numbers = np.empty(len(entries), dtype=np.int64)
        numbers[order] = np.cumsum(is_new) + (count - 1)
        begin = 0
        for each, cut, places in zip(found, cuts, taken, strict=True):
            each[cut] = numbers[begin : begin + len(places)]
            begin += len(places)
        united = list(itertools.compress(ordered, is_new))
        lengths.append(np.asarray(list(map(len, united)), dtype=np.int64))
        texts.append(b"".join(united))
        count += len(united)
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.concatenate([starts[:0], *lengths]), out=starts[1:])
    return Strings(starts, np.frombuffer(bytearray().join(texts), dtype=np.uint8)), found


def _ranges(tables: Sequence[Strings], chosen: Sequence[IntArray]) -> Iterator[list[slice]]:
    """Yield for each table which of its chosen strings lie in the same range as those of the others."""
    pivots = {
        table.encoded(int(place))
        for table, places in zip(tables, chosen, strict=True)
        for place in places[RANGE::RANGE].tolist()
    }
    begins = [0] * len(tables)
    for pivot in sorted(pivots):
        ends = [
            int(np.searchsorted(places, table.position_of(pivot))) for table, places in zip(tables, chosen, strict=True)
        ]
        yield list(map(slice, begins, ends))
        begins = ends
    yield list(map(slice, begins, map(len, chosen)))


def rows_in(table: Strings, ids: Strings) -> IntArray:
    """Return the row of each id in an ascending table, -1 where it is not there; both ascend."""
    # The shorter one is looked up in the longer one: binary searches for as few as can be.
    if len(ids) <= len(table):
        return table.find_all(ids)
    found = ids.find_all(table)
    rows = np.full(len(ids), -1, dtype=np.int64)
    rows[found[found >= 0]] = np.flatnonzero(found >= 0)
    return rows
