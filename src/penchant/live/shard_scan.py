"""Shard scan: a query of any kind, made ready for the shard processes that hold segments of a snapshot.

Packing looks at all pieces that a person's likes say something of: for lists of people it is done in a thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from penchant.index import BlendQuery, Filter, IntArray, PartQuery, PiecePosition, Snapshot
from penchant.index.part import Part
from penchant.live.shard_measures import measure_of, packed_numbers
from penchant.live.shard_messages import (
    BestRows,
    FileName,
    Goal,
    LiveRows,
    Measure,
    PopularChanges,
    PopularShares,
    RowKey,
    RowsAhead,
    ScanAnswer,
    ScanOutcome,
    ScanRequest,
    SegmentState,
    pack_clause,
)
from penchant.live.shard_shares import NamedPopular, NamedShares, PopularNames


@dataclass(frozen=True, slots=True, eq=False)
class ShardScan:
    """A query with what travels of it, by the parts that shard processes are asked for.

    ``popular`` is what part p is made from, which a shard is told only where it does not know it.
    """

    query: PartQuery
    measures: Mapping[Part, Measure]
    popular: Mapping[Part, NamedPopular]

    @classmethod
    def of(cls, query: PartQuery, snapshot: Snapshot, names: PopularNames) -> "ShardScan":
        """Return a query over the parts of a snapshot that come from a file, but for those where it finds nothing."""
        parts = [part for part in snapshot.parts if part.origin is not None]
        # What counts nothing need not be known.
        blend = query if isinstance(query, BlendQuery) and query.blending.popularity else None
        popular = {} if blend is None else {part: names.named(blend, part) for part in parts}
        packed = {part: measure_of(query, part, popular.get(part)) for part in parts}
        return cls(query, {part: measure for part, measure in packed.items() if measure is not None}, popular)

    def request(self, number: int, part: Part, shown: Filter, choice: tuple[int, int]) -> ScanRequest:
        """Return what a shard scans a part by; ``choice`` is how many pieces, and the limit."""
        return self._request(number, part, shown, self.query.excluded_in(part, shown), BestRows(*choice))

    def key_request(self, number: int, part: Part, row: int) -> ScanRequest:
        """Return what a shard finds the key of one piece of a part by."""
        return self._request(number, part, Filter(moment=0), np.zeros(0, dtype=np.int64), RowKey(row))

    def ahead_request(self, number: int, part: Part, position: PiecePosition) -> ScanRequest:
        """Return what a shard counts by which pieces of a part come before a position."""
        goal = RowsAhead(position.key, position.row_in(part))
        return self._request(number, part, position.shown, part.excluded(position.shown), goal)

    def _request(self, number: int, part: Part, shown: Filter, excluded: IntArray, goal: Goal) -> ScanRequest:
        file, place = _name_of(part)
        return ScanRequest(
            number=number,
            file=file,
            place=place,
            live=part.live_digest,
            measure=self.measures[part],
            moment=shown.moment,
            catalogs=None if shown.catalogs is None else tuple(sorted(shown.catalogs)),
            clause=None if shown.matching is None else pack_clause(shown.matching.clause),
            excluded=packed_numbers(excluded),
            goal=goal,
        )

    def states(self, part: Part, answer: ScanAnswer) -> list[SegmentState]:
        """Return what a shard has to be told that could not scan a part, nothing where that does not help."""
        file, place = _name_of(part)
        if answer.outcome is ScanOutcome.MISSING_ROWS:
            return [LiveRows(file, place, part.live_digest, part.gone_rows.tobytes())]
        if answer.outcome is ScanOutcome.MISSING_SHARES:
            missing = [each for each in self.popular.get(part, ()) if each.name and each.name not in answer.held]
            return [_told(each, answer.held, file, place) for each in missing]
        return []


def _told(named: NamedShares, held: Sequence[bytes], file: FileName, place: int) -> SegmentState:
    """Return shares as a shard is told that holds some: what has changed of these, if it can be."""
    changed = named.changed_since(held)
    if changed is None:
        return PopularShares(file, place, named.name, named.shares.tobytes())
    before, rows = changed
    return PopularChanges(file, place, before, named.name, packed_numbers(rows), named.shares[rows].tobytes())


def _name_of(part: Part) -> tuple[FileName, int]:
    """Return the file and place of a part that has an origin."""
    assert part.origin is not None  # noqa: S101  # no other part has a measure
    return cast("FileName", part.origin.file), part.origin.place
