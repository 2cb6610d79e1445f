"""Overlap: a set of terms as a query, by how much pieces overlap with it, whatever the weights."""

from collections.abc import Sequence

from penchant.index import exact
from penchant.index.best import Keys
from penchant.index.building import term_table
from penchant.index.layout import NOWHERE, Choice, IntArray
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.queries import scanned
from penchant.model import Term


class OverlapQuery:
    """Finds the pieces whose terms overlap most with these; keys are minus the Jaccard similarities in their unit.

    Without ``fill`` pieces without any overlap are left out.
    """

    def __init__(self, terms: Sequence[Term], *, fill: bool) -> None:
        self._count = len(terms)
        self.limit = NOWHERE if fill else 0
        self._keys = term_table(terms)

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> list[tuple[int, str]]:
        """Return keys and ids of the pieces of one part that overlap most."""
        return scanned(part, self.scan, Choice(part.allowed(shown), part.excluded(shown), take, limit))

    def scan(self, part: Part, rows: IntArray) -> Keys:
        """Return the keys of one part's pieces at some rows."""
        segment = part.segment
        known = segment.terms.find_all(self._keys)
        return exact.overlaps(known[known >= 0], self._count, segment.starts, segment.postings, rows)
