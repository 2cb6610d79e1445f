"""Event pages: all interactions of a source become likes, a page at a time and whole columns at once.

What `tally` does one by one, for a first count of millions. A page numbers its own people and pieces, so
that it keeps four bytes of each event for a piece instead of a key, and puts its events in the order of people; in the
end the keys of all pages are numbered alike:

    page        keys  c a c b    distinct, ascending  a b c    numbers  2 0 2 1
    next page         d a d                           a d               1 0 1
    all               the distinct ones of both       a b c d           2 0 2 1 | 3 0 3

Then the events of some people after the others are put in order, each time a run of every page.
Neither the order of pages nor that within them changes the result: several threads may read them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.arrays import is_first, over_ranges, starts_of
from penchant_engine.index.layout import BoolArray, IntArray, Numbers
from penchant_engine.index.people.likes import (
    MAX_PEOPLE,
    MAX_PIECES,
    PAIR_SHIFT,
    PERSON_SHIFT,
    LatestEvents,
    Likes,
    Words,
    first_day,
    latest_of,
)
from penchant_engine.index.strings import Strings
from penchant_engine.model import DAY_MS


class KeyColumn(NamedTuple):
    """Keys as ``numbers`` (n,) of the distinct ones, which are ``words`` (u, 2), ascending."""

    words: Words
    numbers: Numbers


def no_words() -> Words:
    """Return the words of no keys."""
    return np.zeros((0, 2), dtype=np.uint64)


def words_of_keys(keys: NDArray[np.uint8]) -> Words:
    """Return keys, given as bytes, as words; shape (n, 2)."""
    return np.ascontiguousarray(keys).view(">u8").astype(np.uint64)


def number_keys(words: Words) -> KeyColumn:
    """Return keys, given as words, as a column."""
    order, begins = ascending_keys(words)
    numbers = np.empty(len(words), dtype=np.uint32)
    numbers[order] = np.cumsum(begins) - 1
    return KeyColumn(words[order[begins]], numbers)


def ascending_keys(words: Words) -> tuple[IntArray, BoolArray]:
    """Return the order in which keys ascend, and where in it another key begins than the one before."""
    # Keys are as good as random: their first bits tell them apart, and a row's number takes the place of the others.
    # To sort such numbers takes a fraction of the time in which `argsort` follows each key.
    low = np.uint64((1 << len(words).bit_length()) - 1)
    marked = (words[:, 0] & ~low) | np.arange(len(words), dtype=np.uint64)
    marked.sort()
    order = (marked & low).astype(np.int64)
    marked &= ~low
    # To take whole rows is five times as fast as to index them.
    begins = _is_other(words.take(order, axis=0))
    alike = begins & ~is_first(marked)
    if alike.any():
        # Some keys have the same first bits: these alone are sorted by all of them.
        rows = np.flatnonzero(np.isin(marked, marked[alike]))
        some = order[rows]
        order[rows] = some[np.lexsort((words[some, 1], words[some, 0]))]
        begins = _is_other(words.take(order, axis=0))
    return order, begins


def _is_other(words: Words) -> BoolArray:
    return is_first(words[:, 0]) | is_first(words[:, 1])


def least_values(column: KeyColumn, values: IntArray) -> IntArray:
    """Return the least value of each distinct key."""
    found = np.full(len(column.words), np.iinfo(np.int64).max)
    np.minimum.at(found, column.numbers, values)
    return found


EVENTS_IN_CACHE = 65_536
"""Events, about, that are put in order at once: their numbers fit the cache, and 64 bits beside their places."""


class _EventPage(NamedTuple):
    """Events as columns in the order of people, whose people and pieces are numbered for this page alone.

    ``people`` (u, 2) are words, ascending, and ``starts`` (u + 1,) cuts the events into them. ``piece_versions`` has
    for each of its pieces the version of the first event.
    """

    people: Words
    starts: IntArray
    pieces: KeyColumn
    piece_versions: IntArray
    codes: NDArray[np.uint16]
    moments: IntArray
    versions: IntArray


class _OrderedEvents(NamedTuple):
    """The latest events of some people, ascending, as columns that `Likes` has, and how many each person has."""

    counts: IntArray
    pieces: Numbers
    codes: NDArray[np.uint16]
    moments: IntArray
    versions: IntArray


class EventPages:
    """Gathers events from a UTC day on. Any thread may add some."""

    def __init__(self, oldest_day: int) -> None:
        self._oldest_day = oldest_day
        self._pages: list[_EventPage] = []

    def add(
        self,
        people: NDArray[np.uint8],
        pieces: NDArray[np.uint8],
        codes: IntArray,
        moments: IntArray,
        versions: IntArray,
    ) -> None:
        """Add events, given as columns; keys have shape (n, 16)."""
        counts = moments >= self._oldest_day * DAY_MS
        if not counts.all():
            people, pieces, codes = people[counts], pieces[counts], codes[counts]
            moments, versions = moments[counts], versions[counts]
        words = words_of_keys(people)
        order, begins = ascending_keys(words)
        met = number_keys(words_of_keys(pieces).take(order, axis=0))
        versions = versions[order]
        page = _EventPage(
            people=words[order[begins]],
            starts=np.append(np.flatnonzero(begins), len(order)),
            pieces=met,
            piece_versions=least_values(met, versions),
            codes=codes[order].astype(np.uint16),
            moments=moments[order],
            versions=versions,
        )
        self._pages.append(page)

    def likes(self, piece_ids: Callable[[Sequence[int]], Mapping[int, str]], *, threads: int = 1) -> Likes:
        """Return the likes of all events; ``piece_ids`` tells of which pieces interactions of some versions are."""
        pages, self._pages = self._pages, []
        people = number_keys(np.concatenate([no_words(), *(page.people for page in pages)]))
        pieces = number_keys(np.concatenate([no_words(), *(page.pieces.words for page in pages)]))
        if len(people.words) > MAX_PEOPLE or len(pieces.words) > MAX_PIECES:
            raise OverflowError(f"No numbers for {len(people.words)} people and {len(pieces.words)} pieces.")
        # In the order in which they were recorded, since ids are found sooner side by side.
        met = least_values(
            pieces, np.concatenate([LatestEvents.none().versions, *(page.piece_versions for page in pages)])
        )
        known = piece_ids(np.sort(met).tolist())
        ids = [known[version].encode() for version in met.tolist()]
        order = sorted(range(len(ids)), key=ids.__getitem__)
        ranks = np.empty(len(ids), dtype=np.int64)
        ranks[order] = np.arange(len(ids))
        numbered = _NumberedPages(pages, people.numbers, ranks[pieces.numbers])
        parts = numbered.in_order(len(people.words), threads)
        # All of it is in these now, and while they become one there is no room for it twice.
        pages.clear()
        moments = np.concatenate([part.moments for part in parts])
        # What `build_likes` would look for is so already: all ascend, and nobody and nothing is without an event.
        return Likes(
            heads=people.words[:, 0].copy(),
            tails=people.words[:, 1].copy(),
            ids=Strings.of_encoded([ids[row] for row in order]),
            starts=starts_of(np.concatenate([part.counts for part in parts])),
            pieces=np.concatenate([part.pieces for part in parts]),
            codes=np.concatenate([part.codes for part in parts]),
            moments=moments,
            versions=np.concatenate([part.versions for part in parts]),
            kept_from=np.asarray([self._oldest_day], dtype=np.int32),
            first_day=np.asarray([first_day(moments)], dtype=np.int32),
        )


class _NumberedPages:
    """Pages beside the numbers that their people and pieces have among all, those of a page after the other's."""

    def __init__(self, pages: list[_EventPage], people: Numbers, pieces: IntArray) -> None:
        self._pages = pages
        self._people = np.split(people.astype(np.int64), np.cumsum([len(page.people) for page in pages]))[:-1]
        self._pieces = np.split(pieces, np.cumsum([len(page.pieces.words) for page in pages]))[:-1]

    def in_order(self, person_count: int, threads: int) -> list[_OrderedEvents]:
        """Return the latest events of all people, found by threads for a range of people after the other."""
        parts = 1 + sum(len(page.codes) for page in self._pages) // EVENTS_IN_CACHE
        found: dict[int, _OrderedEvents] = {}

        def order(turn: slice) -> None:
            for part in range(turn.start, turn.stop):
                first, last = (person_count * each // parts for each in (part, part + 1))
                events = self._events_of(first, last)
                found[part] = _OrderedEvents(
                    counts=np.bincount(events.people - first, minlength=last - first),
                    pieces=events.pieces.astype(np.uint32),
                    codes=events.codes.astype(np.uint16),
                    moments=events.moments,
                    versions=events.versions,
                )

        over_ranges(parts, threads, order)
        return [found[part] for part in range(parts)]

    def _events_of(self, first: int, last: int) -> LatestEvents:
        """Return the latest events of the people from one number up to another."""
        found = [LatestEvents.none()]
        for page, people, pieces in zip(self._pages, self._people, self._pieces, strict=True):
            own = slice(*np.searchsorted(people, (first, last)).tolist())
            starts = page.starts[own.start : own.stop + 1]
            cut = slice(int(starts[0]), int(starts[-1]))
            numbers = np.repeat(people[own] << PERSON_SHIFT, np.diff(starts))
            numbers |= pieces[page.pieces.numbers[cut]] << PAIR_SHIFT
            numbers |= page.codes[cut]
            found.append(LatestEvents(numbers, page.moments[cut], page.versions[cut]))
        return latest_of(found)
