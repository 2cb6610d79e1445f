"""Health: what keeps the pieces of a catalogue apart: keywords that match nothing, and pieces that no list leads to.

Arithmetic over a snapshot; how long it may take is the caller's to watch, between the calls.

Beside it how much the keywords of each category say of what people like: the figure lambda of a source (interface,
section 6), with the terms of one category alone, and whether kappa has halved within a week. It serves people who
better their keywords, and no list: so it is counted from as many people as a bound of work allows.
"""

import math
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant.model import SourceSettings
from penchant.normalizing import normalize
from penchant_engine.index.arrays import run_places, run_sums, starts_of
from penchant_engine.index.browsing import TermCount
from penchant_engine.index.building import term_key, term_of
from penchant_engine.index.compiled import engine
from penchant_engine.index.factors import rarities_of, unit_vectors, values_of
from penchant_engine.index.layout import IntArray, LikeMatrix
from penchant_engine.index.masks import Filter
from penchant_engine.index.part import Part
from penchant_engine.index.people.likes import Likes, like_matrix
from penchant_engine.index.people.statistics import GREATEST_KAPPA, HUNDREDTHS, FullLike, kappa_of, telling_of
from penchant_engine.index.segment import Segment
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.model import MAX_TAKE, WORDS_CATEGORY, Term

MAX_ENTRIES = 3_000_000
"""Keywords of liked pieces that are looked at, one for each like: about a second."""
MAX_CATEGORIES = 20
"""Categories that are looked at: those of which liked pieces have the most keywords."""


class CategoryTelling(NamedTuple):
    """How many times as alike two pieces are that one person likes as those of two people, by one category."""

    name: str
    telling: float


class TellingFindings(NamedTuple):
    """How much each category tells, the most telling first: counted from likes of so many of all who like something."""

    categories: tuple[CategoryTelling, ...]
    likes: int
    people: int
    of: int


def telling_by_category(
    likes: LikeMatrix, catalogue: Segment, *, most: int = MAX_ENTRIES, categories: int = MAX_CATEGORIES
) -> TellingFindings:
    """Return how much each category of a catalogue tells of likes of its pieces.

    Of weights of categories none counts: a category that the source weighs with 0 is judged as others are.
    """
    everybody, full = len(likes.person_starts) - 1, FullLike.of(likes)
    likes = _some(likes, np.diff(catalogue.starts), most)
    values, rarities = values_of(catalogue, {}), rarities_of(np.diff(catalogue.posting_starts), len(catalogue))
    roots, kinds = np.sqrt(rarities)[catalogue.piece_terms], catalogue.category_of[catalogue.piece_terms]
    # How often each entry of the catalogue is liked.
    times = np.repeat(np.diff(likes.piece_starts), np.diff(catalogue.starts))
    counts = np.bincount(kinds, weights=times, minlength=len(catalogue.category_names))
    found = []
    for number in np.argsort(-counts, kind="stable")[:categories].tolist():
        if not counts[number]:
            break
        own = np.where(kinds == number, values, 0.0)
        units = unit_vectors(roots * own, catalogue.starts)
        squares = _squares(likes, catalogue, units)
        telling = telling_of(likes, full, catalogue, units, squares)
        found.append(CategoryTelling(catalogue.category_names[number], float(telling)))
    found.sort(key=lambda each: (-each.telling, each.name))
    return TellingFindings(tuple(found), len(likes.pieces), len(likes.person_starts) - 1, everybody)


WEEK_DAYS = 7
LEAST_LIKES_BEFORE = 100
"""Likes of a week ago from which on kappa was known: before that it comes from where it was drawn to."""
MAX_FALL_DAYS = 3


class FallDay(NamedTuple):
    """How much kappa fell on a UTC day, in hundredths, and how many likes are of that day."""

    day: int
    fall: int
    likes: int


class KappaFall(NamedTuple):
    """That kappa has halved within a week, in hundredths, and the days that took most of it, ascending."""

    before: int
    now: int
    days: Sequence[FallDay]


