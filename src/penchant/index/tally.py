"""How does the audience follow the interactions feed? A fold: pairs counted step by step, as if all at once.

What is new since the base lies in columns of its own, small enough to be made anew with every step. A person
who likes something no longer, or is erased, is gone from the base: a person who stays gets a new number.
"""

from array import array
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.index.audience import Audience
from penchant.index.layout import BoolArray, IntArray
from penchant.index.likes import (
    NEVER,
    PERSON_SHIFT,
    UNRATED,
    Likes,
    Pairs,
    Replaced,
    build_likes,
    first_day,
    joined,
    settled,
    words_of,
)
from penchant.index.strings import Strings
from penchant.model import DAY_MS

MAX_PIECES = 10_000
"""Pieces counted of a person: the first ones. Who interacts with more is no person."""
MAX_PEOPLE = 1_000_000
"""People counted of a piece: the first ones. So the sums over a piece's people fit 64 bits."""
LEAST_MORE = 20_000
MORE_SHARE = 32
"""A new base is made after as many pairs as one in so many of its own, and at least `LEAST_MORE`."""

_Events: TypeAlias = "tuple[array[int], array[int], array[int], array[int]]"


class Tally:
    """Counts who likes what from the oldest day that counts on; `audience` hands out what is counted so far."""

    def __init__(self, base: Likes) -> None:
        self._events = _no_events()
        self._begin(base)

    def _begin(self, base: Likes) -> None:
        self._base = base
        self._kept_from = int(base.kept_from[0])
        self._is_capped = bool(base.capped[0])
        self._people: dict[bytes, int] = {}
        self._pieces: dict[str, int] = {}
        self._next_person = base.person_count
        self._gone: set[int] = set()
        self._more = Pairs.none()
        self._replaced = Replaced.nothing(0)
        """What the base says of each of `_more`."""

    @classmethod
    def empty(cls, positive: Iterable[str], oldest_day: int) -> "Tally":
        """Return the tally of nobody; ``positive`` names the types of interaction that speak for a piece."""
        none = Pairs.none()
        return cls(build_likes(words_of([]), [], none, kept_from=oldest_day, positive=Strings.of(sorted(positive))))

    @property
    def base(self) -> Likes:
        """What the rest is added to."""
        return self._base

    @property
    def nbytes(self) -> int:
        """How much memory the counts take, about."""
        return self._base.nbytes + 40 * len(self._more.numbers) + 150 * (len(self._people) + len(self._pieces))

    def counts(self, positive: Iterable[str], oldest_day: int) -> bool:
        """Return whether it goes on counting right for these types from this day on; otherwise it is made anew."""
        scope = self._base.scope._replace(kept_from=self._kept_from, capped=self._is_capped)
        return scope.serves(positive, oldest_day)

    def record(self, user_key: bytes, piece_id: str, occurred_at: int, *, positive: bool, rating: bool | None) -> None:
        """Count an interaction at a moment in milliseconds; ``rating`` tells, of a rating, whether it is a like.

        To be called in the order of the feed.
        """
        day = occurred_at // DAY_MS
        if day < self._kept_from:
            return
        numbers, days, rated_at, disliked = self._events
        numbers.append(self._person(user_key) << PERSON_SHIFT | self._piece(piece_id))
        days.append(day if positive else NEVER)
        rated_at.append(UNRATED if rating is None else occurred_at)
        disliked.append(rating is False)

    def erase(self, user_key: bytes) -> None:
        """Count a person no longer."""
        self._settle()
        person = self._people.pop(user_key, None)
        if person is None:
            person = self._known(user_key)
        if person is None:
            return
        if person < self._base.person_count:
            self._gone.add(person)
        kept = self._more.people != person
        self._more, self._replaced = self._more.take(kept), self._replaced.take(kept)

    def audience(self, today: int, oldest_day: int, *, room: int = 1) -> Audience:
        """Return the counts so far, untouched by what is recorded later.

        What is older than ``oldest_day`` counts no longer, from now on. There may be so many times as many pairs
        beside the base as usual before it makes a new one.
        """
        self._settle()
        if self._is_full(oldest_day, room):
            self._kept_from = oldest_day
            self._compact()
        self._kept_from = oldest_day
        gone = np.fromiter(sorted(self._gone), np.int64, len(self._gone))
        return Audience(self._base, self._more, self._replaced, gone, tuple(self._pieces), today)

    def is_full(self, oldest_day: int, *, room: int = 1) -> bool:
        """Return whether `audience` would make a new base, which takes a second for some millions of pairs."""
        self._settle()
        return self._is_full(oldest_day, room)

    def compacted(self, oldest_day: int | None = None) -> Likes:
        """Return all that is counted as a base of its own, from this day on if one is given."""
        self._settle()
        self._kept_from = self._kept_from if oldest_day is None else oldest_day
        self._compact()
        return self._base

    def _is_full(self, oldest_day: int, room: int) -> bool:
        if oldest_day > self._kept_from and min(int(self._base.first_day[0]), first_day(self._more)) < oldest_day:
            return True
        return len(self._more.numbers) > room * max(LEAST_MORE, len(self._base.pieces) // MORE_SHARE)

    def _compact(self) -> None:
        base = self._base
        people = base.people_of_pairs
        kept = np.ones(len(base.pieces), dtype=np.bool_)
        replaced = base.find(self._more.numbers)
        kept[replaced[replaced >= 0]] = False
        gone = np.zeros(base.person_count, dtype=np.bool_)
        gone[list(self._gone)] = True
        kept &= ~gone[people]
        pairs = joined([base.pairs(people[kept], kept), self._more])
        words = np.zeros((self._next_person, 2), dtype=np.uint64)
        words[: base.person_count] = np.stack((base.heads, base.tails), axis=1)
        words[list(self._people.values())] = words_of(list(self._people))
        self._begin(
            build_likes(
                words,
                base.ids.all_encoded() + [piece_id.encode() for piece_id in self._pieces],
                pairs.since(self._kept_from, self._kept_from * DAY_MS),
                kept_from=self._kept_from,
                positive=base.positive,
                capped=self._is_capped,
            )
        )

    def _person(self, key: bytes) -> int:
        number = self._people.get(key)
        if number is None:
            number = self._known(key)
        if number is None:
            number = self._people[key] = self._next_person
            self._next_person += 1
        return number

    def _known(self, key: bytes) -> int | None:
        number = self._base.person(key)
        return None if number in self._gone else number

    def _piece(self, piece_id: str) -> int:
        number = self._pieces.get(piece_id)
        if number is None:
            number = self._base.ids.find(piece_id)
        if number is None:
            number = self._pieces[piece_id] = len(self._base.ids) + len(self._pieces)
        return number

    def _settle(self) -> None:
        """Bring what was recorded into `_more`."""
        numbers, days, rated_at, disliked = self._events
        if not numbers:
            return
        self._events = _no_events()
        events = Pairs(
            np.frombuffer(numbers, dtype=np.int64),
            np.frombuffer(days, dtype=np.int32),
            np.frombuffer(rated_at, dtype=np.int64),
            np.frombuffer(disliked, dtype=np.bool_),
        )
        self._add(*settled(events))

    def _add(self, new: Pairs, first: IntArray) -> None:
        """Add events, one for a pair, which came in the order of ``first``."""
        in_more, in_base = _places(self._more.numbers, new.numbers), self._base.find(new.numbers)
        counted = (in_more >= 0) | (in_base >= 0)
        counted[~counted] = self._within_caps(new.take(~counted), first[~counted])
        if not counted.all():
            self._is_capped = True
            new, in_more, in_base = new.take(counted), in_more[counted], in_base[counted]
        known = in_base >= 0
        places = in_base[known]
        # Of ratings of one moment the later counts, so what came first stands first.
        old = [self._base.pairs(new.people[known], places), self._more.take(in_more[in_more >= 0])]
        now, _ = settled(joined([*old, new]))
        replaced = Replaced.nothing(len(new.numbers))
        replaced.days[known] = self._base.days[places]
        replaced.liked[known] = places < self._base.liked_ends[new.people[known]]
        self._put(now, replaced)
        for person in np.unique(now.people[replaced.liked & ~now.liked]).tolist():
            self._move(person)

    def _put(self, pairs: Pairs, replaced: Replaced) -> None:
        """Put pairs, ascending, into `_more`, in the place of those of the same number."""
        places = np.searchsorted(self._more.numbers, pairs.numbers)
        inside = _places(self._more.numbers, pairs.numbers) >= 0

        def put(kept: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
            column = kept.copy()
            column[places[inside]] = new[inside]
            return np.insert(column, places[~inside], new[~inside])

        both: Iterable[tuple[Any, Any]] = zip(self._more, pairs, strict=True)
        self._more = Pairs(*(put(kept, new) for kept, new in both))
        self._replaced = Replaced(put(self._replaced.days, replaced.days), put(self._replaced.liked, replaced.liked))

    def _move(self, person: int) -> None:
        """Give a person of the base a new number, since the base says of it what is so no longer."""
        key = b"".join(int(words[person]).to_bytes(8, "big") for words in (self._base.heads, self._base.tails))
        own = self._more.people == person
        pairs, _ = settled(joined([self._base.row(person), self._more.take(own)]))
        self._more, self._replaced = self._more.take(~own), self._replaced.take(~own)
        self._gone.add(person)
        number = self._people[key] = self._next_person
        self._next_person += 1
        moved = pairs._replace(numbers=number << PERSON_SHIFT | pairs.pieces)
        self._put(moved, Replaced.nothing(len(moved.numbers)))

    def _within_caps(self, fresh: Pairs, first: IntArray) -> BoolArray:
        """Return which new pairs are among those that are counted of their person, and of their piece."""
        people = self._counted(np.diff(self._base.starts), self._more.people, self._next_person)
        pieces = self._counted(self._base.known, self._more.pieces, len(self._base.ids) + len(self._pieces))
        within = partial(_within, first=first)
        return within(fresh.people, people, MAX_PIECES) & within(fresh.pieces, pieces, MAX_PEOPLE)

    def _counted(self, base: IntArray, more: IntArray, size: int) -> IntArray:
        """Return by number how many pairs are there; those that `_more` has of the base count twice, at most."""
        counts = np.bincount(more[self._replaced.days == NEVER], minlength=size)
        counts[: len(base)] += base
        return counts


def _no_events() -> "_Events":
    """Return columns for events to come; arrays of 21 bytes an event, where lists took 100."""
    return array("q"), array("i"), array("q"), array("b")


def _within(groups: IntArray, counted: IntArray, most: int, *, first: IntArray) -> BoolArray:
    """Return which entries, in their order of coming, are among the first so many of their group."""
    if not len(groups) or int((counted[groups] + np.bincount(groups)[groups]).max()) <= most:
        return np.ones(len(groups), dtype=np.bool_)
    order = np.lexsort((first, groups))
    ordered = groups[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(begins, np.diff(np.append(begins, len(groups))))
    return counted[groups] + ranks < most


def _places(numbers: IntArray, wanted: IntArray) -> IntArray:
    """Return where wanted numbers are among ascending ones, -1 for nowhere."""
    if not len(numbers):
        return np.full(len(wanted), -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return np.where(numbers[places] == wanted, places, -1)
