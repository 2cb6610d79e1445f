"""Knowledge: the interactions that are not held out, in the forms that methods take."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penchant.evaluation.histories import Events, SourceHistory
from penchant.index import BoolArray, IntArray
from penchant.model import SEEN_TYPES, InteractionType, SourceSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class Knowledge:
    """The known events of a history, under settings.

    Events of ``newcomers``, a mask of people, count for themselves alone, those of others (``shared``) for everybody.
    """

    history: SourceHistory
    events: Events
    settings: SourceSettings
    newcomers: BoolArray | None = None

    @classmethod
    def of(cls, history: SourceHistory, known: BoolArray, settings: SourceSettings) -> "Knowledge":
        """Return the knowledge that a mask of a history's events leaves."""
        return cls(history=history, events=history.events.take(known), settings=settings)

    @property
    def piece_count(self) -> int:
        """How many pieces there are to recommend."""
        return self.history.piece_count

    @cached_property
    def shared(self) -> Events:
        """The known events that count for everybody."""
        return self.events if self.newcomers is None else self.events.take(~self.newcomers[self.events.people])

    @cached_property
    def moment(self) -> int:
        """The moment that ages are counted to: that of the latest shared event, or of any where there is none."""
        return int((self.shared if len(self.shared) else self.events).times.max(initial=0))

    @cached_property
    def likes(self) -> "Runs":
        """The pieces that each person likes: a positive interaction, unless the latest rating is a dislike."""
        events = self.events
        positive = events.are(self.settings.positive_types)
        return runs_of(self._distinct(events.take(positive & ~self._disliked())), self.history.person_count)

    @cached_property
    def seen(self) -> "Runs":
        """The pieces that each person knows, by the types of interaction that tell so."""
        return runs_of(self._distinct(self.events.take(self.events.are(SEEN_TYPES))), self.history.person_count)

    @cached_property
    def met(self) -> IntArray:
        """How many people but newcomers have any known interaction with each piece; shape (n_pieces,)."""
        return np.bincount(self._distinct(self.shared)[1], minlength=self.piece_count)

    @cached_property
    def liked_counts(self) -> IntArray:
        """How many people but newcomers like each piece; shape (n_pieces,)."""
        return np.bincount(self.likes.pairs(self.others)[1], minlength=self.piece_count)

    @property
    def others(self) -> IntArray:
        """The people who are no newcomers, ascending."""
        if self.newcomers is None:
            return np.arange(self.history.person_count)
        return np.flatnonzero(~self.newcomers)

    @cached_property
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