def kappa_fall(
    likes: Likes,
    days: Mapping[int, int],
    catalogue: Segment,
    settings: SourceSettings,
    today: int,
    *,
    most: int = MAX_ENTRIES,
) -> KappaFall | None:
    """Return how kappa has fallen by half or more in the week up to a UTC day; ``None`` where it has not.

    Kappa of each day is that of the likes until then, of the catalogue as it is: what falls has come from likes. No
    history is kept for it, so it is the same on all nodes and after a restart. ``days`` counts likes by day.
    """
    rarities = rarities_of(np.diff(catalogue.posting_starts), len(catalogue))
    values = values_of(catalogue, settings.category_factors)
    units = unit_vectors(np.sqrt(rarities)[catalogue.piece_terms] * values, catalogue.starts)
    sizes, oldest_day = np.diff(catalogue.starts), settings.oldest_day(today)

    def kappa(last_day: int | None) -> tuple[int, int]:
        matrix = likes.matrix(catalogue.ids, settings, oldest_day, last_day=last_day)
        some = _some(matrix, sizes, most)
        arrays = (catalogue.starts, catalogue.piece_terms, units)
        squares = engine.likeness_squares(some, *arrays, len(catalogue.terms))
        return kappa_of(telling_of(some, FullLike.of(matrix), catalogue, units, squares)), len(matrix.pieces)

    first = today - WEEK_DAYS
    now, _ = kappa(None)
    # Mostly it is too much to be half of anything.
    before, count = kappa(first) if 2 * now <= GREATEST_KAPPA * HUNDREDTHS else (0, 0)
    if count < LEAST_LIKES_BEFORE or 2 * now > before:
        return None
    course = [before, *(kappa(day)[0] for day in range(first + 1, today)), now]
    falls = [
        FallDay(day, one - other, days.get(day, 0))
        for day, (one, other) in enumerate(pairwise(course), start=first + 1)
    ]
    falls.sort(key=lambda each: (-each.fall, each.day))
    # As few days as took half of it together.
    enough = (
        count for count in range(1, MAX_FALL_DAYS) if 2 * sum(each.fall for each in falls[:count]) >= before - now
    )
    return KappaFall(before, now, sorted(falls[: next(enough, MAX_FALL_DAYS)]))


