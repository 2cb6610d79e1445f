"""Spreadsheets, as Excel and LibreOffice save them: the first sheet of each that holds something is a table."""

import io
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


class _Sheet(NamedTuple):
    """A sheet: the names of its columns, the rows below these, and in which row, from 1, the first of them stands."""

    columns: list[str]
    rows: list[list[Any]]
    first: int


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of spreadsheets of pieces, then those of interactions."""
    sheets = {file: _open_sheet(files, file, notes) for file in files.select(*ENDINGS)}
    columns = {file: sheet.columns for file, sheet in sheets.items()}
    yield from read_tables(columns, lambda table: _rows(sheets.pop(table.file)), options, notes)


def _open_sheet(files: Files, file: InputFile, notes: Notes) -> _Sheet:
    """Return the first sheet of a file that holds something; of the others it is noted that they are left out.

    Raises:
        Refused: python-calamine is not installed.
        UnreadableFile: it is no spreadsheet, is locked by a password, or unpacks to too much.
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
        for number, name in enumerate(book.sheet_names):
            cells = book.get_sheet_by_index(number)
            rows = [] if read is not None and not cells.total_height else cells.to_python(skip_empty_area=False)
            if any(_is_filled(row) for row in rows):
                if read is None:
                    read = _table_of(rows)
                else:
                    notes.left_out(file.name, f"sheet {printable(name)}", "the first sheet alone is read", 1)
    except calamine.CalamineError as error:
        detail = " ".join(printable(str(error)).split())
        raise UnreadableFile(f"{file}: no spreadsheet that can be read ({detail}).") from error
    if read is None:
        raise UnreadableFile(f"{file}: no sheet of it holds anything.")
    if len(read.columns) > MAX_COLUMNS:
        raise UnreadableFile(f"{file}: more than {MAX_COLUMNS} columns.")
    return read


def _require_small(content: bytes, file: InputFile) -> None:
    """Raise `UnreadableFile` where a spreadsheet, which is an archive but for old ones, unpacks to too much."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_DOCUMENT_BYTES:
                raise UnreadableFile(f"{file}: it unpacks to over {MAX_DOCUMENT_BYTES} bytes; save it as CSV.")


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


def _rows(sheet: _Sheet) -> Iterator[TableRow]:
    width = len(sheet.columns)
    for number, row in enumerate(sheet.rows, start=sheet.first):
        if not _is_filled(row):
            continue
        values = dict(zip(sheet.columns, map(_plain, row[:width]), strict=False))
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
