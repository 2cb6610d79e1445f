"""Kernel compiling: in the background, once for a machine, into a folder that nobody else may write.

Until kernels are compiled, and where there is no such folder, numpy answers the same. What numba caches is code that it
runs without a question, so a folder that others can write is not used. Numba is imported here and not before: commands
that never search do without it.
"""

import contextlib
import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable
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


class KernelCompiler:
    """Makes the kernels ready in a thread of its own; `close` ends it after the kind under way.

    It waits until `compile_kernels` has compiled them in another process, since compiling keeps the interpreter
    busy, and then loads them. Kinds that few catalogues want it compiles by itself, when they are wanted. ``loaded`` is
    called once, in its thread, when the first kinds are ready.
    """

    def __init__(self, folder: Path, *, loaded: Callable[[], None] = lambda: None) -> None:
        self._folder = folder
        self._loaded = loaded
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penchant-compile", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Compile nothing more."""
        self._ended.set()

    def _run(self) -> None:
        """Make kinds ready one by one until `close`, first those of all catalogues, then those that searches want."""
        ready: frozenset[engine.Kind] = frozenset()
        try:
            if find_fault(self._folder) is None:
                # Also past its patience it goes on, and compiles what is not in the cache by itself.
                self._wait()
            kernels = load_kernels(self._folder)
            while not self._ended.is_set():
                is_first = not ready
                for kind in sorted((set(engine.KINDS) | engine.wanted()) - ready):
                    compile_alone(kernels, kind, self._folder)
                    ready |= {kind}
                    engine.use(kernels, ready)
                if is_first:
                    self._loaded()
                self._ended.wait(WAIT_S)
        except Exception:  # noqa: BLE001  # numpy goes on answering
            logger.exception("the kernels cannot be compiled; searching with numpy")

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not (self._folder / READY).exists() and time.monotonic() < deadline:
            self._ended.wait(WAIT_S)


def compile_kernels(folder: Path) -> None:
    """Compile what most catalogues need into the folder's cache, and mark it as ready for workers that wait."""
    if find_fault(folder) is not None:
        return  # workers compile for themselves: nothing can be handed over
    kernels = load_kernels(folder)
    for kind in engine.KINDS:
        compile_alone(kernels, kind, folder)
    with contextlib.suppress(OSError):
        (folder / READY).touch()


def forget_ready(folder: Path) -> None:
    """Let workers wait until the kernels of this start are compiled; what an earlier one compiled may not fit."""
    with contextlib.suppress(OSError):
        (folder / READY).unlink(missing_ok=True)


def find_fault(folder: Path) -> str | None:
    """Return why compiled kernels cannot be kept in a folder, which is made where it is missing.

    It and all in it must belong to this user or to root, and be writable by nobody else. What lies in a folder that
    nobody else can enter may have any mode.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        foreign_bits = stat.S_IWGRP | stat.S_IWOTH
        alien = None if _is_ours(folder, foreign_bits) else folder
        if alien is None:
            bits = foreign_bits if folder.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) else 0
            alien = next((path for path in folder.rglob("*") if not _is_ours(path, bits)), None)
    except OSError as error:
        return str(error.strerror)
    if alien is not None:
        return f"others can write {alien}"
    return None if os.access(folder, os.W_OK) else "it cannot be written"


def _is_ours(path: Path, foreign_bits: int) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return True  # another process has just given it its name
    return status.st_uid in {os.geteuid(), 0} and not status.st_mode & foreign_bits


def load_kernels(folder: Path | None) -> ModuleType:
    """Import the kernels, to be cached in a folder; not cached without one, or where it has a fault."""
    import numba  # noqa: PLC0415  # commands that never search do without it

    fault = None if folder is None else find_fault(folder)
    if fault is not None:
        logger.warning("compiled kernels are not kept in %s: %s", folder, fault)
    # Before the import, since `_jit` of the kernels looks at it then.
    is_cached = folder is not None and fault is None
    numba.config.CACHE_DIR = str(folder) if is_cached else ""  # type: ignore[attr-defined]  # numba makes it
    from penchant.index import kernels  # noqa: PLC0415  # numba looks for its cache when a kernel is defined

    return kernels


def compile_alone(kernels: ModuleType, kind: engine.Kind, folder: Path) -> None:
    """Compile a kind, one process of a folder after the other: the first compiles, the rest load."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        engine.compile_kind(kernels, kind)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _compile_cached(kernels, kind, folder)
    finally:
        os.close(descriptor)


def _compile_cached(kernels: ModuleType, kind: engine.Kind, folder: Path) -> None:
    """Compile a kind, or load it; where what is cached is damaged, remove it all and compile anew."""
    try:
        engine.compile_kind(kernels, kind)
    except Exception:  # noqa: BLE001  # whatever unpickling makes of damaged bytes
        logger.warning("the compiled kernels in %s cannot be used and are made anew", folder)
        for path in folder.rglob("*.nb[ic]"):
            path.unlink(missing_ok=True)
        engine.compile_kind(kernels, kind)
