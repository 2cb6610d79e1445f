"""How often has a key asked in this second, whichever worker answered? The rate limiter's memory in a file.

It never lets more through than a limit. Where too many keys ask in one second, some are counted as one.
"""

import functools
import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from limits.storage import Storage

from penchant.service.counting import KEY, CountingTable

_COUNT = 1
_ENDS_AT = 2
_MEMBERS = 3
MAX_WINDOW_S = 60
"""What ends later than this from now was written before the machine's last start, when its clock began anew."""


class SharedRates(Storage):
    """Counts of fixed windows, for `limits.strategies.FixedWindowRateLimiter`, that all processes of a file share.

    Windows begin at multiples of their length on the machine's monotonic clock, which all processes see alike.
    """

    STORAGE_SCHEME = None

    def __init__(self, path: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._table = CountingTable(path, members=_MEMBERS)
        self._monotonic = monotonic

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return what `limits` would wrap in an error of its own, if asked to."""
        return OSError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count for a key in the window of now, ``expiry`` seconds long; return the window's count."""
        if expiry > MAX_WINDOW_S:
            raise ValueError(f"Windows are {MAX_WINDOW_S} s at most.")
        number = _number(key)
        table = self._table
        cells = table.cells
        with table:
            now = self._now_ms()
            ends_at = (now // (expiry * 1000) + 1) * expiry * 1000
            place = table.find(number)
            if place is None:
                place = table.free(number, lambda slot: not self._is_running(slot, now))
                if place is None:
                    # All slots count in this window: one of them counts for two keys, so that none gets too much.
                    place = table.bucket(number)[0]
                else:
                    cells[place + KEY] = number
            count = amount + (cells[place + _COUNT] if cells[place + _ENDS_AT] == ends_at else 0)
            cells[place + _COUNT] = count
            cells[place + _ENDS_AT] = ends_at
        return count

    def get(self, key: str) -> int:
        """Return the count of a key's window; 0 where that has ended."""
        place = self._table.find(_number(key))
        if place is None or not self._is_running(place, self._now_ms()):
            return 0
        return self._table.cells[place + _COUNT]

    def get_expiry(self, key: str) -> float:
        """Return when a key's window ends, in seconds of the wall clock."""
        place = self._table.find(_number(key))
        now = self._now_ms()
        if place is None or not self._is_running(place, now):
            return time.time()
        return time.time() + (self._table.cells[place + _ENDS_AT] - now) / 1000

    def check(self) -> bool:
        """Return that the file can be used; it could be opened."""
        return True

    def reset(self) -> int:
        """Forget all counts; return how many there were."""
        with self._table:
            places = self._table.where(KEY)
            for place in places:
                self._table.cells[place + _ENDS_AT] = 0
        return len(places)

    def clear(self, key: str) -> None:
        """Forget the count of a key."""
        with self._table:
            place = self._table.find(_number(key))
            if place is not None:
                self._table.cells[place + _ENDS_AT] = 0

    def close(self) -> None:
        """Close the file."""
        self._table.close()

    def _now_ms(self) -> int:
        return int(self._monotonic() * 1000)

    def _is_running(self, place: int, now: int) -> bool:
        return now < self._table.cells[place + _ENDS_AT] <= now + MAX_WINDOW_S * 1000


@functools.lru_cache(maxsize=4_096)
def _number(key: str) -> int:
    """Return 63 bits for a key, never 0, the same in every process."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) >> 1 or 1
