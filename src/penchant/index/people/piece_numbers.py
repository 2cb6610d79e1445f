"""Piece numbers: those of a base of likes, and after them those of later pieces, in the order in which they came.

Numbers are only ever added, so that counts of different moments share them: each knows how many there were.
"""

from weakref import WeakKeyDictionary

import numpy as np

from penchant.index.layout import IntArray
from penchant.index.people.likes import Likes
from penchant.index.segment import Segment
from penchant.index.strings import Strings


class PieceNumbers:
    """The numbers of pieces that people have done something with; one thread adds, any number of threads may ask.

    ``added`` are those that the base does not have, with their numbers, in this order.
    """

    def __init__(self, base: Likes) -> None:
        self._base = base
        self._first = len(base.ids)
        self.added: dict[str, int] = {}
        # The same in a form that can be read while it grows.
        self._new: list[str] = []
        # By segment: how many were numbered when it was asked for last, and the number of each of its pieces.
        self._found: WeakKeyDictionary[Segment, tuple[int, IntArray]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return self._first + len(self._new)

    def number(self, piece_id: str) -> int:
        """Return the number of a piece, which gets the next one where it has none."""
        number = self.added.get(piece_id)
        if number is None:
            number = self._base.ids.find(piece_id)
        if number is None:
            number = self.added[piece_id] = len(self)
            self._new.append(piece_id)
        return number

    def of_segment(self, segment: Segment, size: int) -> IntArray:
        """Return the number of each of a segment's pieces when there were ``size``, -1 for those without one."""
        numbered, numbers = self._found.get(segment) or (self._first, self._base.numbers_of(segment))
        if numbered > size:
            return np.where(numbers < size, numbers, -1)
        if numbered < size:
            rows = segment.ids.find_all(Strings.of(self._new[numbered - self._first : size - self._first]))
            if (rows >= 0).any():
                # Who asked before may still read them.
                numbers = numbers.copy()
                numbers[rows[rows >= 0]] = numbered + np.flatnonzero(rows >= 0)
            self._found[segment] = size, numbers
        return numbers
