"""Likeness maps: the pieces of a catalogue as points of a plane, alike ones near each other.

A projection by landmarks, with nothing left to chance, so that the same pieces give the same map:

    pieces x terms     weights by how rare a keyword is, each piece of length 1; keywords of one piece tell nothing
    pieces x 16        their strongest directions (randomised singular values, a fixed seed)
    landmarks x 16     up to 160 means of alike pieces: farthest first, then a few rounds of k-means
    landmarks x 2      by t-SNE from a classical scaling, 250 steps
    pieces x 2         the mean of the nearest landmarks' points, those of one landmark spread around it

What stands near is alike; what stands far apart may be alike in something else, since a plane has too little room.
Of a large catalogue a sample is shown, in arrays that depend on nothing else: the same pieces are chosen however they
lie in segments, so that every worker and node shows the same of a version.

Halko, Martinsson, Tropp: Finding structure with randomness (2011); van der Maaten, Hinton: Visualizing data using t-SNE
(2008); de Silva, Tenenbaum: Sparse multidimensional scaling using landmark points (2004).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.arrays import run_places, starts_of
from penchant_engine.index.building import term_of
from penchant_engine.index.factors import factors_of
from penchant_engine.index.layout import FloatArray, IntArray
from penchant_engine.index.part import Part
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings
from penchant_engine.model import Term

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
        pairs = run_places(segment.starts[rows], counts)
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
    pairs = run_places(starts_of(counts)[:-1][order], counts[order])
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


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


SIDE = 600
"""Points have whole coordinates from 0 to here."""
MARGIN, LOWER = 12, 36
"""Room around the points, and below them for those that stand apart, ``STEP`` from each other."""
STEP = 6
MAX_AREAS = 12
"""Areas that a map is divided into."""
KEYWORDS, TYPICAL = 5, 5
"""Keywords and pieces that tell what an area is of."""
MAX_GROUPINGS, GROUPS = 8, 4
"""Categories by which pieces are grouped, and the most frequent keywords of one that have a group of their own."""
_DIRECTIONS = 16
_OVERSAMPLED = 8
_LANDMARKS = 160
_ROUNDS = 6
_NEAREST = 5
_SOFTNESS = 0.1
_STEPS, _EARLY_STEPS = 250, 60
_SPREAD = 0.35
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
_BLOCK = 8_192
"""Pairs that are multiplied together: what comes of them fits the cache (eight times as many take twice as long)."""
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MapArea:
    """An area of a map: how many pieces it has, its most telling keywords, and its most typical pieces' places."""

    pieces: int
    keywords: Sequence[Term]
    typical: Sequence[int]
    middle: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LikenessMap:
    """``m`` pieces by ascending id: ``points`` (m, 2), and the number of the area of each (m,), -1 for those apart.

    Pieces are apart that share no keyword with another one of these. ``groupings`` has by category the most frequent
    keywords, and by piece (m,) the number of the rarest that it has, `GROUPS` for none. ``pieces`` is how many the
    whole catalogue has.
    """

    pieces: int
    ids: Strings
    points: NDArray[np.uint16]
    area_of: NDArray[np.int8]
    areas: Sequence[MapArea]
    groupings: Mapping[str, tuple[Sequence[str], NDArray[np.uint8]]]


