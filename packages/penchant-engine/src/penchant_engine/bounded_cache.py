"""Bounded caches: what can be made again, kept by key; of too much the entries used least recently go."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Values by key, whose weights together are ``limit`` at most; an entry weighs 1 where nothing else is said.

    To read an entry is to use it. One that alone weighs more than the limit goes at once, and under a limit of 0 all
    do. For one thread at a time.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # The entry used least recently comes first.
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self.weight = 0

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys as they are now, that of the entry used least recently first."""
        return iter(list(self._entries))

    def items(self) -> list[tuple[Key, Value]]:
        """Return all keys with their values, the entry used least recently first; none is used by that."""
        return [(key, value) for key, (value, _) in self._entries.items()]

    def get(self, key: Key) -> Value | None:
        """Return a value, which is used now; ``None`` where there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def peek(self, key: Key) -> Value | None:
        """Return a value without using it; ``None`` where there is none."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: Key, value: Value, weight: int = 1) -> None:
        """Keep a value, used now, instead of the one that there was."""
        before = self._entries.pop(key, None)
        self._entries[key] = (value, weight)
        self.weight += weight if before is None else weight - before[1]
        if self.weight > self._limit:
            self._evict()

    def reweigh(self, key: Key, weight: int) -> None:
        """Note what an entry weighs by now, if it is there; its turn to go stays."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries[key] = (entry[0], weight)
            self.weight += weight - entry[1]
            self._evict()

    def pop(self, key: Key) -> Value | None:
        """Remove an entry and return its value; ``None`` where there is none."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.weight -= entry[1]
        return entry[0]

    def _evict(self) -> None:
        while self.weight > self._limit:
            _, (_, weight) = self._entries.popitem(last=False)
            self.weight -= weight


def keep_latest(entries: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Put an entry, used now, at the end of a dictionary, whose first goes where they are more than ``most``.

    For any number of threads: another one may have taken an entry away, or put one, at any moment.
    """
    entries.pop(key, None)
    entries[key] = value
    if len(entries) > most:
        oldest, *_ = entries
        entries.pop(oldest, None)
