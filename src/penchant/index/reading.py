"""Reading: stored pieces as numbers, without an object of Python for each; terms are numbered as they come."""

import numpy as np

from penchant.index import engine
from penchant.index.layout import BodyForm, IntArray, PiecePairs, TermTable
from penchant.index.strings import Strings

LEAST_ROOM = 1 << 16
TERM_BYTES = 32
"""Terms that a reader has room for at first, a power of 2, and the bytes of each on average."""
GROWTH = 8
"""Few sources have more terms, and a table that fits the processor's cache is faster."""


class TermReader:
    """Reads pieces by the kernel, one batch after the other; a term keeps its number."""

    def __init__(self) -> None:
        self._table: TermTable | None = None
        self._sizes = np.zeros(2, dtype=np.int64)

    def read(self, text: bytes, starts: IntArray, form: BodyForm) -> PiecePairs | None:
        """Return the pairs of stored pieces, ``None`` where the kernel is not ready.

        ``starts`` cuts ``text``, which has a byte more, into bodies.
        """
        table = self._table = self._table or _table(LEAST_ROOM)
        while True:
            pairs = engine.read_pieces(text, starts, form, table, self._sizes)
            if pairs is None or self._sizes[0] >= 0:
                return pairs
            table = self._table = _grown(table, int(self._sizes[1]))

    def terms(self) -> Strings:
        """Return all terms in the order of their numbers; there may be some that no piece has."""
        if self._table is None:
            return Strings.of(())
        cuts = self._table.starts[: self._sizes[1] + 1]
        return Strings(cuts, self._table.text[: cuts[-1]])


def _table(room: int) -> TermTable:
    """Return a table for so many terms."""
    return TermTable(
        slots=np.zeros((2 * room, 2), dtype=np.int64),
        starts=np.zeros(room + 1, dtype=np.int64),
        text=np.empty(room * TERM_BYTES, dtype=np.uint8),
        pieces=np.empty(room, dtype=np.int32),
    )


def _grown(table: TermTable, count: int) -> TermTable:
    """Return a larger table with the first terms of another one."""
    grown = _table(len(table.pieces) * GROWTH)
    grown.starts[: count + 1] = table.starts[: count + 1]
    grown.text[: table.starts[count]] = table.text[: table.starts[count]]
    engine.rehash(table.slots, count, grown.slots)
    return grown
