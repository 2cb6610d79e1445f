"""Decoding: stored pieces become a segment, without an object for each of them or of their keywords."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from penchant.storage import PieceChange
from penchant.wire.attributes import decode_stored_marks
from penchant.wire.stored import AS_SUBMITTED, PieceReading, decode_stored_filters, decode_stored_keywords
from penchant_engine.attributes import Attribute
from penchant_engine.index import Segment, Strings
from penchant_engine.index.building import NO_ATTRIBUTES, PieceColumns, moments_of, segment_of, term_key


class PieceReader:
    """Reads stored pieces, whose ids are distinct, some thousands at a time, and makes one segment of all.

    ``attributes`` are those by which the pieces are marked, ``names`` those that the segment tells. ``reading`` says
    what their keywords are.
    """

    def __init__(
        self,
        attributes: Sequence[Attribute] = (),
        names: Strings = NO_ATTRIBUTES,
        reading: PieceReading = AS_SUBMITTED,
    ) -> None:
        self._attributes = attributes
        self._names = names
        self._reading = reading
        self._numbers: dict[str, _KeywordNumbers] = {}
        self._count = itertools.count()
        self._terms_in = reading.terms(self._numbers_in)
        self._columns: list[PieceColumns] = []
        self.count = 0

    def add(self, changes: Sequence[PieceChange]) -> None:
        """Read some pieces, none of which is deleted."""
        if not changes:
            return
        self.count += len(changes)
        terms: list[int] = []
        weights: list[int] = []
        counts: list[int] = []
        weighted: list[bool] = []
        filters_of: list[int] = []
        filters: dict[bytes, int] = {}
        for change in changes:
            keywords = self._reading.keywords_of(change.body, change.words)
            piece = decode_stored_keywords(change.body, self._terms_in, keywords)
            terms += piece.weights
            weights += piece.weights.values()
            counts.append(len(piece.weights))
            weighted.append(piece.weighted)
            filters_of.append(filters.setdefault(piece.filters, len(filters)))
        # What pieces share is decoded once.
        shown = list(map(decode_stored_filters, filters))
        has_begin, begins = moments_of([each.available_from for each in shown])
        numbers = np.asarray(filters_of, dtype=np.int64)
        submitted = np.asarray([change.first_submitted_at for change in changes], dtype=np.int64)
        columns = PieceColumns(
            ids=[change.id for change in changes],
            counts=np.asarray(counts, dtype=np.int64),
            piece_terms=np.asarray(terms, dtype=np.uint32),
            piece_weights=np.asarray(weights, dtype=np.uint16),
            weighted=np.asarray(weighted, dtype=np.uint8),
            available_from=np.where(has_begin[numbers], begins[numbers], submitted),
            filters=shown,
            filters_of=numbers,
            marks=[decode_stored_marks(each.body, self._attributes) for each in changes] if self._attributes else (),
        )
        self._columns.append(columns)

    def anew(self) -> "PieceReader":
        """Return a reader for other pieces of the same source."""
        return PieceReader(self._attributes, self._names, self._reading)

    def segment(self) -> Segment | None:
        """Return the segment of all pieces that were read; ``None`` if there were none."""
        if not self.count:
            return None
        terms = [
            (number, term_key(category, keyword))
            for category, numbers in self._numbers.items()
            for keyword, number in numbers.items()
        ]
        terms.sort()
        table = Strings.of(term for _, term in terms)
        return segment_of(table, self._columns, self._names, self._reading.name)

    def _numbers_in(self, category: str) -> Callable[[str], int]:
        """Return what makes of a keyword in a category the number of its term."""
        numbers = self._numbers.get(category)
        if numbers is None:
            numbers = self._numbers[category] = _KeywordNumbers(self._count)
        return numbers.__getitem__


class _KeywordNumbers(dict[str, int]):
    """The keywords of a category by the numbers of their terms; one that is asked for first has the next."""

    def __init__(self, count: Iterator[int]) -> None:
        super().__init__()
        self._next = count

    def __missing__(self, keyword: str) -> int:
        number = self[keyword] = next(self._next)
        return number
