"""Varied lists by full sort, one choice after the other; of `penchant` only pieces with their s are used."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from penchant.model import Term
from penchant.ranking import RankedPiece

Terms = frozenset[Term]
Vector = Mapping[Term, int]
"""A unit vector, its entries rounded to whole 1 / 2**16."""


class Tastes(NamedTuple):
    """How much of each keyword of a category somebody likes, and in percent how much a list is to keep of that."""

    category: str
    percent: int
    amounts: Mapping[str, int]


class Variety(NamedTuple):
    """How a list is varied: ``best`` are those of the whole listing that all else is measured by, best first."""

    diversity: float
    most: Mapping[str, int]
    vectors: Mapping[str, Vector]
    best: Sequence[RankedPiece]
    tastes: Tastes | None = None


def unit_vectors(weights: Mapping[str, Mapping[Term, int]]) -> dict[str, Vector]:
    """Return the vectors of all pieces of a source, by the weights of their terms."""
    having = Counter(term for own in weights.values() for term in own)
    vectors = dict[str, Vector]()
    for piece_id, own in weights.items():
        entries = {term: math.sqrt(math.log(1 + len(weights) / having[term]) * own[term]) for term in own}
        length = math.hypot(*entries.values())
        vectors[piece_id] = {term: round(2**16 * each / length) for term, each in entries.items()}
    return vectors


def chosen_one_by_one(
    ranked: Sequence[RankedPiece],
    raised: Sequence[RankedPiece],
    variety: Variety,
    take: int,
) -> list[RankedPiece]:
    """Return those that are raised, then what is best and unlike them, of pieces whose keywords are not full."""
    chosen, left = list(raised[:take]), [each for each in ranked if each not in raised]
    vectors, most = variety.vectors, variety.most
    terms = {each.id: vectors[each.id].keys() for each in ranked}
    percent = math.floor(100 * variety.diversity + 0.5)
    spread = max(1, variety.best[0].units - variety.best[-1].units) if variety.best else 1

    def gain(each: RankedPiece) -> int:
        alike = max((_product(vectors[each.id], vectors[other.id]) for other in chosen), default=0)
        below = variety.best[0].units - each.units
        mixed = (-100 * below * 2**32) // spread - percent * alike
        if variety.tastes:
            made = [*chosen, each]
            apart = divergence([[*terms[other.id]] for other in made], variety.tastes)
            return (100 - variety.tastes.percent) * mixed - variety.tastes.percent * len(made) * 100 * apart
        return mixed if percent else -below

    while len(chosen) < take:
        held = Counter(term for each in chosen for term in terms[each.id])
        full = {term for term, count in held.items() if count >= most.get(term.category, take + 1)}
        allowed = [each for each in left if not full & terms[each.id]]
        if not allowed:
            break
        taken = max(allowed, key=gain)
        left.remove(taken)
        chosen.append(taken)
    return chosen


def divergence(listed: Sequence[Sequence[Term]], tastes: Tastes) -> int:
    """Return how far the shares of keywords in a list are from those of tastes: Kullback and Leibler's, x 2**32.

    A hundredth of the list's shares is that of the tastes, so that none is 0.
    """
    own = [[term.keyword for term in each if term.category == tastes.category] for each in listed]
    counted = [each for each in own if each]
    total, addends = sum(tastes.amounts.values()), list[int]()
    for keyword, amount in tastes.amounts.items():
        p = Fraction(amount, total)
        q = sum((Fraction(1, len(each)) for each in counted if keyword in each), Fraction()) / max(1, len(counted))
        addends.append(round(2**32 * float(p) * -math.log(float((99 * q + p) / 100 / p))))
    return sum(addends)


class Rules(NamedTuple):
    """What a list of pieces, by their places in its order, has to meet.

    ``bits`` are the quotas that each counts for, ``raised`` how many of the first come before others and stay,
    ``fixed`` the pieces of places, ``quotas`` (least, of).
    """

    terms: Sequence[Terms]
    bits: Sequence[int]
    raised: int
    fixed: Mapping[int, int]
    quotas: Sequence[tuple[int, int]]
    most: Mapping[str, int]
    take: int


def first_list(rules: Rules) -> list[int]:
    """Return the first list in the order of places of those that meet most, by trying all."""
    lists = [*_all_lists(rules, [])]
    best = max(_met(rules, each) for each in lists)
    first = min((each for each in lists if _met(rules, each) == best), key=lambda each: [x for _, x in sorted(each)])
    return [piece for _, piece in sorted(first)][: rules.take]


def _met(rules: Rules, listed: Sequence[tuple[int, int]]) -> list[int]:
    """Return how much of each quota a list of (place, piece) meets."""
    return [
        min(least, sum(1 for at, piece in listed if at < of and rules.bits[piece] >> number & 1))
        for number, (least, of) in enumerate(rules.quotas)
    ]


def _all_lists(rules: Rules, chosen: list[int]) -> Iterator[list[tuple[int, int]]]:
    """Yield all lists that begin with some pieces at the places that are free."""
    free = [at for at in range(rules.take) if at not in rules.fixed]
    held = Counter(term for piece in {*rules.fixed.values(), *chosen} for term in rules.terms[piece])
    full = {term for term, count in held.items() if count >= rules.most.get(term.category, len(rules.terms) + 1)}
    left = [each for each in range(len(rules.terms)) if each not in chosen and each not in rules.fixed.values()]
    left = [each for each in left if each < rules.raised or not full & rules.terms[each]]
    if not left or len(chosen) == len(free):
        yield [*zip(free, chosen, strict=False), *rules.fixed.items()]
        return
    for each in left:
        yield from _all_lists(rules, [*chosen, each])


def _product(one: Vector, other: Vector) -> int:
    return sum(value * other.get(term, 0) for term, value in one.items())


def listed_by_definition(
    everything: Sequence[RankedPiece],
    whitelist: Sequence[str],
    variety: Variety,
    *,
    take: int,
    candidates: int,
) -> list[RankedPiece]:
    """Return the list out of all pieces, best first: of the best ones, or four times as many as long as it is short."""
    raised = [each for name in whitelist for each in everything[:take] if each.id == name and each.units > 0]
    while True:
        made = chosen_one_by_one(everything[:candidates], raised, variety, take)
        if len(made) == take or candidates >= len(everything):
            return made
        candidates *= 4
