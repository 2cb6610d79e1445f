"""Tables: CSV, Parquet and Arrow with anybody's columns, of pieces, or of interactions where one is of users.

Which column is the id, the person or the time goes by the names that people use, unless an option says it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from penchant_engine.model import InteractionType
from penchant_import.drafts import (
    ANY,
    Draft,
    DraftKind,
    RowProblem,
    anonymous_omission,
    find_type,
    interaction_draft,
    omitted_draft,
    problem_draft,
    type_of_rating,
)
from penchant_import.files import Files, InputFile, TableRow, UnreadableFile, printable, quoted, require_columns
from penchant_import.frames import BinaryValue, Frame, OmittedValues, open_frame
from penchant_import.measures import is_number, normalize_name
from penchant_import.moments import read_moment
from penchant_import.options import ImportOptions, KeywordColumn
from penchant_import.pieces import (
    DESCRIPTION_NAMES,
    ID_NAMES,
    FieldTaker,
    PieceBuilder,
    cut_problem,
    merge_rows,
    split,
    window,
)
from penchant_import.placeholders import is_nothing
from penchant_import.report import NO_PLACE, Notes

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
_POINTED = re.compile(r"(-?\d+)\.0+\Z", re.ASCII)
WHOLE_NUMBERS = "whole numbers, without the .0 that all of its column have"
"""What a report says of ids that a data frame wrote as numbers with a fraction."""
_EMPTY = ("", None)
"""What an empty cell holds."""
_NUMBERED = re.compile(r"_\d+\Z")
_ROW_NUMBERS = re.compile(r"(?:__index_level_\d+__|column 1|Unnamed: 0(?:\.\d+)?)\Z")
"""Columns in which data frames write the numbers of their rows: in CSV the first one, without a heading."""


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
    "rank": "rank position",
    "score": "score prediction predictedrating weight rating",
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
    tables = {file: files.columns(file, options.form) for file in files.select("csv", "tsv", "tab")}
    for file, columns in tables.items():
        _require_heading(file, columns, options)
    yield from read_tables(tables, lambda table: _csv_rows(files, table, options, notes), options, notes)


def _csv_rows(files: Files, table: Table, options: ImportOptions, notes: Notes) -> Iterable[TableRow]:
    """Return the rows of a table; ids that are all written as ``7.0`` become ``7``.

    Data frames write whole numbers so where one row of the column has none. The column is read once before where its
    first id is so written.
    """
    rows = files.rows(table.file, options.form)
    columns = _pointed_columns(files.rows(table.file, options.form), table, notes)
    return map(partial(_without_points, columns, table.file.name, notes), rows) if columns else rows


def _pointed_columns(rows: Iterable[TableRow], table: Table, notes: Notes) -> set[str]:
    """Return the columns of ids and people in which all numbers end in ``.0``; of those where some do, it is told."""
    roles, name = table.roles, table.file.name
    columns = {column for column in (roles.id, roles.user) if column is not None and column in table.columns}
    pointed = set[str]()
    for row in rows:
        for column in tuple(columns):
            text = row.values.get(column, "")
            if _POINTED.match(text):
                pointed.add(column)
            elif not is_nothing(text):
                columns.discard(column)
                if column in pointed:
                    notes.left_out(name, column, "some end in .0 and some do not; all stay as they are", row.line)
        if not columns:
            break
    return columns & pointed


def _without_points(columns: Collection[str], file: str, notes: Notes, row: TableRow) -> TableRow:
    result = {column: _POINTED.match(row.values.get(column, "")) for column in columns}
    whole = {column: match[1] for column, match in result.items() if match is not None}
    for column in whole:
        notes.mapped(file, column, WHOLE_NUMBERS)
    return row._replace(values=row.values | whole) if whole else row


def _require_heading(file: InputFile, columns: Sequence[str], options: ImportOptions) -> None:
    """Raise `UnreadableFile` where what stands in the first line is no name of a column, but a row."""
    ids = options.id_column in columns if options.id_column else find_column(columns, None, "id")
    if not ids and not options.columns and any(is_number(column) or _is_moment(column) for column in columns):
        raise UnreadableFile(
            f"{file}: line 1 looks like a row, not like a heading ({printable(', '.join(columns))}); say what the "
            f"columns are, for instance {_propose_columns(columns)}."
        )


def _propose_columns(cells: Sequence[str]) -> str:
    """Return the option that names the columns of a table whose first row has these cells."""
    names = [f"column {number}" for number in range(1, len(cells) + 1)]
    names[:2] = ["id", "title"][: len(cells)]
    if len(cells) < 3 or not _is_moment(cells[-1]):
        return f"--columns {quoted(','.join(names))}"
    names[:2], names[-1] = ["user", "item"], "time"
    if len(cells) == 3:
        return f"--columns {','.join(names)} --type '*=Watch'"
    names[2] = "rating" if is_number(cells[2]) else "event"
    return f"--columns {quoted(','.join(names))}"


def _is_moment(text: str) -> bool:
    if is_number(text) and not (text.isdecimal() and int(text[:20]) >= _LEAST_MOMENT):
        return False
    try:
        return read_moment(text) is not None
    except ValueError:
        return False


_LEAST_MOMENT = 100_000_000
"""A smaller number is taken for no time where nothing says that it is one."""


def read_parquet(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of tables of Parquet and Arrow, those of pieces first."""
    frames = {file: open_frame(files, file) for file in files.select("parquet", "pq", "arrow", "feather")}
    tables = {file: frame.columns for file, frame in frames.items()}
    yield from read_tables(
        tables, lambda table: _frame_rows(frames.pop(table.file), table, options, notes), options, notes
    )


