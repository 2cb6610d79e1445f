"""What would the service recommend, had it known no more than this? Its own functions over its own index."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penchant.evaluation.histories import TYPES
from penchant.evaluation.knowledge import Knowledge
from penchant.evaluation.metrics import NOTHING, RECALLED
from penchant.index import Audience, IntArray, Snapshot, Tally
from penchant.live.views import View
from penchant.model import DAY_MS, MAX_PROFILE_INTERACTIONS, RATINGS, Algorithm, Interaction, InteractionType, Piece
from penchant.service.recommend import PersonalQuery, Recommender, gathered_at, history_of
from penchant.storage import SourceHead


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prepared:
    """What settings do not change, or hardly: ``audience`` is right for these ``positive`` types of interaction.

    ``order`` lists known events by person, newest first and of one moment the later recorded; ``starts`` cuts it.
    """

    snapshot: Snapshot
    audience: Audience
    positive: frozenset[InteractionType]
    order: IntArray
    starts: IntArray

    @classmethod
    def of(cls, knowledge: Knowledge) -> "Prepared":
        """Prepare what is known."""
        events, people = knowledge.events, knowledge.history.person_count
        starts = np.zeros(people + 1, dtype=np.int64)
        np.cumsum(np.bincount(events.people, minlength=people), out=starts[1:])
        return cls(
            snapshot=snapshot_of(knowledge),
            audience=audience_of(knowledge),
            positive=positive_types(knowledge),
            order=np.lexsort((-np.arange(len(events)), -events.times, events.people)),
            starts=starts,
        )

    def under(self, knowledge: Knowledge) -> "Prepared":
        """Return the same under other settings."""
        positive = positive_types(knowledge)
        if positive == self.positive:
            return self
        return replace(self, audience=audience_of(knowledge), positive=positive)


class Served:
    """The service's view of a source at the moment of the latest known event."""

    def __init__(self, knowledge: Knowledge, prepared: Prepared | None = None) -> None:
        self.prepared = Prepared.of(knowledge) if prepared is None else prepared
        self._knowledge = knowledge
        self.prepared.snapshot.prepare(knowledge.settings.category_weights)
        self._view = View(
            head=SourceHead(0, 0, knowledge.history.name, 0, 0, 0, 0, knowledge.piece_count, 0, 0),
            snapshot=self.prepared.snapshot,
            settings=knowledge.settings,
            whitelist=(),
            blacklist=(),
            hidden=frozenset(),
        )
        self._numbers = {piece.id: number for number, piece in enumerate(knowledge.history.pieces)}

    def under(self, knowledge: Knowledge) -> "Served":
        """Return the same under other settings: ``knowledge`` is of the same events."""
        return Served(knowledge, self.prepared.under(knowledge))

    def ids(self, person: int, algorithm: Algorithm | None = None) -> list[str]:
        """Return what a person is recommended, best first; with an algorithm from the content alone."""
        query = PersonalQuery(user_id="", algorithm=algorithm, include_seen=False)
        now = self._knowledge.moment
        known = history_of(self._view, self._interactions(person), now // DAY_MS)
        gathered = gathered_at(self._view, query, known, self.prepared.audience, now)
        return [each.id for each in Recommender.search(self._view, query, gathered)]

    def lists(self, people: IntArray, algorithm: Algorithm | None = None) -> IntArray:
        """Return the lists of people as numbers of pieces; shape (n_people, `RECALLED`)."""
        found = np.full((len(people), RECALLED), NOTHING, dtype=np.int64)
        for row, person in enumerate(people.tolist()):
            ids = self.ids(person, algorithm)[:RECALLED]
            found[row, : len(ids)] = [self._numbers[piece_id] for piece_id in ids]
        return found

    def _interactions(self, person: int) -> Sequence[Interaction]:
        """Return a person's known interactions, newest first, as storage gives them."""
        events, ids = self._knowledge.events, self._knowledge.history.ids
        cut = slice(*self.prepared.starts[person : person + 2].tolist())
        places = self.prepared.order[cut][:MAX_PROFILE_INTERACTIONS]
        columns = (events.pieces[places].tolist(), events.types[places].tolist(), events.times[places].tolist())
        return [
            Interaction(user_id="", piece_id=ids[piece], type=TYPES[kind], occurred_at=time)
            for piece, kind, time in zip(*columns, strict=True)
        ]


def snapshot_of(knowledge: Knowledge) -> Snapshot:
    """Return the index of all pieces as they may be shown at the moment: every one of them.

    A piece is available since its own time, but no later than its first known interaction, or else the moment.
    """
    events = knowledge.events
    first = np.full(len(knowledge.history.ids), knowledge.moment, dtype=np.int64)
    np.minimum.at(first, events.pieces, events.times)
    changes: dict[str, Piece | None] = {
        piece.id: replace(piece, available_from=min(piece.available_from, int(moment)), available_until=None)
        for piece, moment in zip(knowledge.history.pieces, first[: knowledge.piece_count].tolist(), strict=True)
    }
    return Snapshot.empty().apply(changes)


def audience_of(knowledge: Knowledge) -> Audience:
    """Return who likes what, counted as the service counts it; nothing is too old."""
    positive = positive_types(knowledge)
    events, ids = knowledge.events, knowledge.history.ids
    oldest_day = int(events.times.min(initial=knowledge.moment)) // DAY_MS
    tally = Tally.empty([kind.value for kind in positive], oldest_day)
    counted = np.flatnonzero(events.are(positive | RATINGS))
    columns = (events.people[counted], events.pieces[counted], events.types[counted], events.times[counted])
    for person, piece, number, time in zip(*(column.tolist() for column in columns), strict=True):
        kind = TYPES[number]
        rating = kind is InteractionType.RATE_LIKE if kind in RATINGS else None
        tally.record(person.to_bytes(16, "big"), ids[piece], time, positive=kind in positive, rating=rating)
    return tally.audience(knowledge.moment // DAY_MS, oldest_day)


def positive_types(knowledge: Knowledge) -> frozenset[InteractionType]:
    """Return the types of interaction that speak for a piece."""
    return frozenset(kind for kind, weight in knowledge.settings.interaction_weights.items() if weight > 0)
