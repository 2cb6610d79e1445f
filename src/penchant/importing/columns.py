"""CSV: any table with a heading, of pieces, or of interactions where it has a column of users."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from penchant.importing.actions import ANY, type_named, type_of_rating
from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Files, TableRow
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.interactions import interaction_draft, problem_draft
from penchant.importing.merging import RowMerger
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions, KeywordColumn
from penchant.importing.pieces import PieceBuilder, split
from penchant.importing.roles import Roles, find_roles, plain
from penchant.importing.tables import note_values, require_columns
from penchant.model import InteractionType

ENDINGS = ("csv", "tsv", "tab")
_CATALOGS = ("catalogs", "catalog")
_WINDOW = {"availablefrom": "availableFrom", "availableuntil": "availableUntil"}
_KEYWORDS = {
    "genre": "genre genres",
    "tag": "tag tags",
    "keyword": "keyword keywords",
    "category": "category categories",
    "topic": "topic topics subject subjects",
    "author": "author authors",
    "director": "director directors",
    "actor": "actor actors cast",
    "brand": "brand",
    "language": "language languages",
}
_CATEGORIES = {name: category for category, names in _KEYWORDS.items() for name in names.split()}
_COMMA_SEPARATED = {"genre", "tag", "keyword"}
"""Categories whose texts are lists where they hold commas; names of people and of subjects have commas in them."""
_WITH_COMMA = re.compile(r"-?\d{1,3}(?:\.?\d{3})*,\d+\Z", re.ASCII)


NOTHING = ("", None)
"""What a cell holds that is empty."""


class Table(NamedTuple):
    """A table: its file, its columns and what they are; ``rows`` are read from the first on each time."""

    file: InputFile
    columns: Sequence[str]
    roles: Roles


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of the files of pieces, then those of interactions."""
    # The columns of all tables before the first row of any: one that is missing ends the import at once.
    tables = []
    for file in files.taken(*ENDINGS):
        columns = files.columns(file, options.form)
        tables.append(Table(file, columns, find_roles(columns, file, options)))
    for table in tables:
        if table.roles.user is None:
            chosen = [column.column for column in options.keywords]
            chosen += [options.catalogs.column] if options.catalogs else []
            require_columns(files, table.file, chosen, options.form)
            yield from read_pieces(files.rows(table.file, options.form), table, options, notes)
    for table in tables:
        if table.roles.user is not None:
            yield from read_interactions(files.rows(table.file, options.form), table, options, notes)


def read_pieces(rows: Iterable[TableRow], table: Table, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the pieces of a table; rows of one id that stand together are one piece."""
    roles = table.roles

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if column == roles.id or value in NOTHING:
                continue
            if column == roles.label:
                builder.label(column, str(value))
            else:
                _take(builder, column, value, options)

    yield from RowMerger(table.file.name, roles.id, options, notes).pieces(rows, take)


def _take(builder: PieceBuilder, column: str, value: Any, options: ImportOptions) -> None:
    """Take a value where its column belongs: as chosen, as its name says, or into the extras."""
    name = plain(column)
    chosen = [each for each in options.keywords if each.column == column]
    if chosen:
        for each in chosen:
            builder.keywords(column, each.category, split(value, each))
    elif (options.catalogs.column == column) if options.catalogs else name in _CATALOGS:
        builder.catalogs(column, split(value, options.catalogs or KeywordColumn(column=column, category="")))
    elif name in _WINDOW:
        builder.moment(column, _WINDOW[name], value)
    elif name in _CATEGORIES and not options.keywords:
        category = _CATEGORIES[name]
        builder.keywords(column, category, _keywords_of(value, column, category))
    elif isinstance(value, list) and not options.keywords:
        builder.keywords(column, column, value)
    # Points part thousands where commas begin decimals; without a comma a text may as well be a version or a date.
    elif options.decimal == "," and isinstance(value, str) and _WITH_COMMA.match(value):
        builder.keep(column, column, float(value.replace(".", "").replace(",", ".")))
    else:
        builder.keep(column, column, value)


def _keywords_of(value: Any, column: str, category: str) -> list[Any]:
    found = split(value, KeywordColumn(column=column, category=category))
    if len(found) == 1 and isinstance(found[0], str) and category in _COMMA_SEPARATED:
        return [part.strip() for part in found[0].split(",") if part.strip()]
    return found


def read_interactions(rows: Iterable[TableRow], table: Table, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the interactions of a table.

    Raises:
        UnreadableFile: nothing says what people did.
    """
    roles, file = table.roles, table.file
    if roles.type is None and roles.rating is None and ANY not in options.types:
        raise UnreadableFile(
            f"{file}: no column of types or ratings; name one with --type-column or --rating-column, "
            "or say what all rows are with --type '*=Watch'."
        )
    taken = {roles.user: "userId", roles.id: "contentId", roles.time: "timestamp"}
    # Ratings decide the type only where no column does.
    taken |= {roles.type: "type"} if roles.type else {roles.rating: "type"}
    columns: Mapping[str, str] = {name: to for name, to in taken.items() if name is not None}
    for row in note_values(rows, file.name, notes, taken=columns):
        draft = _interaction(row, file.name, roles, options, notes)
        if draft is not None:
            yield draft


def _interaction(row: TableRow, file: str, roles: Roles, options: ImportOptions, notes: Notes) -> Draft | None:
    """Return the interaction of a row, or its problem; ``None``, which is noted, for an action that nothing maps."""
    where, values = (file, row.line), row.values
    if row.problem:
        return problem_draft(DraftKind.INTERACTION, where, "", row.problem)
    try:
        kind = _type_of(values, roles, options)
    except ValueError as error:
        return problem_draft(DraftKind.INTERACTION, where, roles.rating or "", str(error))
    if kind is None:
        name = values[roles.type or ""]
        notes.left_out(file, roles.type or "", f"the type {name!r} is not mapped; say --type {name}=Click", row.line)
        return None
    time: tuple[str, Any] | None = None
    if roles.time is not None:
        time = roles.time, values[roles.time]
        if values[roles.time] in NOTHING:
            detail = "Found no time; without one the row would count as of now (--without-times says that it shall)."
            return problem_draft(DraftKind.INTERACTION, where, roles.time, detail)
    who = values[roles.user or ""], values[roles.id]
    return interaction_draft(where, who=who, kind=kind, time=time, time_format=options.time_format)


def _type_of(values: Mapping[str, Any], roles: Roles, options: ImportOptions) -> InteractionType | None:
    """Return the interaction of a row, ``None`` where that is an action that nothing maps.

    Raises:
        ValueError: the rating is none.
    """
    if roles.type is not None:
        return type_named(str(values[roles.type]), options.types)
    if roles.rating is not None:
        return type_of_rating(values[roles.rating], options.rating_scale, options.decimal)
    return options.types[ANY]
