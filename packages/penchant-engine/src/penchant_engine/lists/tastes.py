"""Tastes as rows of a page: the keywords that a person likes of which there is enough to show."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from penchant_engine.index import Filter, IntArray, Snapshot
from penchant_engine.index.building import term_key
from penchant_engine.model import Term

LEAST_SHOWN = 5
"""Pieces that a row of a page needs: with fewer it looks like a mistake (interface, section 10)."""


class ShownPieces:
    """The pieces of a snapshot that a person may be shown, to be counted by their terms.

    Those that a filter lets through, but for ``left_out``: rows for each part of the snapshot, none at all for nothing.
    """

    def __init__(self, snapshot: Snapshot, shown: Filter, left_out: Sequence[IntArray]) -> None:
        self._parts = snapshot.parts
        self._shown = [part.allowed(shown) > 0 for part in self._parts]
        for number, part in enumerate(self._parts):
            self._shown[number][part.excluded(shown)] = False
            if left_out:
                self._shown[number][left_out[number]] = False

    def count(self, term: Term) -> int:
        """Return how many of them have a term."""
        key = term_key(*term)
        pairs = zip(self._parts, self._shown, strict=True)
        return sum(int(np.count_nonzero(shown[part.segment.having(key)])) for part, shown in pairs)


def showable(profile: Mapping[Term, int], pieces: ShownPieces, category: str) -> Iterator[tuple[Term, int]]:
    """Yield the liked terms of a category with their scores, the strongest first, that enough pieces have."""
    liked = [(-score, term) for term, score in profile.items() if score > 0 and term.category == category]
    for negative, term in sorted(liked):
        if pieces.count(term) >= LEAST_SHOWN:
            yield term, -negative
