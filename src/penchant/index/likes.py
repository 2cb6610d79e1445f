"""Who likes which piece, and how do these pairs lie in memory? Immutable arrays by person and by piece.

A pair is a person and a piece with what is known of the two: the day of the latest positive interaction and the
latest rating. A person likes a piece who has a positive interaction with it, unless the latest rating is a dislike
(interface, section 6). People are known by their keys alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from penchant.index.layout import BoolArray, Days, IntArray, Numbers
from penchant.index.segment import Segment
from penchant.index.strings import Strings
from penchant.model import DAY_MS

NEVER = int(np.iinfo(np.int32).min)
"""The day of what has not happened."""
UNRATED = int(np.iinfo(np.int64).min)
"""The moment of the rating of a pair that has none."""
PERSON_SHIFT = 32
"""A pair's number is the person's, shifted by so many bits, and the piece's."""
PIECE_MASK = (1 << PERSON_SHIFT) - 1
KEY_BYTES = 16
"""A person's key is two big-endian words of 64 bits."""
Words = NDArray[np.uint64]


class Pairs(NamedTuple):
    """Pairs as columns of one length: numbers, latest positive days, and the latest ratings, in milliseconds."""

    numbers: IntArray
    days: Days
    rated_at: IntArray
    disliked: BoolArray

    @classmethod
    def none(cls) -> "Pairs":
        """Return no pairs."""
        columns: list[Any] = [np.zeros(0, dtype) for dtype in (np.int64, np.int32, np.int64, np.bool_)]
        return cls(*columns)

    @property
    def people(self) -> IntArray:
        """The number of each pair's person."""
        return self.numbers >> PERSON_SHIFT

    @property
    def pieces(self) -> IntArray:
        """The number of each pair's piece."""
        return self.numbers & PIECE_MASK

    @property
    def liked(self) -> BoolArray:
        """Whether each pair's person likes the piece."""
        liked: BoolArray = (self.days != NEVER) & ~self.disliked
        return liked

    def take(self, places: IntArray | BoolArray) -> "Pairs":
        """Return the pairs at these places, or where a mask tells."""
        columns: list[Any] = [column[places] for column in self]
        return Pairs(*columns)

    def since(self, oldest_day: int, oldest_ms: int) -> "Pairs":
        """Return what is known of the pairs without all that is older; pairs of which nothing is left are gone."""
        days = np.where(self.days >= oldest_day, self.days, np.int32(NEVER))
        rated = self.rated_at >= oldest_ms
        rated_at = np.where(rated, self.rated_at, UNRATED)
        kept = Pairs(self.numbers, days, rated_at, self.disliked & rated)
        return kept.take((days != NEVER) | rated)


class Replaced(NamedTuple):
    """What a base says of pairs that came later again, as columns: the latest positive day, and whether it is liked."""

    days: Days
    liked: BoolArray

    @classmethod
    def nothing(cls, count: int) -> "Replaced":
        """Return that the base knows none of so many pairs."""
        return cls(np.full(count, NEVER, dtype=np.int32), np.zeros(count, dtype=np.bool_))

    def take(self, places: IntArray | BoolArray) -> "Replaced":
        """Return what is said of the pairs at these places, or where a mask tells."""
        return Replaced(self.days[places], self.liked[places])


