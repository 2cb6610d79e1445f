"""Varied lists by full sort, one choice after the other; of `penchant` only pieces with their s are used."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from penchant_engine.model import Term
from penchant_engine.ranking import RankedPiece

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
    ranked: Sequence[RankedPiece], raised: Sequence[RankedPiece], variety: Variety, take: int
) -> list[RankedPiece]:
    """Return those that are raised, then what is best and unlike them, of pieces whose keywords are not full."""
    chosen, left = list(raised[:take]), [each for each in ranked if each not in raised]
    vectors, most = variety.vectors, variety.most
    terms = {each.id: vectors[each.id].keys() for each in ranked}
    percent = math.floor(100 * variety.diversity + 0.5)
    spread = variety.best[0].units - variety.best[-1].units if variety.best else 1

    def gain(each: RankedPiece) -> int:
        below = variety.best[0].units - each.units
        mixed = gain_beside(below, spread, percent, vectors[each.id], [vectors[other.id] for other in chosen])
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
    ``fixed`` the pieces of places, ``quotas`` (least, of). ``gain`` tells how good a piece is after those that are
    listed; without it the earlier in the order is the better one.
    """

    terms: Sequence[Terms]
    bits: Sequence[int]
    raised: int
    fixed: Mapping[int, int]
    quotas: Sequence[tuple[int, int]]
    most: Mapping[str, int]
    take: int
    gain: Callable[[int, Sequence[int]], int] | None = None


class ListedPiece(NamedTuple):
    """A piece of a list, and where a rule put it, which, and the piece that would stand there, if it is another one."""

    piece: int
    rule: str | None = None
    displaced: int | None = None


Placed = list[tuple[int, int]]
"""Places and their pieces."""


def first_list(rules: Rules) -> list[ListedPiece]:
    """Return the list with, place by place, the best piece with which most can still be met, by trying all."""
    most_met = max(_met(rules, each) for each in _all_lists(rules, []))
    chosen, listed = list[int](), list[ListedPiece]()
    for at in range(rules.take):
        before = [each.piece for each in listed]
        if at in rules.fixed:
            own = rules.fixed[at]
            natural = next(iter(_by_gain(rules, [*_open(rules, chosen), own], before)), None)
            listed.append(ListedPiece(own, "pin", natural if natural != own else None))
            continue
        ordered = _by_gain(rules, _open(rules, chosen), before)
        if not ordered:
            break
        able = (each for each in ordered if most_met in (_met(rules, x) for x in _all_lists(rules, [*chosen, each])))
        best = next(able)
        chosen.append(best)
        listed.append(ListedPiece(best) if best == ordered[0] else ListedPiece(best, "quota", ordered[0]))
    late = [each for at, each in sorted(rules.fixed.items()) if at > len(listed) - 1]
    return [*listed, *(ListedPiece(each, "pin") for each in late)][: rules.take]


def _by_gain(rules: Rules, pieces: Iterable[int], listed: Sequence[int]) -> list[int]:
    """Return pieces, the best after some listed ones first: raised ones in their order, the others by gain."""

    def key(piece: int) -> tuple[bool, int, int]:
        is_raised = piece < rules.raised and piece not in rules.fixed.values()
        return (not is_raised, 0 if is_raised or rules.gain is None else -rules.gain(piece, listed), piece)

    return sorted(pieces, key=key)


def _open(rules: Rules, chosen: Sequence[int]) -> list[int]:
    """Return the pieces that may be listed beside those that are chosen or fixed."""
    held = Counter(term for piece in {*rules.fixed.values(), *chosen} for term in rules.terms[piece])
    full = {term for term, count in held.items() if count >= rules.most.get(term.category, len(rules.terms) + 1)}
    left = [each for each in range(len(rules.terms)) if each not in chosen and each not in rules.fixed.values()]
    return [each for each in left if each < rules.raised or not full & rules.terms[each]]


def _met(rules: Rules, listed: Placed) -> list[int]:
    """Return how much of each quota a list meets."""
    return [
        min(least, sum(1 for at, piece in listed if at < of and rules.bits[piece] >> number & 1))
        for number, (least, of) in enumerate(rules.quotas)
    ]


def _all_lists(rules: Rules, chosen: list[int]) -> Iterator[Placed]:
    """Yield all lists that begin with some pieces at the places that are free."""
    free = [at for at in range(rules.take) if at not in rules.fixed]
    left = _open(rules, chosen)
    if not left or len(chosen) == len(free):
        yield [*zip(free, chosen, strict=False), *rules.fixed.items()]
        return
    for each in left:
        yield from _all_lists(rules, [*chosen, each])


def gain_beside(below: int, spread: int, percent: int, own: Vector, listed: Iterable[Vector]) -> int:
    """Return how good a piece is beside listed ones (decision D205) that is so far ``below`` the best."""
    alike = max((_product(own, each) for each in listed), default=0)
    return (-100 * below * 2**32) // max(1, spread) - percent * alike


def _product(one: Vector, other: Vector) -> int:
    return sum(value * other.get(term, 0) for term, value in one.items())


def listed_by_definition(
    everything: Sequence[RankedPiece], whitelist: Sequence[str], variety: Variety, *, take: int, candidates: int
) -> list[RankedPiece]:
    """Return the list out of all pieces, best first: of the best ones, or four times as many as long as it is short."""
    raised = [each for name in whitelist for each in everything[:take] if each.id == name and each.units > 0]
    while True:
        made = chosen_one_by_one(everything[:candidates], raised, variety, take)
        if len(made) == take or candidates >= len(everything):
            return made
        candidates *= 4
