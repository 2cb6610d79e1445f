"""When are the kernels ready, and where are they kept? Compiled once for a machine, in the background.

Until then, and where no folder can be written, numpy answers the same. Numba is imported here and not before:
commands that never search do without it.
"""

import contextlib
import fcntl
import importlib
import os
import threading
import time
from pathlib import Path
from types import ModuleType

from penchant.index import engine
from penchant.telemetry import logger

LOCK = "lock"
READY = "ready"
WAIT_S = 0.25
"""Pause between looks for kinds that were asked for since."""
PATIENCE_S = 60.0
"""How long a worker waits for the builder to compile before it does so itself."""


class Compiling:
    """Makes the kernels ready in a thread of its own; `close` ends it after the kind under way.

    It waits until `compile_kernels` has compiled them in another process, since compiling keeps the interpreter
    busy, and then loads them. Kinds that few catalogues want it compiles by itself, when they are wanted.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penchant-compile", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Compile nothing more."""
        self._ended.set()

    def _run(self) -> None:
        ready: frozenset[engine.Kind] = frozenset()
        try:
            self._wait()
            kernels = load_kernels(self._folder)
            while not self._ended.is_set():
                for kind in sorted((set(engine.KINDS) | engine.wanted()) - ready):
                    compile_alone(kernels, kind, self._folder)
                    ready |= {kind}
                    engine.use(kernels, ready)
                self._ended.wait(WAIT_S)
        except Exception:  # noqa: BLE001  # numpy goes on answering
            logger.exception("the kernels cannot be compiled; searching with numpy")

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not (self._folder / READY).exists() and time.monotonic() < deadline:
            self._ended.wait(WAIT_S)


def compile_kernels(folder: Path) -> None:
    """Compile what most catalogues need, into the folder's cache, and tell those who wait."""
    kernels = load_kernels(folder)
    for kind in engine.KINDS:
        compile_alone(kernels, kind, folder)
    with contextlib.suppress(OSError):
        (folder / READY).touch()


def forget_ready(folder: Path) -> None:
    """Let workers wait until the kernels of this start are compiled; what an earlier one compiled may not fit."""
    with contextlib.suppress(OSError):
        (folder / READY).unlink(missing_ok=True)


def load_kernels(folder: Path | None) -> ModuleType:
    """Import the kernels, to be cached in a folder; without one, or where it cannot be written, not cached."""
    numba = importlib.import_module("numba")
    if folder is not None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            folder = None
    numba.config.CACHE_DIR = "" if folder is None or not os.access(folder, os.W_OK) else str(folder)
    return importlib.import_module("penchant.index.kernels")


def compile_alone(kernels: ModuleType, kind: engine.Kind, folder: Path) -> None:
    """Compile a kind, one process of a folder after the other: the first compiles, the rest load."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        engine.compile_kind(kernels, kind)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        engine.compile_kind(kernels, kind)
    finally:
        os.close(descriptor)
