"""Marking: a snapshot under other attributes, from the marks of all its pieces; nothing else of it is made anew."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from penchant.index.assembling import RowLists, list_rows, mark_arrays
from penchant.index.building import merge_rows
from penchant.index.part import Part
from penchant.index.snapshot import Snapshot
from penchant.index.strings import Strings

Marks = Mapping[str, Sequence[str]]
"""The marks of pieces by id."""
GATHERED_PIECES = 20_000
"""Pieces whose marks are gathered as Python's objects before they become arrays."""


def has_attributes(snapshot: Snapshot, attributes: Strings) -> bool:
    """Return whether the marks of all pieces are of these attributes; where there is no piece, they are of any."""
    wanted = list(attributes)
    return all(list(part.segment.attributes) == wanted for part in snapshot.parts)


def is_read_as(snapshot: Snapshot, reading: str) -> bool:
    """Return whether the keywords of all pieces were read in the way of this name."""
    wanted = [reading] if reading else []
    return all(list(part.segment.reading) == wanted for part in snapshot.parts)


def mark(snapshot: Snapshot, attributes: Strings, batches: Iterable[Marks]) -> Snapshot:
    """Return a snapshot whose pieces have the marks that all batches together give them, of these attributes."""
    found = [_MarkGatherer(part) for part in snapshot.parts]
    for batch in batches:
        ids = sorted(batch)
        table = Strings.of(ids)
        for each in found:
            each.add(table, [batch[piece_id] for piece_id in ids])
    return Snapshot([each.marked(attributes) for each in found])


class _MarkGatherer:
    """Gathers the marks of one part's pieces."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._lists: list[RowLists] = []
        self._rows_of: dict[str, list[int]] = defaultdict(list)
        self._count = 0

    def add(self, ids: Strings, marks: Sequence[Sequence[str]]) -> None:
        """Add the marks of these pieces, of which the part may have any; ids ascend."""
        rows = self._part.segment.ids.find_all(ids)
        # Rows ascend within a batch, though not from one to the next: `merge_rows` orders those.
        for place in np.flatnonzero(rows >= 0).tolist():
            for each in marks[place]:
                self._rows_of[each].append(int(rows[place]))
            self._count += 1
        if self._count >= GATHERED_PIECES:
            self._flush()

    def marked(self, attributes: Strings) -> Part:
        """Return the part with all marks that were added."""
        self._flush()
        every = np.arange(len(self._part.segment))
        merged = merge_rows(self._lists, [every] * len(self._lists))
        return self._part.within(replace(self._part.segment, attributes=attributes, **mark_arrays(merged)))

    def _flush(self) -> None:
        self._lists.append(list_rows(self._rows_of))
        self._rows_of, self._count = defaultdict(list), 0
