"""How are foreign files read? As lines, rows or JSON values with their line numbers, gzip or not, one at a time."""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from penchant.errors import Refused
from penchant.importing.drafts import Kind

MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line that is read: what a request may hold by default."""
MAX_ARRAY_BYTES = 256 * 1024 * 1024
"""The largest file that is one JSON array: it is read as a whole, other than lines are."""


class UnreadableFile(Refused):
    """A file is not what its format says."""


class InputFile(NamedTuple):
    """A file to import; ``role`` is what its rows are, where the caller has said so."""

    path: Path
    role: Kind | None = None

    @property
    def name(self) -> str:
        """The file's name without ``.gz``; bytes of it that are no UTF-8 are shown as ``?``."""
        return self.path.name.encode("utf-8", "replace").decode().removesuffix(".gz")


class Row(NamedTuple):
    """A row of a table by the names of its columns, or what is wrong with it."""

    line: int
    values: dict[str, str]
    problem: str | None = None


class Entry(NamedTuple):
    """A JSON value and its text; ``line`` is its place from 1 where the file is one array."""

    line: int
    value: Any
    raw: bytes
    problem: str | None = None


class Position(NamedTuple):
    """How far a file is read, in bytes as they lie on the disk."""

    file: str
    done: int
    size: int


class Files:
    """The files of an import: finds them by name, reads them, and tells how far."""

    def __init__(self, files: Sequence[InputFile]) -> None:
        self.all = tuple(files)
        self.opened: set[InputFile] = set()
        self._raw: BinaryIO | None = None
        self._now = Position("", 0, 0)

    @property
    def position(self) -> Position:
        """How far the file that is being read, or was read last, is read."""
        if self._raw is not None and not self._raw.closed:
            self._now = self._now._replace(done=self._raw.tell())
        return self._now

    def find(self, *names: str) -> InputFile | None:
        """Return the file that has one of these names, any case."""
        return next((file for name in names for file in self.all if file.name.lower() == name), None)

    def named(self, stem: str, *endings: str) -> list[InputFile]:
        """Return the files of a stem with one of these endings."""
        found = (self.find(f"{stem}.{ending}") for ending in endings)
        return [file for file in found if file is not None]

    def lines(self, file: InputFile) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, without their ends, with their numbers from 1."""
        with self._opened(file) as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)  # some editors begin files with it
                if len(line) > MAX_LINE_BYTES:
                    raise UnreadableFile(f"{file.path}, line {number}: longer than {MAX_LINE_BYTES} bytes.")
                if not line.isspace():
                    yield number, line.rstrip(b"\r\n")

    def rows(self, file: InputFile, *, delimiter: str = ",") -> Iterator[Row]:
        """Yield the rows of a CSV file below its heading; a quoted value may have several lines."""
        csv.field_size_limit(MAX_LINE_BYTES)
        with self._opened(file) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=delimiter)
            try:
                names = next(reader, [])
                line = reader.line_num
                if len(set(names)) < len(names):
                    raise UnreadableFile(f"{file.path}: two columns have the same name.")
                while (values := next(reader, None)) is not None:
                    line, before = reader.line_num, line
                    if values:
                        yield _row(before + 1, names, values)
            except csv.Error as error:
                raise UnreadableFile(f"{file.path}, line {reader.line_num}: {error}.") from None

    def columns(self, file: InputFile, *, delimiter: str = ",") -> list[str]:
        """Return the names of a CSV file's columns."""
        with self._opened(file) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            return next(csv.reader(text, delimiter=delimiter), [])

    def separated(self, file: InputFile, names: Sequence[str], separator: str) -> Iterator[Row]:
        """Yield the rows of a file without heading or quotes, in UTF-8 or Latin-1."""
        for number, line in self.lines(file):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError:
                text = line.decode("latin-1")
            yield _row(number, names, text.split(separator))

    def entries(self, file: InputFile) -> Iterator[Entry]:
        """Yield JSON values: one a line, or those of one array."""
        with self._opened(file) as stream:
            is_array = stream.read(1024).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
        if is_array:
            yield from self._array(file)
            return
        for number, line in self.lines(file):
            try:
                yield Entry(number, msgspec.json.decode(line), line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                yield Entry(number, None, line, "The line is no JSON value; one a line is accepted.")

    def _array(self, file: InputFile) -> Iterator[Entry]:
        with self._opened(file) as stream:
            text = stream.read(MAX_ARRAY_BYTES + 1).removeprefix(codecs.BOM_UTF8)
        if len(text) > MAX_ARRAY_BYTES:
            raise UnreadableFile(f"{file.path}: an array of over {MAX_ARRAY_BYTES} bytes; write an object a line.")
        try:
            raws = msgspec.json.decode(text, type=list[msgspec.Raw])
            for number, raw in enumerate(raws, start=1):
                yield Entry(number, msgspec.json.decode(raw), bytes(raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableFile(f"{file.path}: not JSON: {error}") from None

    @contextmanager
    def _opened(self, file: InputFile) -> Iterator[BinaryIO]:
        self.opened.add(file)
        try:
            with file.path.open("rb") as raw:
                size = file.path.stat().st_size
                self._raw, self._now = raw, Position(file.name, 0, size)
                if file.path.suffix == ".gz":
                    with gzip.open(raw, "rb") as unpacked:
                        yield unpacked  # type: ignore[misc]  # it reads as any binary file does
                else:
                    yield raw
            self._now = Position(file.name, size, size)
        except (OSError, EOFError, zlib.error) as error:
            raise UnreadableFile(f"{file.path} cannot be read: {error}.") from error
        except UnicodeDecodeError as error:
            raise UnreadableFile(f"{file.path} is not UTF-8: {error.reason}.") from error


def _row(line: int, names: Sequence[str], values: Sequence[str]) -> Row:
    if len(values) != len(names):
        return Row(line, {}, f"Found {len(values)} columns; {len(names)} are accepted.")
    return Row(line, dict(zip(names, values, strict=True)))


def printable(text: str) -> str:
    """Return a text out of a file so that a terminal shows it and nothing else."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def gather(paths: Sequence[Path]) -> list[InputFile]:
    """Return the files of these paths, those of a folder by name and without hidden ones.

    Raises:
        Refused: there is none.
    """
    found: list[InputFile] = []
    for path in paths:
        if path.is_dir():
            found += [InputFile(each) for each in sorted(path.iterdir()) if each.is_file() and each.name[0] != "."]
        else:
            found.append(InputFile(path))
    if not found:
        raise Refused("There is no file to import.")
    return found
