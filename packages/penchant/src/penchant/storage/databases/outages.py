"""Outages: since when a database is away, has no room or refuses, told once for all processes of a service.

    well --(an error)--> out: a line --(a minute)--> a line ... --(something succeeds, no error for 5 s)--> well: a line

Of several processes one tells: the state lies in a small file of the folder where they count together.
"""

import contextlib
import fcntl
import logging
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from types import TracebackType

from penchant.errors import StorageUnavailable
from penchant.settings import metrics_folder
from penchant.telemetry import logger as services_logger

logger = services_logger.getChild("outages")
# Commands tell by themselves why they fail: without the log of a service nobody hears of it twice.
logger.addHandler(logging.NullHandler())

REPEATED_S = 60.0
CALM_S = 5.0
"""How long nothing may have failed before an outage is over: other processes still find their connections cut."""
ROOM_BYTES = 8 * 1024 * 1024
"""Free bytes below which a disk is called full: less than a group of changes may take."""
RECENT_S = 30.0
"""How long a change that found no room is told of, where none has been stored since."""
FILE = "outages"


class OutageKind(IntEnum):
    """What is wrong with a database, and where its state begins: since when, last told, last failed, done since."""

    AWAY = 0
    NO_ROOM = 4
    REFUSING = 8


_SINCE, _TOLD, _FAILED, _DONE = range(4)
_BYTES = 3 * 4 * 8
_LINES = {
    OutageKind.AWAY: ("the database is away", "the database is back"),
    OutageKind.NO_ROOM: ("the database has no room", "the database has room again"),
    OutageKind.REFUSING: ("the database refuses requests", "the database takes changes again"),
}


class Outages:
    """The outages of a database; safe for threads, and free for all that goes well.

    ``place`` is what those who run it know it by, such as ``in penchant-data``; nothing of it is secret.
    """

    def __init__(
        self, place: str, folder: Path | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Share the state by a file in a folder, by default that of the service, if this process belongs to one."""
        self.place = place
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._descriptor = -1
        self._state = memoryview(bytearray(_BYTES)).cast("d")
        folder = folder or metrics_folder()
        if folder is not None:
            # On a full disk each process tells for itself.
            with contextlib.suppress(OSError):
                self._state = self._shared(folder)

    def _shared(self, folder: Path) -> "memoryview[float]":
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Room is taken now: to write to a mapped page that has none would end the process.
            if os.fstat(descriptor).st_size < _BYTES:
                os.pwrite(descriptor, bytes(_BYTES), 0)
            shared = memoryview(mmap.mmap(descriptor, _BYTES)).cast("d")
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return shared

    def begin(self, kind: OutageKind, error: StorageUnavailable, traceback: TracebackType | None) -> None:
        """Note that something failed; the first time it is logged with where, then once a minute.

        ``traceback`` is that of the driver's error, whose further lines may hold what was to be stored.
        """
        with self._alone() as now:
            begins = not self._state[kind + _SINCE]
            is_due = now - self._state[kind + _TOLD] >= REPEATED_S
            self._state[kind + _FAILED] = now
            if begins:
                self._state[kind + _SINCE] = now
            if begins or is_due:
                self._state[kind + _TOLD] = now
            seconds = now - self._state[kind + _SINCE]
        if begins or is_due:
            fields: dict[str, object] = {"reason": error.reason} | ({} if begins else {"seconds": round(seconds)})
            where = type(error), error, traceback
            level = logging.ERROR if begins else logging.WARNING
            logger.log(level, _LINES[kind][0], extra={"fields": fields}, exc_info=where if begins else None)

    def end_reading(self) -> None:
        """Note that the database has answered."""
        if self._state[OutageKind.AWAY + _SINCE]:
            self._end(OutageKind.AWAY)

    def end_writing(self) -> None:
        """Note that a change is stored."""
        for kind in (OutageKind.NO_ROOM, OutageKind.REFUSING):
            if self._state[kind + _SINCE]:
                self._end(kind)

    def lacks_room(self, free_bytes: int | None) -> bool:
        """Return whether changes may find no room, where so many bytes are free, or nobody can say how many."""
        if free_bytes is not None and free_bytes < ROOM_BYTES:
            return True
        failed, done = (self._state[OutageKind.NO_ROOM + each] for each in (_FAILED, _DONE))
        return failed > done and self._monotonic() - failed < RECENT_S

    def close(self) -> None:
        """Let the file go; what comes later is told by this process alone."""
        with self._guard:
            if self._descriptor >= 0:
                self._state = memoryview(bytearray(_BYTES)).cast("d")
                os.close(self._descriptor)
                self._descriptor = -1

    def _end(self, kind: OutageKind) -> None:
        with self._alone() as now:
            self._state[kind + _DONE] = now
            since = self._state[kind + _SINCE]
            is_over = bool(since) and now - self._state[kind + _FAILED] >= CALM_S
            if is_over:
                self._state[kind + _SINCE] = 0.0
        if is_over:
            logger.warning(_LINES[kind][1], extra={"fields": {"seconds": round(now - since)}})

    @contextlib.contextmanager
    def _alone(self) -> Iterator[float]:
        """Keep other threads and processes from the state meanwhile, and give the moment."""
        with self._guard:
            if self._descriptor >= 0:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                yield self._monotonic()
            finally:
                if self._descriptor >= 0:
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)
