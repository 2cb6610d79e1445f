"""What do people like whose likes are like a person's? The audience of a source's pieces, exact, in one pass.

Immutable but for what it remembers of its own results, which any number of threads may ask for. All totals are
integers, so that they do not depend on the order in which people and pieces were met.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from penchant.index import engine
from penchant.index.layout import LIKE_SCALE, OVERLAP_SCALE, Crowd, Days, FloatArray, IntArray
from penchant.index.likes import NEVER, Likes, Pairs, Replaced
from penchant.index.part import Part
from penchant.index.segment import Segment
from penchant.index.strings import Strings
from penchant.model import Seed

HALF_LIFE_DAYS = 30
"""After how many days a person's liking counts half towards popularity (interface, section 6)."""
PEOPLE_SCALE = 1 << 40
"""People who count in part are added up as integers of this unit."""
DAMPING = 10
"""How many mean people a piece's norm is damped by (interface, section 6)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Popular:
    """Part p of all pieces, an array (n_pieces,) for each part of a snapshot, and its median where somebody likes."""

    shares: tuple[FloatArray, ...]
    median: float


class SeedShare(NamedTuple):
    """How much of a piece's part a is owed to a seed, and how many people who like both."""

    id: str
    share: float
    people: int


class Audience:
    """Who likes what, at one moment: popularity, and part a for the seeds of a person."""

    def __init__(
        self, base: Likes, more: Pairs, replaced: Replaced, gone: IntArray, new_ids: Sequence[str], today: int
    ) -> None:
        self._base = base
        self._new_ids = Strings.of(new_ids)
        self._new_numbers = {piece_id: len(base.ids) + place for place, piece_id in enumerate(new_ids)}
        self._piece_count = len(base.ids) + len(new_ids)
        self._crowd = _crowd(base, more.take(more.liked & ~replaced.liked), gone, self._piece_count)
        likers = _totals(self._crowd, self._piece_count)
        counted = self._crowd.inverse[self._crowd.inverse > 0]
        mean = _exact_sum(counted) / len(counted) / LIKE_SCALE if len(counted) else 0.0
        self._likers = likers
        self._divisors = np.sqrt(likers / LIKE_SCALE + DAMPING * mean)
        self._people = _popularity(base, more, replaced.days, gone, self._piece_count, today)
        self._numbers: WeakKeyDictionary[Segment, IntArray] = WeakKeyDictionary()
        self._popular: tuple[Sequence[Part], Popular] | None = None

    def popular(self, parts: Sequence[Part]) -> Popular:
        """Return p = ln(1 + people) / ln(1 + the greatest of the live pieces) for the parts of a snapshot."""
        known = self._popular
        if known is None or known[0] is not parts:
            known = self._popular = (parts, self._measure(parts))
        return known[1]

    def liked_alike(self, parts: Sequence[Part], seeds: Sequence[Seed]) -> tuple[FloatArray, ...]:
        """Return part a of all pieces for the parts of a snapshot, given a person's seeds.

        Seeds are added up in their order; those that nobody likes count for nothing.
        """
        numbers, values = self._vector(seeds)
        overlaps, norm = engine.overlaps(self._crowd, numbers, values, self._piece_count)
        shares = np.zeros(self._piece_count + 1)
        if norm:
            np.divide(overlaps / OVERLAP_SCALE, self._divisors, out=shares[:-1], where=overlaps > 0)
        # The last entry, 0, is that of pieces without a number, -1.
        return tuple(shares[self._numbers_of(part.segment)] for part in parts)

    def apart(self) -> "Audience":
        """Return the same for questions in passing: what is remembered of a snapshot's parts stays as it is."""
        other = copy.copy(self)
        other._popular = None  # noqa: SLF001  # the same class
        return other

    def owed(self, seeds: Sequence[Seed], piece_id: str) -> list[SeedShare]:
        """Return by seed what adds up to a piece's part a, the greatest share first, none of 0."""
        return self.owing(seeds)(piece_id)

    def owing(self, seeds: Sequence[Seed]) -> Callable[[str], list[SeedShare]]:
        """Return what `owed` says of any number of pieces, the work for the seeds done once."""
        numbers, values = self._vector(seeds)
        _, norm = engine.overlaps(self._crowd, numbers, values, self._piece_count)
        named = [seed.id for seed in seeds if self._is_liked(seed.id)]
        crowds = [self._people_of(number) for number in numbers.tolist()]

        def owed(piece_id: str) -> list[SeedShare]:
            number = self._number(piece_id)
            if number is None or not norm:
                return []
            inside = np.zeros(len(self._crowd.inverse), dtype=np.bool_)
            inside[self._people_of(number)] = True
            shares = []
            for seed_id, crowd, value in zip(named, crowds, values.tolist(), strict=True):
                both = crowd[inside[crowd]]
                overlap = _exact_sum(self._crowd.inverse[both]) / LIKE_SCALE
                if overlap:
                    share = value * overlap / norm / float(self._divisors[number])
                    shares.append(SeedShare(seed_id, share, len(both)))
            return sorted(shares, key=lambda each: (-each.share, each.id))

        return owed

    def _vector(self, seeds: Sequence[Seed]) -> tuple[IntArray, FloatArray]:
        """Return the seeds that somebody likes as numbers, and what each person who does adds: weight / norm."""
        found = [(self._number(seed.id), seed.weight) for seed in seeds if self._is_liked(seed.id)]
        numbers = np.asarray([number for number, _ in found], dtype=np.int64)
        weights = np.asarray([weight for _, weight in found], dtype=np.float64)
        return numbers, weights / np.sqrt(self._likers[numbers] / LIKE_SCALE)

    def _number(self, piece_id: str) -> int | None:
        number = self._new_numbers.get(piece_id)
        return self._base.ids.find(piece_id) if number is None else number

    def _is_liked(self, piece_id: str) -> bool:
        number = self._number(piece_id)
        return number is not None and bool(self._likers[number])

    def _people_of(self, number: int) -> IntArray:
        """Return who likes a piece, ascending."""
        crowd = self._crowd
        base = crowd.piece_people[crowd.piece_starts[number] : crowd.piece_starts[number + 1]].astype(np.int64)
        more = crowd.more_people[crowd.more_piece_starts[number] : crowd.more_piece_starts[number + 1]]
        people = np.concatenate((base, more.astype(np.int64)))
        return np.sort(people[crowd.inverse[people] > 0])

    def _numbers_of(self, segment: Segment) -> IntArray:
        """Return the number of each of a segment's pieces, -1 for those that nobody has interacted with."""
        if not self._new_numbers:
            return self._base.numbers_of(segment)
        numbers = self._numbers.get(segment)
        if numbers is None:
            numbers = self._base.numbers_of(segment)
            places = segment.ids.find_all(self._new_ids)
            if (places >= 0).any():
                numbers = numbers.copy()
                numbers[places[places >= 0]] = len(self._base.ids) + np.flatnonzero(places >= 0)
            self._numbers[segment] = numbers
        return numbers

    def _measure(self, parts: Sequence[Part]) -> Popular:
        people = np.append(self._people, 0) / PEOPLE_SCALE
        counts = [people[self._numbers_of(part.segment)] for part in parts]
        living = [count[part.live > 0] for part, count in zip(parts, counts, strict=True)]
        greatest = max((float(count.max(initial=0.0)) for count in living), default=0.0)
        if not greatest:
            return Popular(shares=tuple(np.zeros(len(part.segment)) for part in parts), median=0.0)
        scale = math.log1p(greatest)
        liked = np.concatenate([count[count > 0] for count in living])
        return Popular(
            shares=tuple(np.log1p(count) / scale for count in counts), median=float(np.median(np.log1p(liked) / scale))
        )


