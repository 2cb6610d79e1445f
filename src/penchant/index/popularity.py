"""How many people like each piece? A fold of the interactions feed, the same whether whole or step by step."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penchant.index.layout import FloatArray
from penchant.index.part import Part
from penchant.index.strings import Strings

HALF_LIFE_DAYS = 30
"""After how many days a person's liking counts half (interface, section 6)."""
DayCounts = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Popular:
    """Part p of all pieces, an array (n_pieces,) for each part of a snapshot, and its median where somebody likes."""

    shares: tuple[FloatArray, ...]
    median: float


class PopularityView:
    """People by piece and by the UTC day of their latest positive interaction.

    Immutable but for what it remembers of its own results, which any number of threads may ask for.
    """

    def __init__(self, days: Mapping[str, DayCounts]) -> None:
        self._days = days
        self._people: tuple[tuple[int, int], dict[str, float]] | None = None
        self._popular: tuple[tuple[int, int], Sequence[Part], Popular] | None = None

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

    def popular(self, parts: Sequence[Part], today: int, oldest_day: int) -> Popular:
        """Return p = ln(1 + people) / ln(1 + the greatest of the live pieces) for the parts of a snapshot."""
        asked = (today, oldest_day)
        known = self._popular
        if known is None or known[0] != asked or known[1] is not parts:
            known = self._popular = (asked, parts, _popular(self.people(today, oldest_day), parts))
        return known[2]

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


def _popular(people: Mapping[str, float], parts: Sequence[Part]) -> Popular:
    ids = Strings.of(people)
    counts = np.fromiter(people.values(), np.float64, len(people))
    found = []
    for part in parts:
        places = part.segment.ids.find_all(ids)
        here = places >= 0
        found.append((places[here], counts[here]))
    living = [number[part.live[places] > 0] for part, (places, number) in zip(parts, found, strict=True)]
    greatest = max((float(number.max(initial=0.0)) for number in living), default=0.0)
    shares = tuple(np.zeros(len(part.segment)) for part in parts)
    if not greatest:
        return Popular(shares=shares, median=0.0)
    scale = math.log1p(greatest)
    for share, (places, number) in zip(shares, found, strict=True):
        share[places] = np.log1p(number) / scale
    liked = [value for number in living for value in (np.log1p(number[number > 0]) / scale).tolist()]
    return Popular(shares=shares, median=statistics.median(liked))


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

    @property
    def nbytes(self) -> int:
        """How much memory the counts take, about: dictionaries of Python's, by measurement."""
        return 100 * len(self._users) + 350 * len(self._pieces) + 170 * len(self._latest)

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
