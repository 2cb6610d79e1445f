"""Request rates of a node: how many requests a key has made in this second, in a file that all workers share.

No key ever gets more than its limit. Where too many keys ask in one second, some are counted as one key
(D7 of docs/decisions.md).
"""

import functools
import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from penchant.service.counting import KEY, CountingTable

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
