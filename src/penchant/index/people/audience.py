"""Audience: what requests see of what all people like, at one moment: popularity, and part a for a person's likes.

Immutable but for what it remembers of its own results, which any number of threads may ask for. Part a of one piece for
many people is added up from what a like of each piece says for it (`LikeColumns`).
"""

import copy
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.index.arrays import run_places
from penchant.index.compiled import engine
from penchant.index.layout import (
    DIRECT_SCALE,
    LENT_SCALE,
    OWN_SCALE,
    SHARE_SCALE,
    FloatArray,
    IntArray,
    Numbers,
    SparseShares,
)
from penchant.index.part import Part
from penchant.index.people.figures import SourceFigures
from penchant.index.people.popularity import Credits, PieceCounts, Popularity, PopularityMeter
from penchant.index.people.shared_audience import SharedAudience
from penchant.index.people.weights import AudienceWeights
from penchant.index.segment import Segment
from penchant.model import TOP_GRADE


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


CONTENT_ALONE = 255
"""The people of a share that comes from the person's own like alone, and so reveals nobody else's."""


class LikeShare(NamedTuple):
    """How much of a piece's part a is owed to a like, and how many people like both pieces of its weight.

    ``through`` is the stand-in by which it came, ``None`` for none. A like of the stand-in itself tells of nobody else.
    """

    id: str
    share: float
    people: int
    through: str | None = None


