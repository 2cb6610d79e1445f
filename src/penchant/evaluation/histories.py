"""Histories: the pieces of a source, and who did what with them, as columns."""

from array import array
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penchant.index import BoolArray, IntArray
from penchant.model import IndexedPiece, InteractionType, SourceSettings

TYPES = tuple(InteractionType)
"""The types of interaction, by the number that a history gives them."""
NUMBERS = {kind: number for number, kind in enumerate(TYPES)}
Row = tuple[Hashable, str, InteractionType, int]
"""Who, with which piece, what, and when (ms since 1970 UTC)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Events:
    """Interactions as columns of one length, in the order in which they were recorded."""

    people: IntArray
    pieces: IntArray
    types: NDArray[np.int8]
    times: IntArray

    def __len__(self) -> int:
        return len(self.people)

    def take(self, which: BoolArray) -> "Events":
        """Return the events that a mask chooses."""
        return Events(
            people=self.people[which], pieces=self.pieces[which], types=self.types[which], times=self.times[which]
        )

    def are(self, kinds: Iterable[InteractionType]) -> BoolArray:
        """Return which of them are of these types."""
        mask: BoolArray = np.isin(self.types, [NUMBERS[kind] for kind in kinds])
        return mask


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SourceHistory:
    """A source and what happened in it; ``ids`` begin with those of ``pieces``, ascending.

    Ids after these are of pieces that are gone, or not there yet: people interacted with them, but they are in no list.
    """

    name: str
    pieces: Sequence[IndexedPiece]
    ids: Sequence[str]
    events: Events
    person_count: int
    settings: SourceSettings

    @property
    def piece_count(self) -> int:
        """How many pieces there are to recommend."""
        return len(self.pieces)


def history_of(
    name: str, pieces: Iterable[IndexedPiece], rows: Iterable[Row], settings: SourceSettings
) -> SourceHistory:
    """Return the history of these pieces, whose ids are distinct, and interactions in the order of recording."""
    ordered = sorted(pieces, key=lambda piece: piece.id)
    numbers = {piece.id: number for number, piece in enumerate(ordered)}
    people: dict[Hashable, int] = {}
    # Arrays and no lists: a tenth of the memory.
    columns = (array("q"), array("q"), array("b"), array("q"))
    for person, piece_id, kind, occurred_at in rows:
        columns[0].append(people.setdefault(person, len(people)))
        columns[1].append(numbers.setdefault(piece_id, len(numbers)))
        columns[2].append(NUMBERS[kind])
        columns[3].append(occurred_at)
    return SourceHistory(
        name=name,
        pieces=ordered,
        ids=list(numbers),
        events=Events(
            people=np.array(columns[0], dtype=np.int64),
            pieces=np.array(columns[1], dtype=np.int64),
            types=np.array(columns[2], dtype=np.int8),
            times=np.array(columns[3], dtype=np.int64),
        ),
        person_count=len(people),
        settings=settings,
    )
