"""How does a snapshot follow the content feed? Change by change, some thousands at a time."""

import ctypes
from collections.abc import Callable

from penchant.index import Merge, Snapshot, merge_segments
from penchant.model import Piece
from penchant.storage import ContentFeed
from penchant.wire import decode_stored_piece

APPLY_PIECES = 20_000
"""Decoded pieces held at a time while a large source is loaded: some 60 MB."""


def apply_feed(
    snapshot: Snapshot, feed: ContentFeed, *, max_merged: int | None = None, merge: Merge = merge_segments
) -> Snapshot:
    """Return the snapshot after all changes of a feed; a complete feed starts from nothing."""
    if feed.complete:
        snapshot = Snapshot.empty()
    changes: dict[str, Piece | None] = {}
    was_large = False
    for batch in feed.batches:
        for row in batch:
            changes[row.id] = None if row.deleted else decode_stored_piece(row.body, row.first_submitted_at)
        if len(changes) >= APPLY_PIECES:
            snapshot, changes = snapshot.apply(changes, max_merged=max_merged, merge=merge), {}
            was_large = True
    snapshot = snapshot.apply(changes, max_merged=max_merged, merge=merge) if changes else snapshot
    if was_large:
        _give_memory_back()
    return snapshot


def _trimming() -> Callable[[int], int] | None:
    """Return the C library's function that gives free memory back to the machine, where it has one."""
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


_trim = _trimming()


def _give_memory_back() -> None:
    """Return what decoded pieces took: the allocator of threads keeps it, 46 MB after 100,000 pieces."""
    if _trim is not None:
        _trim(0)
