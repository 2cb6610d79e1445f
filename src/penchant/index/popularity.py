"""How many people like each piece? A fold of the interactions feed, the same whether whole or step by step."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from penchant.index.segment import FloatArray, Segment

HALF_LIFE_DAYS = 30
"""After how many days a person's liking counts half (interface, section 6)."""
MAX_ARRAYS = 32
"""Arrays that a view keeps: more than a snapshot has segments."""
DayCounts = tuple[tuple[int, int], ...]


class PopularityView:
    """People by piece and by the UTC day of their latest positive interaction.

    Immutable but for what it remembers of its own results, which any number of threads may ask for.
    """

    def __init__(self, days: Mapping[str, DayCounts]) -> None:
        self._days = days
        self._people: tuple[tuple[int, int], dict[str, float]] | None = None
        self._arrays: dict[tuple[int, int, int], tuple[Segment, FloatArray]] = {}

    def people(self, today: int, oldest_day: int) -> Mapping[str, float]:
        """Return for each piece its people, each counting 2^(-age / 30), summed by ascending day.

        Days before ``oldest_day`` count for nothing, days after ``today`` as today.
        """
        asked = (today, oldest_day)
        known = self._people
        if known is None or known[0] != asked:
            known = (asked, {key: _decayed(days, today, oldest_day) for key, days in self._days.items()})
            self._people = known
        return known[1]

    def array(self, segment: Segment, today: int, oldest_day: int) -> FloatArray:
        """Return the people of a segment's pieces; shape (n_pieces,), float64."""
        place = (id(segment), today, oldest_day)
        known = self._arrays.get(place)
        if known is None or known[0] is not segment:
            people = self.people(today, oldest_day)
            values = np.fromiter((people.get(piece_id, 0.0) for piece_id in segment.ids), np.float64, len(segment))
            if len(self._arrays) >= MAX_ARRAYS:
                self._arrays = {}
            known = self._arrays[place] = (segment, values)
        return known[1]

    def continued(self, days: Mapping[str, DayCounts], changed: set[str]) -> "PopularityView":
        """Return the view of later counts, which differ for the changed pieces only."""
        view = PopularityView(days)
        if self._people is not None:
            asked, people = self._people
            updated = dict(people)
            for piece_id in changed:
                updated[piece_id] = _decayed(days.get(piece_id, ()), *asked)
            view._people = (asked, updated)  # the same class
        return view


class Popularity:
    """Counts people by piece and day; `view` hands out what is counted so far."""

    def __init__(self) -> None:
        self._users: dict[bytes, int] = {}
        self._pieces: dict[str, int] = {}
        self._names: list[str] = []
        self._latest: dict[tuple[int, int], int] = {}
        self._counts: dict[str, Counter[int]] = {}
        self._frozen: dict[str, DayCounts] = {}
        self._changed: set[str] = set()
        self._next_user = 0
        self._view = PopularityView({})

    def record(self, user_key: bytes, piece_id: str, day: int) -> None:
        """Count a positive interaction; of a person and a piece only the latest day counts."""
        pair = (self._user(user_key), self._piece(piece_id))
        known = self._latest.get(pair)
        if known is not None and known >= day:
            return
        counts = self._counts.setdefault(piece_id, Counter())
        if known is not None:
            _remove(counts, known)
        counts[day] += 1
        self._latest[pair] = day
        self._changed.add(piece_id)

    def erase(self, user_key: bytes) -> None:
        """Count a person no longer."""
        user = self._users.pop(user_key, None)
        if user is None:
            return
        for pair in [pair for pair in self._latest if pair[0] == user]:
            piece_id = self._names[pair[1]]
            _remove(self._counts[piece_id], self._latest.pop(pair))
            self._changed.add(piece_id)

    def view(self) -> PopularityView:
        """Return the counts so far, untouched by what is recorded later."""
        if self._changed:
            self._frozen = dict(self._frozen)
            for piece_id in self._changed:
                self._frozen[piece_id] = tuple(sorted(self._counts[piece_id].items()))
            self._view = self._view.continued(self._frozen, self._changed)
            self._changed = set()
        return self._view

    def _user(self, user_key: bytes) -> int:
        number = self._users.get(user_key)
        if number is None:
            number = self._users[user_key] = self._next_user
            self._next_user += 1
        return number

    def _piece(self, piece_id: str) -> int:
        number = self._pieces.get(piece_id)
        if number is None:
            number = self._pieces[piece_id] = len(self._names)
            self._names.append(piece_id)
        return number


def _remove(counts: Counter[int], day: int) -> None:
    counts[day] -= 1
    if not counts[day]:
        del counts[day]


def _decayed(days: DayCounts, today: int, oldest_day: int) -> float:
    total = 0.0
    for day, count in days:
        if day >= oldest_day:
            total += count * 2.0 ** (-max(0, today - day) / HALF_LIFE_DAYS)
    return total
