"""Spreadsheets, as Excel and LibreOffice save them: the first visible sheet of each that holds something is a table."""

import functools
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

import msgspec

from penchant_engine.errors import Refused
from penchant_import.drafts import Draft
from penchant_import.files import (
    MAX_COLUMNS,
    MAX_DOCUMENT_BYTES,
    Files,
    InputFile,
    TableRow,
    UnreadableFile,
    number_duplicates,
    printable,
)
from penchant_import.formats.tables import read_tables
from penchant_import.options import ImportOptions
from penchant_import.report import Notes

ENDINGS = ("xlsx", "xlsm", "xls", "ods")
MAX_CELLS = 32_000_000
"""Cells from the first row and column to the last: the reader takes a gigabyte for so many, empty ones too."""
_PLACE = re.compile(
    rb"""<(?:\w+:)?row\b[^>]*?\sr=["']([0-9]{1,9})["'][^>/]*>|<(?:\w+:)?c\b[^>]*?\sr=["']([A-Za-z]{1,3})([0-9]{1,9})["'][^>/]*>"""
)
"""Where a row, or a cell that holds something, stands in a sheet of Excel."""
_REPEATED = re.compile(rb"<table:(?:covered-)?table-(row|cell)\b([^>]*)>")
_TIMES = re.compile(rb"""number-(?:rows|columns)-repeated=["']([0-9]{1,9})["']""")
"""Rows and cells of LibreOffice, and how often each of them is repeated."""


_MIDNIGHT = time.min.isoformat()
_EARLY_REASON = "midnight, or a day before 1900, which sheets do not tell apart; write such days as texts"


class _Sheet(NamedTuple):
    """A sheet: the names of its columns, the rows below these, and in which row, from 1, the first of them stands."""

    columns: list[str]
    rows: list[list[Any]]
    first: int


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of spreadsheets of pieces, then those of interactions."""
    sheets = {file: _open_sheet(files, file, notes) for file in files.select(*ENDINGS)}
    columns = {file: sheet.columns for file, sheet in sheets.items()}
    yield from read_tables(columns, lambda table: _rows(sheets.pop(table.file), table.file, notes), options, notes)


def _open_sheet(files: Files, file: InputFile, notes: Notes) -> _Sheet:
    """Return the first sheet of a file that is shown and holds something; that others are left out is noted.

    Raises:
        Refused: python-calamine is not installed.
        UnreadableFile: it is no spreadsheet, is locked by a password, unpacks to too much, or has cells too far off.
    """
    try:
        import python_calamine as calamine  # noqa: PLC0415  # the extra "spreadsheet"
    except ImportError as error:
        raise Refused("Spreadsheets need python-calamine: install penchant-import[spreadsheet].") from error
    content = files.document(file)
    _require_small(content, file)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        read: _Sheet | None = None
        for number, sheet in enumerate(book.sheets_metadata):
            name = printable(sheet.name)
            if sheet.visible is not calamine.SheetVisibleEnum.Visible:
                notes.left_out(file.name, f"sheet {name}", "it is hidden", 1)
                continue
            cells = book.get_sheet_by_index(number)
            rows = [] if read is not None and not cells.total_height else cells.to_python(skip_empty_area=False)
            if any(_is_filled(row) for row in rows):
                if read is None:
                    read = _table_of(rows)
                else:
                    notes.left_out(file.name, f"sheet {name}", "the first sheet alone is read", 1)
    except OverflowError as error:
        raise UnreadableFile(
            f"{file}: a duration in it is too long to be read; format its cell as a number."
        ) from error
    except calamine.CalamineError as error:
        detail = " ".join(printable(str(error)).split())
        raise UnreadableFile(f"{file}: no spreadsheet that can be read ({detail}).") from error
    if read is None:
        raise UnreadableFile(f"{file}: no sheet of it holds anything.")
    if len(read.columns) > MAX_COLUMNS:
        raise UnreadableFile(f"{file}: more than {MAX_COLUMNS} columns.")
    return read


def _require_small(content: bytes, file: InputFile) -> None:
    """Raise `UnreadableFile` where a spreadsheet, which is an archive but for old ones, would take too much memory."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_DOCUMENT_BYTES:
                raise UnreadableFile(f"{file}: it unpacks to over {MAX_DOCUMENT_BYTES} bytes; save it as CSV.")
            for member in archive.namelist():
                count = _count_repeated if member == "content.xml" else _count_placed
                if member.endswith(".xml") and count(archive.read(member)) > MAX_CELLS:
                    detail = f"from its first to its last cell there are over {MAX_CELLS}"
                    raise UnreadableFile(f"{file}: {detail}; clear those that stand far off, or save it as CSV.")


def _count_placed(sheet: bytes) -> int:
    """Return how many cells a sheet of Excel has up to its last row and column."""
    rows, columns = 0, b"A"
    for row, letters, number in _PLACE.findall(sheet):
        rows = max(rows, int(row or number))
        columns = max(columns, letters.upper(), key=lambda each: (len(each), each))
    return rows * functools.reduce(lambda width, letter: width * 26 + letter - 64, columns, 0)


def _count_repeated(content: bytes) -> int:
    """Return how many cells a document of LibreOffice has up to its last rows and columns, as `_count_placed`."""
    rows = last = width = columns = times = 0
    for kind, attributes in _REPEATED.findall(content):
        match = _TIMES.search(attributes)
        count = 1 if match is None else int(match[1])
        if kind == b"row":
            rows, columns, times = rows + times, 0, count
        else:
            columns += count
            # What ends here holds nothing; LibreOffice fills sheets with it to their ends.
            if not attributes.endswith(b"/") or b"value" in attributes:
                width, last = max(width, columns), max(last, rows + times)
    return last * width


def _is_filled(row: Iterable[Any]) -> bool:
    return any(cell not in ("", None) for cell in row)


def _table_of(rows: list[list[Any]]) -> _Sheet:
    """Return a sheet from its rows: the first that holds something is the heading."""
    place = next(number for number, row in enumerate(rows) if _is_filled(row))
    heading = rows[place]
    while heading and heading[-1] in ("", None):
        heading.pop()
    names = [str(_plain(cell)).strip() or f"column {number}" for number, cell in enumerate(heading, start=1)]
    return _Sheet(number_duplicates(names), rows[place + 1 :], place + 2)


def _rows(sheet: _Sheet, file: InputFile, notes: Notes) -> Iterator[TableRow]:
    width = len(sheet.columns)
    for number, row in enumerate(sheet.rows, start=sheet.first):
        if not _is_filled(row):
            continue
        values = dict(zip(sheet.columns, map(_plain, row[:width]), strict=False))
        for column in [name for name, value in values.items() if value == _MIDNIGHT]:
            notes.left_out(file.name, column, _EARLY_REASON, number)
            values[column] = ""
        problem = f"Found more than {width} columns." if _is_filled(row[width:]) else None
        yield TableRow(number, dict.fromkeys(sheet.columns, "") | values, problem)


def _plain(cell: Any) -> Any:
    """Return a cell as other tables have it: whole numbers without a fraction, times as ISO 8601 has them."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime) and cell.time() == time.min:
        return cell.date().isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return msgspec.to_builtins(cell)
    return cell.strip() if isinstance(cell, str) else cell
