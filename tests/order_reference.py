"""What people like soon after what, by the words of the interface page, in plain Python: slow, and independent of it.

A person's likes are a dictionary from piece to `Like`. Nothing of `penchant_engine.index` is used.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

CLOSENESS = {1: 16, 2: 13, 3: 10, 4: 8, 5: 6, 6: 5, 7: 4, 8: 3, 9: 3, 10: 2}


DIRECTION_PRIOR = 1000 * 2**24


class Like(NamedTuple):
    """How much somebody likes a piece, and when the latest positive interaction with it was, in milliseconds."""

    grade: int
    at: int


Liked = Mapping[str, Like]


def half_up(share: Fraction) -> int:
    return math.floor(share + Fraction(1, 2))


def ranks_of(liked: Liked) -> dict[str, int]:
    """r: how many of the person's likes are strictly later."""
    return {one: sum(other.at > like.at for other in liked.values()) for one, like in liked.items()}


@dataclass
class Order:
    """C and what follows from it, of all people."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    people: Counter[tuple[str, str]] = field(default_factory=Counter)
    alone: int = 0
    gaps: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, everyone: Iterable[Liked]) -> "Order":
        counts: Counter[tuple[str, str]] = Counter()
        order = cls()
        for liked in everyone:
            ranks = ranks_of(liked)
            for a, one in liked.items():
                for b, other in liked.items():
                    distance = ranks[a] - ranks[b]
                    if one.at < other.at and distance <= 10:
                        pair = CLOSENESS[distance] * one.grade * other.grade
                        counts[a, b] += pair
                        order.people[a, b] += 1
                        order.alone += 2 * pair**2
            moments = sorted(like.at for like in liked.values())
            order.gaps.update(after - before for before, after in pairwise(moments) if after > before)
        order.counts = dict(counts)
        return order

    @property
    def eta(self) -> Fraction:
        """The direction: what different people agree on."""
        counts = self.counts
        pairs = {pair for a, b in counts for pair in ((a, b), (b, a))}
        one_way = sum((counts.get((a, b), 0) - counts.get((b, a), 0)) ** 2 for a, b in pairs)
        all_ways = sum((counts.get((a, b), 0) + counts.get((b, a), 0)) ** 2 for a, b in pairs)
        return Fraction(one_way - self.alone, all_ways - self.alone + DIRECTION_PRIOR)

    @property
    def direction(self) -> int:
        """H where nothing turns it off."""
        return min(256, max(0, math.floor(256 * self.eta)))

    def strength(self, use: str) -> int:
        """H under the setting ``order``."""
        total = sum(self.gaps.values())
        is_even = not total or Fraction(max(self.gaps.values()), total) > Fraction(1, 2)
        return 0 if use == "off" or not total or (use == "auto" and is_even) else self.direction

    def successors(self) -> dict[str, dict[str, int]]:
        """T by piece of those that are liked soon after it."""
        by_piece: dict[str, dict[str, int]] = defaultdict(dict)
        for (a, b), count in self.counts.items():
            by_piece[a][b] = count
        found = {}
        for a, own in by_piece.items():
            kept = sorted(own, key=lambda b: (-own[b], b))[:80]
            divisor = sum(own.values()) + 40_960
            found[a] = {b: half_up(Fraction(2**20 * own[b], divisor)) for b in kept}
        return found


class Factors(NamedTuple):
    """What one like counts: v', and g."""

    counted: int
    recency: int


def factors_of(liked: Liked, strength: int) -> dict[str, Factors]:
    """V' and g of a person's likes under h."""
    ranks = ranks_of(liked)
    recency = {each: round(256 * 2 ** (-rank / 3)) if rank < 24 else 0 for each, rank in ranks.items()}
    beta = min(1280, 40 * strength)
    raised = {each: like.grade * (65_536 + beta * recency[each]) for each, like in liked.items()}
    own, total = sum(like.grade for like in liked.values()), sum(raised.values())
    return {each: Factors(4096 * raised[each] * own // total, recency[each]) for each in liked}
