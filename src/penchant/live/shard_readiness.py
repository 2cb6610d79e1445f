"""Shard readiness: whether shard processes have mapped a file of a source, so that nodes can go over to it.

Until then lists go on from the file before, whose segments shard processes keep, and from the hosts before.
"""

import time
from collections.abc import Callable, Collection

from penchant.live.array_files import Stamp
from penchant.live.shard_messages import FileName
from penchant.live.shards import Shards

LONGEST_WAIT_S = 60.0
"""After so long a node goes over all the same: what has changed since the file before takes its memory."""


class ShardReadiness:
    """Asks shard processes for files; for the event loop only."""

    def __init__(self, shards: Shards, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._shards = shards
        self._monotonic = monotonic
        self._awaited: dict[FileName, float] = {}
        """The files that are asked for, and since when."""
        self._changes = 0

    @property
    def is_changing(self) -> bool:
        """Whether other hosts are to take the place of some; then `settle` is to be called now and then."""
        return self._shards.is_changing

    async def is_ready(self, stamp: Stamp, count: int) -> bool:
        """Return whether a node can go over to a file of so many segments; those who lack it map it from now on."""
        return count == 1 or await self._is_mapped((*stamp, count))

    async def settle(self, in_use: Collection[FileName]) -> None:
        """Have files in use asked of the newest hosts where these have mapped them, and let others go."""
        for file in in_use:
            if self._shards.is_to_move(file):
                await self._is_mapped(file)
        self._shards.let_go(in_use)

    async def _is_mapped(self, file: FileName) -> bool:
        now = self._monotonic()
        if self._changes != self._shards.changes:
            # Other hosts have a minute of their own.
            self._changes = self._shards.changes
            self._awaited.clear()
        # A newer file of a source takes the place of the one that is awaited.
        older = [each for each in self._awaited if each[0] == file[0] and each[:-1] < file[:-1]]
        for each in older:
            del self._awaited[each]
        since = self._awaited.setdefault(file, now)
        if now - since < LONGEST_WAIT_S and not await self._shards.have_mapped(file):
            return False
        self._awaited.pop(file, None)
        self._shards.note_ready(file)
        return True
