"""Any CSV file with a heading: pieces, or interactions where it has a column of users; found by name or chosen."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from penchant.importing.actions import ANY, type_named, type_of_rating
from penchant.importing.choices import Choices, Column
from penchant.importing.drafts import Draft, Kind
from penchant.importing.files import Files, InputFile, Row, UnreadableFile, printable
from penchant.importing.interactions import interaction_draft, problem_draft
from penchant.importing.notes import Notes
from penchant.importing.pieces import LABELS, PieceBuilder, split
from penchant.importing.tables import require_columns, told
from penchant.model import InteractionType

_IDS = ("id", "contentid", "itemid", "pieceid", "productid", "articleid", "movieid", "bookid", "sku")
_USERS = ("userid", "user", "customerid", "visitorid", "personid")
_TYPES = ("type", "event", "eventtype", "action", "interaction", "interactiontype", "feedbacktype")
_RATINGS = ("rating", "stars")
_TIMES = ("timestamp", "time", "date", "datetime", "createdat", "eventtime", "occurredat")
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


class _Roles(NamedTuple):
    """Which column is what; ``None`` where there is none."""

    id: str
    user: str | None
    type: str | None
    rating: str | None
    time: str | None


def read(files: Files, choices: Choices, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of the files of pieces, then those of interactions."""
    plans = [(file, _roles(files, file, choices)) for file in files.all]
    for file, roles in plans:
        if roles.user is None:
            yield from _pieces(files, file, roles, choices, notes)
    for file, roles in plans:
        if roles.user is not None:
            yield from _interactions(files, file, roles, choices, notes)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _find(columns: list[str], chosen: str | None, known: tuple[str, ...]) -> str | None:
    if chosen is not None:
        return chosen if chosen in columns else None
    by_name = {_plain(column): column for column in reversed(columns)}
    return next((by_name[name] for name in known if name in by_name), None)


def _roles(files: Files, file: InputFile, choices: Choices) -> _Roles:
    columns = files.columns(file, delimiter=choices.delimiter)
    is_piece = file.role is Kind.PIECE
    user = None if is_piece else _find(columns, choices.user_column, _USERS)
    if file.role is Kind.INTERACTION and user is None:
        raise UnreadableFile(f"{file.path}: no column of users; name it with --user-column.")
    piece_id = _find(columns, choices.id_column, _IDS[1:] if user else _IDS) or _find(columns, choices.id_column, _IDS)
    if piece_id is None:
        raise UnreadableFile(
            f"{file.path}: no column of ids; name it with --id-column, found {printable(', '.join(columns))}."
        )
    if user is not None:
        named = [choices.type_column, choices.rating_column, choices.time_column]
        require_columns(files, file, [name for name in named if name], delimiter=choices.delimiter)
    return _Roles(
        id=piece_id,
        user=user,
        type=_find(columns, choices.type_column, _TYPES),
        rating=_find(columns, choices.rating_column, _RATINGS),
        time=_find(columns, choices.time_column, _TIMES),
    )


def _pieces(files: Files, file: InputFile, roles: _Roles, choices: Choices, notes: Notes) -> Iterator[Draft]:
    columns = files.columns(file, delimiter=choices.delimiter)
    wanted = [column.column for column in choices.keywords]
    wanted += [choices.catalogs.column] if choices.catalogs else []
    require_columns(files, file, wanted, delimiter=choices.delimiter)
    label = _find(columns, choices.label_column, LABELS)
    for row in files.rows(file, delimiter=choices.delimiter):
        if row.problem:
            yield problem_draft(Kind.PIECE, (file.name, row.line), "", row.problem)
            continue
        builder = PieceBuilder(notes, file.name, row.line, row.values[roles.id])
        notes.mapped(file.name, roles.id, "id")
        for column, value in row.values.items():
            if column == label:
                builder.label(column, value)
            elif column != roles.id and value:
                _take(builder, column, value, choices)
        yield builder.draft()


def _take(builder: PieceBuilder, column: str, value: str, choices: Choices) -> None:
    """Take a value where its column belongs: as chosen, as its name says, or into the extras."""
    plain = _plain(column)
    chosen = [each for each in choices.keywords if each.column == column]
    if chosen:
        for each in chosen:
            builder.keywords(column, each.category, split(value, each))
    elif (choices.catalogs.column == column) if choices.catalogs else plain in _CATALOGS:
        builder.catalogs(column, split(value, choices.catalogs or Column(column=column, category="")))
    elif plain in _WINDOW:
        builder.moment(column, _WINDOW[plain], value)
    elif plain in _CATEGORIES and not choices.keywords:
        builder.keywords(column, _CATEGORIES[plain], split(value, Column(column=column, category="")))
    else:
        builder.keep(column, column, value)


def _interactions(files: Files, file: InputFile, roles: _Roles, choices: Choices, notes: Notes) -> Iterator[Draft]:
    if roles.type is None and roles.rating is None and ANY not in choices.types:
        raise UnreadableFile(
            f"{file.path}: no column of types or ratings; name one with --type-column or --rating-column, "
            "or say what all rows are with --type '*=Watch'."
        )
    taken = {roles.user: "userId", roles.id: "contentId", roles.time: "timestamp"}
    taken |= {roles.type: "type"} if roles.type else {roles.rating: "type"}
    columns: Mapping[str, str] = {name: to for name, to in taken.items() if name is not None}
    for row in told(files.rows(file, delimiter=choices.delimiter), file.name, notes, taken=columns):
        draft = _interaction(row, file.name, roles, choices, notes)
        if draft is not None:
            yield draft


def _interaction(row: Row, file: str, roles: _Roles, choices: Choices, notes: Notes) -> Draft | None:
    place, values = (file, row.line), row.values
    if row.problem:
        return problem_draft(Kind.INTERACTION, place, "", row.problem)
    kind: InteractionType | None
    if roles.type is not None:
        name = values[roles.type]
        kind = type_named(name, choices.types)
        if kind is None:
            notes.left_out(file, roles.type, f"the type {name!r} is not mapped; say --type {name}=Click", row.line)
            return None
    elif roles.rating is not None:
        try:
            kind = type_of_rating(values[roles.rating], choices.rating_scale)
        except ValueError as error:
            return problem_draft(Kind.INTERACTION, place, roles.rating, str(error))
    else:
        kind = choices.types[ANY]
    time: tuple[str, Any] | None = None if roles.time is None else (roles.time, values[roles.time])
    return interaction_draft(place, who=(values[roles.user or ""], values[roles.id]), kind=kind, time=time)