def first_day(pairs: Pairs) -> int:
    """Return the oldest day that anything known of pairs is of; one far ahead for none."""
    happened = pairs.days[pairs.days != NEVER].min(initial=np.iinfo(np.int32).max)
    rated = pairs.rated_at[pairs.rated_at != UNRATED].min(initial=np.iinfo(np.int32).max * DAY_MS)
    return min(int(happened), int(rated // DAY_MS))


def joined(several: Sequence[Pairs]) -> Pairs:
    """Return all pairs one after the other."""
    return Pairs(*(np.concatenate(columns) for columns in zip(*several, strict=True))) if several else Pairs.none()


def settled(pairs: Pairs) -> tuple[Pairs, IntArray]:
    """Return each pair once, ascending by number, and the place where it came first.

    The latest day and the latest rating count; of ratings of one moment the later in order.
    """
    if not len(pairs.numbers):
        return pairs, np.zeros(0, dtype=np.int64)
    order = np.lexsort((pairs.rated_at, pairs.numbers))
    numbers = pairs.numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    last = order[np.append(starts[1:], len(order)) - 1]
    days = np.maximum.reduceat(pairs.days[order], starts)
    once = Pairs(numbers[starts], days, pairs.rated_at[last], pairs.disliked[last])
    return once, np.minimum.reduceat(order, starts)


class Scope(NamedTuple):
    """Of which interactions likes were counted: of which positive types, and from which UTC day on.

    ``first_day`` is the oldest that something is of; ``capped`` tells whether a person or piece had too many.
    """

    positive: tuple[str, ...]
    kept_from: int
    first_day: int
    capped: bool

    def serves(self, positive: Iterable[str], oldest_day: int) -> bool:
        """Return whether likes can be counted on for these types from this day on; otherwise they are made anew."""
        expiring = oldest_day > self.kept_from and self.capped
        return list(self.positive) == sorted(positive) and oldest_day >= self.kept_from and not expiring

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Scope":
        """Return what arrays, as `Likes.arrays` names them, were counted of; `SCOPE_ARRAYS` are enough."""
        positive = Strings(arrays["positive.starts"], arrays["positive.text"])
        numbers = (int(arrays[name][0]) for name in ("kept_from", "first_day", "capped"))
        kept_from, first, capped = numbers
        return cls(tuple(positive), kept_from, first, bool(capped))


SCOPE_ARRAYS = frozenset({"positive.starts", "positive.text", "kept_from", "first_day", "capped"})


@dataclass(frozen=True, eq=False, kw_only=True)
class Likes:
    """The pairs of ``u`` people and ``n`` pieces: ``z`` of them, of which the people like ``y``.

    People ascend by key, the words of which are ``heads`` and ``tails`` (u,); ``ids`` (n) ascend. ``starts`` (u + 1,)
    cuts ``pieces``, ``days``, ``rated_at`` and ``disliked`` (z,) into people; what a person likes comes first, up to
    ``liked_ends`` (u,), and both runs ascend by
    piece. ``piece_starts`` (n + 1,) cuts ``piece_people`` (y,) into pieces. ``day_starts`` (n + 1,) cuts
    ``day_values`` and ``day_counts`` into pieces: how many people's latest positive interaction was on which day.
    ``known`` (n,) counts the pairs of a piece. ``kept_from`` (1,) is the oldest day that any of it may be of,
    ``first_day`` (1,) the oldest that something is of, ``positive`` names the types of interaction that speak for a
    piece, and ``capped`` (1,) tells whether pairs were left out since there were too many of a person or piece.
    """

    heads: Words
    tails: Words
    ids: Strings
    starts: IntArray
    liked_ends: IntArray
    pieces: Numbers
    days: Days
    rated_at: IntArray
    disliked: BoolArray
    piece_starts: IntArray
    piece_people: Numbers
    day_starts: IntArray
    day_values: Days
    day_counts: Numbers
    known: IntArray
    kept_from: Days
    first_day: Days
    positive: Strings
    capped: BoolArray
    _numbers: WeakKeyDictionary[Segment, NDArray[np.int64]] = field(init=False, default_factory=WeakKeyDictionary)

    @property
    def person_count(self) -> int:
        """How many people it knows."""
        return len(self.heads)

    @property
    def scope(self) -> Scope:
        """Of which interactions it was counted."""
        return Scope.of_arrays(self.arrays())

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def people_of_pairs(self) -> IntArray:
        """The number of each pair's person; shape (z,)."""
        return np.repeat(np.arange(self.person_count), np.diff(self.starts))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        found: dict[str, NDArray[Any]] = {}
        for name in _stored_fields():
            value = getattr(self, name)
            if isinstance(value, Strings):
                found |= {f"{name}.starts": value.starts, f"{name}.text": value.text}
            else:
                found[name] = value
        return found

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Likes":
        """Return the likes of these arrays, as `arrays` names them; they are used, not copied."""
        members: dict[str, Any] = {}
        for name in _stored_fields():
            if name in _STRINGS:
                members[name] = Strings(arrays[f"{name}.starts"], arrays[f"{name}.text"])
            else:
                members[name] = arrays[name]
        return cls(**members)

    def person(self, key: bytes) -> int | None:
        """Return the number of a person."""
        head, tail = int.from_bytes(key[:8], "big"), int.from_bytes(key[8:], "big")
        place = int(np.searchsorted(self.heads, np.uint64(head)))
        while place < len(self.heads) and int(self.heads[place]) == head:
            if int(self.tails[place]) == tail:
                return place
            place += 1
        return None

    def row(self, person: int) -> Pairs:
        """Return what is known of a person's pairs."""
        cut = slice(self.starts[person], self.starts[person + 1])
        return self.pairs(np.full(cut.stop - cut.start, person, dtype=np.int64), cut)

    def pairs(self, people: IntArray, places: IntArray | BoolArray | slice) -> Pairs:
        """Return the pairs at these places, which are of these people."""
        numbers = people << PERSON_SHIFT | self.pieces[places].astype(np.int64)
        return Pairs(numbers, self.days[places], self.rated_at[places], self.disliked[places].astype(np.bool_))

    def find(self, numbers: IntArray) -> IntArray:
        """Return the places of pairs, -1 for those that it does not know; costs a binary search each."""
        people, pieces = numbers >> PERSON_SHIFT, numbers & PIECE_MASK
        here = (people < self.person_count) & (pieces < len(self.ids))
        found = np.full(len(numbers), -1, dtype=np.int64)
        rows = people[here]
        for begins, ends in (
            (self.starts[rows], self.liked_ends[rows]),
            (self.liked_ends[rows], self.starts[rows + 1]),
        ):
            places = _search(self.pieces, begins, ends, pieces[here])
            found[here] = np.maximum(found[here], places)
        return found

    def numbers_of(self, segment: Segment) -> IntArray:
        """Return the number of each of a segment's pieces, -1 for those without a pair; found once for each."""
        numbers = self._numbers.get(segment)
        if numbers is None:
            if len(segment) <= len(self.ids):
                numbers = self.ids.find_all(segment.ids)
            else:
                places = segment.ids.find_all(self.ids)
                numbers = np.full(len(segment), -1, dtype=np.int64)
                numbers[places[places >= 0]] = np.flatnonzero(places >= 0)
            self._numbers[segment] = numbers
        return numbers


def words_of(keys: Sequence[bytes]) -> Words:
    """Return keys of people as words; shape (n, 2)."""
    return np.frombuffer(b"".join(keys), dtype=">u8").reshape(-1, 2).astype(np.uint64)


def build_likes(
    words: Words, ids: Sequence[bytes], pairs: Pairs, *, kept_from: int, positive: Strings, capped: bool = False
) -> Likes:
    """Return the likes of pairs, each of them once, whose numbers are places of these people and (UTF-8) ids.

    People and pieces without a pair are left out.
    """
    people, person_order = _ranked(pairs.people, np.lexsort((words[:, 1], words[:, 0])))
    pieces, piece_order = _ranked(pairs.pieces, np.asarray(sorted(range(len(ids)), key=ids.__getitem__), np.int64))
    # One number to sort by is three times as fast as three columns; each is there once, so that no tie is left.
    order = np.argsort(people << (PERSON_SHIFT + 1) | (~pairs.liked).astype(np.int64) << PERSON_SHIFT | pieces)
    people, pieces, pairs = people[order], pieces[order], pairs.take(order)
    liked, happened = pairs.liked, pairs.days != NEVER
    by_piece = np.sort(pieces[liked] << PERSON_SHIFT | people[liked])
    starts = _starts(np.bincount(people, minlength=len(person_order)))
    return Likes(
        heads=words[person_order, 0],
        tails=words[person_order, 1],
        ids=Strings.of_encoded([ids[place] for place in piece_order.tolist()]),
        starts=starts,
        liked_ends=starts[:-1] + np.bincount(people[liked], minlength=len(person_order)),
        pieces=pieces.astype(np.uint32),
        days=pairs.days,
        rated_at=pairs.rated_at,
        disliked=pairs.disliked,
        piece_starts=_starts(np.bincount(pieces[liked], minlength=len(piece_order))),
        piece_people=(by_piece & PIECE_MASK).astype(np.uint32),
        **_histogram(pieces[happened], pairs.days[happened], len(piece_order)),
        known=np.bincount(pieces, minlength=len(piece_order)),
        kept_from=np.asarray([kept_from], dtype=np.int32),
        first_day=np.asarray([first_day(pairs)], dtype=np.int32),
        positive=positive,
        capped=np.asarray([capped], dtype=np.bool_),
    )


def _ranked(used: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return numbers as ranks among those used, in an order of all of them, and those used in that order."""
    is_used = np.zeros(len(order), dtype=np.bool_)
    is_used[used] = True
    order = order[is_used[order]]
    ranks = np.zeros(len(is_used), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[used], order


def _histogram(pieces: IntArray, days: Days, piece_count: int) -> dict[str, Any]:
    """Return by piece, ascending by day, how many pairs are of each day."""
    first = int(days.min(initial=0))
    span = int(days.max(initial=first)) - first + 1
    found, counts = np.unique(pieces * span + (days.astype(np.int64) - first), return_counts=True)
    return {
        "day_starts": _starts(np.bincount(found // span, minlength=piece_count)),
        "day_values": (found % span + first).astype(np.int32),
        "day_counts": counts.astype(np.uint32),
    }


def _search(values: Numbers, begins: IntArray, ends: IntArray, wanted: IntArray) -> IntArray:
    """Return where each wanted number is in its own ascending run of values, -1 for nowhere."""
    low, high = begins.copy(), ends.copy()
    while (searching := low < high).any():
        middle = (low + high) >> 1
        less = searching & (values[np.where(searching, middle, 0)] < wanted)
        low = np.where(less, middle + 1, low)
        high = np.where(searching & ~less, middle, high)
    inside = low < ends
    found = np.full(len(wanted), -1, dtype=np.int64)
    hits = np.flatnonzero(inside)
    hits = hits[values[low[hits]] == wanted[hits]]
    found[hits] = low[hits]
    return found


def _starts(counts: IntArray) -> IntArray:
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


_STRINGS = frozenset({"ids", "positive"})


def _stored_fields() -> list[str]:
    """Return the names of what makes likes; all else follows from it."""
    return [each.name for each in fields(Likes) if each.init]
