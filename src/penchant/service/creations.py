"""Creations of sources: an account has so many a minute, since each leaves rows and memory behind for a while."""

import contextlib
import time
from collections.abc import Callable, Iterator

from penchant.errors import RateExceeded

MINUTE_S = 60.0


class CreationRate:
    """Counts the sources that accounts make in each minute, in this process; forgotten with the minute."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._minute = 0
        self._counts: dict[int, int] = {}

    @contextlib.contextmanager
    def creating(self, account_id: int, limit: int) -> Iterator[None]:
        """Count the source that the block makes, unless it fails: then nothing is left behind; ``limit`` 0 allows any.

        Raises:
            RateExceeded: the account has made so many in this minute.
        """
        minute, passed_s = divmod(self._monotonic(), MINUTE_S)
        if minute != self._minute:
            self._minute = int(minute)
            self._counts.clear()
        count = self._counts.get(account_id, 0)
        if limit and count >= limit:
            raise RateExceeded(
                f"The account has made {limit} sources in this minute, the most that it may; make more in the next.",
                retry_after_s=MINUTE_S - passed_s,
            )
        # Counted before it is made, so that requests at the same time do not all pass.
        self._counts[account_id] = count + 1
        try:
            yield
        except BaseException:
            if minute == self._minute:
                self._counts[account_id] -= 1
            raise
