"""Shard readiness: whether shard processes have mapped a new file of a source, so that nodes can go over to it.

Until then lists go on from the file before, whose segments shard processes keep.
"""

import time
from collections.abc import Callable

from penchant.live.array_files import Stamp
from penchant.live.shard_messages import FileName
from penchant.live.shards import Shards

LONGEST_WAIT_S = 60.0
"""After so long a node goes over all the same: what has changed since the file before takes its memory."""


class ShardReadiness:
    """Asks shard processes for new files; for the event loop only."""

    def __init__(self, shards: Shards, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._shards = shards
        self._monotonic = monotonic
        self._awaited: dict[int, tuple[FileName, float]] = {}
        """By source the file that is asked for, and since when."""

    async def is_ready(self, stamp: Stamp, count: int) -> bool:
        """Return whether a node can go over to a file of so many segments; those who lack it map it from now on."""
        if count == 1:
            return True
        file: FileName = (*stamp, count)
        now = self._monotonic()
        awaited, since = self._awaited.get(stamp.source_id, (None, now))
        if awaited != file:
            self._awaited[stamp.source_id] = file, now
        elif now - since >= LONGEST_WAIT_S:
            return True
        return await self._shards.have_mapped(file)
