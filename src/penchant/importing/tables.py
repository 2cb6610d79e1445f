"""Columns of tables: which of them have to be there, which are taken, and which are left out."""

from collections.abc import Iterable, Iterator, Mapping

from penchant.importing.files import UNSAID, Files, TableForm, TableRow, printable
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.notes import Notes

NO_PLACE = "has no place in a piece or an interaction"


def require_columns(files: Files, file: InputFile, names: Iterable[str], form: TableForm = UNSAID) -> None:
    """Raise `UnreadableFile` unless a CSV file has these columns."""
    found = files.columns(file, form)
    missing = [name for name in names if name not in found]
    if missing:
        shown = printable(", ".join(found)) or "none"
        raise UnreadableFile(f"{file}: the column {missing[0]} is missing; found are {shown}.")


def note_values(
    rows: Iterable[TableRow],
    file: str,
    notes: Notes,
    *,
    taken: Mapping[str, str],
    elsewhere: Iterable[str] = (),
) -> Iterator[TableRow]:
    """Yield rows, noting each value: of ``taken`` columns what it becomes, of others that it is left out.

    ``elsewhere`` are columns that are noted elsewhere.
    """
    silent = frozenset(elsewhere)
    for row in rows:
        for column, value in row.values.items():
            if not value or column in silent:
                continue
            if column in taken:
                notes.mapped(file, column, taken[column])
            else:
                notes.left_out(file, column, NO_PLACE, row.line)
        yield row
