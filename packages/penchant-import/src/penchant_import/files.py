"""Files of an import: which they are, and lines, rows or JSON values of them with their numbers, packed or not.

Of answers of other services, saved as JSON, the entries are read, whatever member of the answer holds them.
"""

import codecs
import csv
import gzip
import io
import re
import shlex
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import unquote

import msgspec

from penchant_engine.errors import Refused
from penchant_import.drafts import DraftKind
from penchant_import.rules import UNREADABLE, syntax_problem

STANDARD_INPUT = "standard input"
MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line that is read: what a request may hold by default."""
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
"""The largest file that is one JSON value: it is read as a whole, other than lines are."""
MAX_COLUMNS = 1_000
"""Columns of a table: more are no table of pieces or interactions, and each costs memory in every row."""
FREE_BYTES = 64 * 1024 * 1024
MAX_RATIO = 200
"""How many times its packed bytes a file may unpack to beyond the free ones: tables pack to a fiftieth at best."""
DELIMITERS = (",", ";", "\t", "|")
"""What may separate the columns of a table that does not say it, the likeliest first."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How spreadsheets begin what they call Unicode text."""
_SPREADSHEETS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How files of spreadsheets begin, new and old ones."""
_HEADING_LETTERS = 1 << 20
_SEPARATOR = re.compile(r"\s*\"?sep=(.)\"?\s*\Z", re.IGNORECASE)
"""The line by which spreadsheets are told the delimiter of a table."""
_WITHIN_QUOTES = re.compile(r'[^"\\]*(?:(?:\\.|"")[^"\\]*)*', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')
_DOUBLED = {'"': '""', "\\": "\\"}
"""What becomes of a character that has a backslash before it within a quoted value."""
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What a folder of parts of a table is called where the column holds nothing."""


TOO_DEEP = "Nested deeper than can be read."
ENCODING_HINT = "Say how it is written with --encoding, for instance windows-1252."
UTF_8_HINT = "Write it in UTF-8, for instance by iconv -f windows-1252 -t utf-8 FILE > NEW."
"""What helps where a file is not in UTF-8, and a format has no option to say how it is written."""


class UnreadableFile(Refused):
    """A file is not what its format says."""


class InputFile(NamedTuple):
    """A file to import.

    ``role`` is what its rows are, where the caller has said so; ``member`` the file's name in the archive at
    ``path``; ``label`` what it is called instead of its path. ``is_named`` is false for files that were found in a
    folder or an archive: a format takes only those of them that it knows.
    """

    path: Path
    role: DraftKind | None = None
    member: str | None = None
    label: str | None = None
    is_named: bool = True

    @property
    def name(self) -> str:
        """The file's name without ``.gz``; bytes of it that are no UTF-8 are shown as ``?``."""
        name = self.label or (PurePosixPath(self.member).name if self.member else self.path.name)
        return name.encode("utf-8", "replace").decode().removesuffix(".gz")

    @property
    def folder(self) -> PurePath:
        """The folder that it lies in, of a member of an archive within that."""
        return (self.path / self.member if self.member else self.path).parent

    @property
    def partition(self) -> dict[str, str]:
        """The columns that the names of its folders are, such as ``catalog=books``, as parts of a table lie in them."""
        columns: dict[str, str] = {}
        for folder in reversed(self.folder.parts):
            name, equals, value = folder.partition("=")
            if not equals or not name:
                break
            columns[unquote(name)] = "" if value == _NO_PARTITION else unquote(value)
        return dict(reversed(columns.items()))

    @property
    def ending(self) -> str:
        """The last part of its name behind a dot, in small letters."""
        return self.name.lower().rpartition(".")[2]

    def __str__(self) -> str:
        """Return what messages call it."""
        return self.label or (f"{self.path}:{self.member}" if self.member else str(self.path))


def gather(paths: Sequence[Path]) -> list[InputFile]:
    """Return the files of these paths; of folders and ``.zip`` archives all those inside, by name, without hidden ones.

    Raises:
        Refused: there is none.
    """
    files: list[InputFile] = []
    for path in paths:
        if path.is_dir():
            for inner in _inside(path):
                files += _unpacked(InputFile(inner, is_named=False))
        else:
            files += _unpacked(InputFile(path))
    if not files:
        raise Refused("There is no file to import.")
    return files


