"""Marks: the bytes by which a list tells which pieces were listed before it (`penchant_engine.index.mark_of`)."""

from collections.abc import Iterable

from penchant_engine.index import Snapshot
from penchant_engine.index.strings import mark_of
from penchant_engine.model import MARK_BYTES


def marks_of(ids: Iterable[str]) -> bytes:
    """Return the marks by which cursors name pieces, one after the other."""
    return b"".join(map(mark_of, ids))


def cut_marks(marks: bytes) -> list[bytes]:
    """Return each of some marks that stand one after the other."""
    return [marks[begin : begin + MARK_BYTES] for begin in range(0, len(marks), MARK_BYTES)]


def mark_count(marks: bytes) -> int:
    """Return how many marks stand one after the other."""
    return len(marks) // MARK_BYTES


def marked_ids(snapshot: Snapshot, marks: bytes) -> frozenset[str]:
    """Return the ids of all pieces of these marks."""
    return frozenset(each for ids in snapshot.marked(marks) for each in ids) if marks else frozenset()
