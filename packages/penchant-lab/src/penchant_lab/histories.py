"""Histories: the pieces of a source and who did what with them, as columns; and what of it is known to methods."""

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from penchant.model import SourceSettings
from penchant_engine.computed import computed
from penchant_engine.index import IntArray
from penchant_engine.index.layout import BoolArray
from penchant_engine.model import SEEN_TYPES, IndexedPiece, InteractionType

TYPES = tuple(InteractionType)
"""The types of interaction, by the number that a history gives them."""
NUMBERS = {kind: number for number, kind in enumerate(TYPES)}
Row = tuple[Hashable, str, InteractionType, int, int]
"""Who, with which piece, what, when (ms since 1970 UTC), and the portion that counts, above 0."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Events:
    """Interactions as columns of one length, in the order in which they were recorded."""

    people: IntArray
    pieces: IntArray
    types: NDArray[np.int8]
    times: IntArray
    portions: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.people)

    def take(self, which: BoolArray | IntArray) -> "Events":
        """Return the events that a mask chooses, or those at these places."""
        return Events(**{column.name: getattr(self, column.name)[which] for column in fields(self)})

    def are(self, kinds: Iterable[InteractionType]) -> BoolArray:
        """Return which of them are of these types."""
        mask: BoolArray = np.isin(self.types, [NUMBERS[kind] for kind in kinds])
        return mask


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SourceHistory:
    """A source and what happened in it; ``ids`` begin with those of ``pieces``, ascending.

    Ids after these are of pieces that are gone, or not there yet: people interacted with them, but they are in no list.
    ``people`` are the keys of people by their numbers; ``person_key`` gives that of a name.
    """

    name: str
    pieces: Sequence[IndexedPiece]
    ids: Sequence[str]
    events: Events
    people: Sequence[Hashable]
    person_key: Callable[[str], Hashable]
    settings: SourceSettings

    @property
    def person_count(self) -> int:
        """How many people there are."""
        return len(self.people)

    @property
    def piece_count(self) -> int:
        """How many pieces there are to recommend."""
        return len(self.pieces)


def history_of(
    name: str,
    pieces: Iterable[IndexedPiece],
    rows: Iterable[Row],
    settings: SourceSettings,
    person_key: Callable[[str], Hashable] = str,
) -> SourceHistory:
    """Return the history of these pieces, whose ids are distinct, and interactions in the order of recording."""
    ordered = sorted(pieces, key=lambda piece: piece.id)
    numbers = {piece.id: number for number, piece in enumerate(ordered)}
    people: dict[Hashable, int] = {}
    # Arrays and no lists: a tenth of the memory.
    columns = (array("q"), array("q"), array("b"), array("q"), array("b"))
    for person, piece_id, kind, occurred_at, portion in rows:
        columns[0].append(people.setdefault(person, len(people)))
        columns[1].append(numbers.setdefault(piece_id, len(numbers)))
        columns[2].append(NUMBERS[kind])
        columns[3].append(occurred_at)
        columns[4].append(portion)
    return SourceHistory(
        name=name,
        pieces=ordered,
        ids=list(numbers),
        events=Events(
            people=np.array(columns[0], dtype=np.int64),
            pieces=np.array(columns[1], dtype=np.int64),
            types=np.array(columns[2], dtype=np.int8),
            times=np.array(columns[3], dtype=np.int64),
            portions=np.array(columns[4], dtype=np.int8),
        ),
        people=list(people),
        person_key=person_key,
        settings=settings,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Knowledge:
    """The known events of a history, under settings.

    Events of ``newcomers``, a mask of people, count for themselves alone, those of others (``shared``) for everybody.
    ``truth`` is what was done where ``events`` are recorded by other types (`mixes`): what people know goes by it.
    """

    history: SourceHistory
    events: Events
    settings: SourceSettings
    newcomers: BoolArray | None = None
    truth: Events | None = None

    @classmethod
    def of(cls, history: SourceHistory, known: BoolArray, settings: SourceSettings) -> "Knowledge":
        """Return the knowledge that a mask of a history's events leaves."""
        return cls(history=history, events=history.events.take(known), settings=settings)

    @property
    def piece_count(self) -> int:
        """How many pieces there are to recommend."""
        return self.history.piece_count

    @computed
    def shared(self) -> Events:
        """The known events that count for everybody."""
        return self.events if self.newcomers is None else self.events.take(~self.newcomers[self.events.people])

    @computed
    def moment(self) -> int:
        """The moment that ages are counted to: that of the latest shared event, or of any where there is none."""
        return int((self.shared if len(self.shared) else self.events).times.max(initial=0))

    @computed
    def likes(self) -> "Runs":
        """The pieces that each person likes: a positive interaction, unless the latest rating is a dislike."""
        events = self.events
        positive = events.are(self.settings.positive_types)
        return runs_of(self._distinct(events.take(positive & ~self._disliked())), self.history.person_count)

    @computed
    def ordered_likes(self) -> "Runs":
        """The pieces that each person likes by the moment of the latest positive interaction, then by id."""
        events = self.events
        which = events.are(self.settings.positive_types) & ~self._disliked() & (events.pieces < self.piece_count)
        liked = events.take(which)
        # In the order of time, so that the last event of a pair is its latest one.
        order = np.lexsort((liked.times, liked.pieces, liked.people))
        people, pieces, times = liked.people[order], liked.pieces[order], liked.times[order]
        last = (np.diff(people, append=-1) != 0) | (np.diff(pieces, append=-1) != 0)
        people, pieces, times = people[last], pieces[last], times[last]
        order = np.lexsort((pieces, times, people))
        return runs_of((people[order], pieces[order]), self.history.person_count)

    @computed
    def seen(self) -> "Runs":
        """The pieces that each person knows, by the types of interaction that tell so."""
        events = self.events if self.truth is None else self.truth
        return runs_of(self._distinct(events.take(events.are(SEEN_TYPES))), self.history.person_count)

    @computed
    def met(self) -> IntArray:
        """How many people but newcomers have any known interaction with each piece; shape (n_pieces,)."""
        return np.bincount(self._distinct(self.shared)[1], minlength=self.piece_count)

    @computed
    def liked_counts(self) -> IntArray:
        """How many people but newcomers like each piece; shape (n_pieces,)."""
        return np.bincount(self.likes.pairs(self.others)[1], minlength=self.piece_count)

    @property
    def others(self) -> IntArray:
        """The people who are no newcomers, ascending."""
        if self.newcomers is None:
            return np.arange(self.history.person_count)
        return np.flatnonzero(~self.newcomers)

    @computed
    def active(self) -> BoolArray:
        """Who has any known interaction; shape (n_people,)."""
        return np.bincount(self.events.people, minlength=self.history.person_count) > 0

    def _disliked(self) -> BoolArray:
        """Return which events are of a person and a piece whose latest rating is a dislike."""
        events = self.events
        # A pair as one number. Sorted by pair, time and order of recording, the last row of each pair is its latest.
        pairs = events.people * len(self.history.ids) + events.pieces
        rated = np.flatnonzero(events.are((InteractionType.RATE_LIKE, InteractionType.RATE_DISLIKE)))
        order = rated[np.lexsort((rated, events.times[rated], pairs[rated]))]
        last = order[np.flatnonzero(np.diff(pairs[order], append=-1) != 0)]
        disliked: BoolArray = np.isin(pairs, pairs[last[events.are((InteractionType.RATE_DISLIKE,))[last]]])
        return disliked

    def _distinct(self, events: Events) -> tuple[IntArray, IntArray]:
        """Return the distinct pairs of people and recommendable pieces among some events, ascending."""
        # Pieces that are gone have the numbers after those that can be recommended.
        which = events.pieces < self.piece_count
        pairs = np.unique(events.people[which] * self.piece_count + events.pieces[which])
        return pairs // max(1, self.piece_count), pairs % max(1, self.piece_count)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Pieces by person: ``starts`` (n_people + 1,) cuts ``values``, each run ascending."""

    starts: IntArray
    values: IntArray

    def __getitem__(self, person: int) -> IntArray:
        return self.values[self.starts[person] : self.starts[person + 1]]

    def pairs(self, people: IntArray) -> tuple[IntArray, IntArray]:
        """Return the pieces of several people one after the other, each with its place among the people."""
        own = [self[person] for person in people.tolist()]
        rows = np.repeat(np.arange(len(people)), [len(each) for each in own])
        return rows, np.concatenate(own) if own else self.values[:0]