def read_tables(
    columns_of: Mapping[InputFile, Sequence[str]],
    rows_of: Callable[[Table], Iterable[TableRow]],
    options: ImportOptions,
    notes: Notes,
) -> Iterator[Draft]:
    """Yield the rows of tables, those of pieces first; ``rows_of`` reads those of one.

    Raises:
        UnreadableFile: a column is missing, or nothing says what people did.
    """
    # The columns of all tables before the first row of any: one that is missing ends the import at once.
    tables = []
    for file, written in columns_of.items():
        columns = list(dict.fromkeys((*written, *file.partition)))
        tables.append(Table(file, columns, find_roles(columns, file, options)))
    options = _require_chosen(tables, options, notes)
    for table in tables:
        if table.roles.kind is DraftKind.PIECE:
            yield from read_pieces(_partitioned(rows_of(table), table.file), table, options, notes)
    for table in tables:
        if table.roles.kind is DraftKind.INTERACTION:
            yield from read_interactions(_partitioned(rows_of(table), table.file), table, options, notes)


def _require_chosen(tables: Sequence[Table], options: ImportOptions, notes: Notes) -> ImportOptions:
    """Return the options, their columns found among those of the tables: an option may not name what there is not.

    Raises:
        UnreadableFile: no table has a column that an option names, or one of pieces lacks one of keywords.
    """
    anywhere = dict.fromkeys(column for table in tables for column in table.columns)
    named = options.label_column, options.user_column, options.type_column, options.rating_column, options.time_column
    if tables:
        require_columns(tables[0].file, filter(None, named), list(anywhere))
    pieces = [table for table in tables if table.roles.kind is DraftKind.PIECE] or tables
    options = options.resolve(anywhere)
    chosen = options.keywords if options.catalogs is None else (*options.keywords, options.catalogs)
    notes.chosen.update(item.option_text for item in chosen)
    for table in pieces:
        require_columns(table.file, (item.column for item in chosen), table.columns)
    return options


def _partitioned(rows: Iterable[TableRow], file: InputFile) -> Iterable[TableRow]:
    """Return rows with the columns that the names of their file's folders are; what the file has itself counts."""
    folders = file.partition
    if not folders:
        return rows
    return (row if row.problem else row._replace(values=folders | row.values) for row in rows)


