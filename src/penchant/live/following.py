"""How does a snapshot follow the content feed? Change by change, some thousands at a time."""

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
    for batch in feed.batches:
        for row in batch:
            changes[row.id] = None if row.deleted else decode_stored_piece(row.body, row.first_submitted_at)
        if len(changes) >= APPLY_PIECES:
            snapshot, changes = snapshot.apply(changes, max_merged=max_merged, merge=merge), {}
    return snapshot.apply(changes, max_merged=max_merged, merge=merge) if changes else snapshot
