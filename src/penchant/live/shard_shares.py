"""Shard shares: arrays of part p by what they hold, so that a shard process is told what has changed alone.

What one more interaction changes is mostly the share of one piece, and the median, which travels with each scan:

    the node's array --> name, a digest of the digests of its chunks --> named by a scan
         '-- the one before: the rows that differ, whose chunks are digested anew, and which travel with their shares

The names of equal arrays are the same on every node, however they came to be.
"""

import hashlib
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from penchant.index import BlendQuery, FloatArray, IntArray, Segment
from penchant.index.part import Part
from penchant.live.shard_messages import PopularName

CHUNK = 4096
"""Shares of a chunk: 32 kB take 30 us to digest."""
MOST_CHANGES = 16
"""How many arrays before a shard may be behind by, to be told the difference."""
FEW = 8
"""Changes are told and remembered of fewer than one in so many pieces."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedShares:
    """An array of shares with its name, empty where all are 0; ``past``: names before, and what rows changed then."""

    name: bytes
    shares: FloatArray
    chunks: tuple[bytes, ...]
    past: tuple[tuple[bytes, IntArray], ...] = ()

    @classmethod
    def first(cls, shares: FloatArray) -> "NamedShares":
        """Return an array that follows none."""
        chunks = tuple(_digest(shares[begin : begin + CHUNK]) for begin in range(0, len(shares), CHUNK))
        return cls(_name(shares, chunks), shares, chunks)

    def followed_by(self, shares: FloatArray) -> "NamedShares":
        """Return an array of as many shares, with what it changes of this one."""
        if shares is self.shares:
            return self
        rows = np.flatnonzero(shares != self.shares)
        if _are_few(rows, shares):
            chunks = list(self.chunks)
            for chunk in np.unique(rows // CHUNK).tolist():
                chunks[chunk] = _digest(shares[chunk * CHUNK : (chunk + 1) * CHUNK])
            past = (*self.past, (self.name, rows))[-MOST_CHANGES:] if len(rows) else self.past
            return NamedShares(_name(shares, chunks), shares, tuple(chunks), past)
        return NamedShares.first(shares)

    def changed_since(self, names: Collection[bytes]) -> tuple[bytes, IntArray] | None:
        """Return the latest of some names that is known, with the rows changed since; ``None``: tell it whole."""
        changed = np.zeros(0, dtype=np.int64)
        for name, rows in reversed(self.past):
            changed = np.union1d(changed, rows)
            if name in names:
                return (name, changed) if _are_few(changed, self.shares) else None
        return None


class ShareNames:
    """Names the arrays of segments that follow each other; what it remembers changes no answer. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: WeakKeyDictionary[Segment, NamedShares] = WeakKeyDictionary()

    def named(self, segment: Segment, shares: FloatArray) -> NamedShares:
        """Return an array of shares of a segment's pieces with its name."""
        with self._lock:
            last = self._last.get(segment)
            named = NamedShares.first(shares) if last is None else last.followed_by(shares)
            self._last[segment] = named
            return named


class NamedPopular(NamedTuple):
    """What part p of a segment's pieces is made from: their shares, and the floors of these."""

    shares: NamedShares
    floors: NamedShares

    def message(self, median: float) -> PopularName:
        """Return the names as a scan has them, with the median that floors count in times of."""
        return PopularName(self.shares.name, self.floors.name, median)


class PopularNames:
    """Names what part p of segments is made from. For any thread."""

    def __init__(self) -> None:
        self._shares, self._floors = ShareNames(), ShareNames()

    def named(self, query: BlendQuery, part: Part) -> NamedPopular:
        """Return what part p of a part is made from by a query."""
        popular, number = query.popular, query.number_of(part)
        return NamedPopular(
            self._shares.named(part.segment, popular.shares[number]),
            self._floors.named(part.segment, popular.floors[number]),
        )


def _digest(shares: FloatArray) -> bytes:
    return hashlib.blake2b(shares.tobytes(), digest_size=16).digest()


def _name(shares: FloatArray, chunks: Collection[bytes]) -> bytes:
    return hashlib.blake2b(b"".join(chunks), digest_size=16).digest() if shares.any() else b""


def _are_few(rows: IntArray, shares: FloatArray) -> bool:
    return len(rows) * FEW < len(shares)