def read_pieces(rows: Iterable[TableRow], table: Table, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the pieces of a table; rows of one id that stand together are one piece."""
    roles = table.roles
    other = partial(_take_other, options)
    takers = {column: _taker(column, table, options) or other for column in table.columns if column != roles.id}

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if value != "" and value is not None and column in takers:
                takers[column](builder, column, value)

    yield from merge_rows(rows, table.file.name, roles.id, options, notes, take)


def _taker(column: str, table: Table, options: ImportOptions) -> FieldTaker | None:
    """Return what takes the values of a column where it belongs, as chosen or as its name says; ``None`` of others."""
    base = _NUMBERED.sub("", column)
    # A heading that is repeated is numbered, and still means the same.
    name = normalize_name(base if base in table.columns else column)
    chosen = [item for item in options.keywords if item.column == column]
    catalogs = options.catalogs or KeywordColumn(column=column, category="")
    if column == table.roles.label or (name in _WINDOW and not chosen):
        return _take_label if column == table.roles.label else window(_WINDOW[name])
    if chosen:
        return partial(_take_chosen, chosen)
    if (catalogs.column == column) if options.catalogs else name in ("catalogs", "catalog"):
        return lambda builder, field, value: builder.catalogs(field, builder.split(field, value, catalogs))
    if name in _CATEGORIES and not options.keywords:
        return partial(_take_named, _CATEGORIES[name])
    if _ROW_NUMBERS.match(column):
        return partial(_take_row_number, options)
    return PieceBuilder.description if name in DESCRIPTION_NAMES else None


def _take_label(builder: PieceBuilder, column: str, value: Any) -> None:
    builder.label(column, str(value))


def _take_chosen(chosen: Sequence[KeywordColumn], builder: PieceBuilder, column: str, value: Any) -> None:
    for item in chosen:
        builder.keywords(column, item.category, builder.split(column, value, item))


def _take_named(category: str, builder: PieceBuilder, column: str, value: Any) -> None:
    separator, keywords = "", builder.listed(column, value) if isinstance(value, str) else None
    if keywords is None:
        keywords = split(value, KeywordColumn(column=column, category=category))
        if len(keywords) == 1 and isinstance(keywords[0], str) and category in _COMMA_SEPARATED:
            keywords = [part.strip() for part in keywords[0].split(",") if part.strip()]
            separator = "," if len(keywords) > 1 else ""
    builder.note_named(column, category, separator)
    builder.attributes(column, category, keywords, is_number)


def _take_row_number(options: ImportOptions, builder: PieceBuilder, column: str, value: Any) -> None:
    if str(value).isdecimal():
        builder.omit(column, "numbers of rows of a data frame")
    else:
        _take_other(options, builder, column, value)


def _take_other(options: ImportOptions, builder: PieceBuilder, column: str, value: Any) -> None:
    """Take a value of a column that is nothing else: a list of keywords, or an extra."""
    if isinstance(value, list) and not options.keywords:
        builder.note_named(column, column, "")
        builder.keywords(column, column, value)
    # Points part thousands where commas begin decimals; without a comma a text may as well be a version or a date.
    elif options.decimal == "," and isinstance(value, str) and _WITH_COMMA.match(value):
        builder.keep(column, column, float(value.replace(".", "").replace(",", ".")))
    elif isinstance(value, BinaryValue):
        builder.omit(column, "bytes that are no text")
    else:
        builder.keep(column, column, value)


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
    name = file.name
    for row in note_values(rows, name, notes, taken=columns):
        draft = _interaction(row, name, roles, options, notes)
        if draft is not None:
            yield draft


def _interaction(row: TableRow, file: str, roles: Roles, options: ImportOptions, notes: Notes) -> Draft | None:
    """Return the interaction of a row, or its problem; ``None``, which is noted, for an action that nothing maps."""
    where, values = (file, row.line), row.values
    if row.problem:
        return problem_draft(DraftKind.INTERACTION, where, "", row.problem)
    person = options.user if roles.user is None else values[roles.user]
    if (omission := anonymous_omission(person)) is not None:
        return omitted_draft(where, omission)
    try:
        kind = _type_of(values, roles, options)
    except ValueError as error:
        return problem_draft(DraftKind.INTERACTION, where, roles.rating or "", str(error))
    if kind is None:
        notes.note_unmapped(file, roles.type or "", values[roles.type or ""], row.line)
        return None
    time = None if roles.time is None else (roles.time, values[roles.time])
    who = person, values[roles.id]
    draft = interaction_draft(where, who=who, kind=kind, time=time, time_format=options.time_format)
    if (problem := cut_problem(values[roles.id])) is not None:
        return problem_draft(DraftKind.INTERACTION, where, roles.id, problem)
    if time is not None and time[1] in _EMPTY:
        detail = "Found no time; without one the row would count as of now (--without-times says that it shall)."
        draft = draft._replace(problem=RowProblem(time[0], detail), omission=None)
    return draft


def _type_of(values: Mapping[str, Any], roles: Roles, options: ImportOptions) -> InteractionType | None:
    """Return the interaction of a row, ``None`` where that is an action that nothing maps.

    Raises:
        ValueError: the rating is none.
    """
    if roles.type is not None:
        return find_type(str(values[roles.type]), options.types)
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
            to = taken.get(column)
            if to is not None:
                notes.mapped(file, column, to)
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
    user = None if file.role is DraftKind.PIECE else find_column(columns, options.user_column, "user")
    action, rating = (
        find_column(columns, options.type_column, "type"),
        find_column(columns, options.rating_column, "rating"),
    )
    is_interaction = user is not None or file.role is DraftKind.INTERACTION
    if options.user is not None and file.role is None:
        is_interaction = is_interaction or not (action is None and rating is None and ANY not in options.types)
    if is_interaction and user is None and options.user is None:
        option = "--user-column, or say with --user NAME whose all rows are"
        raise _missing(file, columns, "users", option)
    # In a table of interactions "id" is most likely that of the row: other names of a piece's id go first.
    piece_id = find_column(columns, options.id_column, "id", first=1 if is_interaction else 0)
    piece_id = piece_id or find_column(columns, options.id_column, "id")
    if piece_id is None:
        raise _missing(file, columns, "ids", "--id-column")
    if is_interaction:
        chosen = options.type_column, options.rating_column, options.time_column
        require_columns(file, filter(None, chosen), columns)
    time = find_column(columns, options.time_column, "time") if is_interaction else None
    if time is None and is_interaction and not options.without_times:
        # Old interactions that are taken for ones of now would count as fresh taste.
        option = "--time-column, or say with --without-times that rows without a time happen when imported"
        raise _missing(file, columns, "times", option)
    return Roles(
        kind=DraftKind.INTERACTION if is_interaction else DraftKind.PIECE,
        id=piece_id,
        label=find_column(columns, options.label_column, "label"),
        user=user,
        type=action,
        rating=rating,
        time=time,
    )


def find_column(columns: Sequence[str], chosen: str | None, role: str, first: int = 0) -> str | None:
    """Return the column of a role: the chosen one if it is there, or the likeliest by its name, from the ``first``."""
    if chosen is not None:
        return chosen if chosen in columns else None
    # Reversed, so that of two columns with the same plain name the first one counts.
    by_name = {normalize_name(column): column for column in reversed(columns)}
    return next((by_name[name] for name in _NAMES[role][first:] if name in by_name), None)


_UNDELIMITED = {"json", "jsonl", "ndjson", "xlsx", "xlsm", "xls", "ods", "parquet", "pq", "arrow", "feather"}
"""How files of tables end in which nothing separates columns."""


def _missing(file: InputFile, columns: Sequence[str], what: str, option: str) -> UnreadableFile:
    is_one = len(columns) == 1 and file.ending not in _UNDELIMITED
    hint = " If these are several columns, name what separates them with --delimiter." if is_one else ""
    excerpt = printable(", ".join(columns)) or "none"
    if columns and columns[0].lstrip()[:1] in ("{", "["):
        hint = " It begins as JSON does: say so with --from json."
    return UnreadableFile(f"{file}: no column of {what} in line 1; name it with {option}. Found are {excerpt}.{hint}")


def _frame_rows(frame: Frame, table: Table, options: ImportOptions, notes: Notes) -> Iterator[TableRow]:
    """Yield the rows of a table of Parquet or Arrow; of interactions only the columns that tell of them are read.

    Raises:
        UnreadableFile: a column that is needed holds what cannot be read.
    """
    roles = table.roles
    needed = {roles.id, roles.user, roles.type, roles.rating, roles.time} - {None}
    for column in frame.columns:
        if column in needed and not frame.can_read(column):
            raise UnreadableFile(
                f"{frame.file}: the column {printable(column)} holds neither texts, numbers nor times."
            )
    read: Callable[[str], bool] = needed.__contains__
    if roles.kind is DraftKind.PIECE:
        needed = {column for column in table.columns if column == roles.id or _taker(column, table, options)}
        if not options.keywords:
            needed |= {column for column in frame.columns if frame.has_lists(column)}
        read = bool

    inexact = {
        column: bound
        for column in {roles.id, roles.user} & set(frame.columns)
        if column is not None and (bound := frame.exact_limit(column)) is not None
    }

    def omit(omission: OmittedValues) -> None:
        reason = f"values of the type {omission.what} are not read" if omission.what else NO_PLACE
        notes.left_out(frame.file.name, omission.column, reason, omission.row, omission.filled)

    rows = frame.rows(read, needed.__contains__, omit)
    yield from map(partial(_exact, inexact), rows) if inexact else rows


def _exact(bounds: Mapping[str, int], row: TableRow) -> TableRow:
    """Return a row, with a problem where a number that names something may have lost digits."""
    for column, bound in bounds.items():
        number = row.values[column]
        if isinstance(number, int | float) and abs(number) >= bound:
            detail = (
                f"The column {printable(column)} holds floats, which have lost digits from {bound} on; "
                "write it as whole numbers or as texts, in DuckDB by CAST(… AS VARCHAR)."
            )
            return row._replace(problem=detail)
    return row
