"""Bulk placement inputs: what the lists of a placement are made from for everybody, beside what all lists are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from penchant.live.array_files import FileKind
from penchant.live.views import View
from penchant.service.lists.kinds import counts_trend
from penchant.storage import Storage
from penchant_engine.index import FloatArray, IntArray, PieceCounts, Segment, Strings
from penchant_engine.index.arrays import starts_of
from penchant_engine.index.records import ArrayMembers
from penchant_engine.lists.similar import require_neighbours
from penchant_engine.model import (
    DAY_MS,
    MAX_PROFILE_INTERACTIONS,
    StoredInteraction,
)
from penchant_rows.errors import UnknownPlacement
from penchant_rows.model import PlacementKind
from penchant_rows.service.inputs import MAX_PASSED_OVER, shown_since
from penchant_rows.service.kinds import ListWish, PlacementRequest
from penchant_rows.service.lists import under_rules, wanted_of
from penchant_rows.service.results import worse_variants
from penchant_rows.service.versions import PlacementInForce, placements_of, read_row
from penchant_rows.storage.impressions import ImpressionStore
from penchant_rows.storage.placements import PlacementRow, PlacementStore
from penchant_rows.wire.placements import ListRules

_BY_HISTORY = {PlacementKind.AGAIN, PlacementKind.BECAUSE, PlacementKind.KEYWORD}
"""Kinds of lists that are made from what a person did, one by one."""


class BulkPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a placement, its variants that nobody is shown, and the piece beside which its lists are."""

    row: PlacementRow
    stopped: tuple[str, ...]
    content_id: str | None

    @property
    def in_force(self) -> PlacementInForce:
        """The placement; read anew each time."""
        return read_row(self.row)

    def rules(self) -> list[ListRules]:
        """Return what lists are made by: of the placement itself, and of the variants that somebody is shown."""
        spec = self.in_force.spec
        return [spec.rules, *(each.rules for each in spec.variants if each.name not in self.stopped)]


@dataclass(frozen=True, eq=False, kw_only=True)
class PlacementFacts(ArrayMembers):
    """What ``u`` people did and passed over, newest first, and trends; empty where no list takes account of them.

    ``pieces`` are the ids that the numbers in ``did`` and ``passed`` stand for. ``did_starts`` (u + 1,) cuts ``did``
    (3, n), piece, code and moment, into people; ``passed_starts`` cuts ``passed`` (2, n), piece and how
    often it was shown and passed over. ``trends`` has how many people like each piece of a segment, a row for each of
    ``half_lives`` in days.
    """

    pieces: Strings
    did_starts: IntArray
    did: IntArray
    passed_starts: IntArray
    passed: IntArray
    half_lives: IntArray
    trends: FloatArray

    @classmethod
    def none(cls) -> "PlacementFacts":
        """Return the facts for lists that are of no placement."""
        starts, numbers = np.zeros(1, dtype=np.int64), np.zeros((3, 0), dtype=np.int64)
        return cls(
            pieces=Strings.of(()),
            did_starts=starts,
            did=numbers,
            passed_starts=starts,
            passed=numbers[:2],
            half_lives=starts[:0],
            trends=np.zeros((0, 0)),
        )

    def interactions(self, person: int, user_id: str) -> list[StoredInteraction]:
        """Return what a person did, newest first."""
        pieces, codes, moments = self.did[:, self.did_starts[person] : self.did_starts[person + 1]].tolist()
        rows = zip(codes, self.pieces.take(pieces), moments, strict=True)
        return [StoredInteraction.of_code(*each, user_id) for each in rows]

    def passed_over(self, person: int) -> dict[str, int]:
        """Return how often a person was shown each piece and passed it over."""
        pieces, counts = self.passed[:, self.passed_starts[person] : self.passed_starts[person + 1]].tolist()
        return dict(zip(self.pieces.take(pieces), counts, strict=True))

    def count_likes(self, half_life_days: int, segment: Segment) -> PieceCounts:
        """Return how many people like each piece of the segment where one counts half after so many days."""
        (place,) = np.flatnonzero(self.half_lives == half_life_days)
        return PieceCounts.of_rows(segment, self.trends[place])


FACTS = FileKind(
    name="placement", suffix=".placement", magic=b"penchant placed ", format=2, of_arrays=PlacementFacts.of_arrays
)