class Audience:
    """What all people like, as of ``version`` of the interactions for part a, and as counted last for popularity."""

    def __init__(self, counts: PieceCounts | None, weights: AudienceWeights, version: int = 0) -> None:
        self.counts = counts
        self._weights = weights
        self.version = version
        self._popular: tuple[Sequence[Part], Hashable, Popularity] | None = None
        self._meter: tuple[Sequence[Part], Hashable, PopularityMeter] | None = None

    def recounted(self, counts: PieceCounts | None) -> "Audience":
        """Return the audience with other counts: what changes little is measured on from these."""
        other = copy.copy(self)
        other.counts, other._popular = counts, None  # noqa: SLF001  # the same class
        return other

    @property
    def figures(self) -> SourceFigures:
        """The figures of the source."""
        return self._weights.source_figures

    def popular(self, parts: Sequence[Part], moment: tuple[int, float], credits_by_age: Credits) -> Popularity:
        """Return part p for the parts of a snapshot, on a UTC day under a half-life of new pieces.

        ``credits_by_age`` is asked where these were not asked for last.
        """
        # Parts by identity: a new snapshot has new ones.
        known = self._popular
        if known is None or known[0] is not parts or known[1] != moment:
            meter = self._meter
            if meter is None or meter[0] is not parts or meter[1] != moment:
                floors = self._floors(parts, moment[0], credits_by_age())
                meter = self._meter = (parts, moment, PopularityMeter(parts, floors, self.figures.evenness))
            none = [np.zeros(len(part.segment)) for part in parts]
            people = none if self.counts is None else self.counts.by_part(parts)
            known = self._popular = (parts, moment, meter[2].measure(people))
        return known[2]

    def _floors(self, parts: Sequence[Part], today: int, credits_by_age: FloatArray) -> list[FloatArray]:
        """Return by part what pieces' shares are at least, in times of the median: their start credits."""
        # The last entry, 1, is that of pieces without a row, -1.
        evidence = np.append(self._weights.evidence, SHARE_SCALE) / SHARE_SCALE
        floors = []
        for part in parts:
            ages = np.clip(today - part.segment.days.astype(np.int64), 0, len(credits_by_age) - 1)
            floors.append(evidence[self._weights.rows_of(part.segment)] * credits_by_age[ages])
        return floors

    def alike(
        self, parts: Sequence[Part], liked: Sequence[IntArray], grades: Sequence[IntArray]
    ) -> tuple[SparseShares, ...]:
        """Return part a for the parts of a snapshot, of those pieces that have any.

        ``liked`` are rows of what a person likes in each part, ``grades`` how much.
        """
        rows, known_grades = self._rows_of(parts, liked, grades)
        if not len(rows):
            return (SparseShares.none(),) * len(parts)
        shares = engine.shares(self._weights.matrix, rows, known_grades, self.figures.loan)
        return tuple(self._weights.shares_in(part.segment, shares) for part in parts)

    def shared_with(self, piece_id: str) -> SharedAudience:
        """Return what likes of one piece say of all others."""
        return SharedAudience(self._weights, piece_id)

    def likes_for(self, piece_id: str, catalogue: Segment) -> LikeColumns:
        """Return what a like of each piece of a catalogue says for one piece."""
        return LikeColumns(self._weights, piece_id, catalogue)

    def apart(self) -> "Audience":
        """Return a copy with a memory of its own, for single questions: they displace nothing remembered for lists."""
        other = copy.copy(self)
        other._popular = other._meter = None  # noqa: SLF001  # the same class
        return other

    def owing(
        self, parts: Sequence[Part], liked: Sequence[IntArray], liked_grades: Sequence[IntArray]
    ) -> Callable[[str], list[LikeShare]]:
        """Return a function that gives, by piece id, the shares of likes in its part a: greatest first, none of 0.

        Likes are given as for `alike`.
        """
        weights = self._weights
        rows, grades = self._rows_of(parts, liked, liked_grades)
        # The runs of all liked rows, one after the other, as indexes into ``targets``, ``values`` and ``people``; the
        # owner of an entry is the like that it belongs to.
        counts = weights.starts[rows + 1] - weights.starts[rows]
        owners = np.repeat(np.arange(len(rows)), counts)
        entries = run_places(weights.starts[rows], counts)
        # By target, so that the entries of any piece are one slice.
        order = np.argsort(weights.targets[entries], kind="stable")
        owners, entries = owners[order], entries[order]
        targets = weights.targets[entries]
        amounts = grades[owners] * weights.values[entries].astype(np.int64)
        own = dict(zip(rows.tolist(), grades.tolist(), strict=True))

        def direct(row: int, factor: float, through: str | None) -> list[LikeShare]:
            # What the likes say of this row, as much of it as the factor lets through.
            cut = slice(*np.searchsorted(targets, [row, row + 1]).tolist())
            columns = owners[cut].tolist(), amounts[cut].tolist(), weights.people[entries[cut]].tolist()
            return [
                LikeShare(weights.ids[int(rows[owner])], amount / DIRECT_SCALE * factor, people, through)
                for owner, amount, people in zip(*columns, strict=True)
            ]

        def owed(piece_id: str) -> list[LikeShare]:
            row = weights.ids.find(piece_id)
            if row is None:
                return []
            shares = direct(row, 1.0, None)
            evidence = int(weights.evidence[row]) / SHARE_SCALE
            for other, share in weights.stand_ins_of(row):
                part = evidence * share / SHARE_SCALE
                name = weights.ids[other]
                shares += direct(other, part, name)
                if other in own:
                    lent = part * self.figures.loan * own[other] / TOP_GRADE
                    shares.append(LikeShare(name, lent, CONTENT_ALONE, name))
            return sorted((each for each in shares if each.share), key=lambda each: (-each.share, each.id))

        return owed

    def _rows_of(
        self, parts: Sequence[Part], liked: Sequence[IntArray], grades: Sequence[IntArray]
    ) -> tuple[IntArray, IntArray]:
        """Return the rows of the weights, and the grades, of those likes whose pieces have weights."""
        known = [self._weights.rows_of(part.segment)[own] for part, own in zip(parts, liked, strict=True)]
        rows, all_grades = np.concatenate([_NO_ROWS, *known]), np.concatenate([_NO_ROWS, *grades])
        return rows[rows >= 0], all_grades[rows >= 0]


_NO_ROWS = np.zeros(0, dtype=np.int64)
