"""Election: of the processes of a data folder, the one that holds a file lock does what only one may do.

The kernel frees the lock when its holder ends, however it ends. No candidate waits for it or is told when it is free:
one that lost tries again now and then.
"""

import fcntl
import os
from pathlib import Path


class Election:
    """A candidate for the lock on ``path``, which is made if it is missing; its folder is not.

    Every candidate opens the file anew, so that two in one process exclude each other as well.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def try_win(self) -> bool:
        """Return whether this candidate holds the lock, now or since an earlier try.

        Raises:
            OSError: the file cannot be opened.
        """
        if self._descriptor is None:
            self._descriptor = self._locked(fcntl.LOCK_EX)
        return self._descriptor is not None

    def is_won_by_anyone(self) -> bool:
        """Return whether any candidate holds the lock, this one included.

        The look itself takes the lock for a microsecond, so that it can make another's try fail.

        Raises:
            OSError: the file cannot be opened.
        """
        if self._descriptor is not None:
            return True
        # Shared, so that two that look at once do not take each other for the winner.
        probe = self._locked(fcntl.LOCK_SH)
        if probe is None:
            return True
        os.close(probe)
        return False

    def close(self) -> None:
        """Give the lock up, if it was won; it can be tried for again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _locked(self, mode: int) -> int | None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor
