"""Source watch: looks where sources stand that something is remembered of, though no request asks for them.

Other processes erase people and delete sources, and what this one remembers of them must go all the same.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from penchant.live.database import AsyncStorage
from penchant.live.heads import SourceName
from penchant.storage import SourceHead

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
