"""Rates: how many requests a key has made in this second, on a node or on all nodes, and wrong keys by address.

A node counts in a file that all its workers share. No key ever gets more than its limit; where too many keys ask in one
second, some are counted as one key (D7 of docs/decisions.md). Nodes count in a Redis that they share. While it is away
each node counts for itself: requests are worth more than an exact limit.

An address that sends wrong keys again and again waits longer for each answer. Keys cannot be guessed (190 bits); this
keeps those who try from taking time and filling logs. Each process counts for itself, and nothing is stored.

Counting tables: what the workers of a node count together, as whole numbers in a mapped file.

It is changed under the file's lock, which the kernel frees when a process dies. Nothing here is truth: a lost file
costs the counts of a second. A key's slot is one of eight in the bucket that the key names:

    file     | bucket 0 | bucket 1 | ... | bucket 4095 |
    bucket   | slot | slot | slot | slot | slot | slot | slot | slot |
    slot     | key | member 1 | member 2 | ... |           64 bits each

Whether a slot is free is the caller's to say, from its members: its key stays until another key takes it.
"""

import asyncio
import fcntl
import functools
import hashlib
import mmap
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from penchant.errors import InvalidSettings, StorageUnavailable
from penchant.telemetry import Metrics, logger
from penchant_engine.bounded_cache import BoundedCache

BUCKETS = 4_096
BUCKET_SLOTS = 8
"""Slots that a key may lie in. With 1,000 keys in use in a second, fewer than one in 10^9 finds all taken."""
WORD_BYTES = 8
KEY = 0
"""Offset of the key in a slot; a slot that was never taken has key 0."""


class CountingTable:
    """A table of 32,768 slots, each of ``members`` numbers of 64 bits, the first one the slot's key.

    ``cells`` are all slots one after the other; a slot is named by the offset in ``cells`` at which it begins. Cells
    are changed inside ``with table:``, which costs about 2 µs where no other worker is in it; single numbers may be
    read outside.

    Raises:
        StorageUnavailable: the file cannot be made.
    """

    def __init__(self, path: Path, *, members: int) -> None:
        self._bucket_cells = BUCKET_SLOTS * members
        self._members = members
        self._threads = threading.Lock()
        size = BUCKETS * self._bucket_cells * WORD_BYTES
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Workers start together: only one may write the file to its length.
            with self:
                self._extend(size)
            self._map = mmap.mmap(self._descriptor, size)
        except OSError as error:
            raise StorageUnavailable(f"The file {path} cannot be written ({error.strerror}).") from error
        self.cells = memoryview(self._map).cast("q")

    def _extend(self, size: int) -> None:
        """Write the file at its whole size: a mapped page that the disk has no room for would be fatal later."""
        present = os.fstat(self._descriptor).st_size
        is_short = present < size
        # Only what is missing is written, at the end: the counts of a file that is there stay.
        while present < size:
            present += os.pwrite(self._descriptor, bytes(size - present), present)
        if is_short:
            # Else a cut of power may leave what lay there on the disk before, which would be taken for counts.
            os.fsync(self._descriptor)

    def __enter__(self) -> None:
        # The file's lock belongs to this open file, so that it keeps processes apart, but not the threads of one.
        # The threads' lock comes first and goes last.
        self._threads.acquire()
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._threads.release()

    def bucket(self, key: int) -> range:
        """Return the offsets of the slots that a key may lie in."""
        first = key % BUCKETS * self._bucket_cells
        return range(first, first + self._bucket_cells, self._members)

    def find(self, key: int) -> int | None:
        """Return the offset of a key's slot; ``None`` where it has none."""
        cells = self.cells
        # All eight: slots are freed in any order, so a free one says nothing about those behind it.
        for offset in self.bucket(key):
            if cells[offset] == key:
                return offset
        return None

    def find_free(self, key: int, is_free: Callable[[int], bool]) -> int | None:
        """Return the offset of a slot that may be taken for a key; ``None`` where all are in use."""
        return next((offset for offset in self.bucket(key) if is_free(offset)), None)

    def find_filled(self, member: int) -> list[int]:
        """Return the offsets of the slots in which a member is not 0."""
        # A view of the mapped file; it must be gone when `close` releases ``cells``.
        column = np.asarray(self.cells)[member :: self._members]
        return (np.flatnonzero(column) * self._members).tolist()

    def close(self) -> None:
        """Unmap and close the file."""
        self.cells.release()
        self._map.close()
        os.close(self._descriptor)


if TYPE_CHECKING:
    from redis.asyncio import Redis

_COUNT = 1
_ENDS_AT = 2
_MEMBERS = 3
WINDOW_MS = 1_000
"""Length of a window: limits are written as requests per second."""


