"""Samples of catalogues: some of the pieces, evenly chosen, with their terms, in arrays that depend on nothing else.

The same pieces are chosen however they lie in segments, so that every worker and node shows the same of a version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from penchant.index.arrays import starts_of
from penchant.index.factors import factors_of
from penchant.index.layout import FloatArray, IntArray
from penchant.index.part import Part
from penchant.index.snapshot import Snapshot
from penchant.index.strings import Strings

SAMPLED = 10_000
"""Pieces that a sample has at most."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CatalogueSample:
    """``m`` pieces, ``v`` terms, ``z`` pairs of both; ``ids`` (m) and ``terms`` (v) ascend.

    ``starts`` (m + 1,) cuts ``piece_terms`` and ``weights`` (z,), each times its category's weight, into pieces.
    """

    ids: Strings
    terms: Strings
    starts: IntArray
    piece_terms: IntArray
    weights: FloatArray


def sampled_rows(snapshot: Snapshot) -> list[IntArray]:
    """Return the rows of the sampled pieces by part: all of a small catalogue, else those whose ids hash least."""
    live = [np.flatnonzero(part.live) for part in snapshot.parts]
    if snapshot.piece_count <= SAMPLED:
        return live
    hashes = [_hashes(part.segment.ids)[rows] for part, rows in _pairs(snapshot, live)]
    # Of equal hashes at the limit none is taken, whose order would be that of parts.
    limit = np.partition(np.concatenate(hashes), SAMPLED)[SAMPLED]
    return [rows[found < limit] for rows, found in zip(live, hashes, strict=True)]


def sampled_ids(snapshot: Snapshot) -> frozenset[str]:
    """Return the ids of the sampled pieces."""
    return frozenset(
        piece_id for part, rows in _pairs(snapshot, sampled_rows(snapshot)) for piece_id in part.segment.ids.take(rows)
    )


def sample(snapshot: Snapshot, category_weights: Mapping[str, float]) -> CatalogueSample:
    """Return the sample of a catalogue; costs a pass over its ids, and nothing for keywords of other pieces."""
    ids: list[bytes] = []
    keys: list[list[bytes]] = []
    columns = []
    for part, rows in _pairs(snapshot, sampled_rows(snapshot)):
        segment = part.segment
        counts = np.diff(segment.starts)[rows]
        starts = starts_of(counts)
        pairs = np.arange(starts[-1]) + np.repeat(segment.starts[:-1][rows] - starts[:-1], counts)
        used, numbers = np.unique(segment.piece_terms[pairs], return_inverse=True)
        factors = np.asarray(factors_of(segment, category_weights), dtype=np.float64)[segment.category_of]
        columns.append((counts, numbers, segment.piece_weights[pairs] * factors[segment.piece_terms[pairs]]))
        keys.append([segment.terms.encoded(term) for term in used.tolist()])
        ids.extend(segment.ids.encoded(row) for row in rows.tolist())
    terms = sorted(set().union(*keys))
    places = {key: place for place, key in enumerate(terms)}
    renumbered = [np.asarray([places[key] for key in each], dtype=np.int64) for each in keys]
    counts = _joined([each[0] for each in columns])
    numbers = _joined([new[each[1]] for new, each in zip(renumbered, columns, strict=True)])
    order = np.asarray(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    starts = starts_of(counts[order])
    pairs = np.arange(starts[-1]) + np.repeat(starts_of(counts)[:-1][order] - starts[:-1], counts[order])
    return CatalogueSample(
        ids=Strings.of_encoded([ids[row] for row in order.tolist()]),
        terms=Strings.of_encoded(terms),
        starts=starts,
        piece_terms=numbers[pairs],
        weights=_joined([each[2] for each in columns])[pairs].astype(np.float64),
    )


def _hashes(ids: Strings) -> IntArray:
    return np.asarray([crc32(encoded) for encoded in ids.all_encoded()], dtype=np.int64)


def _pairs(snapshot: Snapshot, rows: Sequence[IntArray]) -> list[tuple[Part, IntArray]]:
    return list(zip(snapshot.parts, rows, strict=True))


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])