def save_standard_input(stream: BinaryIO, folder: Path) -> InputFile:
    """Write what standard input holds to a file in a folder, since formats read their files more than once."""
    path = folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return InputFile(path, label=STANDARD_INPUT)


def _inside(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, by name; links to folders are not followed."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _inside(path)
        elif path.is_file():
            yield path


def _unpacked(file: InputFile) -> Iterator[InputFile]:
    if file.path.suffix.lower() != ".zip":
        yield file
        return
    try:
        with zipfile.ZipFile(file.path) as archive:
            names = sorted(info.filename for info in archive.infolist() if not info.is_dir())
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableFile(f"{file} cannot be read: {error}.") from error
    for name in names:
        parts = PurePosixPath(name).parts
        # Hidden files, and the folder that macOS adds to archives, are not imported.
        if not any(part.startswith((".", "__MACOSX")) for part in parts):
            yield InputFile(file.path, member=name, is_named=False)


class TableForm(NamedTuple):
    """How a table is written; ``None`` where that is to be found out: by its heading, or UTF-8.

    ``columns`` are those of a table without a heading.
    """

    delimiter: str | None = None
    encoding: str | None = None
    columns: tuple[str, ...] = ()


DEFAULT_FORM = TableForm()
"""The form of a table of which nothing is said."""


class TableRow(NamedTuple):
    """A row of a table by the names of its columns, or what is wrong with it.

    ``filled`` counts cells that were missing at its end, where a format takes such rows.
    """

    line: int
    values: dict[str, str]
    problem: str | None = None
    filled: int = 0


class JsonEntry(NamedTuple):
    """A JSON value; ``line`` is its number from 1 where the file is one array."""

    line: int
    value: Any
    problem: str | None = None


class _UnpackedStream(io.RawIOBase):
    """An unpacked stream that ends with an error where it is out of all relation to what is packed."""

    def __init__(self, stream: BinaryIO, packed: Callable[[], int], file: InputFile) -> None:
        self._stream = stream
        self._packed = packed
        self._file = file
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._unpacked

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return how many bytes; raises `UnreadableFile` past the bound."""
        part = self._stream.read(len(buffer))
        buffer[: len(part)] = part
        self._unpacked += len(part)
        if self._unpacked > max(FREE_BYTES, MAX_RATIO * self._packed()):
            raise UnreadableFile(
                f"{self._file}: it unpacks to more than {MAX_RATIO} times its size; unpack it yourself."
            )
        return len(part)


class _RowLines:
    """The lines of a table for its reader: no row of them is longer than may be, or has more columns."""

    def __init__(
        self, text: io.TextIOWrapper, delimiter: str, file: InputFile, number: int, *, has_escapes: bool
    ) -> None:
        self._text = text
        self._delimiter = delimiter
        self._file = file
        self._number = number
        self._opening = re.compile(rf'(?:^|{re.escape(delimiter)})"') if has_escapes else None
        self._is_quoted = False
        self.begin_row()

    def begin_row(self) -> None:
        self._letters = self._columns = self._quotes = 0

    def __iter__(self) -> "_RowLines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(MAX_LINE_BYTES + 1)
        if not line:
            raise StopIteration
        if self._opening is not None:
            line = self._double(line, self._opening)
        self._number += 1
        self._letters += len(line)
        if self._letters > MAX_LINE_BYTES:
            raise UnreadableFile(f"{self._file}, line {self._number}: a row longer than {MAX_LINE_BYTES} letters.")
        # Counted before the row is taken apart. Most lines have few, whatever is quoted in them.
        if self._columns or line.count(self._delimiter) >= MAX_COLUMNS:
            parts = line.split('"')
            # Outside quotes is every other part, from the first or, within a quoted value, the second one on.
            self._columns += sum(part.count(self._delimiter) for part in parts[self._quotes % 2 :: 2])
            if self._columns >= MAX_COLUMNS:
                raise UnreadableFile(f"{self._file}, line {self._number}: more than {MAX_COLUMNS} columns.")
        self._quotes += line.count('"')
        return line

    def _double(self, line: str, opening: re.Pattern[str]) -> str:
        """Return a line with quotes doubled within quoted values, where they had a backslash before them."""
        parts: list[str] = []
        at = 0
        while True:
            begin = at
            if not self._is_quoted:
                if (match := opening.search(line, at)) is None:
                    break
                begin = match.end()
            inner = cast(re.Match[str], _WITHIN_QUOTES.match(line, begin))
            parts += line[at:begin], _ESCAPED.sub(lambda pair: _DOUBLED[pair[1]], inner[0])
            at = inner.end()
            self._is_quoted = line[at : at + 1] != '"'
            if self._is_quoted:
                break
            # The quote that ends the value is no beginning of another.
            parts.append('"')
            at += 1
        return "".join(parts) + line[at:]


class Position(NamedTuple):
    """How far a file is read, in bytes as they lie on the disk."""

    file: str
    done: int
    size: int


class Files:
    """The files of an import: finds them by name, reads them, and tells how far.

    ``encoding`` is how those of XML are written, where that is said.
    ``findings`` find out what there is in files that hold nothing of the format, for an error that says it.
    """

    def __init__(self, files: Sequence[InputFile]) -> None:
        self.all = tuple(files)
        self.encoding: str | None = None
        self.findings: dict[InputFile, Callable[[], str]] = {}
        self.opened: set[InputFile] = set()
        self._with_escapes: dict[tuple[InputFile, TableForm], bool] = {}
        self._raw: BinaryIO | None = None
        self._now = Position("", 0, 0)

    @property
    def position(self) -> Position:
        """How far the file that is being read, or was read last, is read."""
        # Of a packed file the packed bytes count: how many it unpacks to is known at its end only.
        if self._raw is not None and not self._raw.closed:
            self._now = self._now._replace(done=self._raw.tell())
        return self._now

    def find(self, *names: str) -> InputFile | None:
        """Return the file that has one of these names, any case."""
        return next((file for name in names for file in self.all if file.name.lower() == name), None)

    def with_stem(self, stem: str, *endings: str) -> list[InputFile]:
        """Return the files of a stem with one of these endings."""
        candidates = (self.find(f"{stem}.{ending}") for ending in endings)
        return [file for file in candidates if file is not None]

    def select(self, *endings: str) -> list[InputFile]:
        """Return the files that were named, and of folders and archives those with one of these endings.

        Raises:
            UnreadableFile: there is none.
        """
        chosen = [file for file in self.all if file.is_named or file.ending in endings]
        if not chosen:
            raise UnreadableFile(f"Found no file that ends in {', '.join(f'.{ending}' for ending in endings)}.")
        return chosen

    def lines(self, file: InputFile) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, without their ends, with their numbers from 1."""
        with self._open_utf_8(file) as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)  # some editors begin files with it
                if len(line) > MAX_LINE_BYTES:
                    raise UnreadableFile(f"{file}, line {number}: longer than {MAX_LINE_BYTES} bytes.")
                if not line.isspace():
                    yield number, line.rstrip(b"\r\n")

    def rows(
        self, file: InputFile, form: TableForm = DEFAULT_FORM, *, fill: bool = False, trim: bool = True
    ) -> Iterator[TableRow]:
        """Yield the rows of a CSV file below its heading; a quoted value may have several lines.

        Blanks at both ends of cells go, unless ``trim`` is false, and so do rows of blank cells. With ``fill`` the
        cells that a row lacks at its end are empty; otherwise it has a problem.
        """
        # For the whole process; the default of 128 KiB is less than a description may have.
        csv.field_size_limit(MAX_LINE_BYTES)
        with self._table(file, form) as (lines, reader, skipped):
            try:
                names = list(form.columns) or _names(next(reader, []))
                lines.begin_row()
                line = skipped + reader.line_num
                while (values := next(reader, None)) is not None:
                    lines.begin_row()
                    # A row may have several lines, and the reader says where it ends: it begins behind the row before.
                    line, before = skipped + reader.line_num, line
                    stripped = [item.strip() for item in values]
                    # Blank lines are no rows of the table; spreadsheets write them as delimiters.
                    if any(stripped):
                        yield _row(before + 1, names, stripped if trim else values, fill=fill)
            except csv.Error as error:
                raise UnreadableFile(f"{file}, line {skipped + reader.line_num}: {error}.") from None

    def columns(self, file: InputFile, form: TableForm = DEFAULT_FORM) -> list[str]:
        """Return the names of a CSV file's columns."""
        if form.columns:
            return list(form.columns)
        with self._table(file, form) as (_, reader, skipped):
            try:
                return _names(next(reader, []))
            except csv.Error as error:
                raise UnreadableFile(f"{file}, line {skipped + 1}: {error}.") from None

    @contextmanager
    def _table(self, file: InputFile, form: TableForm) -> Iterator[tuple["_RowLines", Any, int]]:
        """Open a table at its heading: its lines, their reader, and how many lines stand before.

        Before it may stand blank lines, and what tells spreadsheets the delimiter (``sep=;``).
        """
        skipped, delimiter = self._beginning(file, form)
        if (has_escapes := self._with_escapes.get((file, form))) is None:
            has_escapes = self._with_escapes[file, form] = self._has_escapes(file, form, delimiter)
        with self._text(file, form) as text:
            for _ in range(skipped):
                text.readline(MAX_LINE_BYTES)
            lines = _RowLines(text, delimiter, file, skipped, has_escapes=has_escapes)
            yield lines, csv.reader(lines, delimiter=delimiter), skipped

    def _has_escapes(self, file: InputFile, form: TableForm, delimiter: str) -> bool:
        """Return whether quotes within quoted values have a backslash before them, as Spark writes them.

        One that neither ends its value nor is doubled tells: a value may also end in a backslash.
        """
        follows = rf'(?=[^"{re.escape(delimiter)}\r\n])'
        quoted = rf'(?:^|{re.escape(delimiter)})"[^"]*(?:""[^"]*)*(?<=\\)"{follows}'
        telling = re.compile(rf'^[^"]*\\"{follows}|{quoted}')
        with self._text(file, form) as text:
            lines = iter(lambda: text.readline(MAX_LINE_BYTES), "")
            return any('\\"' in line and telling.search(line) is not None for line in lines)

    def _beginning(self, file: InputFile, form: TableForm) -> tuple[int, str]:
        """Return how many lines stand before the heading, and the delimiter: the one that gives it most columns."""
        skipped, stated = 0, ""
        with self._text(file, form) as text:
            while heading := text.readline(_HEADING_LETTERS):
                if not stated and (match := _SEPARATOR.match(heading)):
                    stated = match[1]
                # Spreadsheets write blank lines as delimiters.
                elif heading.strip("".join(DELIMITERS) + ' "\r\n'):
                    break
                skipped += 1
        counts = {item: len(next(csv.reader([heading], delimiter=item), [])) for item in DELIMITERS}
        # Of equal ones the first, which is the likeliest.
        return skipped, form.delimiter or stated or max(DELIMITERS, key=counts.__getitem__)

    def separated(
        self, file: InputFile, names: Sequence[str], separator: str, *, or_latin_1: bool = False
    ) -> Iterator[TableRow]:
        """Yield the rows of a file without heading or quotes, in UTF-8 or, line by line, in Latin-1.

        Raises:
            UnreadableFile: it is written otherwise.
        """
        for number, line in self.lines(file):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                if not or_latin_1:
                    where = f"{file}, line {number}, column {error.start + 1}"
                    raise UnreadableFile(f"{where}: not UTF-8. {UTF_8_HINT}") from None
                text = line.decode("latin-1")
            if text.count(separator) >= MAX_COLUMNS:
                raise UnreadableFile(f"{file}, line {number}: more than {MAX_COLUMNS} columns.")
            yield _row(number, names, [item.strip() for item in text.split(separator)])

    def raw_values(self, file: InputFile) -> Iterator[tuple[int, bytes]]:
        """Yield the texts of JSON values with their numbers: those of one array, or one a line."""
        with self._open_utf_8(file) as stream:
            # Looked at before anything else: an array is read as a whole, lines are not.
            is_array = stream.read(1024).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
        if not is_array:
            yield from self.lines(file)
            return
        text = self.document(file)
        try:
            values = msgspec.json.decode(text, type=list[msgspec.Raw])
        except UNREADABLE:
            raise UnreadableFile(f"{file}: {json_problem(text, 'file')}") from None
        yield from enumerate(map(bytes, values), start=1)

    def entries(self, file: InputFile) -> Iterator[JsonEntry]:
        """Yield JSON values: those of one array, or one a line."""
        for number, raw in self.raw_values(file):
            try:
                yield JsonEntry(number, msgspec.json.decode(raw))
            except UNREADABLE:
                yield JsonEntry(number, None, json_problem(raw))

    def document(self, file: InputFile) -> bytes:
        """Return a file as a whole."""
        with self._open_utf_8(file) as stream:
            text = stream.read(MAX_DOCUMENT_BYTES + 1).removeprefix(codecs.BOM_UTF8)
        if len(text) > MAX_DOCUMENT_BYTES:
            raise UnreadableFile(f"{file}: one JSON value of over {MAX_DOCUMENT_BYTES} bytes; write one a line.")
        return text

    def require_columns(self, file: InputFile, names: Iterable[str], form: TableForm = DEFAULT_FORM) -> None:
        """Raise `UnreadableFile` unless a CSV file has these columns."""
        require_columns(file, names, self.columns(file, form))

    @contextmanager
    def open(self, file: InputFile) -> Iterator[BinaryIO]:
        """Open a file for reading, unpacked."""
        self.opened.add(file)
        try:
            with ExitStack() as stack:
                raw = stack.enter_context(file.path.open("rb"))
                size = file.path.stat().st_size
                if file.member is not None:
                    archive = stack.enter_context(zipfile.ZipFile(raw))
                    member = archive.getinfo(file.member)
                    size = member.file_size
                    packed = stack.enter_context(archive.open(file.member))
                    raw = _bounded(cast(BinaryIO, packed), lambda: member.compress_size, file)
                self._raw, self._now = raw, Position(file.name, 0, size)
                # By its first bytes as well: a file may be packed without saying so in its name.
                is_packed = raw.peek(2)[:2] == b"\x1f\x8b" or (file.member or file.path.name).endswith(".gz")
                if is_packed:
                    unpacked = cast(BinaryIO, stack.enter_context(gzip.open(raw)))
                    yield cast(BinaryIO, _bounded(unpacked, raw.tell, file))
                else:
                    yield raw
            self._now = Position(file.name, size, size)
        # An encrypted archive is a RuntimeError, one packed in an unknown way a NotImplementedError.
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
            raise UnreadableFile(f"{file} cannot be read: {error}.") from error

    @contextmanager
    def _open_utf_8(self, file: InputFile) -> Iterator[BinaryIO]:
        """Open a file; one of UTF-16, as shells of Windows write what commands print, becomes UTF-8.

        Raises:
            UnreadableFile: it is marked as UTF-16, and is not; also while the block reads it.
        """
        with self.open(file) as stream:
            if cast(io.BufferedReader, stream).peek(2)[:2] not in _UTF_16:
                yield stream
                return
            try:
                yield cast(BinaryIO, codecs.EncodedFile(stream, "utf-8", "utf-16"))
            except UnicodeDecodeError as error:
                raise UnreadableFile(f"{file}: not UTF-16, as its first bytes say ({error.reason}).") from error

    @contextmanager
    def _text(self, file: InputFile, form: TableForm) -> Iterator[io.TextIOWrapper]:
        """Open a file as text, in the encoding that was said, that of its first bytes, or UTF-8.

        Raises:
            UnreadableFile: it is not written in that encoding; also while the block reads it.
        """
        with self.open(file) as stream:
            start = cast(io.BufferedReader, stream).peek(4)[:4]
            if start in _SPREADSHEETS:
                raise UnreadableFile(f"{file}: no text, but rather a spreadsheet; say so with --from spreadsheet.")
            # A mark of UTF-16 at the start wins over what was said; "utf-8-sig" takes off that of UTF-8.
            encoding = "utf-16" if start[:2] in _UTF_16 else form.encoding or "utf-8-sig"
            try:
                with io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
                    yield text
            except UnicodeDecodeError as error:
                result = self._first_undecodable(file, encoding)
                where = "" if result is None else f", line {result[0]}, column {result[1]}"
                written = encoding.removesuffix("-sig").upper()
                raise UnreadableFile(f"{file}{where}: not {written} ({error.reason}). {ENCODING_HINT}") from error

    def require_utf_8(self, file: InputFile, line: int) -> None:
        """Raise `UnreadableFile`, with what helps, where a file is not in UTF-8, from its start to a line."""
        result = self._first_undecodable(file, "utf-8")
        if result is not None and result[0] <= line:
            raise UnreadableFile(f"{file}, line {result[0]}, column {result[1]}: not UTF-8. {ENCODING_HINT}")

    def _first_undecodable(self, file: InputFile, encoding: str) -> tuple[int, int] | None:
        """Return the line and column at which a text cannot be decoded; ``None`` where bytes alone do not show it."""
        if encoding.startswith("utf-16"):
            return None
        with suppress(UnreadableFile):
            for number, line in self.lines(file):
                try:
                    line.decode(encoding)
                except UnicodeDecodeError as error:
                    return number, error.start + 1
        return None


