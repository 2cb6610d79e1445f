"""Records what processes write to a folder and sync, by a library in C below everything: Python, SQLite, numpy.

Tests put marks of their own between: what they were about to ask for, and what was acknowledged.
"""

import functools
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

SOURCE = Path(__file__).with_name("recorder.c")
HEAD = struct.Struct("<IIIIQQQ")
"""Kind, thread, bytes of the path and of another one, number of the file, offset or size, bytes of data."""
LOG = ".log"
"""Ends the path of what a process of a test says, which is none of its files."""
GONE = " (deleted)"
"""Ends the path of a file that has no name any more: nothing of it can be found after a cut."""


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened.

    ``kind``: W written, T cut to a size, B and E a sync of a file begins and ends, D and F of a folder, C a file made,
    K a folder made, R renamed, U removed, M mapped to be written; A a mark, S what a mapped file held at this moment.
    """

    kind: str
    thread: int
    path: str
    other: str
    file: int
    offset: int
    data: bytes

    def mark(self) -> Any:
        """Return what a mark says."""
        return msgspec.json.decode(self.data)


class Recording:
    """A folder that is recorded, from when it is empty."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.root = (folder / "root").resolve()
        self.root.mkdir()
        self._log = folder / "log"
        self._log.touch()
        self._library = _compiled(folder / "recorder.so")

    def environment(self) -> Mapping[str, str]:
        """Return what the environment of a process holds that is recorded."""
        return {"LD_PRELOAD": str(self._library), "RECORD_ROOT": str(self.root), "RECORD_LOG": str(self._log)}

    def mark(self, **said: object) -> None:
        """Put a mark behind all that has happened before."""
        self._append("A", "", msgspec.json.encode(said))

    def keep(self, path: Path) -> None:
        """Note what a mapped file holds, whose changes no call tells."""
        self._append("S", str(path), path.read_bytes())

    def _append(self, kind: str, path: str, data: bytes) -> None:
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND)
        record = HEAD.pack(ord(kind), 0, len(path), 0, 0, 0, len(data)) + path.encode() + data
        try:
            assert os.write(descriptor, record) == len(record)
        finally:
            os.close(descriptor)

    def records(self) -> Iterator[Record]:
        """Yield what has happened below the folder, in order, with paths relative to it."""
        with self._log.open("rb") as log:
            while head := log.read(HEAD.size):
                kind, thread, path, other, file, offset, size = HEAD.unpack(head)
                paths = [os.fsdecode(log.read(length)) for length in (path, other)]
                below = [each.removeprefix(f"{self.root}").removeprefix("/") for each in paths]
                record = Record(chr(kind), thread, below[0], below[1], file, offset, log.read(size))
                if not record.path.endswith((GONE, LOG)):
                    yield record


def _compiled(library: Path) -> Path:
    compiler = _compiler()
    if compiler is None:
        pytest.skip("no C compiler")
    words = [compiler, "-shared", "-fPIC", "-O2", "-w", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return library


@functools.cache
def _compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")
