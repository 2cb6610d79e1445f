"""IMDb: the titles of its non-commercial sets (``title.basics.tsv``), tables with a mark where there is nothing."""

from collections.abc import Iterator

from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Files, TableRow
from penchant.importing.inputs import UnreadableFile
from penchant.importing.interactions import problem_draft
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.tables import NO_PLACE

_NOTHING = r"\N"
_NEEDED = {"tconst", "primaryTitle", "genres"}
_EXTRAS = {"startYear": "year", "runtimeMinutes": "runtimeMinutes", "originalTitle": "originalTitle"}


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the titles; other tables of the set are left out."""
    file = files.find("title.basics.tsv")
    if file is None:
        raise UnreadableFile("Found no title.basics.tsv (or .tsv.gz).")
    heading = next((line for _, line in files.lines(file)), b"").decode("utf-8", "replace")
    columns = heading.split("\t")
    if not set(columns) >= _NEEDED:
        raise UnreadableFile(f"{file}, line 1: the columns {', '.join(sorted(_NEEDED))} are accepted, with tabs.")
    for row in files.separated(file, columns, "\t"):
        if row.line > 1:
            yield _title(row, file.name, options, notes)


def _title(row: TableRow, file: str, options: ImportOptions, notes: Notes) -> Draft:
    """Return the piece of a title, or the problem of a row that cannot be read."""
    if row.problem:
        return problem_draft(DraftKind.PIECE, (file, row.line), "", row.problem)
    values = {column: value for column, value in row.values.items() if value != _NOTHING}
    builder = PieceBuilder(notes, file, row.line, values.pop("tconst", ""), options=options)
    notes.mapped(file, "tconst", "id")
    builder.label("primaryTitle", values.pop("primaryTitle", ""))
    for column, value in values.items():
        if column == "genres":
            builder.keywords(column, "genre", value.split(","))
        elif column == "titleType":
            builder.keywords(column, "type", [value])
        elif column in _EXTRAS:
            builder.keep(column, _EXTRAS[column], int(value) if value.isdecimal() else value)
        # Other columns hold 0 where they say nothing, such as isAdult.
        elif value != "0":
            builder.leave(column, NO_PLACE)
    return builder.draft()
