"""Person: what one did with the pieces of a source, as arrays, and what lists take from it, by number.

The definition, in dictionaries by name, stands in the tests (`profile_reference`), which compare both bit by bit. From
interactions, newest first, to what a list is made from:

    type, moment --> value of each piece --> terms of its row --> score by term --> taste, f x P
                 |-> grade, latest rating --> likes
                 '-> seen rows
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import ReferenceType, ref

import msgspec
import numpy as np

from penchant_engine.index.arrays import is_first, merged, run_places
from penchant_engine.index.building import term_of, term_table
from penchant_engine.index.compiled import engine
from penchant_engine.index.factors import rarities_of
from penchant_engine.index.layout import BoolArray, FloatArray, IntArray, PersonEvents, PersonPairs, PieceFacts
from penchant_engine.index.masks import rows_of
from penchant_engine.index.people.event_codes import (
    are_ratings,
    code_tables,
    grades_by_code,
    halved,
    marks_seen,
    weights_by_code,
)
from penchant_engine.index.people.likes import NEVER
from penchant_engine.index.people.order import OwnLikes, order_of
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings
from penchant_engine.model import (
    DAY_MS,
    GREATEST_SCORE,
    HALF,
    MAX_PROFILE_KEYWORDS,
    NO_PREFERENCES,
    WHOLE,
    InteractionType,
    Preferences,
    RankingSettings,
    StoredInteraction,
    Term,
    event_code,
    most_likes,
)


class EffectivePreferences(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What counts of a person's preferences.

    ``settings`` are those of the person's taste: categories never used weigh nothing. ``stated`` are the keywords that
    some piece has and that weigh something, ascending, with the person's weights. ``hidden`` are rows, ascending, for
    each part of the snapshot; none at all where nothing is hidden.
    """

    settings: RankingSettings
    stated: Mapping[Term, float]
    hidden: tuple[IntArray, ...] = ()

    @classmethod
    def of(cls, preferences: Preferences, snapshot: Snapshot, settings: RankingSettings) -> "EffectivePreferences":
        """Return what counts of preferences under the settings of their source."""
        settings = settings.without(preferences.unused_categories)
        stated: dict[Term, float] = {}
        if preferences.stated:
            terms = sorted(preferences.stated)
            frequencies = snapshot.document_frequencies(terms).tolist()
            stated = {
                term: preferences.stated[term]
                for term, frequency in zip(terms, frequencies, strict=True)
                if frequency and settings.category_factors.get(term.category, 1)
            }
        pieces = frozenset(preferences.hidden)
        hidden = tuple(rows_of(part.segment, pieces) for part in snapshot.parts) if pieces else ()
        return cls(settings=settings, stated=stated, hidden=hidden)


