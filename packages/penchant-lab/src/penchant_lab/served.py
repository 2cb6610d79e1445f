"""Served lists: what the service would recommend from some knowledge, by its own functions over its own index."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from penchant.live.audience_files import weigh
from penchant.model import SourceSettings
from penchant.service.like_mix import mix_of_likes, mix_sentence
from penchant.service.lists.previews import WEIGHED_BY
from penchant_engine.index import Audience, IntArray, InteractionArrays, Snapshot, Strings, Tally
from penchant_engine.index.people.item_item import ItemItemModel
from penchant_engine.index.people.person import user_features
from penchant_engine.index.people.statistics import FullLike
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS, MAX_PROFILE_INTERACTIONS, Algorithm, IndexedPiece, StoredInteraction, Term
from penchant_engine.ranking import VECTOR_SCALE
from penchant_engine.views import CatalogueView
from penchant_lab.histories import TYPES, Knowledge, SourceHistory
from penchant_lab.metrics import NOTHING, RECALLED, PieceVectors

AS_SERVED = ListRequest(user_id="", include_seen=False)
"""Asks for a list as the source's settings make it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedSource:
    """Parts of a served source that most settings leave alone, so that candidates for settings share them.

    ``audience`` is valid for all settings that agree with ``settings`` in the members of `WEIGHED_BY`.
    ``order`` lists known events by person, newest first and of one moment the later recorded; ``starts`` cuts it.
    """

    snapshot: Snapshot
    audience: Audience
    settings: SourceSettings
    order: IntArray
    starts: IntArray

    @classmethod
    def of(cls, knowledge: Knowledge) -> "PreparedSource":
        """Return the index, the audience and the order of events for some knowledge."""
        events, people = knowledge.events, knowledge.history.person_count
        starts = np.zeros(people + 1, dtype=np.int64)
        np.cumsum(np.bincount(events.people, minlength=people), out=starts[1:])
        snapshot = snapshot_of(knowledge)
        return cls(
            snapshot=snapshot,
            audience=audience_of(knowledge, snapshot),
            settings=knowledge.settings,
            order=np.lexsort((-np.arange(len(events)), -events.times, events.people)),
            starts=starts,
        )

    def under(self, knowledge: Knowledge) -> "PreparedSource":
        """Return the same under other settings."""
        if self.is_for(knowledge.settings):
            return self
        return replace(self, audience=audience_of(knowledge, self.snapshot), settings=knowledge.settings)

    def is_for(self, settings: SourceSettings) -> bool:
        """Return whether it is valid under settings."""
        return all(getattr(settings, name) == getattr(self.settings, name) for name in WEIGHED_BY)


