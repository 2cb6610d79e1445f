"""Tables: CSV, Parquet and Arrow with anybody's columns, of pieces, or of interactions where one is of users.

Which column is the id, the person or the time goes by the names that people use, unless an option says it.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from penchant.errors import Refused
from penchant.importing.drafts import (
    ANY,
    Draft,
    DraftKind,
    interaction_draft,
    problem_draft,
    type_named,
    type_of_rating,
)
from penchant.importing.files import Files, InputFile, TableRow, UnreadableFile, printable, require_columns
from penchant.importing.measures import is_number, plain
from penchant.importing.options import ImportOptions, KeywordColumn
from penchant.importing.pieces import DESCRIPTION_NAMES, ID_NAMES, PieceBuilder, merge_rows, split
from penchant.importing.report import NO_PLACE, Notes
from penchant.model import InteractionType

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
_EMPTY = ("", None)
"""What an empty cell holds."""
_PARQUET = b"PAR1"
_BATCH_ROWS = 1_000


_ROLE_NAMES = {
    "label": "label title name headline producttitle productname itemname booktitle movietitle originaltitle",
    "user": "userid user uid customerid customer visitorid visitor personid person memberid member readerid reader "
    "viewerid listenerid reviewerid accountid profileid clientid anonymousid sessionid session username",
    "type": "type event eventtype eventname action actiontype interaction interactiontype feedbacktype behavior "
    "behaviour behaviortype behaviourtype verb",
    "rating": "rating stars overall userrating bookrating score",
    "time": "timestamp time ts date datetime createdat eventtime eventtimestamp eventdate occurredat recordedat "
    "unixtime unixreviewtime unixtimestamp timestampms epoch when visittime watchedat viewedat clickedat purchasedat "
    "ratedat orderdate purchasedate reviewdate",
}
_NAMES = {"id": ID_NAMES} | {role: names.split() for role, names in _ROLE_NAMES.items()}
"""Names of the columns of each role, as they are compared, the likeliest first."""


class Roles(NamedTuple):
    """Which column is what; ``None`` where there is none. ``kind`` is what the rows of the table are."""

    kind: DraftKind
    id: str
    label: str | None
    user: str | None
    type: str | None
    rating: str | None
    time: str | None


class Table(NamedTuple):
    """A table: its file, its columns and what they are."""

    file: InputFile
    columns: Sequence[str]
    roles: Roles


def read_csv(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of CSV files of pieces, then those of interactions."""

    def rows(table: Table) -> Iterator[TableRow]:
        if table.roles.kind is DraftKind.PIECE:
            chosen = [column.column for column in options.keywords]
            chosen += [options.catalogs.column] if options.catalogs else []
            require_columns(table.file, chosen, table.columns)
        return files.rows(table.file, options.form)

    chosen_files = files.taken("csv", "tsv", "tab")
    yield from _read(chosen_files, lambda file: files.columns(file, options.form), rows, options, notes)


