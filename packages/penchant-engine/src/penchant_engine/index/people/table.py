"""People: what all people of a source did with its pieces, as one table from which lists are made by number.

The same as `person` makes of one person, of all of them at once: interactions become pairs of a person
and a piece, with what each pair says. Interactions with pieces that do not exist count for nothing here.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.arrays import starts_of
from penchant_engine.index.layout import FloatArray, IntArray, Numbers
from penchant_engine.index.people.event_codes import marks_seen
from penchant_engine.index.people.likes import latest_likes
from penchant_engine.index.people.order import OwnLikes, order_of
from penchant_engine.index.people.person import (
    EffectivePreferences,
    UserFeatures,
    ValuedRows,
    counted_weights,
    exact_sums,
    grades_of,
    kept_length,
    profile_of_values,
)
from penchant_engine.index.records import ArrayMembers
from penchant_engine.index.segment import Segment
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings
from penchant_engine.model import (
    MAX_PROFILE_INTERACTIONS,
    MAX_PROFILE_KEYWORDS,
    NO_PREFERENCES,
    Preferences,
    RankingSettings,
    most_likes,
)


class PeopleEvents(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Interactions of people as columns, in any order; ``rows`` are those of pieces in a segment, -1 for none."""

    people: IntArray
    rows: IntArray
    codes: IntArray
    moments: IntArray
    versions: IntArray

    def take(self, chosen: NDArray[Any]) -> "PeopleEvents":
        """Return the interactions at these places, or those where a mask is true."""
        columns = (self.people, self.rows, self.codes, self.moments, self.versions)
        people, rows, codes, moments, versions = (column[chosen] for column in columns)
        return PeopleEvents(people=people, rows=rows, codes=codes, moments=moments, versions=versions)


@dataclass(frozen=True, eq=False, kw_only=True)
class PeopleTable(ArrayMembers):
    """What ``u`` people did with the pieces of one segment: ``z`` pairs of a person and a piece.

    ``ids`` (u) have the order in which people are asked for. ``starts`` (u + 1,) cuts ``rows``, which ascend, and
    beside them ``values``, what a piece adds to the taste, ``grades`` of likes, 0 for none, with ``ranks``, how many of
    the person's likes are later, and ``seen``.
    """

    ids: Strings
    starts: IntArray
    rows: Numbers
    values: FloatArray
    grades: NDArray[np.uint8]
    ranks: NDArray[np.uint16]
    seen: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    def figures(
        self, person: int, snapshot: Snapshot, settings: RankingSettings, preferences: Preferences = NO_PREFERENCES
    ) -> UserFeatures:
        """Return what lists take of a person; the snapshot is of the table's segment alone."""
        said = EffectivePreferences.of(preferences.counted, snapshot, settings)
        # Of one who is switched off nothing counts.
        cut = slice(self.starts[person], self.starts[person + 1] if preferences.personal else self.starts[person])
        rows, grades, ranks = (column[cut].astype(np.int64) for column in (self.rows, self.grades, self.ranks))
        return UserFeatures(
            taste=profile_of_values(ValuedRows(np.zeros_like(rows), rows, self.values[cut]), said, snapshot),
            likes=OwnLikes.within([grades > 0], rows, grades, ranks),
            seen=(rows[self.seen[cut] > 0],),
            met=len(rows) + len(said.stated),
            hidden=said.hidden,
            stated=said.stated,
        )


def people_table(
    ids: Strings, events: PeopleEvents, catalogue: Segment, settings: RankingSettings, today: int
) -> PeopleTable:
    """Return the table of people, from their interactions with a catalogue; ages are counted to a UTC day."""
    order = np.lexsort((-events.versions, -events.moments, events.people))
    events = events.take(order)
    # As one person's are read: the newest of them, whatever became of the pieces.
    starts = starts_of(np.bincount(events.people, minlength=len(ids)))
    events = events.take(np.arange(len(events.people)) - starts[events.people] < MAX_PROFILE_INTERACTIONS)
    in_taste = _in_taste(events, catalogue, len(ids))
    exists = events.rows >= 0
    events, in_taste = events.take(exists), in_taste[exists]
    keys = events.people * max(1, len(catalogue)) + events.rows
    pairs, numbers = np.unique(keys, return_inverse=True)
    counts, weights = counted_weights(numbers, events.codes, events.moments, settings, today)
    counted, sums = exact_sums(numbers[counts & in_taste], weights[counts & in_taste])
    values = np.zeros(len(pairs))
    values[counted] = sums
    people, rows = np.divmod(pairs, max(1, len(catalogue)))
    grades, latest, liked_at = grades_of(numbers, events.codes, events.moments, len(pairs), settings)
    liked = np.flatnonzero(grades)
    grades[liked[~latest_likes(people[liked], rows[liked], latest[liked], most_likes(len(catalogue)))]] = 0
    liked = np.flatnonzero(grades)
    ranks = np.zeros(len(pairs), dtype=np.uint16)
    ranks[liked] = order_of(people[liked], liked_at[liked]).ranks
    seen = np.zeros(len(pairs), dtype=np.uint8)
    seen[numbers[marks_seen(events.codes)]] = 1
    return PeopleTable(
        ids=ids,
        starts=starts_of(np.bincount(people, minlength=len(ids))),
        rows=rows.astype(np.uint32),
        values=values,
        grades=grades.astype(np.uint8),
        ranks=ranks,
        seen=seen,
    )


def _in_taste(events: PeopleEvents, catalogue: Segment, count: int) -> NDArray[np.bool_]:
    """Return which interactions count for the taste, of those sorted by person, newest first; see `kept_length`."""
    found = np.ones(len(events.people), dtype=np.bool_)
    keywords = np.append(np.diff(catalogue.starts), 0)
    # More than all keywords of a person's interactions there cannot be, however often a piece comes.
    total = np.bincount(events.people, weights=keywords[events.rows], minlength=count)
    starts = starts_of(np.bincount(events.people, minlength=count))
    for person in np.flatnonzero(total > MAX_PROFILE_KEYWORDS).tolist():
        cut = slice(starts[person], starts[person + 1])
        pieces, numbers = np.unique(events.rows[cut], return_inverse=True)
        found[cut.start + kept_length(numbers, keywords[pieces]) : cut.stop] = False
    return found
