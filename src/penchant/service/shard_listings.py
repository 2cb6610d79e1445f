"""Shard listings: what a listing would scan for, asked of shard processes before, so that it only explains.

To explain looks at the rows of a few pieces. To find them, or to count what comes before one, looks at nearly all of a
file, for which a node may have no memory.
"""

import asyncio

from penchant.live.database import AsyncStorage
from penchant.live.shards import Shards
from penchant.service.listings import Neighbourhood, Suggestions
from penchant.service.nearest import neighbours_by_shards
from penchant.service.personal_lists import listed_by_shards


async def search_by_shards(
    listing: Neighbourhood | Suggestions, shards: Shards, database: AsyncStorage, piece_id: str | None = None
) -> None:
    """Find what a listing has in order, and how a piece stands in it, by shard processes.

    Raises:
        UnknownPiece: the source has no piece whose list it would be.
        IndexNotReady: no process scans a part of the source, and this node cannot.
    """
    view = listing.view

    async def listed() -> None:
        if isinstance(listing, Neighbourhood):
            listing.entries = await neighbours_by_shards(view, listing.query, scan, listing.search.shown, shards)
        else:
            listing.ranked = await listed_by_shards(view, listing.query, listing.search, scan, shards)

    scan = await database.in_thread(lambda: shards.scan_of(listing.search.query, view.snapshot))
    if piece_id is None:
        await listed()
        return
    # At once: what waits for a lost process waits once.
    _, key = await asyncio.gather(listed(), shards.key_of(view.snapshot, scan, piece_id))
    ahead = None
    if key is not None and piece_id not in dict(listing.entries):
        positions = listing.booster.positions(view.snapshot, piece_id, key, listing.search.shown)
        ahead = await shards.count_ahead(view.snapshot, scan, positions)
    listing.standings.note(piece_id, key, ahead)
