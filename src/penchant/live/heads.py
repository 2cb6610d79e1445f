"""Heads: where sources stand, read for many requests by one query that begins after all of them.

What that gains: D53 of docs/decisions.md. In the order of time:

    read A, read B          _waiting {A, B}     no query runs: `_ask` begins
    the query for A, B      _waiting {}
    read A, read C          _waiting {A, C}     this A may see more than the one that is under way
    answers for A, B
    the query for A, C      _waiting {}         and so on until nothing waits
"""

import asyncio

from penchant.live.database import AsyncStorage
from penchant.storage import SourceHead

SourceName = tuple[int, str]


class Heads:
    """The heads of sources, read anew for each request.

    Where a read takes microseconds it is made at once. Elsewhere one query at a time asks for all that wait; a read
    that comes while it runs waits for the next one, since it may have begun before a change that this one must see.
    """

    def __init__(self, database: AsyncStorage) -> None:
        self._database = database
        self._waiting: dict[SourceName, asyncio.Future[SourceHead | None]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def read(self, name: SourceName) -> SourceHead | None:
        """Return where a source, as account and name, stands; ``None`` for one that does not exist.

        Raises:
            StorageUnavailable: the database is away.
        """
        storage = self._database.storage
        if storage.quick_reads:
            return storage.sources.read_head(*name)
        future = self._waiting.get(name)
        if future is None:
            future = self._waiting[name] = asyncio.get_running_loop().create_future()
            if self._asking is None:
                self._asking = asyncio.create_task(self._ask())
        # Shared with others, who go on waiting if this one is cancelled.
        return await asyncio.shield(future)

    async def _ask(self) -> None:
        """Read heads for all that wait, again and again until none waits; at most one task does so at a time."""
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                try:
                    heads = await self._database.promptly(self._database.storage.sources.read_heads, list(asked))
                except Exception as error:  # noqa: BLE001  # it is theirs who wait
                    for future in asked.values():
                        future.set_exception(error)
                        future.exception()  # known now, even where nobody waits any more
                else:
                    for future, head in zip(asked.values(), heads, strict=True):
                        future.set_result(head)
        finally:
            # Without an await since `_waiting` was found empty: no read can have come in between and be left waiting.
            self._asking = None