def read_parquet(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of tables of Parquet and Arrow, those of pieces first."""
    chosen_files = files.taken("parquet", "pq", "arrow", "feather")
    yield from _read(
        chosen_files, lambda file: _open(files, file)[0], lambda table: _rows(files, table.file), options, notes
    )


def _read(
    files: Iterable[InputFile],
    columns_of: Callable[[InputFile], Sequence[str]],
    rows_of: Callable[[Table], Iterator[TableRow]],
    options: ImportOptions,
    notes: Notes,
) -> Iterator[Draft]:
    # The columns of all tables before the first row of any: one that is missing ends the import at once.
    tables = []
    for file in files:
        columns = columns_of(file)
        tables.append(Table(file, columns, find_roles(columns, file, options)))
    for table in tables:
        if table.roles.kind is DraftKind.PIECE:
            yield from read_pieces(rows_of(table), table, options, notes)
    for table in tables:
        if table.roles.kind is DraftKind.INTERACTION:
            yield from read_interactions(rows_of(table), table, options, notes)


def read_pieces(rows: Iterable[TableRow], table: Table, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the pieces of a table; rows of one id that stand together are one piece."""
    roles = table.roles

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if column == roles.id or value in _EMPTY:
                continue
            if column == roles.label:
                builder.label(column, str(value))
            else:
                _take(builder, column, value, options)

    yield from merge_rows(rows, table.file.name, roles.id, options, notes, take)


def _take(builder: PieceBuilder, column: str, value: Any, options: ImportOptions) -> None:
    """Take a value where its column belongs: as chosen, as its name says, or into the extras."""
    name = plain(column)
    chosen = [each for each in options.keywords if each.column == column]
    if chosen:
        for each in chosen:
            builder.keywords(column, each.category, split(value, each))
    elif (options.catalogs.column == column) if options.catalogs else name in ("catalogs", "catalog"):
        builder.catalogs(column, split(value, options.catalogs or KeywordColumn(column=column, category="")))
    elif name in _WINDOW:
        builder.moment(column, _WINDOW[name], value)
    elif name in _CATEGORIES and not options.keywords:
        category = _CATEGORIES[name]
        builder.qualities(column, category, _keywords_of(value, column, category), is_number)
    elif name in DESCRIPTION_NAMES and isinstance(value, str):
        builder.description(column, value)
    elif isinstance(value, list) and not options.keywords:
        builder.keywords(column, column, value)
    # Points part thousands where commas begin decimals; without a comma a text may as well be a version or a date.
    elif options.decimal == "," and isinstance(value, str) and _WITH_COMMA.match(value):
        builder.keep(column, column, float(value.replace(".", "").replace(",", ".")))
    else:
        builder.keep(column, column, value)


def _keywords_of(value: Any, column: str, category: str) -> list[Any]:
    keywords = split(value, KeywordColumn(column=column, category=category))
    if len(keywords) == 1 and isinstance(keywords[0], str) and category in _COMMA_SEPARATED:
        return [part.strip() for part in keywords[0].split(",") if part.strip()]
    return keywords


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
        notes.unmapped(file, roles.type or "", values[roles.type or ""], row.line)
        return None
    time: tuple[str, Any] | None = None
    if roles.time is not None:
        time = roles.time, values[roles.time]
        if values[roles.time] in _EMPTY:
            detail = "Found no time; without one the row would count as of now (--without-times says that it shall)."
            return problem_draft(DraftKind.INTERACTION, where, roles.time, detail)
    who = options.user if roles.user is None else values[roles.user], values[roles.id]
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


def find_roles(columns: Sequence[str], file: InputFile, options: ImportOptions) -> Roles:
    """Return the roles of a table's columns: of interactions where one of them is a person, otherwise of pieces.

    With ``options.user`` a table without people that tells actions or ratings is one of that person's interactions.

    Raises:
        UnreadableFile: a column is missing, or was named and is not there.
    """
    # A table with a column of people is one of interactions, unless the person who imports it says otherwise.
    user = None if file.role is DraftKind.PIECE else _find(columns, options.user_column, "user")
    action, rating = (_find(columns, options.type_column, "type"), _find(columns, options.rating_column, "rating"))
    is_interaction = user is not None or file.role is DraftKind.INTERACTION
    if options.user is not None and file.role is None:
        is_interaction = is_interaction or not (action is None and rating is None and ANY not in options.types)
    if is_interaction and user is None and options.user is None:
        option = "--user-column, or say with --user NAME whose all rows are"
        raise _missing(file, columns, "users", option)
    # In a table of interactions "id" is most likely that of the row: other names of a piece's id go first.
    piece_id = _find(columns, options.id_column, "id", first=1 if is_interaction else 0)
    piece_id = piece_id or _find(columns, options.id_column, "id")
    if piece_id is None:
        raise _missing(file, columns, "ids", "--id-column")
    if is_interaction:
        chosen = options.type_column, options.rating_column, options.time_column
        require_columns(file, filter(None, chosen), columns)
    time = _find(columns, options.time_column, "time") if is_interaction and not options.without_times else None
    if time is None and is_interaction and not options.without_times:
        # Old interactions that are taken for ones of now would count as fresh taste.
        option = "--time-column, or say with --without-times that all rows happen when imported"
        raise _missing(file, columns, "times", option)
    return Roles(
        kind=DraftKind.INTERACTION if is_interaction else DraftKind.PIECE,
        id=piece_id,
        label=_find(columns, options.label_column, "label"),
        user=user,
        type=action,
        rating=rating,
        time=time,
    )


def _find(columns: Sequence[str], chosen: str | None, role: str, first: int = 0) -> str | None:
    """Return the column of a role: the chosen one if it is there, or the likeliest by its name, from the ``first``."""
    if chosen is not None:
        return chosen if chosen in columns else None
    # Reversed, so that of two columns with the same plain name the first one counts.
    by_name = {plain(column): column for column in reversed(columns)}
    return next((by_name[name] for name in _NAMES[role][first:] if name in by_name), None)


def _missing(file: InputFile, columns: Sequence[str], what: str, option: str) -> UnreadableFile:
    hint = " If these are several columns, name what separates them with --delimiter." if len(columns) == 1 else ""
    shown = printable(", ".join(columns)) or "none"
    return UnreadableFile(f"{file}: no column of {what} in line 1; name it with {option}. Found are {shown}.{hint}")


def _rows(files: Files, file: InputFile) -> Iterator[TableRow]:
    number = 0
    for batch in _open(files, file)[1]:
        for values in batch.to_pylist():
            number += 1
            yield TableRow(number, {name: _plain(value) for name, value in values.items()})


def _open(files: Files, file: InputFile) -> tuple[list[str], Iterator[Any]]:
    """Return the names of a table's columns, and its batches of rows.

    Raises:
        Refused: pyarrow is not installed.
        UnreadableFile: it is no such table.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  # the extra "parquet": it weighs more than all else together
        from pyarrow import ipc, parquet  # noqa: PLC0415  # as above
    except ImportError as error:
        raise Refused("Tables of Parquet and Arrow need pyarrow: install penchant[parquet].") from error
    try:
        with files.open(file) as stream:
            is_parquet = stream.read(len(_PARQUET)) == _PARQUET
        # Mapped, so that a table may be larger than the memory; a member of an archive has to be unpacked into it.
        source = pa.memory_map(str(file.path)) if file.member is None else pa.py_buffer(files.document(file))
        if is_parquet:
            table = parquet.ParquetFile(source)
            return list(table.schema_arrow.names), table.iter_batches(batch_size=_BATCH_ROWS)
        reader = ipc.open_file(source)
        return list(reader.schema.names), (reader.get_batch(index) for index in range(reader.num_record_batches))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{file}: no table of Parquet or Arrow ({error}).") from error


def _plain(value: Any) -> Any:
    """Return a value as JSON and the readers of tables have it; whole numbers with a fraction of 0 are integers."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        # A column with a hole is one of floats in a data frame, ids and years included.
        return int(value) if value.is_integer() else value if math.isfinite(value) else ""
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else value
