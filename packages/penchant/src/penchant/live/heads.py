"""Heads: where sources stand; PostgreSQL is asked for many requests by one query that begins after all of them.

What that gains: D53 of docs/decisions.md. In the order of time:

    read A, read B          _waiting {A, B}     no query runs: `_ask` begins
    the query for A, B      _waiting {}
    read A, read C          _waiting {A, C}     this A may see more than the one that is under way
    answers for A, B
    the query for A, C      _waiting {}         and so on until nothing waits

Other processes erase people and delete sources, and what this one remembers of them must go though no request asks for
them: `SourceWatch` looks for all that remember.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

from penchant.live.database import AsyncStorage
from penchant.storage import SourceHead

SourceName = tuple[int, str]


class Heads:
    """The heads of sources, each as it is when a request asks for it.

    Where a read takes microseconds, it is done at once, and what was read holds as long as the database's mark.
    Elsewhere one query at a time asks for all that wait; a read that comes while it runs waits for the next one, since
    it may have begun before a change that this one must see.
    """

    def __init__(self, database: AsyncStorage) -> None:
        self._database = database
        # As they were read last, each under the mark of then.
        self._marked: dict[SourceName, tuple[int, SourceHead]] = {}
        self._waiting: dict[SourceName, asyncio.Future[SourceHead | None]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def read(self, name: SourceName) -> SourceHead | None:
        """Return where a source, as account and name, stands; ``None`` for one that does not exist.

        Raises:
            StorageUnavailable: the database is away.
        """
        storage = self._database.storage
        # Looked at before a read: of a change that comes between, the next one sees that the mark is another.
        mark, marked = storage.mark, self._marked.get(name)
        if marked is not None and marked[0] == mark:
            return marked[1]
        if storage.quick_reads:
            return self._read_at_once(name, mark)
        future = self._waiting.get(name)
        if future is None:
            future = self._waiting[name] = asyncio.get_running_loop().create_future()
            if self._asking is None:
                self._asking = asyncio.create_task(self._ask())
        # Shared with others, who go on waiting if this one is cancelled.
        return await asyncio.shield(future)

    def still_stands(self, head: SourceHead) -> bool:
        """Return whether a source is known, without a read, to stand at a head that was read."""
        marked = self._marked.get((head.account_id, head.name))
        return marked is not None and marked[1] is head and marked[0] == self._database.storage.mark

    def _read_at_once(self, name: SourceName, mark: int | None) -> SourceHead | None:
        head = self._database.storage.sources.read_head(*name)
        if head is None or mark is None:
            return head
        marked = self._marked.get(name)
        if marked is not None and marked[1] == head:
            # The same object, as long as the source stands there.
            head = marked[1]
        elif len(self._marked) >= MAX_MARKED:
            self._marked.clear()
        self._marked[name] = (mark, head)
        return head

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


MAX_MARKED = 10_000
"""Sources whose heads are kept with their marks."""
LOOKED_UP_TOGETHER = 500
"""Sources that are looked up at once: some milliseconds of a thread."""


class SourceObserver(Protocol):
    """What remembers something of sources."""

    def watched(self) -> Iterable[SourceName]:
        """Return the sources that it has to hear of now."""

    def observe(self, name: SourceName, head: SourceHead | None) -> None:
        """Forget what must be forgotten where a source stands so by now, ``None`` where there is none.

        The head may be older than what a request has brought up to date meanwhile. To forget that does no harm.
        """


class SourceWatch:
    """Tells observers where their sources stand, each read once for all of them."""

    def __init__(self, database: AsyncStorage, observers: Sequence[SourceObserver]) -> None:
        self._database = database
        self._observers = observers

    async def look(self) -> None:
        """Read where the sources stand and tell of each; what is not reached is looked at again the next time.

        Raises:
            StorageUnavailable: the database is away.
        """
        names = {name for observer in self._observers for name in observer.watched()}
        ordered = sorted(names)
        for begin in range(0, len(ordered), LOOKED_UP_TOGETHER):
            together = ordered[begin : begin + LOOKED_UP_TOGETHER]
            heads = await self._database.promptly(self._database.storage.sources.read_heads, together)
            for name, head in zip(together, heads, strict=True):
                for observer in self._observers:
                    observer.observe(name, head)
