"""Kernel compiling: once for a user of a machine, into files of machine code in a folder that nobody else may write.

Until kernels are compiled, and where they cannot be, numpy answers the same. A file is code that this process runs
without a question, so a folder that others can write is not used. A file's name tells for which release, compiler and
processor it is, its first bytes whether it is whole. The compiler is imported where something is compiled alone, and
what loads machine code by the process that forks the others, which share its memory.
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib
import logging
import os
import platform
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import msgspec

import penchant_engine.index
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.native_kernels import NativeCode, load_kind
from penchant_engine.index.compiled.samples import KINDS, SERVED, Kind
from penchant_engine.owned_folders import is_writable_by_others, own_folder

logger = logging.getLogger("penchant")

LOCK = "lock"
SUFFIX = ".kernels"
WAIT_S = 0.25
"""Pause between looks for files that the builder compiles."""
PATIENCE_S = 60.0
"""How long a worker waits for the builder to compile before it does so itself."""
_DIGEST = hashlib.sha256
_NO_KERNELS = "the kernels cannot be compiled; searching with numpy"


def import_loader() -> None:
    """Import what loads compiled kernels, 50 MiB: before processes are forked that are to share it."""
    # Where it is missing, loading says so.
    with contextlib.suppress(ImportError):
        importlib.import_module("llvmlite.binding")


class KernelCompiler:
    """Makes the kernels ready in a thread of its own; `close` ends it after the kind under way.

    It begins with the first search, or when it is told to `begin`: what loads them takes memory. It waits until
    `compile_kernels` has compiled them in another process, since the compiler keeps the interpreter busy and takes much
    memory. Past its patience, and where nothing can be handed over, it compiles them itself. ``loaded`` is called once,
    in its thread, when those are ready that most catalogues need.
    """

    def __init__(self, folder: Path, *, loaded: Callable[[], None] = lambda: None) -> None:
        self._folder = folder
        self._loaded = loaded
        self._ended = threading.Event()
        self._begun = threading.Event()
        engine.on_missed(self.begin)
        self._thread = threading.Thread(target=self._run, name="penchant-compile", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Make the kernels ready, unless that has begun."""
        self._begun.set()

    def close(self) -> None:
        """Compile nothing more."""
        self._ended.set()
        self._begun.set()

    def _run(self) -> None:
        kernels: dict[Kind, Mapping[str, engine.Kernel]] = {}
        self._begun.wait()
        fault = find_fault(self._folder)
        if fault is not None:
            logger.warning("compiled kernels are not kept in %s: %s", self._folder, fault)
        for kind in SERVED:
            if fault is None:
                self._wait(kind)
            if self._ended.is_set():
                return
            kernels[kind] = load_kernels(self._folder, kind)
            if not kernels[kind]:
                return
            engine.use(kernels)
            if kind == KINDS[-1]:
                self._loaded()

    def _wait(self, kind: Kind) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_compiled(self._folder, kind) and time.monotonic() < deadline:
            if self._ended.wait(WAIT_S):
                return


def is_compiled(folder: Path, kind: Kind) -> bool:
    """Return whether there is a file of a kind for this release and processor."""
    return _file_of(folder, kind).exists()


def are_compiled(folder: Path) -> bool:
    """Return whether all kernels are."""
    return all(is_compiled(folder, kind) for kind in SERVED)


def compile_kernels(folder: Path) -> None:
    """Compile all kernels into files of a folder, those first that most catalogues need."""
    if find_fault(folder) is not None:
        return  # workers compile for themselves: nothing can be handed over
    for kind in SERVED:
        try:
            with _alone(folder):
                if not is_compiled(folder, kind):
                    _write(folder, kind, _encoded(kind))
        except Exception:  # as in `load_kernels`
            logger.exception(_NO_KERNELS)
            return


def load_kernels(folder: Path | None, kind: Kind) -> Mapping[str, engine.Kernel]:
    """Return the kernels of a kind, compiled first where a folder has them not; not kept where it has a fault.

    None where they cannot be compiled or loaded, which the log tells: numpy goes on answering.
    """
    try:
        return _loaded_or_compiled(folder, kind)
    except Exception:  # whatever a release of numba or of LLVM says that came after this one
        logger.exception(_NO_KERNELS)
        return {}


def _loaded_or_compiled(folder: Path | None, kind: Kind) -> Mapping[str, engine.Kernel]:
    if folder is None or find_fault(folder) is not None:
        return _loaded(kind, _encoded(kind))
    with _alone(folder):
        encoded = _read(folder, kind)
        if encoded is None:
            encoded = _encoded(kind)
            _write(folder, kind, encoded)
    return _loaded(kind, encoded)