def _bounded(stream: BinaryIO, packed: Callable[[], int], file: InputFile) -> io.BufferedReader:
    """Return an unpacked stream that can be looked into and ends where it passes `MAX_RATIO`."""
    return io.BufferedReader(_UnpackedStream(stream, packed, file), io.DEFAULT_BUFFER_SIZE * 8)


def json_problem(text: bytes, what: str = "line") -> str:
    """Return why a text is no JSON, with the line and column where it ceases to be."""
    problem = syntax_problem(text)
    if problem is not None:
        detail = problem.replace("The body", f"The {what}").replace("the body", f"the {what}")
        if "not UTF-8" in detail:
            detail = f"{detail} {UTF_8_HINT}"
        # The number of a line is told beside it; within itself it is always the first.
        return detail.replace("at line 1, column", "at column") if what == "line" else detail
    return f"The {what} is no JSON value that is accepted here."


def require_columns(file: InputFile, names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise `UnreadableFile` unless the columns of a table have these names among them."""
    missing = next((name for name in names if name not in columns), None)
    if missing is not None:
        excerpt = printable(", ".join(columns)) or "none"
        raise UnreadableFile(f"{file}: the column {missing} is missing; found are {excerpt}.")


def _names(heading: Sequence[str]) -> list[str]:
    """Return the names of columns without blanks around them; those without a name go by their number, from 1."""
    return number_duplicates([name.strip() or f"column {number}" for number, name in enumerate(heading, start=1)])


def number_duplicates(names: Sequence[str]) -> list[str]:
    """Return names of columns of which none is another's: ``tag``, ``tag`` are ``tag`` and ``tag_2``."""
    written, numbered = set(names), dict[str, None]()
    for name in names:
        unique, number = name, 1
        while unique in numbered or (number > 1 and unique in written):
            number += 1
            unique = f"{name}_{number}"
        numbered[unique] = None
    return list(numbered)


def _row(line: int, names: Sequence[str], values: Sequence[str], *, fill: bool = False) -> TableRow:
    if len(values) == len(names):
        return TableRow(line, dict(zip(names, values, strict=True)))
    cells = list(values)
    # Padding: cells behind the last column that hold nothing.
    while len(cells) > len(names) and not cells[-1]:
        cells.pop()
    missing = len(names) - len(cells)
    if missing and not (fill and missing > 0):
        return TableRow(line, {}, f"Found {len(cells)} columns; {len(names)} are accepted.")
    return TableRow(line, dict(zip(names, cells + [""] * missing, strict=True)), filled=missing)


def printable(text: str) -> str:
    """Return a text out of a file so that a terminal shows it and nothing else."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def amount(count: int, things: str) -> str:
    """Return a count with what is counted, given in the plural: `1 key`, `2 keys`."""
    one = "person" if things == "people" else things.removesuffix("s")
    return f"{count} {one if count == 1 else things}"


def quoted(word: str) -> str:
    """Return a word as it is written in a shell's command."""
    return shlex.quote(printable(word))


class AnswerEntry(NamedTuple):
    """An entry of a list in an answer.

    ``section`` is the member that holds the list, empty where the file is one; ``number`` counts from 1 in the file.
    """

    section: str
    number: int
    value: Any


def read_answer(files: Files, file: InputFile) -> Iterator[AnswerEntry]:
    """Yield the entries of a file that is a list, or of all lists in the object that it is; one in memory decoded.

    Raises:
        UnreadableFile: it is no JSON, or too large.
    """
    text = files.document(file)
    try:
        number = 0
        for section, entries in _lists(text).items():
            for raw in msgspec.json.decode(entries, type=list[msgspec.Raw]):
                number += 1
                yield AnswerEntry(section, number, msgspec.json.decode(raw))
    except UNREADABLE:
        raise UnreadableFile(f"{file}: {json_problem(text, 'file')}") from None


def _lists(text: bytes) -> dict[str, bytes | memoryview]:
    start = text.lstrip()[:1]
    if start == b"[":
        return {"": text}
    if start != b"{":
        msgspec.json.decode(text)
        return {}
    members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    # Looked at where they lie: a member may be nearly all of a large file.
    views = {name: memoryview(raw) for name, raw in members.items()}
    return {name: view for name, view in views.items() if bytes(view[:1]) == b"["}