def likeness_map(snapshot: Snapshot, category_weights: Mapping[str, float]) -> LikenessMap:
    """Return the map of a catalogue's sample; costs 0.2 s of a core for 1,000 pieces, 0.6 s for 10,000 and more."""
    chosen = sample(snapshot, category_weights)
    matrix = _TermMatrix.of(chosen)
    points = np.zeros((len(chosen.ids), 2))
    area_of = np.full(len(chosen.ids), -1, dtype=np.int8)
    areas: list[MapArea] = []
    if len(matrix.rows):
        directions = _directions(matrix)
        landmarks, nearest = _landmarks(directions)
        plane = _plane(landmarks)
        points[matrix.rows] = _placed(directions, landmarks, plane)
        numbers = _divided(plane, np.bincount(nearest, minlength=len(plane)))[nearest]
        area_of[matrix.rows] = numbers
    drawn = _fitted(points, matrix.rows)
    if len(matrix.rows):
        areas = [_area(number, numbers, matrix, directions, drawn, chosen) for number in range(int(numbers.max()) + 1)]
    return LikenessMap(
        pieces=snapshot.piece_count,
        ids=chosen.ids,
        points=drawn,
        area_of=area_of,
        areas=areas,
        groupings=_groupings(chosen),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _TermMatrix:
    """The pieces that share a term with another one, ``rows`` of the sample, by terms; rows have length 1."""

    rows: IntArray
    starts: IntArray
    terms: IntArray
    values: FloatArray
    term_starts: IntArray
    term_rows: IntArray
    term_values: FloatArray
    term_numbers: IntArray

    @classmethod
    def of(cls, chosen: CatalogueSample) -> "_TermMatrix":
        """Return the matrix of a sample, its terms renumbered: those of one piece or of all of them tell nothing."""
        pieces = len(chosen.ids)
        owners = np.repeat(np.arange(pieces), np.diff(chosen.starts))
        frequency = np.bincount(chosen.piece_terms, minlength=len(chosen.terms))
        # Plus one: in a catalogue of one kind what all have is likeness, too.
        rarity = np.log((pieces + 1) / np.maximum(frequency, 1))
        values = chosen.weights * rarity[chosen.piece_terms]
        kept = (frequency[chosen.piece_terms] > 1) & (values > 0)
        owners, values, terms = owners[kept], values[kept], chosen.piece_terms[kept]
        norms = np.sqrt(np.bincount(owners, weights=values**2, minlength=pieces))
        values = values / norms[owners]
        rows, owners = np.unique(owners, return_inverse=True)
        term_numbers, terms = np.unique(terms, return_inverse=True)
        by_term = np.argsort(terms, kind="stable")
        return cls(
            rows=rows,
            starts=np.searchsorted(owners, np.arange(len(rows) + 1)),
            terms=terms,
            values=values,
            term_starts=np.searchsorted(terms[by_term], np.arange(len(term_numbers) + 1)),
            term_rows=owners[by_term],
            term_values=values[by_term],
            term_numbers=term_numbers,
        )

    def times(self, columns: FloatArray) -> FloatArray:
        return _product(self.starts, self.terms, self.values, columns)

    def transposed_times(self, columns: FloatArray) -> FloatArray:
        return _product(self.term_starts, self.term_rows, self.term_values, columns)


def _product(starts: IntArray, places: IntArray, values: FloatArray, columns: FloatArray) -> FloatArray:
    """Return a sparse matrix, none of whose rows is empty, times a dense one, block by block."""
    product = np.empty((len(starts) - 1, columns.shape[1]))
    first = 0
    while first < len(product):
        # One row at least, however long.
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1)
        cut = slice(int(starts[first]), int(starts[last]))
        scaled = columns[places[cut]] * values[cut, None]
        product[first:last] = np.add.reduceat(scaled, starts[first:last] - starts[first])
        first = last
    return product


def _directions(matrix: _TermMatrix) -> FloatArray:
    """Return the pieces along the strongest directions of all, each of length 1; shape (rows, up to `_DIRECTIONS`)."""
    width = min(_DIRECTIONS + _OVERSAMPLED, len(matrix.rows), len(matrix.term_numbers))
    noise = np.random.default_rng(1).standard_normal((len(matrix.term_numbers), width))
    found = matrix.times(noise)
    for _ in range(2):
        base, _ = np.linalg.qr(found)
        found = matrix.times(matrix.transposed_times(base))
    base, _ = np.linalg.qr(found)
    folded = matrix.transposed_times(base)
    # The eigenvectors of the small square are the directions, the last one the strongest.
    _, turns = np.linalg.eigh(folded.T @ folded)
    along = matrix.times(folded @ turns[:, ::-1][:, :_DIRECTIONS])
    scale = np.linalg.norm(folded @ turns[:, ::-1][:, :_DIRECTIONS], axis=0)
    return _unit(along / np.maximum(scale, _TINY))


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: FloatArray = vectors / np.maximum(lengths, _TINY)
    return unit


def _farthest_first(vectors: FloatArray, most: int) -> IntArray:
    """Return rows, each the one farthest from those before, the first from the mean; no two are equal."""
    distances = ((vectors - vectors.mean(axis=0)) ** 2).sum(axis=1)
    chosen: list[int] = []
    for _ in range(min(most, len(vectors))):
        row = int(distances.argmax())
        if chosen and distances[row] <= _TINY:
            break
        chosen.append(row)
        away = ((vectors - vectors[row]) ** 2).sum(axis=1)
        distances = away if len(chosen) == 1 else np.minimum(distances, away)
    return np.asarray(chosen, dtype=np.int64)


