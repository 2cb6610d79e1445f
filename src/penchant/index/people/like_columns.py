"""Like columns: what a like of each piece says for one piece, of which many people's part a is added up at once."""

import numpy as np
from numpy.typing import NDArray

from penchant.index.layout import DIRECT_SCALE, LENT_SCALE, OWN_SCALE, SHARE_SCALE, FloatArray, IntArray, Numbers
from penchant.index.people.weights import AudienceWeights
from penchant.index.segment import Segment


class LikeColumns:
    """A piece's column of the weights W, those of its stand-ins, and their shares, by the rows of a catalogue.

    All are integers, so that part a comes out as `engine.shares` has it. A piece that the weights do not know gets
    nothing from anybody.
    """

    def __init__(self, weights: AudienceWeights, piece_id: str, catalogue: Segment) -> None:
        self._loan = weights.source_figures.loan
        self._evidence = 0.0
        # The last entry, 0, is that of pieces without a row, -1.
        direct, lent, own = columns = np.zeros((3, len(weights.ids) + 1), dtype=np.int64)
        row = weights.ids.find(piece_id)
        if row is not None:
            self._evidence = int(weights.evidence[row]) / SHARE_SCALE
            _add_column(direct, weights, row, 1)
            for stand_in, share in weights.stand_ins_of(row):
                _add_column(lent, weights, stand_in, share)
                own[stand_in] += share
        self._direct, self._lent, self._own = columns[:, weights.rows_of(catalogue)]

    def alike(self, starts: IntArray, rows: Numbers | IntArray, grades: NDArray[np.uint8] | IntArray) -> FloatArray:
        """Return part a of the piece for people: ``starts`` (u + 1,) cuts rows and grades, 0 for no like, into them."""
        grades = grades.astype(np.int64)
        direct, lent, liked = (_sums(column[rows] * grades, starts) for column in (self._direct, self._lent, self._own))
        found: FloatArray = direct / DIRECT_SCALE + self._evidence * (
            lent / LENT_SCALE + self._loan * (liked / OWN_SCALE)
        )
        return found


def _add_column(sums: IntArray, weights: AudienceWeights, row: int, factor: int) -> None:
    """Add, by liked piece, so many times what its like says of the piece of a row."""
    entries = np.flatnonzero(weights.targets == row)
    owners = np.searchsorted(weights.starts, entries, side="right") - 1
    # A like says one thing of a piece, so no owner comes twice.
    sums[owners] += factor * weights.values[entries].astype(np.int64)


def _sums(values: IntArray, starts: IntArray) -> IntArray:
    """Return the sum of each run of values."""
    running = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=running[1:])
    return running[starts[1:]] - running[starts[:-1]]