class InteractionArrays(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A person's ``n`` interactions, newest first, of one moment the later recorded first.

    ``pieces`` ascend, each once. ``columns`` (4, n) are numbers, places there; codes, those of
    `penchant_engine.model.event_code`; moments in milliseconds since 1970 UTC; versions, those of storage.
    Interactions that count for nothing are not among them.
    """

    pieces: Strings
    columns: IntArray
    _places: list["_Places"] = msgspec.field(default_factory=list)
    """Where the pieces lie in the snapshot that was asked for last, if any."""

    @classmethod
    def of(cls, interactions: Sequence[StoredInteraction]) -> "InteractionArrays":
        """Return the arrays of interactions in this order."""
        ids = sorted({each.piece_id for each in interactions})
        places = {piece_id: place for place, piece_id in enumerate(ids)}
        rows = [
            (
                places[each.piece_id],
                each.type.code if each.portion is None else event_code(each.type, each.portion),
                each.occurred_at,
                each.version,
            )
            for each in interactions
        ]
        table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
        return cls(pieces=Strings.of(ids), columns=np.ascontiguousarray(table.T))

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    @property
    def events(self) -> PersonEvents:
        """The interactions as kernels take them."""
        return PersonEvents(*self.columns[:3])

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take, with where their pieces lie in one snapshot."""
        return self.pieces.nbytes + self.columns.nbytes + PLACE_BYTES * len(self.pieces)

    def located(self, snapshot: Snapshot) -> tuple[IntArray, IntArray]:
        """Return where the pieces lie, as `Snapshot.locate`; found once while the same one is asked for."""
        for known in self._places:
            if known.snapshot() is snapshot:
                return known.owners, known.rows
        owners, rows = snapshot.locate(self.pieces)
        self._places[:] = [_Places(ref(snapshot), owners, rows)]
        return owners, rows

    def adding(
        self, version: int, piece_id: str, kind: InteractionType, occurred_at: int, most: int, portion: int = WHOLE
    ) -> "InteractionArrays":
        """Return the arrays with one interaction more, so many at most; the same ones where they have it."""
        columns, count = self.columns, len(self)
        numbers, _, moments, versions = columns
        if (versions == version).any():
            return self
        encoded, pieces, places = piece_id.encode(), self.pieces, list(self._places)
        place = pieces.position_of(encoded)
        is_new = place == len(pieces) or pieces.encoded(place) != encoded
        if is_new:
            pieces, numbers = pieces.inserting(place, encoded), numbers + (numbers >= place)
            places = [with_one for each in places for with_one in each.inserting(place, piece_id)]
        # After all that are later; of its moment those with a greater version are.
        later = (moments > occurred_at) | ((moments == occurred_at) & (versions > version))
        at = int(np.count_nonzero(later))
        # By hand: `numpy.insert` takes six times as long.
        grown = np.empty((4, count + 1), dtype=np.int64)
        grown[:, :at], grown[:, at + 1 :] = columns[:, :at], columns[:, at:]
        grown[0, :at], grown[0, at + 1 :] = numbers[:at], numbers[at:]
        grown[:, at] = place, event_code(kind, portion), occurred_at, version
        if count == most:
            # The oldest goes, and its piece as well where nothing else was done with it.
            grown, places = grown[:, :most].copy(), []
            used, grown[0] = np.unique(grown[0], return_inverse=True)
            pieces = Strings.of_encoded([pieces.encoded(number) for number in used.tolist()])
        return InteractionArrays(pieces=pieces, columns=grown, _places=places)


PLACE_BYTES = 16
"""Memory of where a piece lies in a snapshot: its part and row."""


class _Places(NamedTuple):
    """Where pieces lie in a snapshot: parts and rows, as `Snapshot.locate` has them."""

    snapshot: ReferenceType[Snapshot]
    owners: IntArray
    rows: IntArray

    def inserting(self, place: int, piece_id: str) -> Iterator["_Places"]:
        """Yield the same with one piece more at a place; nothing where the snapshot is gone."""
        snapshot = self.snapshot()
        if snapshot is not None:
            part, row = snapshot.find(piece_id) or (None, -1)
            found = np.array([[-1 if part is None else snapshot.parts.index(part)], [row]])
            pairs = zip((self.owners, self.rows), found, strict=True)
            owners, rows = (np.concatenate((known[:place], one, known[place:])) for known, one in pairs)
            yield _Places(self.snapshot, owners, rows)


class UserProfile(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A person's taste against the parts of one snapshot: terms, ascending, with their values; and the norm of f x P.

    The values are f x P x category weight (interface, section 6).
    """

    by_part: tuple[tuple[IntArray, FloatArray], ...]
    norm: float


class UserFeatures(msgspec.Struct, frozen=True, kw_only=True, eq=False, weakref=True):
    """What lists take of a person, for one snapshot under one set of settings, on one UTC day.

    ``hidden`` and ``seen`` are rows for each part, ascending; ``hidden`` is empty where nothing is. ``met`` is how many
    pieces of the snapshot the person has interacted with, and how many of its keywords the person has ``stated``, which
    are here with the person's weights.
    """

    taste: UserProfile
    likes: OwnLikes
    seen: tuple[IntArray, ...]
    met: int
    hidden: tuple[IntArray, ...] = ()
    stated: Mapping[Term, float] = msgspec.field(default_factory=dict)

    def left_out(self, *, with_seen: bool) -> tuple[IntArray, ...]:
        """Return the rows, ascending, that lists leave out for each part: what is hidden, and mostly what was seen.

        What is both comes twice.
        """
        if with_seen:
            return self.hidden
        return tuple(map(merged, self.seen, self.hidden)) if self.hidden else self.seen

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        placed = sum(terms.nbytes + values.nbytes for terms, values in self.taste.by_part)
        return placed + self.likes.nbytes + sum(each.nbytes for each in (*self.seen, *self.hidden))


def user_features(
    interactions: InteractionArrays,
    snapshot: Snapshot,
    settings: RankingSettings,
    today: int,
    preferences: Preferences = NO_PREFERENCES,
) -> UserFeatures:
    """Return what lists take of a person; ``today`` is the UTC day that ages are counted to."""
    interactions, preferences = _counted(interactions, preferences)
    owners, rows = interactions.located(snapshot)
    facts = facts_of_pieces(
        interactions,
        _length(interactions, owners, rows, snapshot),
        settings,
        today,
        owners >= 0,
        most_likes(snapshot.piece_count),
    )
    valued = np.flatnonzero(facts.values)
    # Pieces ascend, and in the order of their ids rows of a part do as well.
    own = [owners == number for number in range(len(snapshot.parts))]
    said = EffectivePreferences.of(preferences, snapshot, settings)
    return UserFeatures(
        taste=profile_of_values(ValuedRows(owners[valued], rows[valued], facts.values[valued]), said, snapshot),
        likes=OwnLikes.within([each & (facts.grades > 0) for each in own], rows, facts.grades, facts.ranks),
        seen=tuple(rows[each & facts.seen] for each in own),
        met=int(np.count_nonzero(owners >= 0)) + len(said.stated),
        hidden=said.hidden,
        stated=said.stated,
    )


def facts_of_pieces(
    interactions: InteractionArrays, length: int, settings: RankingSettings, today: int, exists: BoolArray, most: int
) -> PieceFacts:
    """Return what interactions say of each piece, given by whether it exists.

    The latest so many (``length``) make the taste, and so many pieces at most are liked.
    """
    numbers, codes, moments = interactions.events
    # The oldest comes last.
    oldest = int(moments[-1]) // DAY_MS if len(moments) else today
    tables = code_tables(settings, max(0, today - oldest))
    found = engine.facts(interactions.events, length, tables, today, exists, most)
    if found is not None:
        return found
    grades, liked_at = _grades(interactions, settings, exists, most)
    ranks = np.zeros(len(grades), dtype=np.int64)
    ranks[grades > 0] = order_of(np.zeros(np.count_nonzero(grades), dtype=np.int64), liked_at[grades > 0]).ranks
    values, seen = np.zeros(len(grades)), np.zeros(len(grades), dtype=np.bool_)
    valued, sums = _piece_values(interactions, settings, today, length)
    values[valued], seen[numbers[marks_seen(codes)]] = sums, True
    return PieceFacts(grades, ranks, values, seen)


def profile_of_person(
    interactions: InteractionArrays,
    snapshot: Snapshot,
    settings: RankingSettings,
    today: int,
    preferences: Preferences = NO_PREFERENCES,
) -> dict[Term, int]:
    """Return a person's profile, P: terms with scores from -1000 to 1000, none 0, in ascending order of terms."""
    interactions, preferences = _counted(interactions, preferences)
    said = EffectivePreferences.of(preferences, snapshot, settings)
    owners, rows = interactions.located(snapshot)
    length = _length(interactions, owners, rows, snapshot)
    valued, values = _piece_values(interactions, settings, today, length)
    table, numbers, scores, _ = _profile(ValuedRows(owners[valued], rows[valued], values), said, snapshot)
    return dict(zip(map(term_of, table.take(numbers)), scores.astype(np.int64).tolist(), strict=True))


def strongest_terms(taste: UserProfile, snapshot: Snapshot, settings: RankingSettings) -> Iterator[Term]:
    """Yield the terms of a person's profile that speak for pieces, the strongest first, ties by term.

    ``taste`` is of these parts under these settings. Of a profile of hundreds mostly few are wanted, and terms with a
    name take most of the time.
    """
    if len(snapshot.parts) == 1:
        # By what the taste was made of.
        pieces, table = snapshot.piece_terms(settings.category_factors), snapshot.parts[0].segment.terms
        ((numbers, values),) = taste.by_part
        numbers, values = numbers[values > 0], values[values > 0]
        divisors = pieces.rarities[numbers] * pieces.factors[pieces.categories[numbers]]
    else:
        named = {
            part.segment.terms.encoded(number): value
            for part, (terms, of_terms) in zip(snapshot.parts, taste.by_part, strict=True)
            for number, value in zip(terms.tolist(), of_terms.tolist(), strict=True)
        }
        table, numbers = Strings.of_encoded(sorted(named)), np.arange(len(named))
        values = np.asarray([named[key] for key in sorted(named)], dtype=np.float64)
        numbers, values = numbers[values > 0], values[values > 0]
        frequencies = np.zeros(len(numbers), dtype=np.int64)
        for part in snapshot.parts:
            frequencies += part.frequencies(part.segment.terms.find_all(table, numbers))
        divisors = rarities_of(frequencies, snapshot.piece_count) * _category_weights(table, numbers, settings)
    # Whole again, as they were before they were multiplied (`UserProfile`).
    scores = np.rint(values / divisors)
    # Terms ascend, so a stable sort leaves equal ones by term.
    return (term_of(table[number]) for number in numbers[np.argsort(-scores, kind="stable")].tolist())


class GradedPiece(NamedTuple):
    """A piece that a person likes: how much, by its grade, and its value for the profile."""

    id: str
    grade: int
    value: float


def graded_pieces(
    interactions: InteractionArrays, snapshot: Snapshot, settings: RankingSettings, today: int
) -> list[GradedPiece]:
    """Return the pieces that a person likes, by grade, then by value, the greatest first, ties by id."""
    owners, _ = snapshot.locate(interactions.pieces)
    grades, _ = _grades(interactions, settings, owners >= 0, most_likes(snapshot.piece_count))
    numbers, sums = _piece_values(interactions, settings, today, len(interactions))
    values = np.zeros(len(grades))
    values[numbers] = sums
    liked = [
        GradedPiece(interactions.pieces[number], int(grades[number]), float(values[number]))
        for number in np.flatnonzero(grades).tolist()
    ]
    return sorted(liked, key=lambda each: (-each.grade, -each.value, each.id))


def _counted(interactions: InteractionArrays, preferences: Preferences) -> tuple[InteractionArrays, Preferences]:
    """Return what of a person counts: of one who is switched off nothing, as of somebody unknown."""
    return (interactions if preferences.personal else InteractionArrays.of(())), preferences.counted


def keyword_counts(pieces: Strings, snapshot: Snapshot) -> IntArray:
    """Return how many keywords each piece has, 0 for one that does not exist; pieces ascend."""
    return _keyword_counts(*snapshot.locate(pieces), snapshot)


def kept_length(numbers: IntArray, counts: IntArray) -> int:
    """Return how many of a person's interactions, newest first, make the taste; ``counts`` are keywords by number.

    As many as `MAX_PROFILE_KEYWORDS` allows: from the first one on whose piece has too many keywords beside those of
    the pieces before, none counts.
    """
    newest = np.sort(np.unique(numbers, return_index=True)[1])
    too_many = np.flatnonzero(np.cumsum(counts[numbers[newest]]) > MAX_PROFILE_KEYWORDS)
    return int(newest[too_many[0]]) if len(too_many) else len(numbers)


def _keyword_counts(owners: IntArray, rows: IntArray, snapshot: Snapshot) -> IntArray:
    counts = np.zeros(len(rows), dtype=np.int64)
    for number, part in enumerate(snapshot.parts):
        own = owners == number
        counts[own] = part.segment.starts[rows[own] + 1] - part.segment.starts[rows[own]]
    return counts


def _first_of_each(numbers: IntArray, chosen: BoolArray) -> IntArray:
    """Return where each number occurs first among those chosen."""
    places = np.flatnonzero(chosen)
    return places[np.unique(numbers[places], return_index=True)[1]]


def _piece_values(
    interactions: InteractionArrays, settings: RankingSettings, today: int, length: int
) -> tuple[IntArray, FloatArray]:
    """Return the numbers of pieces, ascending, and `profiles.piece_values` of them; so many interactions count."""
    counts, weights = counted_weights(*interactions.events, settings, today)
    counts[length:] = False
    return exact_sums(interactions.events.numbers[counts], weights[counts])


def counted_weights(
    numbers: IntArray, codes: IntArray, moments: IntArray, settings: RankingSettings, today: int
) -> tuple[BoolArray, FloatArray]:
    """Return which interactions count, of ratings of one number the first, and the weight of each by code and age."""
    is_rating = are_ratings(codes)
    counts = ~is_rating
    counts[_first_of_each(numbers, is_rating)] = True
    weights = weights_by_code(settings)[codes]
    if settings.half_life_days:
        ages = np.maximum(0, today - moments // DAY_MS)
        weights = weights * halved(int(ages.max(initial=0)), settings.half_life_days)[ages]
    return counts, weights


def _grades(
    interactions: InteractionArrays, settings: RankingSettings, exists: BoolArray, most: int
) -> tuple[IntArray, IntArray]:
    """Return the grade of each piece among those a person likes, the latest so many at most, and since when.

    The grade of any other is 0. A piece is liked since the latest interaction of positive weight.
    """
    grades, latest, liked_at = grades_of(*interactions.events, len(interactions.pieces), settings)
    grades[~exists] = 0
    liked = np.flatnonzero(grades)
    # Pieces ascend, so a stable sort leaves those of one moment by id.
    grades[liked[np.argsort(-latest[liked], kind="stable")][most:]] = 0
    return grades, liked_at


def grades_of(
    numbers: IntArray, codes: IntArray, moments: IntArray, count: int, settings: RankingSettings
) -> tuple[IntArray, IntArray, IntArray]:
    """Return by number, of ``count``, the grade that interactions, newest first, give it.

    And beside it the moments of the latest of them, and of the latest of positive weight.
    """
    grades, latest = np.zeros((2, count), dtype=np.int64)
    given = grades_by_code(settings)[codes].astype(np.int64)
    np.maximum.at(grades, numbers, given)
    np.maximum.at(latest, numbers, moments)
    liked_at = np.full(count, NEVER, dtype=np.int64)
    np.maximum.at(liked_at, numbers, np.where(given > 0, moments, NEVER))
    ratings = _first_of_each(numbers, are_ratings(codes))
    grades[numbers[ratings[codes[ratings] == InteractionType.RATE_DISLIKE.code]]] = 0
    return grades, latest, liked_at


def exact_sums(numbers: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the distinct numbers, ascending, and the sum of the values of each, rounded once, whatever their order."""
    order = np.argsort(numbers, kind="stable")
    numbers, values = numbers[order], values[order]
    firsts = np.flatnonzero(is_first(numbers))
    starts = np.append(firsts, len(numbers))
    distinct = numbers[firsts]
    # Of one value or two a plain sum is rounded once anyway.
    sums = np.add.reduceat(values, firsts) if len(values) else np.zeros(0)
    longer = np.flatnonzero(np.diff(starts) > 2)
    if len(longer):
        listed = values.tolist()
        cuts = zip(starts[longer].tolist(), starts[longer + 1].tolist(), strict=True)
        sums[longer] = [math.fsum(listed[begin:end]) for begin, end in cuts]
    return distinct, sums


class ValuedRows(NamedTuple):
    """Pieces by part and row, -1 for none, with what each says of its terms."""

    owners: IntArray
    rows: IntArray
    values: FloatArray


def profile_of_values(pieces: ValuedRows, said: EffectivePreferences, snapshot: Snapshot) -> UserProfile:
    """Return the profile that pieces and stated terms make, weighted by how rare terms are, for each part."""
    if len(snapshot.parts) == 1 and not said.stated:
        own = pieces.owners >= 0
        rows, values = pieces.rows[own].astype(np.uint32), pieces.values[own]
        pairs = PersonPairs(np.array([0, len(rows)]), rows, values)
        made = engine.taste(pairs, snapshot.piece_terms(said.settings.category_factors))
        if made is not None:
            terms, values, norm = made
            return UserProfile(by_part=((terms, values),), norm=norm)
    table, numbers, scores, weights = _profile(pieces, said, snapshot)
    placed = [
        numbers if part.segment.terms is table else part.segment.terms.find_all(table, numbers)
        for part in snapshot.parts
    ]
    frequencies = np.zeros(len(numbers), dtype=np.int64)
    for part, terms in zip(snapshot.parts, placed, strict=True):
        frequencies += part.frequencies(terms)
    rare = rarities_of(frequencies, snapshot.piece_count) * scores
    weighted = rare * weights
    return UserProfile(
        by_part=tuple((terms[terms >= 0], weighted[terms >= 0]) for terms in placed),
        # Category weights change what counts, not how long the taste is: the norm is without them.
        norm=math.sqrt(math.fsum((rare * rare).tolist())),
    )


class _TermScores(NamedTuple):
    """Terms, ascending, as numbers of a table, with their whole scores and the weights of their categories."""

    table: Strings
    numbers: IntArray
    scores: FloatArray
    weights: FloatArray


def _length(interactions: InteractionArrays, owners: IntArray, rows: IntArray, snapshot: Snapshot) -> int:
    """Return how many interactions, with pieces that lie at these rows of these parts, make the taste."""
    if snapshot.keyword_count <= MAX_PROFILE_KEYWORDS:
        return len(interactions)
    return kept_length(interactions.events.numbers, _keyword_counts(owners, rows, snapshot))


def _profile(pieces: ValuedRows, said: EffectivePreferences, snapshot: Snapshot) -> _TermScores:
    stated = term_table(said.stated)
    table, numbers, amounts = _gather(pieces, stated, snapshot)
    numbers, scores = exact_sums(numbers, amounts)
    weights = _category_weights(table, numbers, said.settings)
    scores = scores * weights
    if len(stated):
        strongest = float(np.abs(scores).max(initial=0.0)) or 1.0
        own = np.searchsorted(numbers, table.find_all(stated))
        scores[own] += np.fromiter(said.stated.values(), np.float64, len(stated)) * strongest
    return _TermScores(table, *_scaled(numbers, scores, weights))


def _gather(pieces: ValuedRows, stated: Strings, snapshot: Snapshot) -> tuple[Strings, IntArray, FloatArray]:
    """Return a table of terms, and for each term of each piece its place there and what the piece adds to it.

    Stated terms are among them; pieces add nothing to these by that.
    """
    gathered: list[tuple[Strings, IntArray, FloatArray]] = []
    for number, part in enumerate(snapshot.parts):
        own = np.flatnonzero(pieces.owners == number)
        if not len(own):
            continue
        segment, rows = part.segment, pieces.rows[own]
        begins = segment.starts[rows]
        counts = segment.starts[rows + 1] - begins
        entries = run_places(begins, counts)
        amounts = np.repeat(pieces.values[own], counts) * np.sqrt(segment.piece_weights[entries].astype(np.float64))
        gathered.append((segment.terms, segment.piece_terms[entries].astype(np.int64), amounts))
    if len(stated) and len(gathered) == 1:
        ((table, numbers, amounts),) = gathered
        known = table.find_all(stated)
        # Mostly one segment has nearly all of a source, and so these terms too.
        if (known >= 0).all():
            return table, np.append(numbers, known), np.append(amounts, np.zeros(len(known)))
    if len(stated):
        gathered.append((stated, np.arange(len(stated)), np.zeros(len(stated))))
    if len(gathered) == 1:
        return gathered[0]
    # Terms have a number in each segment: a table of those that are here has one for all.
    keys = [[terms.encoded(term) for term in np.unique(numbers).tolist()] for terms, numbers, _ in gathered]
    table = Strings.of_encoded(sorted(set(itertools.chain.from_iterable(keys))))
    places = [table.find_all(terms, numbers) for terms, numbers, _ in gathered]
    return (
        table,
        np.concatenate([np.zeros(0, dtype=np.int64), *places]),
        np.concatenate([np.zeros(0), *(amounts for _, _, amounts in gathered)]),
    )


def _category_weights(table: Strings, numbers: IntArray, settings: RankingSettings) -> FloatArray:
    """Return the weights of the categories of terms."""
    factors = settings.category_factors
    if not factors:
        return np.ones(len(numbers))
    categories = (term_of(table[number]).category for number in numbers.tolist())
    return np.asarray([factors.get(each, 1) for each in categories], dtype=np.float64)


def _scaled(numbers: IntArray, scores: FloatArray, weights: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return terms, whole scores from -1000 to 1000, and weights, without those of score 0; as `profiles` rounds."""
    greatest = float(np.abs(scores).max(initial=0.0))
    if not greatest:
        return numbers[:0], scores[:0], weights[:0]
    scaled = scores / greatest * GREATEST_SCORE
    whole = np.floor(np.abs(scaled))
    rounded = np.copysign(whole + (np.abs(scaled) - whole >= HALF), scaled)
    kept = rounded != 0
    return numbers[kept], rounded[kept], weights[kept]
