"""Ranking: start credits, diversity, calibration and promotion, the parts of an order that need no index.

Pure arithmetic (interface, section 6); the sums over pieces are the index's.
"""

import itertools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.model import PIN, QUOTA, Term

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

SCORE_SCALE = 10**9
"""Scores are rounded to nine decimals and compared as integers of this unit."""
VECTOR_SCALE = 1 << 16
"""Entries of unit vectors are whole numbers of this unit."""
GAIN_SCALE = VECTOR_SCALE**2
"""Products of unit vectors are, and so are gains of diversity, each for a percent."""
LEAST = -(1 << 62)
"""Less than any gain."""
WHOLE_PIECE = 720_720
"""What a piece counts in calibration: up to 16 keywords have equal parts of it without a rest."""
HALVINGS = 1075
"""After so many half-lives a double holds nothing of 1 any more."""


class RankedPiece(msgspec.Struct, frozen=True, gc=False):
    """A recommended piece: ``units`` is its s in units of 1e-9."""

    id: str
    units: int


def scores_of(units: Sequence[int] | IntArray) -> list[float]:
    """Return what is shown of each s in units of 1e-9: 1 - s within 0 and 1, so that lower is better."""
    # Whole numbers below 2 ** 53, so that what is divided is exact; greater ones are beyond 1 anyway.
    scores: FloatArray = (SCORE_SCALE - np.array(units, dtype=np.float64)) / SCORE_SCALE
    shown: list[float] = np.minimum(np.maximum(scores, 0.0), 1.0).tolist()
    return shown


def demoted(ranked: Sequence[RankedPiece], factors: Mapping[str, float]) -> list[RankedPiece]:
    """Return pieces in the order of s x their factors, those without one as they are, ties by id.

    Factors are 1 at most; what nothing speaks for, with s of 0 or less, sinks no further.
    """
    if not factors:
        return list(ranked)
    sinking = [
        RankedPiece(each.id, round(each.units * factors.get(each.id, 1.0)) if each.units > 0 else each.units)
        for each in ranked
    ]
    return sorted(sinking, key=lambda each: (-each.units, each.id))


def start_credits(day_counts: Mapping[int, int], today: int, half_life_days: float) -> FloatArray:
    """Return r by age in days from 0, the last entry for all that are older; only 0 where the half-life is 0.

    r is newness, less as more of the source is new. ``day_counts`` tells how many pieces became available on each
    day; those to come count for nothing. Summed by ascending day.
    """
    if not half_life_days:
        return np.zeros(1)
    counted = [(day, count) for day, count in sorted(day_counts.items()) if day <= today]
    pieces = sum(count for _, count in counted)
    oldest = max((today - day for day, _ in counted), default=0)
    total = math.fsum(count * float(2.0 ** (-(today - day) / half_life_days)) for day, count in counted)
    mean = total / pieces if pieces else 0.0
    # As many entries as there are different credits: past the last age they are 0, or no piece is so old.
    ages = np.arange(min(oldest, math.ceil(HALVINGS * half_life_days)) + 1)
    credits_by_age: FloatArray = 2.0 ** (-ages / half_life_days) * (1 - mean)
    return credits_by_age


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The shares of somebody's tastes that a list is to keep (Steck 2018).

    ``tastes`` says of the keywords of a ``category`` how much each is of what the person likes, in any unit above 0.
    With ``strength`` 1 nothing else counts, with 0 it does not count.
    """

    category: str
    strength: float
    tastes: Mapping[str, int]

    @property
    def percent(self) -> int:
        """The strength in whole percent, half up: what the arithmetic counts with."""
        return math.floor(100 * self.strength + 0.5)


class Diversity(msgspec.Struct, frozen=True, kw_only=True):
    """What a list is to have beside the best: pieces unlike each other, the shares of tastes, few of one keyword.

    ``diversity`` of 0 looks at scores alone; with 1 a piece like a listed one loses as much as lies between the best
    and the last of those that are chosen from. ``most`` tells by category how many pieces may have the same keyword.
    """

    diversity: float = 0.0
    most: Mapping[str, int] = msgspec.field(default_factory=dict)
    calibration: Calibration | None = None

    def __bool__(self) -> bool:
        return bool(self.is_mixed or self.most)

    @property
    def is_mixed(self) -> bool:
        """Whether anything but s counts for the order of pieces that may be listed."""
        return bool(self.percent or (self.calibration and self.calibration.percent))

    @property
    def percent(self) -> int:
        """The diversity in whole percent, half up: what the arithmetic counts with."""
        return math.floor(100 * self.diversity + 0.5)


class PieceKeywords(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The keywords of ``count`` pieces as pairs, none of which comes twice.

    ``owners`` (z,) are the pieces, ascending, ``numbers`` (z,) their keywords as places in ``names``; ``units`` (z,)
    are the entries of the pieces' unit vectors in `VECTOR_SCALE`, none without diversity.
    """

    count: int
    owners: IntArray
    numbers: IntArray
    names: Sequence[Term]
    units: IntArray


