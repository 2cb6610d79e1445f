"""Array files: arrays of the index between processes and restarts, in files that any number of processes map.

A file is a cache: one that is damaged, foreign or of another format is never trusted and never an error to the
reader, who builds from SQL instead. It is written under a temporary name, synced, and renamed:

    0       magic (16 bytes), format, length of the header, its checksum: `PREFIX`
    28      header, JSON: the stamp, and by array its name, dtype, shape, offset and checksum
    first   the arrays, each at ``first`` + its offset; these and ``first`` are multiples of `ALIGNMENT`

Its path is <source id>/<created at>-<incarnation>-<epoch>-<version><suffix>: the newest is found by names alone.
"""

import contextlib
import fcntl
import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant.errors import StorageUnavailable
from penchant.storage import SourceHead
from penchant.telemetry import logger

ALIGNMENT = 64
"""Arrays begin at cache lines."""
LOCK = "lock"
TEMPORARY = ".tmp"
"""Ends the name of a file that is not finished, or whose writer was killed before it was."""
PREFIX = struct.Struct("<16sIII")
"""Magic, format, length of the header, its checksum."""

Arrays = Mapping[str, NDArray[Any]]


class DamagedFile(Exception):
    """A file of arrays cannot be used; the message says why."""


class Stamp(NamedTuple):
    """The state that a file was made from: a source at a version of one of its feeds, under an incarnation and epoch.

    ``created_at`` is the source's: another database may have one of the same number, incarnation and epoch.
    """

    source_id: int
    created_at: int
    incarnation: int
    epoch: int
    version: int


class ArrayRecord(Protocol):
    """A record that can be written to a file, since it names its arrays."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""


T = TypeVar("T", bound=ArrayRecord)
Read = TypeVar("Read")


class FileKind(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A kind of file: what it is called in the log, how its names end, how it begins, and what its arrays make.

    ``format`` is raised whenever the arrays or their meaning change; files of another format are built anew.
    """

    name: str
    suffix: str
    magic: bytes
    format: int
    of_arrays: Callable[[Arrays], T]


class _Array(msgspec.Struct, frozen=True):
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    checksum: int


class _Header(msgspec.Struct, frozen=True):
    stamp: Stamp
    arrays: tuple[_Array, ...]


class PublishedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is there; whether it is sound shows when it is read."""

    stamp: Stamp
    path: Path


class ArrayFiles(Generic[T]):
    """The files of one kind in a data folder, a folder for each source; kinds may share these."""

    def __init__(self, folder: Path, kind: FileKind[T]) -> None:
        self._folder = folder
        self.kind = kind
        self._parts: dict[Path, tuple[tuple[int, int], Arrays]] = {}

    def newest(self, head: SourceHead) -> PublishedFile | None:
        """Return the newest file of a source as it was created, under its incarnation and epoch."""
        now = stamp_of(head)
        found = [each for each in self.published(head.source_id) if each.stamp._replace(version=now.version) == now]
        return max(found, key=lambda each: each.stamp.version, default=None)

    def published(self, source_id: int) -> Iterator[PublishedFile]:
        """Yield the files of a source, in no order."""
        folder = self._of(source_id)
        try:
            paths = list(folder.glob(f"*{self.kind.suffix}"))
        except OSError:
            return
        for path in paths:
            numbers = path.stem.split("-")
            if len(numbers) == len(Stamp._fields) - 1 and all(number.isdecimal() for number in numbers):
                yield PublishedFile(stamp=Stamp(source_id, *map(int, numbers)), path=path)

    def read(self, published: PublishedFile) -> T | None:
        """Return what is in a file, mapped; one that cannot be used is removed, with a line in the log."""
        return self._sound(published, lambda: read_file(self.kind, published.path, published.stamp))

    def read_part(self, published: PublishedFile, names: frozenset[str]) -> Arrays | None:
        """Return some small arrays of a file, the same ones each time, read once from it; as `read`."""
        return self._sound(published, lambda: self._read_once(published, names))

    def _read_once(self, published: PublishedFile, names: frozenset[str]) -> Arrays:
        made = published.path.stat()
        # A file may be replaced by one of the same version, since a day has passed.
        identity = made.st_ino, made.st_mtime_ns
        cached = self._parts.get(published.path)
        if cached is None or cached[0] != identity:
            arrays = read_arrays(self.kind, published.path, published.stamp, names)
            cached = identity, {name: array.copy() for name, array in arrays.items()}
            # Never changed in place: threads of a worker may look at the same moment.
            kept = {path: each for path, each in self._parts.items() if path.exists()}
            self._parts = kept | {published.path: cached}
        return cached[1]

    def _sound(self, published: PublishedFile, read: Callable[[], Read]) -> Read | None:
        """Return what is read from a file, if it can be."""
        try:
            return read()
        except DamagedFile as error:
            logger.warning("a %s file cannot be used and is built anew: %s", self.kind.name, error)
            with contextlib.suppress(OSError):
                published.path.unlink()
        except OSError as error:
            logger.warning("a %s file cannot be read: %s", self.kind.name, error.strerror)
        return None

    def publish(self, stamp: Stamp, content: T) -> PublishedFile:
        """Write a file for all to see, and remove those of its kind and source that it replaces.

        A process that has mapped one of those keeps it until it lets its arrays go.

        Raises:
            OSError: it cannot be written.
        """
        folder = self._of(stamp.source_id)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{'-'.join(map(str, stamp[1:]))}{self.kind.suffix}"
        # The new one first: whatever happens in between, a reader finds one of them.
        write_file(self.kind, path, stamp, content)
        self._remove(stamp.source_id, but=path)
        return PublishedFile(stamp=stamp, path=path)

    def spooled(self, content: T) -> T:
        """Return the same content out of a file without a name, mapped; it is gone once nothing uses its arrays.

        Not synced: the machine takes the memory of its pages for something else as soon as they are on the disk.

        Raises:
            StorageUnavailable: it cannot be written. Not an `OSError`, which within a feed is taken for the database's.
        """
        arrays = content.arrays()
        offsets = {}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                for name, array in arrays.items():
                    offsets[name] = file.seek(_aligned(file.tell()))
                    file.write(_bytes(array))
                # An empty file could not be mapped, nor an array at the end of it.
                file.truncate(_aligned(file.tell()) + ALIGNMENT)
                mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise StorageUnavailable(f"The index cannot be written ({error.strerror}).") from error
        return self.kind.of_arrays(
            {
                name: np.frombuffer(mapping, array.dtype, array.size, offsets[name]).reshape(array.shape)
                for name, array in arrays.items()
            }
        )

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Let no other process publish or forget meanwhile; waits for one that does.

        Raises:
            OSError: the folder cannot be written.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which frees the lock, as the end of the process would

    def forget(self, source_id: int) -> None:
        """Remove all files of this kind of a source."""
        self._remove(source_id)
        with contextlib.suppress(OSError):
            self._of(source_id).rmdir()

    def sources(self) -> list[int]:
        """Return the numbers of the sources that have a folder here."""
        with contextlib.suppress(FileNotFoundError):
            return [int(entry.name, 16) for entry in os.scandir(self._folder) if _is_hexadecimal(entry.name)]
        return []

    def _of(self, source_id: int) -> Path:
        return self._folder / f"{source_id:016x}"

    def _remove(self, source_id: int, *, but: Path | None = None) -> None:
        """Remove the files of a source, those of a killed writer included: one process writes at a time."""
        with contextlib.suppress(FileNotFoundError):
            for path in list(self._of(source_id).iterdir()):
                if path != but and path.suffix in {self.kind.suffix, TEMPORARY}:
                    path.unlink(missing_ok=True)


def stamp_of(head: SourceHead) -> Stamp:
    """Return the stamp of the pieces that a source holds at this moment."""
    return Stamp(head.source_id, head.created_at, head.incarnation, head.epoch, head.version)


def write_file(kind: FileKind[T], path: Path, stamp: Stamp, content: T) -> None:
    """Write a file under a temporary name, sync it to disk, and give it its name.

    Raises:
        OSError: it cannot be written.
    """
    # Offsets count from the first array, since the header that holds them decides where that is.
    arrays, offset = [], 0
    contents = content.arrays()
    for name, array in contents.items():
        offset = _aligned(offset)
        arrays.append(_Array(name, array.dtype.str, array.shape, offset, zlib.crc32(_bytes(array))))
        offset += array.nbytes
    header = msgspec.json.encode(_Header(stamp=stamp, arrays=tuple(arrays)))
    first = _aligned(PREFIX.size + len(header))
    temporary = path.with_suffix(f".{os.getpid()}{TEMPORARY}")
    try:
        with temporary.open("wb") as file:
            file.write(PREFIX.pack(kind.magic, kind.format, len(header), zlib.crc32(header)))
            file.write(header)
            for entry, array in zip(arrays, contents.values(), strict=True):
                file.seek(first + entry.offset)
                file.write(_bytes(array))
            file.truncate(first + _aligned(offset))
            # Before the new name: a crash of the machine leaves the whole file under it, or none.
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_file(kind: FileKind[T], path: Path, stamp: Stamp) -> T:
    """Return what is in a file, mapped: its pages are shared with all who map it.

    Raises:
        DamagedFile: the file is of another kind, of another format, of something else, or damaged.
        OSError: it cannot be read.
    """
    return kind.of_arrays(read_arrays(kind, path, stamp))


def read_arrays(kind: FileKind[T], path: Path, stamp: Stamp, names: Collection[str] | None = None) -> Arrays:
    """Return the arrays of a file, or only those of these names, mapped; only what is returned is checked.

    Mapped privately and writable, though nothing writes: compiled kernels take read-only arrays for another type.

    Raises:
        DamagedFile, OSError: as `read_file`.
    """
    with path.open("rb") as file:
        # An empty file could not even be mapped.
        if os.fstat(file.fileno()).st_size < PREFIX.size:
            raise DamagedFile(f"{path.name} is too short")
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    arrays = arrays_in(kind, mapping, path.name, stamp, names)
    # The check has gone over every page; only those that searches need are to be this process's memory.
    mapping.madvise(mmap.MADV_DONTNEED)
    return arrays


def arrays_in(kind: FileKind[T], content: Any, name: str, stamp: Stamp, names: Collection[str] | None = None) -> Arrays:
    """Return the arrays of what a file of this name holds, a buffer, as `read_arrays`; they keep the buffer.

    Raises:
        DamagedFile: as `read_arrays`.
    """
    magic, version, length, checksum = PREFIX.unpack_from(content)
    if magic != kind.magic or version != kind.format:
        raise DamagedFile(f"{name} is no {kind.name} file of format {kind.format}")
    encoded = content[PREFIX.size : PREFIX.size + length]
    if zlib.crc32(encoded) != checksum:
        raise DamagedFile(f"the header of {name} is damaged")
    header = msgspec.json.decode(encoded, type=_Header)
    if header.stamp != stamp:
        raise DamagedFile(f"{name} is of another source or version")
    first = _aligned(PREFIX.size + length)
    arrays: dict[str, NDArray[Any]] = {}
    for entry in header.arrays:
        if names is not None and entry.name not in names:
            continue
        dtype = np.dtype(entry.dtype)
        count = int(np.prod(entry.shape, dtype=np.int64))
        if first + entry.offset + count * dtype.itemsize > len(content):
            raise DamagedFile(f"{name} is cut short")
        # The array keeps the mapping, and that the file, though it is removed from its folder meanwhile.
        array = np.frombuffer(content, dtype, count, first + entry.offset).reshape(entry.shape)
        if zlib.crc32(_bytes(array)) != entry.checksum:
            raise DamagedFile(f"{entry.name} in {name} is damaged")
        arrays[entry.name] = array
    return arrays


def _bytes(array: NDArray[Any]) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]  # numpy's arrays are buffers


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _is_hexadecimal(name: str) -> bool:
    return len(name) == 16 and all(character in "0123456789abcdef" for character in name)
