"""Merging: rows of a table that describe one piece, such as variants of a product or authors of a book."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any

from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import TableRow
from penchant.importing.interactions import problem_draft
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder

APART = (
    "an earlier row of this id stands apart, and is replaced by this one; sort the file by id to have such rows merged"
)
Take = Callable[[PieceBuilder, Mapping[str, Any]], None]
"""Takes the values of a row into a piece."""


class RowMerger:
    """Makes pieces of the rows of a file: consecutive rows of one id become one piece.

    Of rows of one id that stand apart the last ones count, which is noted. Costs some 100 bytes of memory an id.
    """

    def __init__(self, file: str, id_column: str, options: ImportOptions, notes: Notes) -> None:
        self._file = file
        self._id_column = id_column
        self._options = options
        self._notes = notes

    def pieces(self, rows: Iterable[TableRow], take: Take) -> Iterator[Draft]:
        """Yield the pieces, and the drafts of rows that cannot be read; a row without an id is one by itself."""
        column, seen = self._id_column, set[int]()
        for key, group in groupby(rows, lambda row: row.line if row.problem else row.values[column] or row.line):
            first, others = next(group), group  # noqa: B031  # each row is read once
            if first.problem:
                yield problem_draft(DraftKind.PIECE, (self._file, first.line), "", first.problem)
                continue
            # Hashes, not ids, to save memory: two ids with the same one would cost a note that is wrong, no piece.
            if hash(key) in seen:
                self._notes.left_out(self._file, column, APART, first.line)
            seen.add(hash(key))
            builder = PieceBuilder(self._notes, self._file, first.line, first.values[column], options=self._options)
            for row in chain((first,), others):
                builder.continue_at(row.line)
                self._notes.mapped(self._file, column, "id")
                take(builder, row.values)
            yield builder.draft()