def read_placement(storage: Storage, view: View, name: str, content_id: str | None, now: int) -> BulkPlacement:
    """Return a placement as a view has it, if its lists can be made for everybody.

    Raises:
        UnknownPlacement: there is none of this name.
        InvalidInput: a filter no longer fits the attributes, or a list needs a piece, and none is named.
        UnknownPiece, TooFewPieces: there is nothing beside the piece that is named.
    """
    version = placements_of(view).get(name)
    row = None if version is None else storage.store(PlacementStore).read(view.head.source_id, name, version)
    if row is None:
        raise UnknownPlacement(f"The source has no placement {name!r}.")
    stopped = worse_variants(storage, view.head, read_row(row), now // DAY_MS)
    placement = BulkPlacement(row=row, stopped=tuple(sorted(stopped)), content_id=content_id)
    request = PlacementRequest(placement=name, content_id=content_id)
    for rules in placement.rules():
        shown = under_rules(view, rules)
        wanted = wanted_of(shown, rules, request)
        # What cannot be made is filled by another list, if there is one.
        last = rules.kind if rules.fallback is None else rules.fallback
        if last == PlacementKind.SIMILAR:
            piece_id = ListWish(shown, rules, request, wanted).similar.piece_id
            require_neighbours(shown, piece_id)
            shown.snapshot.asked(piece_id, None, shown.settings.category_factors)
    return placement


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordedEvents:
    """The interactions of a source: person, piece, code, moment and version of each, shape (5, n).

    ``people`` and ``pieces`` have the numbers that stand for ids.
    """

    people: Mapping[str, int]
    pieces: Mapping[str, int]
    table: IntArray


class FactsReader:
    """Gathers what a placement takes of people, who are asked for in the order of ``ids``."""

    def __init__(self, placement: BulkPlacement, ids: Sequence[str], events: RecordedEvents) -> None:
        self._placement = placement
        self._numbers = {user_id: number for number, user_id in enumerate(ids)}
        self._events = events
        self._pieces = dict(events.pieces)

    def read(self, storage: Storage, view: View, now: int, trends: Mapping[int, FloatArray]) -> PlacementFacts:
        """Return the facts; ``trends`` are counts by half-life."""
        kinds = set().union(*(rules.kinds for rules in self._placement.rules()))
        did_starts, did = self._cut(self._did() if kinds & _BY_HISTORY else np.zeros((4, 0), dtype=np.int64))
        passed_starts, passed = self._cut(self._passed(storage, view, now))
        return PlacementFacts(
            pieces=Strings.of(self._pieces),
            did_starts=did_starts,
            did=did,
            passed_starts=passed_starts,
            passed=passed,
            half_lives=np.asarray(list(trends), dtype=np.int64),
            trends=np.stack([*trends.values()]) if trends else np.zeros((0, 0)),
        )

    def _did(self) -> IntArray:
        """Return person, piece, code and moment of what these people did, by person, newest first; shape (4, n)."""
        numbers = np.full(len(self._events.people), -1, dtype=np.int64)
        for user_id, known in self._events.people.items():
            numbers[known] = self._numbers.get(user_id, -1)
        people, pieces, codes, moments, versions = self._events.table
        people = numbers[people] if len(numbers) else people
        order = np.lexsort((-versions, -moments, people))
        order = order[people[order] >= 0]
        people = people[order]
        # As one person's are read: the newest of them.
        first = starts_of(np.bincount(people, minlength=len(self._numbers)))[people]
        kept = np.arange(len(people)) - first < MAX_PROFILE_INTERACTIONS
        return np.stack((people, pieces[order], codes[order], moments[order]))[:, kept]

    def _passed(self, storage: Storage, view: View, now: int) -> IntArray:
        """Return person, piece and how often it was passed over, by person; shape (3, n)."""
        found: list[tuple[int, int, int]] = []
        if any(rules.rotation for rules in self._placement.rules()):
            shown = storage.store(ImpressionStore).passed_over_by_all(
                view.head.source_id,
                view.head.incarnation,
                self._numbers,
                self._placement.row.name,
                since=shown_since(view, now),
                limit=MAX_PASSED_OVER,
            )
            for user_id, counts in shown:
                person = self._numbers[user_id]
                found += [(person, self._pieces.setdefault(each, len(self._pieces)), n) for each, n in counts.items()]
        table = np.asarray(found, dtype=np.int64).reshape(-1, 3)
        return np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")].T)

    def _cut(self, table: IntArray) -> tuple[IntArray, IntArray]:
        """Return where each person's columns begin, and all rows but that of people."""
        return starts_of(np.bincount(table[0], minlength=len(self._numbers))), np.ascontiguousarray(table[1:])


def half_lives(placement: BulkPlacement) -> set[int]:
    """Return the half-lives, in days, under which popularity has to be counted apart."""
    popular = (rules for rules in placement.rules() if PlacementKind.POPULAR in rules.kinds)
    return {rules.half_life_days or 0 for rules in popular if counts_trend(rules.half_life_days)}