def user_folder() -> Path | None:
    """Return where kernels are kept for all programs of a user, those of a service among them; ``None`` for nowhere."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = home if home.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "penchant" / "kernels"


@functools.cache
def use_kept() -> None:
    """Search with the kernels that this user has compiled before, if there are any; looked for once."""
    folder = user_folder()
    if folder is not None and folder.is_dir() and find_fault(folder) is None:
        kept = [kind for kind in KINDS if not engine.is_ready(kind) and is_compiled(folder, kind)]
        engine.add({kind: load_kernels(folder, kind) for kind in kept})


def ready_kernels(*kinds: Kind, wait: bool = True) -> None:
    """Search with compiled kernels, of those kinds that most catalogues need unless some are named.

    At once where this user has compiled them before, otherwise after 10 to 20 s. Without ``wait`` that happens in a
    thread; until it is done numpy answers the same, 10 to 40 times as slowly. They are kept in the user's cache folder,
    and where it cannot be written for this process alone.
    """
    missing = [kind for kind in kinds or KINDS if not engine.is_ready(kind)]
    if not missing:
        return
    if not wait:
        threading.Thread(target=ready_kernels, args=kinds, name="penchant-compile", daemon=True).start()
        return
    folder = user_folder()
    engine.add({kind: load_kernels(folder, kind) for kind in missing})


def use_compiled(folder: Path, kinds: Collection[Kind]) -> None:
    """Search with the kernels of some kinds that a folder has already; without them numpy says the same."""
    if find_fault(folder) is None:
        engine.use({kind: load_kernels(folder, kind) for kind in kinds if is_compiled(folder, kind)})


def _read(folder: Path, kind: Kind) -> bytes | None:
    """Return the code of a kind as it is kept; ``None`` where there is none, or none that is whole."""
    try:
        kept = _file_of(folder, kind).read_bytes()
    except OSError:
        return None
    digest, encoded = kept[: _DIGEST().digest_size], kept[_DIGEST().digest_size :]
    if _DIGEST(encoded).digest() == digest:
        return encoded
    logger.warning("the compiled kernels in %s cannot be used and are made anew", folder)
    return None


def _write(folder: Path, kind: Kind, encoded: bytes) -> None:
    path = _file_of(folder, kind)
    written = path.with_suffix(".new")
    # A full disk costs the next start its time, nothing else.
    with contextlib.suppress(OSError):
        written.write_bytes(_DIGEST(encoded).digest() + encoded)
        written.chmod(0o600)
        written.replace(path)


def _encoded(kind: Kind) -> bytes:
    """Return the code of a kind, compiled anew, as it is kept."""
    from penchant_engine.index.compiled import native_compiling  # noqa: PLC0415  # numba takes half a second and 70 MB

    return msgspec.msgpack.encode(native_compiling.compile_kind(kind))


def _loaded(kind: Kind, encoded: bytes) -> Mapping[str, engine.Kernel]:
    return load_kind(kind, msgspec.msgpack.decode(encoded, type=dict[str, NativeCode]))


def _file_of(folder: Path, kind: Kind) -> Path:
    return folder / f"{'-'.join(filter(None, kind))}-{code_version()}{SUFFIX}"


@functools.cache
def code_version() -> str:
    """Return what tells code of this release, compiler and processor from any other, as letters of a file's name."""
    from importlib.metadata import version  # noqa: PLC0415  # takes a tenth of the time of all else that is imported

    here = Path(penchant_engine.index.__path__[0])
    files = sorted({*(here / "compiled").glob("*.py"), here / "layout.py"})
    told = [path.read_bytes() for path in files]
    told += [version(name).encode() for name in ("numba", "llvmlite")]
    told += [platform.machine().encode(), *_processor()]
    return hashlib.sha256(b"\0".join(told)).hexdigest()[:24]


def _processor() -> Iterator[bytes]:
    """Yield what Linux says of the first processor: its name, and what it can do."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_bytes().partition(b"\n\n")[0].splitlines():
            if line.startswith((b"model name", b"flags", b"CPU ", b"Features")):
                yield line


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process of a folder after the other compile: the first does it, the rest load."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def find_fault(folder: Path) -> str | None:
    """Return why compiled kernels cannot be kept in a folder, which is made where it is missing.

    It and all above it must be owned (`owned_folders`), so that no other folder comes into its place between
    this look and the next; what is in it must belong to this user or to root. What lies in a folder that nobody else
    can enter may have any mode.
    """
    try:
        real = own_folder(folder)
        is_open = bool(real.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH))
        alien = next((path for path in real.rglob("*") if not _is_ours(path, is_open=is_open)), None)
    except OSError as error:
        return str(error.strerror or error)
    if alien is not None:
        return f"others can write {alien}"
    return None if os.access(folder, os.W_OK) else "it cannot be written"


def _is_ours(path: Path, *, is_open: bool) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True  # another process has just given it its name
    is_believed = status.st_uid in {os.geteuid(), 0} and not stat.S_ISLNK(status.st_mode)
    return is_believed and not (is_open and is_writable_by_others(status))