def _some(likes: LikeMatrix, sizes: IntArray, most: int) -> LikeMatrix:
    """Return the likes of people evenly chosen, all of them if possible, whose pieces have ``most`` entries at most."""
    counts = np.diff(likes.person_starts)
    entries = run_sums(sizes[likes.pieces], likes.person_starts)
    total = int(entries.sum())
    if total <= most:
        return likes
    kept = np.arange(len(counts)) % -(-total // most) == 0
    # People are unlike each other: what the stride leaves may still be too much.
    kept &= np.cumsum(np.where(kept, entries, 0)) <= most
    owners = np.repeat(np.arange(len(counts)), counts)
    chosen = kept[owners]
    return like_matrix(owners[chosen], likes.pieces[chosen].astype(np.int64), likes.grades[chosen], len(sizes))


def _squares(likes: LikeMatrix, catalogue: Segment, units: IntArray) -> IntArray:
    """Return by person the square of the sum of the vectors of all likes, as `engine.likeness_squares` does.

    In numpy for few terms: the kernel, and all the more its definition, would go over those of all categories.
    """
    count = len(likes.person_starts) - 1
    used = np.flatnonzero(units)
    owners = np.repeat(np.arange(len(catalogue)), np.diff(catalogue.starts))[used]
    starts = starts_of(np.bincount(owners, minlength=len(catalogue)))
    sizes = np.diff(starts)[likes.pieces]
    people = np.repeat(np.repeat(np.arange(count), np.diff(likes.person_starts)), sizes)
    entries = used[run_places(starts[likes.pieces], sizes)]
    weights = np.repeat(likes.grades, sizes)
    pairs, places = np.unique(people * len(catalogue.terms) + catalogue.piece_terms[entries], return_inverse=True)
    # Integers in doubles would be exact to 2^53 only; of 64 bits they are whatever a person likes.
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, places, units[entries] * weights)
    squares = np.zeros(count, dtype=np.int64)
    np.add.at(squares, pairs // max(1, len(catalogue.terms)), sums * sums)
    return squares


MAX_TERMS = 1_000_000
"""Terms that are looked at together: some 200 bytes each meanwhile."""
BLOCK = 65_536
"""Pieces that are looked at together."""
_JOINTS = " -_.'\u2019"
"""What keywords are joined with or not; the last one is a typographic apostrophe."""
_WORDS = term_key(WORDS_CATEGORY, "").encode()
EVERYWHERE = 0.95
"""A keyword that this share of all pieces has joins none of them: it tells nothing."""
LEAST_JOINING = 0.05
"""The share of a category's keywords, counted by piece, below which it is noise."""
LEAST_PIECES = 10
"""Pieces of a source from which on a keyword that all have is no chance."""
EXAMPLES = 50
"""Examples of a finding that are kept."""


class FlatCategory(msgspec.Struct, frozen=True, kw_only=True):
    """A category all of whose weights are the same, so that they rank nothing."""

    name: str
    weight: int
    pairs: int


class CategorySpread(msgspec.Struct, frozen=True, kw_only=True):
    """How a category's keywords are spread over all pieces, of which ``pairs`` are a piece's keyword.

    A keyword joins pieces if more than one has it, and not nearly all (`EVERYWHERE`): ``joining`` of the pairs are of
    such. ``once`` keywords have one piece. ``information`` adds up what those that join tell, in bits by pair.
    """

    name: str
    keywords: int
    once: int
    pairs: int
    joining: int
    information: float

    @property
    def is_noise(self) -> bool:
        """Whether hardly anything of it joins pieces."""
        return self.joining < LEAST_JOINING * self.pairs


class VocabularyFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What was found about a catalogue's keywords; of each finding some examples, and how many there are.

    ``complete`` tells that all keywords were looked at.
    """

    terms: int
    once: Sequence[Term]
    once_count: int
    alike: Sequence[Sequence[TermCount]]
    alike_count: int
    flat: Sequence[FlatCategory]
    lonely: Sequence[str]
    lonely_count: int
    worded_count: int
    spread: Sequence[CategorySpread]
    complete: bool


def vocabulary(snapshot: Snapshot) -> VocabularyFindings:
    """Return what is wrong with the keywords: used once, written in two ways, never weighted differently.

    A piece is lonely if it shares no keyword with another one, and worded if it would be but for words of its texts.
    """
    counts, complete = _frequencies(snapshot)
    keywords = _without_words(counts)
    once = [key for key, count in keywords.items() if count == 1]
    alike = _alike(keywords)
    lonely = [place for part in snapshot.parts for place in _lonely(part, counts)] if complete else []
    worded = 0
    if complete and len(keywords) < len(counts):
        worded = sum(1 for part in snapshot.parts for _ in _lonely(part, keywords)) - len(lonely)
    return VocabularyFindings(
        terms=len(counts),
        once=[term_of(key.decode()) for key in sorted(once)[:EXAMPLES]],
        once_count=len(once),
        alike=alike[:EXAMPLES],
        alike_count=len(alike),
        flat=_flat(snapshot),
        lonely=sorted(lonely)[:EXAMPLES],
        lonely_count=len(lonely),
        worded_count=worded,
        spread=_spread(counts, snapshot.piece_count),
        complete=complete,
    )


class KeywordVariants(NamedTuple):
    """Keywords that are likely meant as one, by group, the most frequent first; and what tells pieces apart nowhere.

    ``complete`` tells that all keywords were looked at.
    """

    groups: Sequence[Sequence[TermCount]]
    useless: Sequence[TermCount]
    complete: bool


def variants(snapshot: Snapshot) -> KeywordVariants:
    """Return all groups of keywords that are written nearly alike, those of the most pieces first.

    Useless are keywords without any letter or digit, and those that nearly all pieces have, if there are ten or so.
    """
    counts, complete = _frequencies(snapshot)
    keywords = _without_words(counts)
    most = EVERYWHERE * max(snapshot.piece_count, LEAST_PIECES)
    counted = [TermCount(term_of(key.decode()), count) for key, count in keywords.items()]
    useless = [each for each in counted if each.pieces >= most or not any(map(str.isalnum, each.term.keyword))]
    # A group is of keywords that say something.
    spared = {term_key(*each.term).encode() for each in useless}
    groups = _alike({key: count for key, count in keywords.items() if key not in spared})
    return KeywordVariants(groups, sorted(useless, key=lambda each: (-each.pieces, each.term)), complete)


def _without_words(counts: Mapping[bytes, int]) -> dict[bytes, int]:
    """Return the keywords that are no words of texts: shark beside sharks is no slip of those."""
    return {key: count for key, count in counts.items() if not key.startswith(_WORDS)}


def _frequencies(snapshot: Snapshot) -> tuple[dict[bytes, int], bool]:
    counts: dict[bytes, int] = {}
    complete = True
    for part in snapshot.parts:
        table = part.segment.terms
        complete = complete and len(table) <= MAX_TERMS
        places = np.arange(min(len(table), MAX_TERMS))
        for key, count in zip(table.all_encoded(), part.frequencies(places).tolist(), strict=False):
            if count:
                counts[key] = counts.get(key, 0) + count
    return counts, complete and len(counts) <= MAX_TERMS


def _spread(counts: Mapping[bytes, int], pieces: int) -> list[CategorySpread]:
    """Return how the keywords of each category are spread, those that tell most first."""
    by_category: dict[str, list[int]] = defaultdict(list)
    for key, count in counts.items():
        by_category[term_of(key.decode()).category].append(count)
    found = []
    for name, own in by_category.items():
        joining = [count for count in own if 1 < count < EVERYWHERE * pieces]
        spread = CategorySpread(
            name=name,
            keywords=len(own),
            once=own.count(1),
            pairs=sum(own),
            joining=sum(joining),
            information=sum(count * math.log2(pieces / count) for count in joining),
        )
        found.append(spread)
    return sorted(found, key=lambda each: (-each.information, each.name))


def normal_form(keyword: str) -> str:
    """Return what ways to write a keyword have in common: case, accents, hyphens and an English plural are gone."""
    decomposed = normalize("NFKD", keyword.casefold())
    plain = "".join(c for c in decomposed if not unicodedata.combining(c) and c not in _JOINTS)
    if len(plain) > 4 and plain.endswith("ies"):
        return plain[:-3] + "y"
    if len(plain) > 3 and plain.endswith("s") and not plain.endswith("ss"):
        return plain[:-1]
    return plain or keyword


def _alike(counts: Mapping[bytes, int]) -> list[list[TermCount]]:
    """Return groups of a category's keywords that are written nearly alike, those of the most pieces first."""
    groups: dict[tuple[str, str], list[TermCount]] = defaultdict(list)
    for key, count in counts.items():
        term = term_of(key.decode())
        groups[term.category, normal_form(term.keyword)].append(TermCount(term, count))
    found = [sorted(group, key=lambda each: (-each.pieces, each.term)) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-sum(each.pieces for each in group), group[0].term))