class SharedRates:
    """Counts of requests by key in windows of a second, shared by all processes that open the file.

    Windows begin at whole seconds of the machine's monotonic clock, which all its processes see alike.
    """

    def __init__(self, path: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._table = CountingTable(path, members=_MEMBERS)
        self._monotonic = monotonic

    def count(self, key_id: str) -> int:
        """Count a request of a key; return how many requests it has made in this second, with this one."""
        number = _number(key_id)
        table = self._table
        cells = table.cells
        with table:
            # Read under the lock: a process that waited with an older time would begin a past window again.
            now = int(self._monotonic() * 1000)
            ends_at = (now // WINDOW_MS + 1) * WINDOW_MS
            offset = table.find(number)
            if offset is None:
                # An end after the present window is from before the machine's start, when its clock began anew.
                offset = table.find_free(number, lambda slot: cells[slot + _ENDS_AT] != ends_at)
                if offset is None:
                    # All slots count in this window: one of them counts for two keys, so that no key gets too much.
                    offset = table.bucket(number)[0]
                else:
                    cells[offset + KEY] = number
            # A slot that was taken just now still has the end of its last window: it begins at 1 by itself.
            count = 1 + (cells[offset + _COUNT] if cells[offset + _ENDS_AT] == ends_at else 0)
            cells[offset + _COUNT] = count
            cells[offset + _ENDS_AT] = ends_at
        return count

    def close(self) -> None:
        """Close the file."""
        self._table.close()


class NodeCounts(NamedTuple):
    """The requests of a node by key, and those with browser keys by address, in this second.

    They are apart: however many addresses there are, they take no slot of a key.
    """

    keys: SharedRates
    addresses: SharedRates

    @classmethod
    def open(cls, folder: Path, *, monotonic: Callable[[], float] = time.monotonic) -> "NodeCounts":
        """Open the two files in a data folder."""
        keys = SharedRates(folder / "rates.map", monotonic=monotonic)
        return cls(keys, SharedRates(folder / "address-rates.map", monotonic=monotonic))

    def close(self) -> None:
        """Close both files."""
        self.keys.close()
        self.addresses.close()


@functools.lru_cache(maxsize=4_096)
def _number(key_id: str) -> int:
    """Return 63 bits for a key, never 0, the same in every process."""
    # Shifted, since cells are signed; and 0 would look like a slot that was never taken.
    return int.from_bytes(hashlib.blake2b(key_id.encode(), digest_size=8).digest()) >> 1 or 1


REDIS_PATIENCE_S = 0.25
"""The longest that a request waits for Redis (D51 of docs/decisions.md)."""
REDIS_PAUSE_S = 2.0
"""How long Redis is left alone after it failed."""
REDIS_PREFIX = "penchant:rate:"
REDIS_WINDOW_S = 1
"""A key's window begins with its first request and is ended by the clock of Redis, so that no two clocks differ."""


class NodeRates:
    """Counts of requests by key in windows of a second, shared by nodes.

    Raises:
        InvalidSettings: the address is malformed, or the Redis client is not installed.
    """

    def __init__(self, address: str, metrics: Metrics, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._redis = connect_redis(address)
        self._metrics = metrics
        self._monotonic = monotonic
        self._tried_again_at = 0.0

    async def count(self, key_id: str) -> int | None:
        """Count a request of a key; return its number in this second, or ``None`` while Redis is away."""
        if self._monotonic() < self._tried_again_at:
            return None
        try:
            async with asyncio.timeout(REDIS_PATIENCE_S):
                return await self._increment(REDIS_PREFIX + key_id)
        except Exception as error:  # noqa: BLE001  # whatever its client raises, requests go on
            # All requests skip it for a while: else each would wait as long as this one.
            self._tried_again_at = self._monotonic() + REDIS_PAUSE_S
            self._metrics.failures.labels("redis").inc()
            logger.warning("Redis cannot be reached (%s); rates are counted by this node alone", type(error).__name__)
            return None

    async def _increment(self, name: str) -> int:
        # In one transaction, and with the expiry first: no count can stay without an end.
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.set(name, 0, ex=REDIS_WINDOW_S, nx=True)
            pipeline.incr(name)
            _, count = await pipeline.execute()
        return int(count)

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def connect_redis(address: str) -> "Redis":
    """Return a client of the Redis at an address; it connects with its first command.

    Raises:
        InvalidSettings: the address is none, or the client is not installed.
    """
    try:
        from redis.asyncio import Redis  # noqa: PLC0415  # the extra "redis": few installations share rates

        return Redis.from_url(address, socket_timeout=REDIS_PATIENCE_S, socket_connect_timeout=REDIS_PATIENCE_S)
    except (ImportError, ValueError) as error:
        raise InvalidSettings(
            "The setting redis cannot be used: it takes an address such as redis://host:6379/0, and needs the"
            " package's extra: penchant[redis]."
        ) from error


FAILURES_WINDOW_S = 60.0
"""How long failures of an address count, from the first of them."""
FREE_FAILURES = 100
"""Failures in that time that cost nothing: a page of a client with an old key may send some dozens."""
REFUSAL_DELAY_S = 1.0
"""How long each further refusal waits before it is sent."""
MAX_ADDRESSES = 10_000
"""Addresses that are counted together; of more, those that have not failed for longest begin anew."""
MAX_WAITING = 1_000
"""Refusals that wait together; beyond them there is no wait, since waiting costs memory."""


class FailedKeys:
    """Counts wrong keys by address, and makes refusals of an address with too many of them wait."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic, delay_s: float = REFUSAL_DELAY_S) -> None:
        self._monotonic = monotonic
        self._delay_s = delay_s
        self._failures: BoundedCache[str, tuple[float, int]] = BoundedCache(MAX_ADDRESSES)
        self._waiting = 0

    def count(self, address: str) -> bool:
        """Count a failure; return whether its refusal has to wait."""
        now = self._monotonic()
        began, failures = self._failures.get(address) or (now, 0)
        if now - began > FAILURES_WINDOW_S:
            began, failures = now, 0
        self._failures.put(address, (began, failures + 1))
        return failures >= FREE_FAILURES

    async def slow_down(self, address: str) -> None:
        """Count a failure, and wait where the address has too many."""
        if not self.count(address) or self._waiting >= MAX_WAITING:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(self._delay_s)
        finally:
            self._waiting -= 1
