"""Counting tables: what the workers of a node count together, as whole numbers in a mapped file.

It is changed under the file's lock, which the kernel frees when a process dies. Nothing here is truth: a lost file
costs the counts of a second. A key's slot is one of eight in the bucket that the key names:

    file     | bucket 0 | bucket 1 | ... | bucket 4095 |
    bucket   | slot | slot | slot | slot | slot | slot | slot | slot |
    slot     | key | member 1 | member 2 | ... |           64 bits each

Whether a slot is free is the caller's to say, from its members: its key stays until another key takes it.
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
        # Only what is missing is written, at the end: the counts of a file that is there stay.
        while present < size:
            present += os.pwrite(self._descriptor, bytes(size - present), present)

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