class ServedSource:
    """The service's view of a source at the moment of the latest known event; lists are by a request for anybody's."""

    def __init__(
        self, knowledge: Knowledge, prepared: PreparedSource | None = None, request: ListRequest = AS_SERVED
    ) -> None:
        self._request = request
        self.prepared = PreparedSource.of(knowledge) if prepared is None else prepared
        self._knowledge = knowledge
        self.prepared.snapshot.prepare(knowledge.settings.category_factors)
        self._view = CatalogueView(snapshot=self.prepared.snapshot, settings=knowledge.settings)
        self._numbers = {piece.id: number for number, piece in enumerate(knowledge.history.pieces)}

    def ids(self, person: int, algorithm: Algorithm | None = None) -> list[str]:
        """Return a person's recommendations, best first; with an algorithm from the content alone."""
        request = structs.replace(AS_SERVED, algorithm=algorithm) if algorithm else self._request
        if self._knowledge.truth is not None:
            # Recorded by other types, what they know does not show any more.
            ids = self._knowledge.history.ids
            seen = frozenset(ids[piece] for piece in self._knowledge.seen[person].tolist())
            request = structs.replace(request, exclude=seen)
        now = self._knowledge.moment
        events, settings = InteractionArrays.of(self._interactions(person)), self._knowledge.settings
        figures = user_features(events, self.prepared.snapshot, settings, now // DAY_MS)
        ranking = PersonalRanking(self._view, request, now, figures, self.prepared.audience)
        return [each.id for each in ranking.arrangement.pieces]

    def lists(self, people: IntArray, algorithm: Algorithm | None = None) -> IntArray:
        """Return the lists of people as numbers of pieces; shape (n_people, `RECALLED`)."""
        lists = np.full((len(people), RECALLED), NOTHING, dtype=np.int64)
        for row, person in enumerate(people.tolist()):
            ids = self.ids(person, algorithm)[:RECALLED]
            lists[row, : len(ids)] = [self._numbers[piece_id] for piece_id in ids]
        return lists

    def _interactions(self, person: int) -> Sequence[StoredInteraction]:
        """Return a person's known interactions, newest first, as storage gives them."""
        events, ids = self._knowledge.events, self._knowledge.history.ids
        cut = slice(*self.prepared.starts[person : person + 2].tolist())
        rows = self.prepared.order[cut][:MAX_PROFILE_INTERACTIONS]
        columns = (each[rows].tolist() for each in (events.pieces, events.types, events.times, events.portions))
        return [
            StoredInteraction(user_id="", piece_id=ids[piece], type=TYPES[kind], occurred_at=time, portion=portion)
            for piece, kind, time, portion in zip(*columns, strict=True)
        ]


def snapshot_of(knowledge: Knowledge) -> Snapshot:
    """Return the index of all pieces as they may be shown at the moment: every one of them.

    A piece is available since its own time, but no later than its first known interaction, or else the moment.
    """
    events = knowledge.shared
    first = np.full(len(knowledge.history.ids), knowledge.moment, dtype=np.int64)
    # Unbuffered: a piece may come many times in one call, and an indexed assignment would keep the last.
    np.minimum.at(first, events.pieces, events.times)
    changes: dict[str, IndexedPiece | None] = {
        piece.id: replace(piece, available_from=min(piece.available_from, int(moment)), available_until=None)
        for piece, moment in zip(knowledge.history.pieces, first[: knowledge.piece_count].tolist(), strict=True)
    }
    return Snapshot.empty().apply(changes)


def vectors_of(history: SourceHistory) -> PieceVectors:
    """Return the unit vectors by which diversity tells how alike pieces are, by the numbers of pieces."""
    snapshot = Snapshot.empty().apply({piece.id: piece for piece in history.pieces})
    ids = Strings.of(piece.id for piece in history.pieces)
    owners, terms, _, units = snapshot.keyword_pairs(ids, history.settings.category_factors)
    starts = np.searchsorted(owners, np.arange(history.piece_count + 1))
    return PieceVectors(starts=starts, terms=terms, entries=units / VECTOR_SCALE)


def keywords_of(history: SourceHistory, category: str) -> PieceVectors:
    """Return the keywords of pieces in a category, each an equal part of its piece, by the numbers of pieces."""
    own = [[term for term in piece.weights if term.category == category] for piece in history.pieces]
    numbers = dict[Term, int]()
    terms = [numbers.setdefault(term, len(numbers)) for each in own for term in each]
    counts = np.asarray([len(each) for each in own], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(counts)))
    return PieceVectors(starts, np.asarray(terms, dtype=np.int64), np.repeat(1 / np.maximum(1, counts), counts))


def audience_of(knowledge: Knowledge, snapshot: Snapshot) -> Audience:
    """Return what people like, counted and weighed as the service does it; nothing is too old."""
    tally, kept = _tally_of(knowledge)
    return weighed_audience(tally, snapshot, kept, knowledge.moment // DAY_MS, len(knowledge.shared))


def full_like_of(knowledge: Knowledge) -> str:
    """Return in a sentence what a full like is, by what people mostly do; "" where nobody likes anything."""
    tally, kept = _tally_of(knowledge)
    likes, oldest_day = tally.compacted(), kept.oldest_day(knowledge.moment // DAY_MS)
    ids = Strings.of(piece.id for piece in knowledge.history.pieces)
    full = FullLike.of(likes.matrix(ids, kept, oldest_day))
    return mix_sentence(mix_of_likes(likes.counts(ids, kept, oldest_day).types, full, kept))


def _tally_of(knowledge: Knowledge) -> tuple[Tally, SourceSettings]:
    """Return what people did, counted, and the settings under which nothing of it is too old."""
    events, ids, settings = knowledge.shared, knowledge.history.ids, knowledge.settings
    today = knowledge.moment // DAY_MS
    oldest_day = int(events.times.min(initial=knowledge.moment)) // DAY_MS
    # A history may be years old: with the source's own retention most of it would not count.
    kept = replace(settings, retention_days=max(settings.retention_days, today - oldest_day))
    tally = Tally.empty(oldest_day)
    columns = (each.tolist() for each in (events.people, events.pieces, events.types, events.times, events.portions))
    for version, (person, piece, number, time, portion) in enumerate(zip(*columns, strict=True), start=1):
        # A key as storage gives it, of 16 bytes; the order of recording is the version.
        tally.record(person.to_bytes(16, "big"), ids[piece], TYPES[number], time, version, portion)
    return tally, kept


def weighed_audience(tally: Tally, snapshot: Snapshot, settings: SourceSettings, today: int, version: int) -> Audience:
    """Return what people like by a tally, as of a version of the interactions, counted and weighed as the service does.

    The tally is compacted.
    """
    counts = tally.popularity(settings, today)
    weighed = weigh(tally.compacted(), snapshot, settings, 1, settings.oldest_day(today))
    return Audience(counts, ItemItemModel.none() if weighed is None else weighed.weights, version)