def decays(ages: int) -> IntArray:
    """Return what a person counts towards popularity by age in days, from 0 to ``ages``."""
    return np.rint(2.0 ** (-np.arange(ages + 1) / HALF_LIFE_DAYS) * PEOPLE_SCALE).astype(np.int64)


def _crowd(base: Likes, more: Pairs, gone: IntArray, piece_count: int) -> Crowd:
    """Return likes as kernels read them: those of the base, more of them, and 1 / n_x by person, 0 for who is gone."""
    people = int(max(base.person_count, more.people.max(initial=-1) + 1))
    counts = np.bincount(more.people, minlength=people)
    counts[: base.person_count] += base.liked_ends - base.starts[:-1]
    counts[gone] = 0
    inverse = np.zeros(people, dtype=np.int64)
    inverse[counts > 0] = np.rint(LIKE_SCALE / counts[counts > 0])
    by_piece = np.argsort(more.pieces, kind="stable")
    return Crowd(
        starts=_extended(base.starts, people),
        ends=np.append(base.liked_ends, np.full(people - base.person_count, base.starts[-1])),
        pieces=base.pieces,
        piece_starts=_extended(base.piece_starts, piece_count),
        piece_people=base.piece_people,
        more_starts=_starts(more.people, people),
        more_pieces=more.pieces.astype(np.uint32),
        more_piece_starts=_starts(more.pieces, piece_count),
        more_people=more.people[by_piece].astype(np.uint32),
        inverse=inverse,
    )


def _totals(crowd: Crowd, piece_count: int) -> IntArray:
    """Return by piece the sum of 1 / n_x over the people who like it, in units of 1 / `LIKE_SCALE`."""
    totals = _run_sums(crowd.inverse[crowd.piece_people], crowd.piece_starts)
    totals += _run_sums(crowd.inverse[crowd.more_people], crowd.more_piece_starts)
    return totals[:piece_count]


def _popularity(base: Likes, more: Pairs, replaced: Days, gone: IntArray, piece_count: int, today: int) -> IntArray:
    """Return by piece the people with a positive interaction, each counting less by age, in `PEOPLE_SCALE`."""
    days = [days[days != NEVER] for days in (base.day_values, more.days)]
    table = decays(max(0, *(today - int(each.min(initial=today)) for each in days)))

    def counted(days: Days) -> IntArray:
        weights = table[np.clip(today - days.astype(np.int64), 0, len(table) - 1)]
        weights[days == NEVER] = 0
        return weights

    people = np.zeros(piece_count, dtype=np.int64)
    people[: len(base.ids)] = _run_sums(counted(base.day_values) * base.day_counts, base.day_starts)
    np.add.at(people, more.pieces, counted(more.days) - counted(replaced))
    for person in gone.tolist():
        cut = slice(base.starts[person], base.starts[person + 1])
        people[base.pieces[cut]] -= counted(base.days[cut])
    return people


def _run_sums(values: IntArray, starts: IntArray) -> IntArray:
    """Return the sum of each run. Differences of a running total are right even where that has wrapped around."""
    total = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=total[1:])
    sums: IntArray = total[starts[1:]] - total[starts[:-1]]
    return sums


def _exact_sum(values: IntArray) -> int:
    """Return a sum that may pass 64 bits."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _extended(starts: IntArray, runs: int) -> IntArray:
    """Return where runs start, with empty ones at the end."""
    return np.append(starts, np.full(runs + 1 - len(starts), starts[-1]))


def _starts(groups: IntArray, count: int) -> IntArray:
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=starts[1:])
    return starts
