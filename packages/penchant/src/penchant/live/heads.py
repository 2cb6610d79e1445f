"""Heads: where sources stand, read for many requests by one query that begins after all of them.

What that gains: D53 and D117 of docs/decisions.md. In the order of time:

    read A, read B          _waiting {A, B}     no query runs: `_ask` begins
    the query for A, B      _waiting {}
    read A, read C          _waiting {A, C}     this A may see more than the one that is under way
    answers for A, B
    the query for A, C      _waiting {}         and so on until nothing waits

Other processes erase people and delete sources, and what this one remembers of them must go though no request asks for
them: `SourceWatch` looks for all that remember.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from penchant.live.database import AsyncStorage
from penchant.storage import SourceHead

SourceName = tuple[int, str]


class Heads:
    """The heads of sources, read anew for each request.

    Where a read takes microseconds, all that ask in one turn of the event loop share the one that is made at its end;
    one that ``is_alone`` by then reads at once, which takes no longer than to wait. Elsewhere one query at a time asks
    for all that wait; a read that comes while it runs waits for the next one, since it may have begun before a change
    that this one must see.
    """

    def __init__(self, database: AsyncStorage, is_alone: Callable[[], bool] = lambda: False) -> None:
        self._database = database
        self.is_alone = is_alone
        self._waiting: dict[SourceName, asyncio.Future[SourceHead | None]] = {}
        self._asking: asyncio.Task[None] | None = None
        self._in_turn: list[tuple[SourceName, asyncio.Future[SourceHead | None]]] = []

    async def read(self, name: SourceName) -> SourceHead | None:
        """Return where a source, as account and name, stands; ``None`` for one that does not exist.

        Raises:
            StorageUnavailable: the database is away.
        """
        storage = self._database.storage
        if storage.quick_reads:
            return storage.sources.read_head(*name) if self.is_alone() else await self._read_in_turn(name)
        future = self._waiting.get(name)
        if future is None:
            future = self._waiting[name] = asyncio.get_running_loop().create_future()
            if self._asking is None:
                self._asking = asyncio.create_task(self._ask())
        # Shared with others, who go on waiting if this one is cancelled.
        return await asyncio.shield(future)

    def _read_in_turn(self, name: SourceName) -> asyncio.Future[SourceHead | None]:
        """Return what a read at the end of this turn of the event loop will find: it begins after all that asked."""
        loop = asyncio.get_running_loop()
        if not self._in_turn:
            loop.call_soon(self._end_turn)
        # A future for each, not one that all share: who is cancelled cancels it.
        future = loop.create_future()
        self._in_turn.append((name, future))
        return future

    def _end_turn(self) -> None:
        """Read the heads that were asked for in a turn, each once."""
        asked, self._in_turn = self._in_turn, []
        waiting = [(name, future) for name, future in asked if not future.done()]
        names = list(dict(waiting))
        try:
            heads = dict(zip(names, self._database.storage.sources.read_heads(names), strict=True))
        except Exception as error:  # noqa: BLE001  # it is theirs who wait
            for _, future in waiting:
                future.set_exception(error)
        else:
            for name, future in waiting:
                future.set_result(heads[name])

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
