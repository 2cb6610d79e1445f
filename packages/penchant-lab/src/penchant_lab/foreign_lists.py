"""Foreign lists: those that somebody else's method has made, judged for the same people as ours.

Entries that none of our methods could have are left out, so that those behind them move up; what was left out is told.
"""

from array import array
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penchant.errors import InvalidInput
from penchant_engine.index import FloatArray, IntArray
from penchant_engine.index.layout import BoolArray
from penchant_lab.histories import SourceHistory
from penchant_lab.metrics import NOTHING, RECALLED
from penchant_lab.trials import Trial

UNKNOWN = -1
"""The number of a person or a piece that a history does not have."""


class ForeignEntry(NamedTuple):
    """An entry of a list; of one person's the one with the least ``place`` comes first."""

    person: str
    piece: str
    place: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ForeignLists:
    """The entries of lists as columns of one length, in any order; ``strangers`` are people whom nobody knows."""

    name: str
    people: IntArray
    pieces: IntArray
    places: FloatArray
    strangers: Sequence[str]

    @classmethod
    def of(cls, name: str, entries: Iterable[ForeignEntry], history: SourceHistory) -> "ForeignLists":
        """Return entries by the numbers that a history gives people and pieces."""
        people: dict[Hashable, int] = {key: number for number, key in enumerate(history.people)}
        pieces = {piece: number for number, piece in enumerate(history.ids[: history.piece_count])}
        numbers = dict[str, int]()
        columns = array("q"), array("q"), array("d")
        for person, piece, place in entries:
            if person not in numbers:
                numbers[person] = people.get(history.person_key(person), UNKNOWN)
            columns[0].append(numbers[person])
            columns[1].append(pieces.get(piece, UNKNOWN))
            columns[2].append(place)
        return cls(
            name=name,
            people=np.array(columns[0], dtype=np.int64),
            pieces=np.array(columns[1], dtype=np.int64),
            places=np.array(columns[2], dtype=np.float64),
            strangers=[person for person, number in numbers.items() if number == UNKNOWN],
        )

    def lists(self, trial: Trial) -> tuple[IntArray, str]:
        """Return the lists of a trial's people, in its order, (n_people, `RECALLED`), and what is to be said of them.

        Left out is what the person knows, what is no piece of the history, and what comes again in a list. Entries of
        one place are ordered by ascending id, as ours are. Who has no list has an empty one.

        Raises:
            InvalidInput: nobody who is asked for has a list.
        """
        asked = trial.people
        row_of = np.full(trial.knowledge.history.person_count + 1, UNKNOWN, dtype=np.int64)
        row_of[asked] = np.arange(len(asked))
        # People whom nobody knows have the last number, which stands for nobody.
        rows = row_of[self.people]
        is_asked = rows != UNKNOWN
        if not is_asked.any():
            raise InvalidInput(self._nobody(trial))
        rows, pieces, places = rows[is_asked], self.pieces[is_asked], self.places[is_asked]
        counts = {"of pieces that are not in the source": int(np.count_nonzero(pieces == UNKNOWN))}
        is_known = self._known(trial, rows, pieces)
        counts["of pieces that the person knows"] = int(np.count_nonzero(is_known))
        is_left = (pieces != UNKNOWN) & ~is_known
        rows, pieces, places = rows[is_left], pieces[is_left], places[is_left]
        is_first = _firsts(rows, pieces, places)
        counts["that come again in a list"] = len(rows) - int(np.count_nonzero(is_first))
        rows, pieces, places = rows[is_first], pieces[is_first], places[is_first]
        order = np.lexsort((pieces, places, rows))
        rows, pieces, places = rows[order], pieces[order], places[order]
        ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
        is_within = ranks < RECALLED
        lists = np.full((len(asked), RECALLED), NOTHING, dtype=np.int64)
        lists[rows[is_within], ranks[is_within]] = pieces[is_within]
        # An entry that is level with the one before it, where at least that one is within.
        is_level = (np.diff(rows, prepend=UNKNOWN) == 0) & (np.diff(places, prepend=0) == 0) & (ranks <= RECALLED)
        return lists, self._told(lists, counts, len(np.unique(rows[is_level])))

    def _known(self, trial: Trial, rows: IntArray, pieces: IntArray) -> BoolArray:
        width = max(1, trial.knowledge.piece_count)
        owners, seen = trial.knowledge.seen.pairs(trial.people)
        is_known: BoolArray = np.isin(rows * width + pieces, owners * width + seen) & (pieces != UNKNOWN)
        return is_known

    def _told(self, lists: IntArray, left_out: dict[str, int], level: int) -> str:
        have = np.count_nonzero(lists != NOTHING, axis=1)
        missing, short = int(np.count_nonzero(have == 0)), int(np.count_nonzero((have > 0) & (have < RECALLED)))
        parts = [f"{len(lists) - missing:,} of the {len(lists):,} people who are asked for have a list"]
        if missing:
            parts.append(f"{missing:,} without one score 0")
        if short:
            parts.append(f"{short:,} have less than {RECALLED} entries")
        if level:
            parts.append(f"{level:,} have entries of equal rank or score, which go by id")
        gone = [f"{count:,} {what}" for what, count in left_out.items() if count]
        if self.strangers:
            gone.append(
                f"those of {len(self.strangers):,} people who are not in the source ({_examples(self.strangers)})"
            )
        if gone:
            parts.append(f"left out: {', '.join(gone)}")
        return f"{self.name}: {', '.join(parts)}."

    def _nobody(self, trial: Trial) -> str:
        keys = trial.knowledge.history.people
        asked = [key for key in (keys[person] for person in trial.people[:3].tolist()) if isinstance(key, str)]
        mine = f", such as {_examples(self.strangers)}, which the source does not have" if self.strangers else ""
        such = f", such as {_examples(asked)}" if asked else ""
        return (
            f"{self.name}: no list is of one of the {len(trial.people):,} people who are asked for{such}; "
            f"it has others{mine}. With --write-split FOLDER you get them, under the same options."
        )


def _firsts(rows: IntArray, pieces: IntArray, places: FloatArray) -> BoolArray:
    """Return which entries are the first ones of their person and piece, by place."""
    order = np.lexsort((places, pieces, rows))
    is_other = (np.diff(rows[order], prepend=UNKNOWN) != 0) | (np.diff(pieces[order], prepend=UNKNOWN) != 0)
    is_first = np.zeros(len(rows), dtype=np.bool_)
    is_first[order[is_other]] = True
    return is_first


def _examples(names: Sequence[str]) -> str:
    return ", ".join(repr(each) for each in names[:3])
