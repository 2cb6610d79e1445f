"""Which columns of a table are taken, and which are left out?"""

from collections.abc import Iterable, Iterator, Mapping

from penchant.importing.files import Files, InputFile, Row, UnreadableFile, printable
from penchant.importing.notes import Notes

NO_PLACE = "has no place in a piece or an interaction"


def require_columns(files: Files, file: InputFile, names: Iterable[str], *, delimiter: str = ",") -> None:
    """Raise `UnreadableFile` unless a CSV file has these columns."""
    found = files.columns(file, delimiter=delimiter)
    missing = [name for name in names if name not in found]
    if missing:
        shown = printable(", ".join(found)) or "none"
        raise UnreadableFile(f"{file.path}: the column {missing[0]} is missing; found are {shown}.")


def told(
    rows: Iterable[Row],
    file: str,
    notes: Notes,
    *,
    taken: Mapping[str, str],
    elsewhere: Iterable[str] = (),
) -> Iterator[Row]:
    """Yield rows, noting each value: of ``taken`` columns what it becomes, of others that it is left out.

    ``elsewhere`` are columns of which somebody else takes note.
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
