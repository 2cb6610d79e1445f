"""Event pages: all interactions of a source become likes, a page at a time and whole columns at once.

What `penchant.index.tally` does one by one, for a first count of millions. A page numbers its own people and pieces, so
that it keeps four bytes of each event for either instead of a key; in the end the keys of all pages are numbered alike:

    page        keys  c a c b    distinct, ascending  a b c    numbers  2 0 2 1
    next page         d a d                           a d               1 0 1
    all               the distinct ones of both       a b c d           2 0 2 1 | 3 0 3

Neither the order of pages nor that within them changes the result: several threads may read them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.index.arrays import over_ranges
from penchant.index.layout import IntArray, Numbers
from penchant.index.likes import (
    PAIR_SHIFT,
    PERSON_SHIFT,
    LatestEvents,
    Likes,
    Words,
    build_likes,
    latest_of,
    side_by_side,
)
from penchant.model import DAY_MS


class _KeyColumn(NamedTuple):
    """Keys as ``numbers`` (n,) of the distinct ones, which are ``words`` (u, 2), ascending."""

    words: Words
    numbers: Numbers


class _EventPage(NamedTuple):
    """Events as columns, whose people and pieces are numbered for this page alone.

    ``piece_versions`` has for each of its pieces the version of the first event.
    """

    people: _KeyColumn
    pieces: _KeyColumn
    piece_versions: IntArray
    codes: NDArray[np.uint8]
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
        moments, versions = moments[counts], versions[counts]
        met = _numbered(_words(pieces[counts]))
        page = _EventPage(
            people=_numbered(_words(people[counts])),
            pieces=met,
            piece_versions=_least(met, versions),
            codes=codes[counts].astype(np.uint8),
            moments=moments,
            versions=versions,
        )
        self._pages.append(page)

    def likes(self, piece_ids: Callable[[Sequence[int]], Mapping[int, str]], *, threads: int = 1) -> Likes:
        """Return the likes of all events; ``piece_ids`` tells of which pieces interactions of some versions are."""
        pages, self._pages = self._pages, []
        people = _numbered(np.concatenate([_no_words(), *(page.people.words for page in pages)]))
        pieces = _numbered(np.concatenate([_no_words(), *(page.pieces.words for page in pages)]))
        none = LatestEvents.none()
        # In the order in which they were recorded, since ids are found sooner side by side.
        met = _least(pieces, np.concatenate([none.versions, *(page.piece_versions for page in pages)]))
        known = piece_ids(np.sort(met).tolist())
        ids = [known[version].encode() for version in met.tolist()]
        order = sorted(range(len(ids)), key=ids.__getitem__)
        ranks = np.empty(len(ids), dtype=np.int64)
        ranks[order] = np.arange(len(ids))
        numbers = [none.numbers]
        person, piece = 0, 0
        for page in pages:
            own = people.numbers[person : person + len(page.people.words)].astype(np.int64) << PERSON_SHIFT
            theirs = ranks[pieces.numbers[piece : piece + len(page.pieces.words)]] << PAIR_SHIFT
            numbers.append(own[page.people.numbers] | theirs[page.pieces.numbers] | page.codes)
            person, piece = person + len(own), piece + len(theirs)
        moments = np.concatenate([none.moments, *(page.moments for page in pages)])
        versions = np.concatenate([none.versions, *(page.versions for page in pages)])
        # All of it is in these now, and while it is put in order there is no room for it twice.
        pages.clear()
        events = _in_order(LatestEvents(np.concatenate(numbers), moments, versions), len(people.words), threads)
        return build_likes(people.words, [ids[row] for row in order], events, kept_from=self._oldest_day)


def _in_order(events: LatestEvents, person_count: int, threads: int) -> LatestEvents:
    """Return `latest_of` the events, found by threads that have a range of the people each."""
    if threads == 1:
        return latest_of([events])
    found: dict[int, LatestEvents] = {}

    def order(people: slice) -> None:
        own = (events.numbers >= people.start << PERSON_SHIFT) & (events.numbers < people.stop << PERSON_SHIFT)
        found[people.start] = latest_of([events.take(own)])

    over_ranges(person_count, threads, order)
    return side_by_side([found[start] for start in sorted(found)])


def _no_words() -> Words:
    return np.zeros((0, 2), dtype=np.uint64)


def _words(keys: NDArray[np.uint8]) -> Words:
    """Return keys, given as bytes, as words; shape (n, 2)."""
    return np.ascontiguousarray(keys).view(">u8").astype(np.uint64)


def _numbered(words: Words) -> _KeyColumn:
    """Return keys, given as words, as a column."""
    order = np.argsort(words[:, 0])
    is_new = _begins(words[order, 0])
    # Keys are as good as random, so two with the same first half hardly ever occur.
    if (_begins(words[order, 1]) & ~is_new).any():
        order = np.lexsort((words[:, 1], words[:, 0]))
        is_new = _begins(words[order, 0]) | _begins(words[order, 1])
    numbers = np.empty(len(words), dtype=np.uint32)
    numbers[order] = np.cumsum(is_new) - 1
    return _KeyColumn(words[order[is_new]], numbers)


def _begins(values: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return where a run of equal values begins."""
    found = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def _least(column: _KeyColumn, values: IntArray) -> IntArray:
    """Return the least value of each distinct key."""
    found = np.full(len(column.words), np.iinfo(np.int64).max)
    np.minimum.at(found, column.numbers, values)
    return found
