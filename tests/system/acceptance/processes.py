"""Looks at the processes of a service under test through /proc."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

PATIENCE_S = 300.0
Seen = TypeVar("Seen")


def wait_until(is_so: Callable[[], bool], *, patience_s: float = PATIENCE_S, every_s: float = 0.05) -> None:
    """Wait until something is so, looking every so often; fail after some patience."""
    waited_for(is_so, bool, patience_s=patience_s, every_s=every_s)


def waited_for(
    read: Callable[[], Seen], is_it: Callable[[Seen], bool], *, patience_s: float = PATIENCE_S, every_s: float = 0.05
) -> Seen:
    """Return the first of what is read every so often that is as wanted; fail after some patience."""
    deadline = time.monotonic() + patience_s
    while not is_it(seen := read()):
        assert time.monotonic() < deadline, seen
        time.sleep(every_s)
    return seen


def workers_of(process: int) -> list[int]:
    """Return the workers that a service has started and that have not ended."""
    # Those of its main thread: the builder is started by another one.
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def children_of(process: int) -> list[int]:
    """Return what a process has started, by whichever thread, and what has not ended."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def holders_of(lock: Path) -> list[int]:
    """Return the processes that hold the lock on a file; none where there is no such file."""
    number = lock.stat().st_ino if lock.exists() else -1
    held = re.findall(rf"FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+\S+:{number} ", Path("/proc/locks").read_text())
    return [int(process) for process in held]
