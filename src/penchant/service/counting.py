"""What do the workers of a node count together? Slots of whole numbers in a mapped file, changed under its lock.

The kernel frees the lock of a process that dies. Nothing here is truth: a lost file costs a second's counts.
"""

import fcntl
import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import numpy as np

from penchant.errors import StorageUnavailable

BUCKETS = 4_096
BUCKET_SLOTS = 8
"""Slots that a key may lie in. With 1,000 keys in use in a second, fewer than one in 10^9 finds all taken."""
WORD_BYTES = 8
KEY = 0
"""Place of the key in a slot; a slot that was never taken has key 0."""


class CountingTable:
    """A table of 32,768 slots, each of ``members`` numbers of 64 bits, the first one the slot's key.

    ``cells`` are all slots one after the other. What is changed in them is changed inside ``with table:``, which
    costs about 2 µs where nobody else is in it; single numbers may be read outside.

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
            with self:
                self._extend(size)
            self._map = mmap.mmap(self._descriptor, size)
        except OSError as error:
            raise StorageUnavailable(f"The file {path} cannot be written ({error.strerror}).") from error
        self.cells = memoryview(self._map).cast("q")

    def _extend(self, size: int) -> None:
        """Write the file at its whole size: a mapped page that the disk has no room for would be fatal later."""
        present = os.fstat(self._descriptor).st_size
        while present < size:
            present += os.pwrite(self._descriptor, bytes(size - present), present)

    def __enter__(self) -> None:
        self._threads.acquire()
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._threads.release()

    def bucket(self, key: int) -> range:
        """Return the places in ``cells`` where the slots begin that a key may lie in."""
        first = key % BUCKETS * self._bucket_cells
        return range(first, first + self._bucket_cells, self._members)

    def find(self, key: int) -> int | None:
        """Return where the slot of a key begins; ``None`` where it has none."""
        cells = self.cells
        for place in self.bucket(key):
            if cells[place] == key:
                return place
        return None

    def free(self, key: int, is_free: Callable[[int], bool]) -> int | None:
        """Return where a slot begins that may be taken for a key; ``None`` where all are in use."""
        return next((place for place in self.bucket(key) if is_free(place)), None)

    def where(self, member: int) -> list[int]:
        """Return where the slots begin in which a member is not 0."""
        column = np.asarray(self.cells)[member :: self._members]
        return (np.flatnonzero(column) * self._members).tolist()

    def close(self) -> None:
        """Unmap and close the file."""
        self.cells.release()
        self._map.close()
        os.close(self._descriptor)
