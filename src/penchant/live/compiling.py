"""When are the kernels ready, and where are they kept? Compiled once for a machine, in the background.

Until then, and where no folder can be written, numpy answers the same. Numba is imported here and not before:
commands that never search do without it.
"""

import fcntl
import importlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from penchant.index import engine
from penchant.telemetry import logger

FOLDER = "kernels"
LOCK = "lock"
WAIT_S = 0.5
"""Pause between looks for kinds that were asked for since."""


class Compiling:
    """Compiles in a thread of its own; `close` ends it after the kind under way.

    ``may_compile`` is asked before each round: a worker leaves compiling to the builder, if there is one, as it
    keeps the interpreter busy, and loads what that has compiled.
    """

    def __init__(self, folder: Path, may_compile: Callable[[], bool]) -> None:
        self._folder = folder
        self._may_compile = may_compile
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penchant-compile", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Compile nothing more."""
        self._ended.set()

    def _run(self) -> None:
        kernels: ModuleType | None = None
        ready: set[engine.Kind] = set()
        while not self._ended.is_set():
            try:
                kinds = [kind for kind in (*engine.KINDS, *sorted(engine.wanted())) if kind not in ready]
                if kinds and self._may_compile():
                    kernels = kernels or load_kernels(self._folder)
                    for kind in kinds:
                        compile_alone(kernels, kind, self._folder)
                        ready = ready | {kind}
                        engine.use(kernels, ready)
            except Exception:  # noqa: BLE001  # numpy goes on answering
                logger.exception("the kernels cannot be compiled; searching with numpy")
                return
            self._ended.wait(WAIT_S)


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