def _landmarks(directions: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return means of alike pieces, of length 1, and the nearest of them by piece."""
    means = directions[_farthest_first(directions, _LANDMARKS)]
    for _ in range(_ROUNDS):
        nearest = (directions @ means.T).argmax(axis=1)
        sums = np.stack([np.bincount(nearest, weights=column, minlength=len(means)) for column in directions.T], axis=1)
        # One that no piece is nearest to stays where it is.
        means = _unit(np.where(np.abs(sums).sum(axis=1, keepdims=True) > _TINY, sums, means))
    return means, (directions @ means.T).argmax(axis=1)


def _plane(landmarks: FloatArray) -> FloatArray:
    """Return landmarks as points of a plane, neighbours near each other."""
    count = len(landmarks)
    apart = np.maximum(0.0, 2 - 2 * (landmarks @ landmarks.T))
    centring = np.eye(count) - 1 / count
    strengths, axes = np.linalg.eigh(centring @ apart @ centring * -0.5)
    points = (axes * np.sqrt(np.maximum(strengths, 0)))[:, ::-1][:, :2]
    # An axis has no direction of its own: its greatest coordinate is to be positive.
    points = points * np.sign(points[np.abs(points).argmax(axis=0), np.arange(points.shape[1])] + _TINY)
    if count < 4:
        return np.hstack([points, np.zeros((count, 2 - points.shape[1]))])
    widths = np.sort(apart, axis=1)[:, min(8, count - 1)][:, None]
    near = np.exp(-apart / np.maximum(widths, _TINY))
    np.fill_diagonal(near, 0)
    near = near / near.sum(axis=1, keepdims=True)
    return _relaxed(1e-2 * points / max(points.std(), _TINY), (near + near.T) / (2 * count))


def _relaxed(points: FloatArray, near: FloatArray) -> FloatArray:
    """Return points after steps of t-SNE: what is near attracts each other, everything pushes apart."""
    speed = np.zeros_like(points)
    rate = max(len(points) / 4, 10.0)
    for step in range(_STEPS):
        early = step < _EARLY_STEPS
        squares = (points**2).sum(axis=1)
        closeness = 1 / (1 + np.maximum(0.0, squares[:, None] + squares - 2 * points @ points.T))
        np.fill_diagonal(closeness, 0)
        pull = (near * (4 if early else 1) - closeness / closeness.sum()) * closeness
        slope = 4 * (pull.sum(axis=1, keepdims=True) * points - pull @ points)
        speed = (0.5 if early else 0.8) * speed - rate * slope
        points = points + speed
        points = points - points.mean(axis=0)
    return points


def _placed(directions: FloatArray, landmarks: FloatArray, plane: FloatArray) -> FloatArray:
    """Return the points of pieces: between their nearest landmarks, spread like seeds around the nearest one."""
    alike = directions @ landmarks.T
    kept = min(_NEAREST, len(landmarks))
    chosen = np.argpartition(-alike, kept - 1, axis=1)[:, :kept]
    values = np.take_along_axis(alike, chosen, axis=1)
    shares = np.exp((values - values.max(axis=1, keepdims=True)) / _SOFTNESS)
    shares = shares / shares.sum(axis=1, keepdims=True)
    points = np.einsum("ij,ijk->ik", shares, plane[chosen])
    nearest = alike.argmax(axis=1)
    order = np.lexsort((np.arange(len(nearest)), -alike.max(axis=1), nearest))
    starts = np.searchsorted(nearest[order], nearest[order])
    turn = np.empty(len(nearest))
    # The most typical in the middle, the others around it, each as far from its neighbours.
    turn[order] = np.arange(len(order)) - starts
    reach = _SPREAD * np.ptp(plane, axis=0).max() * np.sqrt(turn / max(len(points), _LANDMARKS))
    spread: FloatArray = points + reach[:, None] * np.stack(
        [np.cos(turn * _GOLDEN_ANGLE), np.sin(turn * _GOLDEN_ANGLE)], axis=1
    )
    return spread


def _divided(plane: FloatArray, sizes: IntArray) -> IntArray:
    """Return the area of each landmark: of near ones together, the areas of most pieces first."""
    middles = plane[_farthest_first(plane, MAX_AREAS)]
    for _ in range(_ROUNDS):
        area_of = ((plane[:, None] - middles) ** 2).sum(axis=2).argmin(axis=1)
        weight = np.bincount(area_of, weights=sizes, minlength=len(middles))
        sums = [np.bincount(area_of, weights=sizes * column, minlength=len(middles)) for column in plane.T]
        middles = np.where(weight[:, None] > 0, np.stack(sums, axis=1) / np.maximum(weight, 1)[:, None], middles)
    used = np.unique(area_of)
    totals = np.bincount(area_of, weights=sizes, minlength=len(middles))[used]
    numbers = np.zeros(len(middles), dtype=np.int64)
    numbers[used[np.argsort(-totals, kind="stable")]] = np.arange(len(used))
    renumbered: IntArray = numbers[area_of]
    return renumbered


def _fitted(points: FloatArray, rows: IntArray) -> NDArray[np.uint16]:
    """Return points in the square, what is apart along its lower edge."""
    fitted = np.zeros(points.shape)
    if len(rows):
        low, span = points[rows].min(axis=0), np.maximum(np.ptp(points[rows], axis=0), _TINY)
        room = np.array([SIDE - 2 * MARGIN, SIDE - MARGIN - LOWER])
        fitted[rows] = MARGIN + (points[rows] - low) / span * room
    apart = np.setdiff1d(np.arange(len(points)), rows)
    in_line = (SIDE - 2 * MARGIN) // STEP
    fitted[apart, 0] = MARGIN + np.arange(len(apart)) % in_line * STEP
    fitted[apart, 1] = np.minimum(SIDE - LOWER + 2 * STEP + np.arange(len(apart)) // in_line * STEP, SIDE)
    return np.rint(fitted).astype(np.uint16)


def _area(
    number: int,
    numbers: IntArray,
    matrix: _TermMatrix,
    directions: FloatArray,
    points: NDArray[np.uint16],
    chosen: CatalogueSample,
) -> MapArea:
    inside = numbers == number
    owners = np.repeat(inside, np.diff(matrix.starts))
    totals = np.bincount(matrix.terms[owners], weights=matrix.values[owners], minlength=len(matrix.term_numbers))
    # Beyond what an area of this size has of everything.
    if not inside.all():
        totals -= inside.mean() * np.bincount(matrix.terms, weights=matrix.values, minlength=len(totals))
    strongest = np.argsort(-totals, kind="stable")[:KEYWORDS]
    likeness = directions @ directions[inside].mean(axis=0)
    typical = np.flatnonzero(inside)[np.argsort(-likeness[inside], kind="stable")[:TYPICAL]]
    x, y = np.rint(np.median(points[matrix.rows[inside]], axis=0)).astype(int).tolist()
    return MapArea(
        pieces=int(inside.sum()),
        keywords=[term_of(chosen.terms[int(matrix.term_numbers[term])]) for term in strongest if totals[term] > 0],
        typical=matrix.rows[typical].tolist(),
        middle=(x, y),
    )


def _groupings(chosen: CatalogueSample) -> dict[str, tuple[Sequence[str], NDArray[np.uint8]]]:
    """Return by category, those of most keywords in pieces first, its most frequent keywords and who has them."""
    frequency: NDArray[Any] = np.bincount(chosen.piece_terms, minlength=len(chosen.terms))
    owners = np.repeat(np.arange(len(chosen.ids)), np.diff(chosen.starts))
    by_category: dict[str, list[tuple[int, str, int]]] = {}
    for number, text in enumerate(chosen.terms):
        term = term_of(text)
        by_category.setdefault(term.category, []).append((-int(frequency[number]), term.keyword, number))
    uses = {name: sum(-count for count, _, _ in terms) for name, terms in by_category.items()}
    groupings: dict[str, tuple[Sequence[str], NDArray[np.uint8]]] = {}
    for name in sorted(uses, key=lambda name: (-uses[name], name))[:MAX_GROUPINGS]:
        best = sorted(by_category[name])[:GROUPS]
        group_of = np.full(len(chosen.ids), GROUPS, dtype=np.uint8)
        # The most frequent last: a piece that has several belongs to the rarest, or one would have them all.
        for group, (_, _, number) in enumerate(best):
            group_of[owners[chosen.piece_terms == number]] = group
        groupings[name] = ([keyword for _, keyword, _ in best], group_of)
    return groupings