def runs_of(pairs: tuple[IntArray, IntArray], person_count: int) -> Runs:
    """Return pairs of people and pieces, ascending, as runs."""
    people, pieces = pairs
    starts = np.zeros(person_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(people, minlength=person_count), out=starts[1:])
    return Runs(starts, pieces)


def relevant_pieces(
    knowledge: Knowledge, held_out: BoolArray, kinds: Sequence[InteractionType]
) -> tuple[IntArray, list[IntArray]]:
    """Return who likes something later, ascending, and the pieces of each.

    Relevant is a piece with a held-out interaction of these types that the person did not know before.
    """
    later = knowledge.history.events.take(held_out)
    which = later.are(kinds) & (later.pieces < knowledge.piece_count)
    width = max(1, knowledge.piece_count)
    pairs = np.unique(later.people[which] * width + later.pieces[which])
    # Both sides hold distinct numbers: pairs by `unique`, those seen since a run holds a piece once.
    owners = np.repeat(np.arange(knowledge.history.person_count), np.diff(knowledge.seen.starts))
    pairs = np.setdiff1d(pairs, owners * width + knowledge.seen.values, assume_unique=True)
    people, starts = np.unique(pairs // width, return_index=True)
    return people, np.split(pairs % width, starts[1:]) if len(people) else []
