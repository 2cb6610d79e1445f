"""Shard measures: what a scan ranks pieces by, as it travels to a shard process, and what is found by it there.

Each is a query in the numbers of one segment. What a source has of every piece is not sent with it: the shard makes
norms from the segment, and remembers what part p, the same for everybody, is made from, by name. Part a is sent for
those pieces that have any.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant.index import (
    BlendQuery,
    FloatArray,
    IntArray,
    MeanQuery,
    OverlapQuery,
    PartQuery,
    Segment,
    SharedQuery,
    SimilarityQuery,
    SparseShares,
    engine,
    exact,
    mean_keys,
    shared_hits,
    shared_keys,
)
from penchant.index.best import Hits, Keys, allowed_rows, smallest
from penchant.index.factors import factor_unit, factors_of, scaled_roots
from penchant.index.layout import (
    COUNT,
    DISTANCE_SCALE,
    DOT,
    NOWHERE,
    SIZE,
    Choice,
    KernelQuery,
    Norms,
    PieceFigures,
    Taste,
)
from penchant.index.part import Part
from penchant.index.personal import taste_in
from penchant.live.shard_messages import (
    BlendMeasure,
    BrokenMessage,
    ContentMeasure,
    MeanMeasure,
    Measure,
    OverlapMeasure,
    SharedMeasure,
)
from penchant.live.shard_shares import NamedPopular

VALUE_TYPES = {COUNT: "B", DOT: "hid", SIZE: "hid"}
"""The types that sums of a mode are counted in."""
_NOTHING = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


def measure_of(query: PartQuery, part: Part, popular: NamedPopular | None) -> Measure | None:
    """Return what a query ranks a part's pieces by; ``None`` where it finds none.

    ``popular`` is what part p is made from, ``None`` where it counts nothing.
    """
    match query:
        case SimilarityQuery():
            return _content(query, part)
        case BlendQuery():
            return _blend(query, part, popular)
        case OverlapQuery():
            return OverlapMeasure(packed_numbers(query.terms_in(part)), query.count)
        case MeanQuery():
            content, shared = _content(query.content, part), _shared(query, part)
            return MeanMeasure(content, shared) if content is not None or shared.rows else None
        case SharedQuery():
            shared = _shared(query, part)
            return shared if shared.rows else None
    raise TypeError(type(query))


def _content(query: SimilarityQuery, part: Part) -> ContentMeasure | None:
    found = query.query_in(part)
    if found is None:
        return None
    return ContentMeasure(
        mode=found.mode,
        terms=packed_numbers(found.terms),
        values=found.values.tobytes(),
        values_type=found.values.dtype.char,
        norm=found.norm,
        factors=factors_of(part.segment, query.weights),
    )


def _shared(query: SharedQuery | MeanQuery, part: Part) -> SharedMeasure:
    found = query.shares_in(part)
    return SharedMeasure(packed_numbers(found.rows), found.values.tobytes())


def _blend(query: BlendQuery, part: Part, popular: NamedPopular | None) -> BlendMeasure:
    terms, values = query.terms_in(part)
    liked = query.liked_in(part)
    return BlendMeasure(
        terms=packed_numbers(terms),
        values=values.tobytes(),
        norms=query.norms,
        blending=query.blending,
        factors=factors_of(part.segment, query.category_weights),
        unit=factor_unit(query.category_weights),
        liked_rows=packed_numbers(liked.rows),
        liked=liked.values.tobytes(),
        popular=None if popular is None else popular.message(query.popular.median),
    )


def hits(measure: Measure, segment: Segment, popular: FloatArray | None, choice: Choice) -> Hits:
    """Return what a measure finds best in a segment, as its query does on a node; ``popular`` is part p, if any.

    Raises:
        BrokenMessage: its numbers are none of this segment, on which compiled kernels would run away.
    """
    _require(choice.limit <= NOWHERE)
    match measure:
        case ContentMeasure():
            _require(choice.limit <= DISTANCE_SCALE + 1)
            query, norms = _content_in(measure, segment)
            return engine.nearest(query, segment.postings, segment.frequent, norms, choice)
        case BlendMeasure():
            taste, figures = _blend_in(measure, segment, popular)
            return engine.best(taste, measure.blending, segment.postings, figures, choice)
        case SharedMeasure():
            return shared_hits(_shares_in(measure, segment), choice)
        case _:
            return smallest(keys(measure, segment, popular, allowed_rows(choice.mask, choice.excluded)), choice)


def keys(measure: Measure, segment: Segment, popular: FloatArray | None, rows: IntArray) -> Keys:
    """Return the keys of those of a segment's pieces at some rows that a measure finds, as its query's scan does.

    Raises:
        BrokenMessage: its numbers are none of this segment.
    """
    match measure:
        case ContentMeasure():
            query, norms = _content_in(measure, segment)
            return exact.distances(query, segment.postings, norms, rows)
        case BlendMeasure():
            taste, figures = _blend_in(measure, segment, popular)
            return exact.scores(taste, measure.blending, segment.postings, figures, rows)
        case OverlapMeasure():
            terms = rows_within(measure.terms, len(segment.terms))
            return exact.overlaps(terms, measure.count, segment.starts, segment.postings, rows)
        case SharedMeasure():
            return shared_keys(_shares_in(measure, segment), rows)
        case MeanMeasure():
            near = _NOTHING if measure.content is None else keys(measure.content, segment, None, rows)
            return mean_keys(near, _shares_in(measure.shared, segment), rows)


def _content_in(measure: ContentMeasure, segment: Segment) -> tuple[KernelQuery, Norms]:
    _require(measure.values_type in VALUE_TYPES.get(measure.mode, ""))
    terms, values = rows_within(measure.terms, len(segment.terms)), unpacked(measure.values, measure.values_type)
    _require(len(terms) == len(values) and len(measure.factors) == len(segment.category_names))
    return KernelQuery(measure.mode, terms, values, measure.norm), segment.norms(measure.factors).by(measure.mode)


def _blend_in(measure: BlendMeasure, segment: Segment, popular: FloatArray | None) -> tuple[Taste, PieceFigures]:
    terms, values = rows_within(measure.terms, len(segment.terms)), unpacked(measure.values, "d")
    _require(len(terms) == len(values) and len(measure.factors) == len(segment.category_names))
    figures = PieceFigures(
        roots=scaled_roots(segment, measure.factors, measure.unit),
        popular=np.zeros(len(segment)) if popular is None else popular,
        audience=_shares_of(measure.liked_rows, measure.liked, segment),
    )
    return taste_in(segment, (terms, values), measure.norms), figures


def _shares_in(measure: SharedMeasure, segment: Segment) -> SparseShares:
    return _shares_of(measure.rows, measure.shares, segment)


def _shares_of(packed_rows: bytes, packed_shares: bytes, segment: Segment) -> SparseShares:
    rows, shares = rows_within(packed_rows, len(segment)), unpacked(packed_shares, "d")
    _require(len(rows) == len(shares))
    return SparseShares(rows, shares)


def packed_numbers(numbers: IntArray) -> bytes:
    """Return terms or rows as they are sent, four bytes each."""
    return numbers.astype(np.uint32).tobytes()


def rows_within(packed: bytes, count: int) -> IntArray:
    """Return terms or rows that were sent; raises `BrokenMessage` unless all are of so many, and ascend."""
    numbers = unpacked(packed, "I").astype(np.int64)
    _require(not len(numbers) or (int(numbers[-1]) < count and not bool((np.diff(numbers) < 0).any())))
    return numbers


def unpacked(packed: bytes, code: str) -> NDArray[Any]:
    """Return an array that was sent."""
    try:
        # Copied, since what comes off the wire may not be written to, and compiled kernels want what may.
        return np.frombuffer(packed, dtype=code).copy()
    except ValueError as error:
        raise BrokenMessage(str(error)) from error


def _require(is_sound: bool) -> None:  # noqa: FBT001  # it is what is asked
    if not is_sound:
        raise BrokenMessage("a scan does not fit its segment")