class QuotaCount(msgspec.Struct, frozen=True, kw_only=True):
    """A quota of a list: so many of the first ``of`` places are for its pieces; ``least`` 0 asks for nothing."""

    least: int
    of: int


class ListOrder(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What lists are arranged from: pieces by their places in the order of the list, which ``units`` (n,) says.

    The first ``raised`` come before all others whatever their s; the others descend. ``fixed`` are pieces that stand
    at places of the list, from 0, and only there. ``counted`` (n,) are bits of the quotas that a piece counts for.
    The last ``listed`` have the first places of the list already, and are no candidates for others. The ``best`` s of
    the list and its ``spread``, how far the last of the best is below it, are what all else is measured by.
    """

    units: IntArray
    raised: int
    keywords: PieceKeywords
    fixed: Mapping[int, int] = msgspec.field(default_factory=dict)
    quotas: Sequence[QuotaCount] = ()
    counted: IntArray | None = None
    listed: int = 0
    best: int = 0
    spread: int = 0


class Preference(NamedTuple):
    """Why a piece was taken before a better one: `DIVERSITY`, or `CALIBRATION` with the keyword it brings most of."""

    rule: str
    term: Term | None = None


class ArrangedPiece(NamedTuple):
    """A piece of a list by its place in the order; ``displaced`` would stand there if no rule had put it there.

    ``rule`` is `PIN`, `QUOTA` or nothing.
    """

    place: int
    rule: str = ""
    displaced: int | None = None
    preferences: Sequence[Preference] = ()


class ArrangedList(NamedTuple):
    """A list, keywords of which no other piece may be added, and how many pieces of each quota could be promised.

    ``wanting`` are bits of quotas, one set for each kind of piece of which the list may have taken another one, had
    there been more of that kind.
    """

    pieces: list[ArrangedPiece]
    full: AbstractSet[Term]
    promised: Sequence[int]
    wanting: AbstractSet[int]


PieceKind: TypeAlias = tuple[int, frozenset[int], bool]
"""What quotas and limits know of a piece: the bits of the quotas that it counts for, its limited keywords, and whether
it is raised, and so listed whatever is full."""
DIVERSITY, CALIBRATION = "diversity", "calibration"
OWN_LOOKS, SHARED_LOOKS = 6_000, 18_000
"""Looks that a list has for itself to meet its rules, more than rows with three quotas take as a rule, and that the
lists of a page share beyond that: some 40 ms."""
LOOK_AHEAD, LOOKED_AT_ONCE = 30, 32
"""What it takes to look ahead at all, in looks, and how many pieces are looked at in arrays in the time of one look."""


class WorkBudget:
    """How often pieces, or kinds of them, may still be looked at to meet rules: a microsecond or two each.

    It counts looks and no time, so that all nodes make the same list. What a list has for itself (`for_list`) comes
    first; the rest is shared by the lists of a request, so that those whose rules can't be met leave others enough.
    """

    def __init__(self, own: int = OWN_LOOKS, shared: int = SHARED_LOOKS) -> None:
        self._own, self._own_of_each, self._shared = own, own, shared

    def for_list(self) -> "WorkBudget":
        """Begin with another list, and return itself."""
        self._own = self._own_of_each
        return self

    def spend(self, looks: int) -> None:
        """Count looks."""
        own = min(looks, self._own)
        self._own -= own
        self._shared -= looks - own

    def takes_on(self, looks: int) -> bool:
        """Return whether there are so many left, and count them if there are."""
        if looks > self.left:
            return False
        self.spend(looks)
        return True

    @property
    def left(self) -> int:
        """How many looks are left; 0 or less where nothing more may be looked at."""
        return self._own + self._shared


def arranged(order: ListOrder, variety: Diversity, take: int, work: WorkBudget | None = None) -> ArrangedList:
    """Return the first list in the order that meets what it has to: place by place the best piece with which it can.

    A place has its fixed piece, otherwise the next raised one, otherwise the one with the greatest
    s - diversity x spread x likeness (maximal marginal relevance, Carbonell and Goldstein 1998), ties in the given
    order. Likeness is the greatest product of its unit vector with that of a piece that is listed already; all is
    counted in whole 1 / `GAIN_SCALE` percent of the spread, rounded down, or of one unit where there is no spread.
    With a calibration c the one with the greatest (1 - c) x this - c x spread x length x divergence, of the list
    that it would make (`_Shares`). A
    piece that would be one too many with a keyword is left out; fixed ones count
    towards that from the beginning, raised ones once they are listed, and both stay. A piece with which the quotas
    can no longer be met is passed over; what can't be met at all is met as far as it can, the first quota first.
    Without enough pieces the fixed ones that are left come last. ``take`` counts what is listed already, which comes
    back with the rest. Costs some passes over all pieces for each place, and what ``work`` allows to look ahead: what
    is promised of the quotas is met without any more, maybe by other pieces than the best.
    """
    return _ListFiller(order, variety, take, work or WorkBudget()).arrange()


class _Limits:
    """How many pieces with each limited keyword may still be listed."""

    def __init__(self, keywords: PieceKeywords, most: Mapping[str, int]) -> None:
        self.left = {number: most[term.category] for number, term in enumerate(keywords.names) if term.category in most}
        self._starts = np.searchsorted(keywords.owners, np.arange(keywords.count + 1))
        self._numbers = keywords.numbers
        counts = np.bincount(keywords.numbers, minlength=len(keywords.names)).tolist()
        self._scarce = {number for number, left in self.left.items() if counts[number] > left}

    def of(self, piece: int) -> frozenset[int]:
        """Return the limited keywords of a piece."""
        if not self.left:
            return frozenset()
        own = self._numbers[self._starts[piece] : self._starts[piece + 1]].tolist()
        return frozenset(number for number in own if number in self.left)

    def scarce(self, piece: int) -> frozenset[int]:
        """Return the limited keywords of a piece that more pieces have than may be listed: others limit nothing."""
        return self.of(piece) & self._scarce

    def take(self, numbers: AbstractSet[int], count: int = 1) -> None:
        """Count a piece with some limited keywords, or with a count of -1 no longer."""
        for number in numbers:
            self.left[number] -= count

    def allow(self, numbers: AbstractSet[int]) -> bool:
        """Return whether another piece with some limited keywords may be listed."""
        return all(self.left[number] > 0 for number in numbers)


class _Shares:
    """How far the shares of a list that is being made are from somebody's tastes.

    A piece counts `WHOLE_PIECE` in equal parts, rounded down, for its keywords of the category; one without any counts
    for nothing. Of the tastes' shares p and the list's q the divergence is the sum of p ln(p / (0.99 q + 0.01 p)), each
    addend rounded to 1 / `GAIN_SCALE`: whole numbers, so that their sum has no order. Keywords that no candidate has
    add the same to all lists, and are left out.
    """

    def __init__(self, keywords: PieceKeywords, calibration: Calibration) -> None:
        self._names = keywords.names
        self._total = sum(calibration.tastes.values())
        self._tastes = {
            number: calibration.tastes[term.keyword]
            for number, term in enumerate(keywords.names)
            if term.category == calibration.category and term.keyword in calibration.tastes
        }
        own: list[list[int]] = [[] for _ in range(keywords.count)]
        for owner, number in zip(keywords.owners.tolist(), keywords.numbers.tolist(), strict=True):
            if keywords.names[number].category == calibration.category:
                own[owner].append(number)
        numbers = dict[tuple[int, ...], int]()
        self._kind_of = np.fromiter((numbers.setdefault(tuple(each), len(numbers)) for each in own), np.int64, len(own))
        self._kinds = [*numbers]
        self._held = dict.fromkeys(self._tastes, 0)
        self._counted = 0

    def take(self, piece: int) -> None:
        """Count a piece that is listed."""
        own = self._kinds[self._kind_of[piece]]
        self._counted += bool(own)
        for number in own:
            if number in self._held:
                self._held[number] += WHOLE_PIECE // len(own)

    def divergences(self) -> IntArray:
        """Return for each piece the divergence of the list with it."""
        bases = [sum(self._addend(each, held, counted) for each, held in self._held.items()) for counted in self._next]
        gains = dict[tuple[int, int], int]()
        of_kinds = []
        for own in self._kinds:
            found = bases[bool(own)]
            for pair in ((each, len(own)) for each in own if each in self._tastes):
                if pair not in gains:
                    gains[pair] = self._gain(*pair)
                found += gains[pair]
            of_kinds.append(found)
        return np.asarray(of_kinds, dtype=np.int64)[self._kind_of]

    def brought(self, piece: int) -> Term | None:
        """Return the keyword of a piece by which it makes up for most; none where it does by having no others."""
        own = self._kinds[self._kind_of[piece]]
        gains = {each: self._gain(each, len(own)) for each in own if each in self._tastes}
        found = min(gains, key=lambda each: (gains[each], self._names[each].keyword), default=None)
        return None if found is None or gains[found] >= 0 else self._names[found]

    @property
    def _next(self) -> tuple[int, int]:
        """How many pieces of the list count with one more that has no keyword, or has any."""
        return self._counted, self._counted + 1

    def _gain(self, number: int, keywords: int) -> int:
        """Return by how much the addend of a keyword is less with a piece that has it, among so many, than others."""
        held, counted = self._held[number], self._counted + 1
        return self._addend(number, held + WHOLE_PIECE // keywords, counted) - self._addend(number, held, counted)

    def _addend(self, number: int, held: int, counted: int) -> int:
        own, whole = self._tastes[number], max(1, counted) * WHOLE_PIECE
        ratio = (99 * held * self._total + own * whole) / (100 * own * whole)
        # The C library's logarithm: numpy's differs by machine.
        return round(-GAIN_SCALE * (own / self._total) * math.log(ratio))


def _worth(order: ListOrder, bound: int) -> IntArray:
    """Return how far each s is above the best, mostly less than 0, in 1 / `GAIN_SCALE` percent of the spread."""
    scale, spread = 100 * GAIN_SCALE, max(1, order.spread)
    # Python's integers, since products of units and scale need more than 64 bits.
    parts = ((units - order.best) * scale // spread for units in order.units.tolist())
    return np.fromiter((max(-bound, min(bound, each)) for each in parts), np.int64, len(order.units))


class _ListFiller:
    """A list that is being made: what is listed, how like any other piece is to that, and what may still be listed."""

    def __init__(self, order: ListOrder, variety: Diversity, take: int, work: WorkBudget) -> None:
        self._order, self._take, self._work = order, take, work
        keywords = order.keywords
        self._starts = np.searchsorted(keywords.owners, np.arange(keywords.count + 1))
        by_keyword = np.argsort(keywords.numbers, kind="stable")
        self._having = keywords.owners[by_keyword]
        self._cuts = np.searchsorted(keywords.numbers[by_keyword], np.arange(len(keywords.names) + 1))
        self._limits = _Limits(keywords, variety.most)
        self._percent = variety.percent
        self._owners, self._numbers, self._units = keywords.owners, keywords.numbers, keywords.units
        free = keywords.count - order.listed
        self._shares: _Shares | None = None
        self._calibrated = 0
        if variety.calibration is not None and variety.calibration.percent:
            self._shares, self._calibrated = _Shares(keywords, variety.calibration), variety.calibration.percent
        self._divergences: IntArray | None = None
        # Where calibration counts, a hundredth of it is still added to others within 64 bits.
        bound = -LEAST // (256 if self._shares else 2)
        self._is_mixed = variety.is_mixed
        self._worth = _worth(order, bound) if self._is_mixed else order.units
        self._likeness: IntArray = np.zeros(keywords.count, dtype=np.int64)
        self._is_open: BoolArray = np.ones(keywords.count, dtype=np.bool_)
        self._is_open[: order.raised] = False
        self._raised = [place for place in range(order.raised) if place not in order.fixed.values()]
        self._bits = np.zeros(keywords.count, dtype=np.int64) if order.counted is None else order.counted
        self._least = [0] * len(order.quotas)
        self._pieces: list[ArrangedPiece] = []
        self._wanting: set[int] = set()
        self._last_of = {0: -1} | {bits: place for place, bits in enumerate(self._bits[:free].tolist())}
        self._number_kinds()
        for piece in order.fixed.values():
            self._is_open[piece] = False
            self._count(piece)
        for piece in range(free, keywords.count):
            self._list(piece, "", None)

    def arrange(self) -> ArrangedList:
        """Return the list."""
        self._promise()
        while len(self._pieces) < self._take:
            place = len(self._pieces)
            fixed = self._order.fixed.get(place)
            if fixed is not None:
                self._list(fixed, PIN, self._natural(fixed))
                continue
            natural = self._natural()
            chosen = self._chosen(place) if self._is_owed(place) else natural
            self._note_wanting(place, chosen)
            if chosen is None:
                break
            self._list(chosen, "" if chosen == natural else QUOTA, natural)
        listed = {each.place for each in self._pieces}
        for _, piece in sorted(self._order.fixed.items()):
            if piece not in listed and len(self._pieces) < self._take:
                self._list(piece, PIN, None)
        names = self._order.keywords.names
        full = {names[number] for number, left in self._limits.left.items() if left <= 0}
        return ArrangedList(self._pieces, full, self._least, self._wanting)

    def _promise(self) -> None:
        """Find how much of each quota can be met: of the first as much as it can, and so on."""
        for number, quota in enumerate(self._order.quotas):
            self._least[number] = quota.least
            while self._least[number] and not self._can_be_met(0, self._needs(0)):
                self._least[number] = self._least[number] - 1 if self._work.left > 0 else 0

    def _natural(self, fixed: int | None = None) -> int | None:
        """Return the best piece by the order and the limits alone, a fixed one counting as if it were not."""
        if self._raised:
            return self._raised[0]
        if fixed is None:
            return self._best(self._is_open)
        is_open = self._is_open.copy()
        is_open[fixed] = True
        return self._best(is_open)

    def _chosen(self, place: int) -> int | None:
        """Return the best piece for a place with which the quotas can still be met."""
        for each in self._raised:
            if self._is_possible(place, each):
                return each
            if self._work.left <= 0:
                return self._planned()
        is_open = self._is_open.copy()
        while (piece := self._best(is_open)) is not None and not self._is_possible(place, piece):
            if self._work.left <= 0:
                return self._planned()
            bits, limited = int(self._bits[piece]), self._limits.scarce(piece)
            if bits and self._search.filling:
                # One that is limited by more may have to come now, before raised ones fill its keywords.
                is_open &= self._kind_of != self._kind_of[piece]
                continue
            alike = self._bits == bits
            if not limited or not self._would_be_possible(place, bits, frozenset()):
                # Nor would any other one that counts for the same quotas do.
                is_open &= ~alike
                continue
            # Nor would one that is limited by as much.
            held = np.bincount(np.concatenate([self._pieces_with(each) for each in limited]), minlength=len(alike))
            is_open &= ~(alike & (held == len(limited)))
        return self._planned() if piece is None else piece

    def _planned(self) -> int | None:
        """Return the piece that comes next on the way that was found last to meet the quotas, the best of all without.

        It is for where the search for others gave up.
        """
        for number, kind in enumerate(self._search.plan, start=1):
            useful = self._is_open & (self._kind_of == kind)
            useful[self._raised] = self._kind_of[self._raised] == kind
            if useful.any():
                self._search.plan = self._search.plan[number:]
                return self._best(useful)
        return self._natural()

    def _note_wanting(self, place: int, chosen: int | None) -> None:
        """Note the kinds of pieces that all come before the chosen one, and of which another one might have been it."""
        if self._work.left <= 0 or (chosen is not None and (self._is_mixed or chosen < self._order.raised)):
            return
        for bits, last in self._last_of.items():
            beyond = chosen is None or last < chosen
            if beyond and bits not in self._wanting and self._would_be_possible(place, bits, frozenset()):
                self._wanting.add(bits)

    def _best(self, is_open: BoolArray) -> int | None:
        """Return the open piece that is best by worth and likeness."""
        if not is_open.any():
            return None
        # The first of equal gains, which is the better one by the order.
        return int(np.where(is_open, self._gains(), LEAST).argmax())

    def _gains(self) -> IntArray:
        """Return what speaks for each piece as the next one."""
        gains = self._worth - self._percent * self._likeness
        if self._shares is None:
            return gains
        if self._divergences is None:
            self._divergences = self._shares.divergences()
        # As a mean over the list, Steck's s: both sides times its length, which is the same for all.
        length = len(self._pieces) + 1
        return (100 - self._calibrated) * gains - self._calibrated * length * 100 * self._divergences

    def _preferences(self, piece: int) -> Sequence[Preference]:
        """Return what has put an open piece before the best one."""
        if not self._is_mixed or not self._is_open[piece]:
            return ()
        best = int(np.where(self._is_open, self._worth, LEAST).argmax())
        if self._worth[piece] >= self._worth[best]:
            return ()
        found = []
        if self._percent and self._likeness[piece] < self._likeness[best]:
            found.append(Preference(DIVERSITY))
        divergences = self._divergences
        if self._shares is not None and divergences is not None and divergences[piece] < divergences[best]:
            found.append(Preference(CALIBRATION, self._shares.brought(piece)))
        return found

    def _list(self, piece: int, rule: str, natural: int | None) -> None:
        displaced = natural if rule and natural != piece else None
        self._pieces.append(ArrangedPiece(piece, rule, displaced, () if rule else self._preferences(piece)))
        self._is_open[piece] = False
        if piece in self._raised:
            self._raised.remove(piece)
        if rule != PIN:
            self._count(piece)
        if self._percent:
            self._likeness = np.maximum(self._likeness, self._products(piece))
        if self._shares is not None:
            self._shares.take(piece)
            self._divergences = None

    def _products(self, piece: int) -> IntArray:
        """Return the products of a piece's unit vector with those of all."""
        own = slice(*self._starts[piece : piece + 2])
        entries = np.zeros(len(self._order.keywords.names))
        entries[self._numbers[own]] = self._units[own]
        # Sums of whole numbers below 2**33, so exact in doubles.
        return np.bincount(self._owners, entries[self._numbers] * self._units, len(self._likeness)).astype(np.int64)

    def _count(self, piece: int) -> None:
        """Count a piece towards the limits."""
        own = self._limits.of(piece)
        self._limits.take(own)
        for number in own:
            if self._limits.left[number] <= 0:
                self._is_open[self._pieces_with(number)] = False

    def _pieces_with(self, number: int) -> IntArray:
        """Return the pieces that have a keyword."""
        return self._having[self._cuts[number] : self._cuts[number + 1]]

    def _is_owed(self, place: int) -> bool:
        """Return whether any quota asks for more than stands before a place, or is fixed behind it."""
        return any(need > 0 for need in self._needs(place))

    def _needs(self, place: int) -> list[int]:
        """Return how many pieces each quota still needs from a place on, beside those that are fixed."""
        if not any(self._least):
            return []
        fixed = [(at, piece) for at, piece in self._order.fixed.items() if at >= place]
        listed = [*enumerate(each.place for each in self._pieces), *fixed]
        return [
            least - sum(1 for at, piece in listed if at < quota.of and self._bits[piece] >> number & 1)
            for number, (quota, least) in enumerate(zip(self._order.quotas, self._least, strict=True))
        ]

    def _is_possible(self, place: int, piece: int) -> bool:
        """Return whether the quotas can be met with a piece at a place."""
        return self._would_be_possible(place, int(self._bits[piece]), self._limits.scarce(piece), piece)

    def _would_be_possible(self, place: int, bits: int, limited: frozenset[int], piece: int | None = None) -> bool:
        """Return whether the quotas can be met with a piece of some kind, this one or one more, at a place."""
        needs = self._needs(place)
        if not any(need > 0 for need in needs):
            return True
        for number, quota in enumerate(self._order.quotas):
            needs[number] -= int(place < quota.of and bits >> number & 1)
        plan = self._search.plan
        self._limits.take(limited)
        possible = self._can_be_met(place + 1, needs, piece)
        self._limits.take(limited, -1)
        if piece is None:
            self._search.plan = plan
        return possible

    def _can_be_met(self, place: int, needs: Sequence[int], without: int | None = None) -> bool:
        """Return whether open pieces, without one of them, can meet these needs from a place on."""
        if not any(need > 0 for need in needs):
            return True
        free = [at for at in range(place, self._take) if at not in self._order.fixed]
        useful = self._is_open & (self._kind_of >= 0)
        useful[self._raised] = self._kind_of[self._raised] >= 0
        if without is not None:
            useful[without] = False
        self._work.spend(LOOK_AHEAD + len(useful) // LOOKED_AT_ONCE)
        return self._search.can_meet(needs, np.bincount(self._kind_of[useful], minlength=len(self._kinds)), free)

    def _number_kinds(self) -> None:
        """Number the kinds of pieces that count for a quota; the others have -1."""
        self._kind_of: IntArray = np.full(len(self._bits), -1, dtype=np.int64)
        numbers = dict[PieceKind, int]()
        for piece in np.flatnonzero(self._bits).tolist():
            kind = int(self._bits[piece]), self._limits.scarce(piece), piece < self._order.raised
            self._kind_of[piece] = numbers.setdefault(kind, len(numbers))
        self._kinds = [*numbers]
        self._search = _QuotaSearch(self._order.quotas, self._limits, self._kinds, self._work)


class _QuotaSearch:
    """Whether kinds of pieces can meet the quotas of a list, under the limits as they are when that is asked.

    Each look that leads nowhere is work, of which no question takes more than a sixteenth of what is left. ``plan`` are
    the kinds on the way that was found last, one after the other; it is tried first.
    """

    def __init__(
        self, quotas: Sequence[QuotaCount], limits: _Limits, kinds: Sequence[PieceKind], work: WorkBudget
    ) -> None:
        self._quotas, self._limits, self._kinds, self._work = quotas, limits, kinds, work
        # First what counts for most, and is limited least.
        order = sorted(range(len(kinds)), key=lambda kind: (-kinds[kind][0].bit_count(), len(kinds[kind][1]), kind))
        self._serving = [[kind for kind in order if kinds[kind][0] >> number & 1] for number in range(len(quotas))]
        self._apart = [
            apart
            for size in range(1, len(quotas) + 1)
            for apart in itertools.combinations(range(len(quotas)), size)
            if all(sum(bits >> number & 1 for number in apart) <= 1 for bits, *_ in kinds)
        ]
        counts = Counter(each for _, limited, is_raised in kinds if not is_raised for each in limited)
        frequent = [
            -1 if is_raised else max(limited, key=lambda each: (counts[each], each), default=-1)
            for _, limited, is_raised in kinds
        ]
        self._frequent = sorted({each for each in frequent if each >= 0})
        places = {each: place for place, each in enumerate(self._frequent)}
        # The last place is for what is not limited.
        self._frequent_of = np.asarray([places.get(each, len(places)) for each in frequent], dtype=np.int64)
        # What raised ones may fill, so that others with it have to come before them.
        self.filling = frozenset[int]().union(*(limited for _, limited, is_raised in kinds if is_raised))
        self.plan: Sequence[int] = ()
        self._least_left = 0
        self._free: Sequence[int] = ()
        self._supply: list[int] = []
        self._failed: set[tuple[int, ...]] = set()

    def can_meet(self, needs: Sequence[int], supply: IntArray, free: Sequence[int]) -> bool:
        """Return whether needs can be met at free places, ascending, by so many pieces of each kind."""
        self._supply, self._free, self._failed = supply.tolist(), free, set()
        unmet = [max(0, need) for need in needs]
        return self._is_planned(unmet) or (
            all(self._is_countable(apart, unmet, supply) for apart in self._apart) and self._is_found(unmet)
        )

    def _is_countable(self, apart: Sequence[int], unmet: Sequence[int], supply: IntArray) -> bool:
        """Return whether there are places for what quotas need that are for different pieces, and pieces.

        A piece is counted with others that have the most frequent of its keywords.
        """
        needed = sum(unmet[number] for number in apart)
        if not needed:
            return True
        if needed > bisect_left(self._free, max(self._quotas[number].of for number in apart if unmet[number])):
            return False
        serving = [kind for number in apart if unmet[number] for kind in self._serving[number]]
        having = np.bincount(self._frequent_of[serving], supply[serving], len(self._frequent) + 1)
        left = [max(0, self._limits.left[each]) for each in self._frequent]
        return needed <= int(having[-1] + np.minimum(having[:-1], left).sum())

    def _is_planned(self, needs: Sequence[int]) -> bool:
        """Return whether needs can be met along the plan, of which then that is left which meets them."""
        way = list[int]()
        for kind in self.plan:
            bits, limited, _ = self._kinds[kind]
            unmet = [number for number, need in enumerate(needs) if need > 0]
            if any(bits >> number & 1 for number in unmet):
                if not (self._is_in_time(unmet, len(way)) and self._may_come(kind)):
                    break
                self._supply[kind] -= 1
                self._limits.take(limited)
                way.append(kind)
                needs = [need - (bits >> number & 1) for number, need in enumerate(needs)]
        for kind in way:
            self._supply[kind] += 1
            self._limits.take(self._kinds[kind][1], -1)
        if any(need > 0 for need in needs):
            return False
        self.plan = way
        return True

    def _is_found(self, needs: Sequence[int]) -> bool:
        """Return whether the search finds a way to meet needs, which is the plan from then on."""
        self._least_left = self._work.left - self._work.left // 16
        way = list[int]()
        if self._work.left <= 0 or not self._goes_on(needs, 0, way):
            return False
        self.plan = way[::-1]
        return True

    def _is_in_time(self, unmet: Sequence[int], used: int) -> bool:
        """Return whether another piece is in time for the quota that ends first, so many free places being used."""
        return used < len(self._free) and self._free[used] < min(self._quotas[number].of for number in unmet)

    def _may_come(self, kind: int) -> bool:
        """Return whether a piece of a kind is left and may be listed."""
        _, limited, is_raised = self._kinds[kind]
        return self._supply[kind] > 0 and (is_raised or self._limits.allow(limited))

    def _goes_on(self, needs: Sequence[int], used: int, way: list[int]) -> bool:
        """Return whether needs can be met by what is left of the supply, so many free places being used.

        If so, the kinds that do are added to the ``way``, the last one first.
        """
        unmet = [number for number, need in enumerate(needs) if need > 0]
        if not unmet:
            return True
        # One for the quota that ends first has to come; to let it come at once delays nothing that ends before it.
        urgent = min(unmet, key=lambda number: self._quotas[number].of)
        if not self._is_in_time(unmet, used):
            return False
        # What is left tells what was taken, and so all else.
        left = tuple(self._supply)
        for kind in self._next_kinds(urgent, unmet) if left not in self._failed else ():
            bits, limited, _ = self._kinds[kind]
            if self._may_come(kind):
                self._supply[kind] -= 1
                self._limits.take(limited)
                met = self._goes_on([need - (bits >> number & 1) for number, need in enumerate(needs)], used + 1, way)
                self._limits.take(limited, -1)
                self._supply[kind] += 1
                if met:
                    way.append(kind)
                    return True
            self._work.spend(1)
            if self._work.left < self._least_left:
                return False
        self._failed.add(left)
        return False

    def _next_kinds(self, urgent: int, unmet: Sequence[int]) -> Iterator[int]:
        """Yield what may come next: what serves the urgent quota, or must come before raised ones fill its keywords."""
        yield from self._serving[urgent]
        if self.filling:
            for kind in dict.fromkeys(kind for number in unmet for kind in self._serving[number]):
                bits, limited, is_raised = self._kinds[kind]
                if not bits >> urgent & 1 and not is_raised and limited & self.filling:
                    yield kind