def _blocks(part: Part) -> Iterator[tuple[int, NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Yield blocks of pieces: the first one's place, where each begins, and their terms and weights."""
    segment = part.segment
    for first in range(0, len(segment), BLOCK):
        starts = segment.starts[first : first + BLOCK + 1]
        cut = slice(starts[0], starts[-1])
        yield first, starts - starts[0], segment.piece_terms[cut], segment.piece_weights[cut]


def _lonely(part: Part, counts: Mapping[bytes, int]) -> Iterator[str]:
    """Yield the live pieces of a part without a term that another piece has, by running sums of such terms."""
    shared = np.asarray([counts.get(key, 0) > 1 for key in part.segment.terms.all_encoded()], dtype=np.int64)
    for first, starts, terms, _ in _blocks(part):
        # Between two starts the running sum stands still where no term is shared.
        upto = np.concatenate([[0], np.cumsum(shared[terms])])
        alone = (upto[starts[1:]] == upto[starts[:-1]]) & (part.live[first : first + BLOCK] > 0)
        for place in np.flatnonzero(alone).tolist():
            yield part.segment.ids[first + place]


def _flat(snapshot: Snapshot) -> list[FlatCategory]:
    """Return the categories whose keywords have one weight, looking at pieces that have weights at all."""
    ranges: dict[str, tuple[int, int, int]] = {}
    for part in snapshot.parts:
        segment = part.segment
        n = len(segment.category_names)
        least, most, pairs = np.full(n, np.iinfo(np.int64).max), np.full(n, -1), np.zeros(n, dtype=np.int64)
        for first, starts, terms, weights in _blocks(part):
            counted = segment.weighted[first : first + BLOCK] * part.live[first : first + BLOCK] > 0
            kept = np.repeat(counted, np.diff(starts))
            owners, values = segment.category_of[terms[kept]], weights[kept].astype(np.int64)
            np.minimum.at(least, owners, values)
            np.maximum.at(most, owners, values)
            pairs += np.bincount(owners, minlength=n)
        for name, *found in zip(segment.category_names, least.tolist(), most.tolist(), pairs.tolist(), strict=True):
            # A category without weighted pieces here leaves what other parts have found as it is.
            known = ranges.get(name, (found[0], found[1], 0))
            ranges[name] = (min(known[0], found[0]), max(known[1], found[1]), known[2] + found[2])
    return [
        FlatCategory(name=name, weight=least, pairs=pairs)
        for name, (least, most, pairs) in sorted(ranges.items())
        if pairs > 1 and least == most
    ]


def spread_ids(snapshot: Snapshot, most: int) -> Iterator[str]:
    """Yield all live pieces, every n-th first, then those beside them, so that any ``most`` first are spread evenly."""
    stride = max(1, -(-snapshot.piece_count // most))
    for start in range(stride):
        for part in snapshot.parts:
            for place in range(start, len(part.segment), stride):
                if part.live[place]:
                    yield part.segment.ids[place]


def unseen_pieces(snapshot: Snapshot, seen: Collection[str], now: int, limit: int) -> tuple[list[str], int]:
    """Return some live pieces that may be shown now and are not among those seen, spread evenly, and how many are.

    Costs one pass over the ids.
    """
    found = [
        part.segment.ids[int(place)]
        for part in snapshot.parts
        for place in np.flatnonzero(part.allowed(Filter(moment=now)))
        if part.segment.ids[int(place)] not in seen
    ]
    return found[:: max(1, -(-len(found) // limit))], len(found)


class Reach(msgspec.Struct, kw_only=True):
    """Which pieces some other piece's list leads to, and which lists are poor; a few are looked at a time by `look`.

    Of the lists looked at some are ``empty``, and some ``unordered``: all that is in them is equally near.

    They are taken evenly from the whole catalogue, so that what was found after some of them stands for all.
    """

    snapshot: Snapshot
    shown: Filter
    category_weights: Mapping[str, float]
    most: int
    looked_at: int = 0
    empty: int = 0
    unordered: int = 0
    reached: set[str] = msgspec.field(default_factory=set)
    _left: Iterator[str] | None = None

    def look(self, count: int) -> bool:
        """Look at some more lists; return whether there may be any left."""
        if self._left is None:
            self._left = islice(spread_ids(self.snapshot, self.most), self.most)
        asked = list(islice(self._left, count))
        for piece_id in asked:
            found = self.snapshot.nearest(
                piece_id, self.shown, algorithm=None, category_weights=self.category_weights, take=MAX_TAKE
            )
            self.reached.update(each.id for each in found)
            self.empty += not found
            self.unordered += len(found) > 1 and found[0].distance == found[-1].distance
        self.looked_at += len(asked)
        return len(asked) == count

    def unreached(self) -> list[str]:
        """Return the pieces, ascending, that may be shown and that no list leads to."""
        return sorted(
            part.segment.ids[place]
            for part in self.snapshot.parts
            for place in np.setdiff1d(np.flatnonzero(part.allowed(self.shown)), part.excluded(self.shown)).tolist()
            if part.segment.ids[place] not in self.reached
        )
