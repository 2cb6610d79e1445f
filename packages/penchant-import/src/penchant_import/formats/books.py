"""Books of one person: exports of Goodreads and StoryGraph (CSV), and the database of a Calibre library."""

import math
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import MAX_LINE_BYTES, Files, InputFile, TableRow, UnreadableFile, printable
from penchant_import.moments import shown
from penchant_import.opinions import Attitude, Opinions
from penchant_import.options import ImportOptions
from penchant_import.pieces import FieldTaker, PieceBuilder, keywords, leave_field, merge_rows, parts, skip_field
from penchant_import.placeholders import is_never
from penchant_import.report import Notes
from penchant_import.texts import plain_text

_PERSONAL_NAMES = """
to-read currently-reading read owned owned-books own i-own books-i-own own-it my-books
my-library library default favorites favourites favourite favorite favorite-books
all-time-favorites wish-list wishlist to-buy maybe finished have abandoned did-not-finish dnf
re-read reread kindle ebook ebooks e-book e-books audiobook audiobooks audio-books
"""
PERSONAL_SHELVES = frozenset(_PERSONAL_NAMES.split())
"""Shelves that tell of their owner, not of the book."""
OF_THE_OWNER = "a shelf that says nothing of the book"
STARS = 5.0
"""The best rating of both: Calibre counts half stars."""
_BOOK_ID = "Book Id"
_NEEDED = (_BOOK_ID, "Title", "My Rating", "Exclusive Shelf")
_RATING, _SHELF = "My Rating", "Exclusive Shelf"
_TIMES = ("Date Read", "Date Added")
_SHELVES = {
    "read": Attitude.FINISHED,
    "currently-reading": Attitude.STARTED,
    "to-read": Attitude.WANTED,
}
"""The shelves of which each book stands on one, by the names that Goodreads gives them."""
_SERIES = re.compile(r"\(([^()#]*#[^()]*)\)\s*\Z")
"""What titles end in where the book is one of a series: ``(Discworld, #1; Rincewind, #1)``."""


def _title(builder: PieceBuilder, field: str, value: str) -> None:
    builder.label(field, value)
    match = _SERIES.search(value)
    if match:
        names = (part.partition("#")[0].rstrip(", ") for part in parts(match[1], ";"))
        builder.keywords(field, "series", [name for name in names if name])


def _names(builder: PieceBuilder, field: str, value: str) -> None:
    """Take authors, whose first and last names some books have many blanks between."""
    builder.keywords(field, "author", [" ".join(name.split()) for name in parts(value, ",")])


_CATEGORIES = {"Tags": "tag"}
"""What the shelves of a column are called, where not shelves."""


def _shelves(builder: PieceBuilder, field: str, value: str) -> None:
    named = [shelf for shelf in parts(value, ",") if shelf not in _SHELVES]
    telling = [shelf for shelf in named if shelf not in PERSONAL_SHELVES]
    builder.keywords(field, _CATEGORIES.get(field, "shelf"), telling)
    if len(telling) < len(named):
        builder.leave(field, OF_THE_OWNER)


def _unquoted(member: str) -> FieldTaker:
    """Return what keeps a number that is written as a formula (``="0451"``), so that spreadsheets keep its zeros."""
    return lambda builder, field, value: builder.keep(field, member, value.removeprefix("=").strip('"'))


_NUMBERS_END = 1e9
"""Beyond all pages and years; what is no number is not below it either."""


def _number(member: str) -> FieldTaker:
    """Return what keeps a number other than 0, which stands where none is known."""

    def take(builder: PieceBuilder, field: str, value: str) -> None:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not abs(number) < _NUMBERS_END:
            builder.leave(field, "no number")
        elif number:
            builder.keep(field, member, int(number) if number.is_integer() else number)

    return take


_GOODREADS: Mapping[str, FieldTaker] = {
    "Title": _title,
    "Author": _names,
    "Additional Authors": _names,
    "Bookshelves": _shelves,
    "Publisher": keywords("publisher"),
    "ISBN": _unquoted("isbn"),
    "ISBN13": _unquoted("isbn13"),
    "Binding": lambda builder, field, value: builder.keep(field, "binding", value),
    "Number of Pages": _number("pages"),
    "Average Rating": _number("averageRating"),
    "Original Publication Year": _number("year"),
    "Year Published": _number("editionYear"),
    "My Review": lambda builder, field, value: builder.keep(field, "review", plain_text(value)),
    "Private Notes": lambda builder, field, _value: builder.leave(field, "private"),
    **dict.fromkeys((_BOOK_ID, "Author l-f", "Bookshelves with positions", _RATING, _SHELF, *_TIMES), skip_field),
}


def read_goodreads(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the books of an export, then what the person of ``--user`` thinks of each."""
    opinions = Opinions(options, notes)

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if value:
                _GOODREADS.get(column, leave_field)(builder, column, value)
        columns = _BOOK_ID, _RATING, _SHELF, _TIMES
        _take_opinion(opinions, builder, values, columns, options, notes)

    for file in files.taken("csv"):
        if not set(files.columns(file, options.form)) >= set(_NEEDED):
            raise UnreadableFile(
                f"{file}: no columns {', '.join(_NEEDED)}; the file that My Books, Import and export gives is accepted."
            )
        yield from merge_rows(files.rows(file, options.form), file.name, _BOOK_ID, options, notes, take)
    yield from opinions.drafts()


def _take_opinion(
    opinions: Opinions,
    builder: PieceBuilder,
    values: Mapping[str, str],
    columns: tuple[str, str, str, tuple[str, ...]],
    options: ImportOptions,
    notes: Notes,
) -> None:
    """Take a rating, or the shelf of a book without one; ``columns`` are those of id, rating, shelf and times."""
    id_column, rating_column, shelf_column, times = columns
    # Slashes part the days; an export that was kept by a spreadsheet may need --time-format.
    day = next((values[column] for column in times if values.get(column)), "")
    time = day if options.time_format else day.replace("/", "-")
    book_id, rating, shelf = values[id_column], values[rating_column], values[shelf_column]
    if rating not in ("", "0"):
        opinions.rate(builder.where, rating_column, book_id, rating, STARS, time)
    elif chosen := options.types.get(shelf.lower()):
        opinions.add(builder.where, shelf_column, book_id, Attitude.FINISHED, time, chosen)
    elif shelf in _SHELVES:
        opinions.add(builder.where, shelf_column, book_id, _SHELVES[shelf], time)
    elif shelf:
        notes.unmapped(builder.where[0], shelf_column, shelf, builder.where[1])


_UID, _STATUS, _STARS, _ADDED, _READ = "ISBN/UID", "Read Status", "Star Rating", "Date Added", "Last Date Read"
_STORYGRAPH_NEEDED = ("Title", "Authors", _UID, _STATUS, _STARS)
_ROLES = frozenset({"translator", "illustrator", "narrator", "editor"})
_CONTRIBUTOR = re.compile(r"(?P<name>[^()]+)\((?P<role>[^()]+)\)")


def _contributors(builder: PieceBuilder, field: str, value: str) -> None:
    """Take people with what they did in parentheses: ``Ed Eff (Translator)``."""
    for each in parts(value, ","):
        match = _CONTRIBUTOR.fullmatch(each)
        if match and match["role"].lower() in _ROLES:
            builder.keywords(field, match["role"].lower(), [match["name"].strip()])
        else:
            builder.leave(field, "nobody whose part in the book is known")


def _characters(trait: str) -> FieldTaker:
    return lambda builder, field, value: builder.keywords(field, "characters", [trait] if value == "Yes" else [])


_STORYGRAPH: Mapping[str, FieldTaker] = {
    "Title": PieceBuilder.label,
    "Authors": _names,
    "Contributors": _contributors,
    "Moods": keywords("mood", ","),
    "Pace": keywords("pace"),
    "Tags": _shelves,
    "Character- or Plot-Driven?": keywords("driven by"),
    "Strong Character Development?": _characters("strong development"),
    "Loveable Characters?": _characters("loveable"),
    "Diverse Characters?": _characters("diverse"),
    "Flawed Characters?": _characters("flawed"),
    "Format": lambda builder, field, value: builder.keep(field, "binding", value),
    "Review": lambda builder, field, value: builder.keep(field, "review", plain_text(value)),
    **dict.fromkeys((_UID, _STATUS, _STARS, _ADDED, _READ, "Dates Read", "Read Count", "Owned?"), skip_field),
}


def read_storygraph(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the books of an export, then what the person of ``--user`` thinks of each.

    Books without a number go by their title and authors.
    """
    opinions = Opinions(options, notes)

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if value:
                _STORYGRAPH.get(column, leave_field)(builder, column, value)
        columns = _UID, _STARS, _STATUS, (_READ, _ADDED)
        _take_opinion(opinions, builder, values, columns, options, notes)

    for file in files.taken("csv"):
        if not set(files.columns(file, options.form)) >= set(_STORYGRAPH_NEEDED):
            raise UnreadableFile(
                f"{file}: no columns {', '.join(_STORYGRAPH_NEEDED)}; the export of a StoryGraph library is accepted."
            )
        rows = _named_by_title(files.rows(file, options.form), file.name, notes)
        yield from merge_rows(rows, file.name, _UID, options, notes, take)
    yield from opinions.drafts()


def _named_by_title(rows: Iterable[TableRow], file: str, notes: Notes) -> Iterator[TableRow]:
    """Yield rows, those without a number with their title and authors in its place."""
    for row in rows:
        if row.problem or row.values[_UID] or not row.values["Title"]:
            yield row
            continue
        authors = row.values["Authors"]
        name = row.values["Title"] + (f" ({authors})" if authors else "")
        notes.left_out(file, _UID, "empty; title and authors name the book instead", row.line)
        yield row._replace(values=row.values | {_UID: name})


_SQLITE = b"SQLite format 3\0"
_TABLES = (
    "authors",
    "books",
    "books_authors_link",
    "books_languages_link",
    "books_publishers_link",
    "books_ratings_link",
    "books_series_link",
    "books_tags_link",
    "comments",
    "custom_columns",
    "data",
    "identifiers",
    "languages",
    "publishers",
    "ratings",
    "series",
    "tags",
)
_LINKED = {
    # By category: the table, its column, and the column of the table that links books to it.
    "author": ("authors", "name", "author"),
    "series": ("series", "name", "series"),
    "tag": ("tags", "name", "tag"),
    "publisher": ("publishers", "name", "publisher"),
    "language": ("languages", "lang_code", "lang_code"),
}
_IDS = ("id", "uuid")
_BOOK = ("id", "title", "timestamp", "pubdate", "series_index", "path", "uuid", "has_cover")


def read_calibre(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the books of libraries, then what their owner, the person of ``--user``, rated."""
    libraries = [file for file in files.all if file.is_named or file.name.lower() == "metadata.db"]
    if not libraries:
        raise UnreadableFile("Found no metadata.db; name that file of the library, or the library's folder.")
    opinions = Opinions(options, notes)
    for file in libraries:
        with _database(files, file) as database:
            yield from _LibraryReader(database, file, options, notes, opinions).books()
    yield from opinions.drafts()


@contextmanager
def _database(files: Files, file: InputFile) -> Iterator[sqlite3.Connection]:
    """Open a library's database for reading, where it lies or, out of an archive, as a copy.

    Raises:
        UnreadableFile: it is none, also while the block reads it.
    """
    with tempfile.TemporaryDirectory(prefix="penchant-import-") as folder:
        path = file.path.resolve()
        with files.open(file) as stream:
            start = stream.read(len(_SQLITE))
            if start != _SQLITE:
                raise UnreadableFile(f"{file}: no SQLite database; metadata.db of a Calibre library is accepted.")
            if file.member is not None or file.path.suffix == ".gz":
                path = Path(folder) / "metadata.db"
                with path.open("wb") as copy:
                    copy.write(start)
                    while part := stream.read(1 << 20):
                        copy.write(part)
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
                _guard(database)
                yield database
        except sqlite3.Error as error:
            raise UnreadableFile(f"{file} cannot be read: {error}.") from error


def _guard(database: sqlite3.Connection) -> None:
    """Have a foreign database run nothing of its own, and give no value that is too large."""
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE_BYTES)
    database.text_factory = _decoded


def _decoded(text: bytes) -> str | bytes:
    """Return a text, or what is none as it is, so that a book is told which has it."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _tables_of(database: sqlite3.Connection, file: InputFile) -> set[str]:
    """Return the names of a library's tables.

    Raises:
        UnreadableFile: one of those is missing that every library has.
    """
    # Views are no tables: one could be made to never end.
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE %'")
    names = {str(name) for (name,) in rows}
    missing = [name for name in _TABLES if name not in names]
    if missing:
        shown = printable(", ".join(sorted(names)[:20])) or "none"
        raise UnreadableFile(
            f"{file}: no library of Calibre: the tables {', '.join(missing[:5])} are missing; found are {shown}."
        )
    return names


class _Column:
    """A column that the library's owner has made."""

    def __init__(self, number: int, label: str, datatype: str, *, is_normalized: bool) -> None:
        self.label = label
        self.datatype = datatype
        table = f"custom_column_{number}"
        self._query = (
            f"SELECT v.value FROM books_{table}_link l JOIN {table} v ON v.id = l.value WHERE l.book = ? ORDER BY l.id"
            if is_normalized
            else f"SELECT value FROM {table} WHERE book = ? ORDER BY id"
        )

    def values(self, database: sqlite3.Connection, book: int) -> list[Any]:
        return [value for (value,) in database.execute(self._query, (book,)) if value not in (None, "")]


class _LibraryReader:
    """Reads the books of one library."""

    def __init__(
        self,
        database: sqlite3.Connection,
        file: InputFile,
        options: ImportOptions,
        notes: Notes,
        opinions: Opinions,
    ) -> None:
        self._database = database
        self._file = file
        self._options = options
        self._notes = notes
        self._opinions = opinions
        self._id = options.id_column or "id"
        tables = _tables_of(database, file)
        rows = database.execute(
            "SELECT rowid, label, datatype, normalized FROM custom_columns WHERE NOT mark_for_delete ORDER BY rowid"
        )
        # Composed columns have no table: Calibre works them out when it shows them.
        self._columns = [
            _Column(number, _text(label), _text(datatype), is_normalized=bool(normalized))
            for number, label, datatype, normalized in rows
            if f"custom_column_{number}" in tables
        ]

    def books(self) -> Iterator[Draft]:
        if self._id not in _IDS:
            raise UnreadableFile(f"{self._file}: --id-column takes one of {', '.join(_IDS)}.")
        # A rowid is a number whatever the file declares its columns to be.
        cursor = self._database.execute(f"SELECT rowid, {', '.join(_BOOK)} FROM books ORDER BY rowid")
        for number, *values in cursor:
            try:
                yield self._book(number, dict(zip(_BOOK, values, strict=True)))
            except UnicodeDecodeError as error:
                detail = f"Found no UTF-8 ({shown(error.object)}); enter that text anew in Calibre (Edit metadata)."
                yield problem_draft(DraftKind.PIECE, (self._file.name, number), "", detail)

    def _book(self, number: int, row: Mapping[str, Any]) -> Draft:
        piece_id = _text(row[self._id])
        builder = PieceBuilder(self._notes, self._file.name, number, piece_id, options=self._options)
        self._notes.mapped(self._file.name, self._id, "id")
        builder.label("title", _text(row["title"]))
        for category, (table, column, link) in _LINKED.items():
            builder.keywords(table, category, self._linked(number, table, column, link))
        for (text,) in self._database.execute("SELECT text FROM comments WHERE book = ?", (number,)):
            builder.description("comments", _text(text))
        self._take_extras(builder, number, row)
        for custom in self._columns:
            _take_custom(builder, custom, custom.values(self._database, number))
        self._take_rating(builder, number, piece_id, row["timestamp"])
        return builder.draft()

    def _linked(self, book: int, table: str, column: str, link: str) -> list[str]:
        rows = self._database.execute(
            f"SELECT t.{column} FROM books_{table}_link l JOIN {table} t ON t.id = l.{link} "
            "WHERE l.book = ? ORDER BY l.id",
            (book,),
        )
        # Calibre writes a bar for a comma within a name.
        return [_text(value).replace("|", ",") if table == "authors" else _text(value) for (value,) in rows]

    def _take_extras(self, builder: PieceBuilder, book: int, row: Mapping[str, Any]) -> None:
        published = _text(row["pubdate"])[:10]
        if published and not is_never(published, of_work=True):
            builder.keep("pubdate", "published", published)
        if self._linked(book, "series", "name", "series"):
            builder.keep("series_index", "seriesIndex", row["series_index"])
        if row["has_cover"]:
            builder.keep("path", "cover", f"{_text(row['path'])}/cover.jpg")
        if self._id != "uuid":
            builder.keep("uuid", "uuid", _text(row["uuid"]))
        identifiers = self._database.execute("SELECT type, val FROM identifiers WHERE book = ? ORDER BY id", (book,))
        if named := {_text(kind): _text(value) for kind, value in identifiers}:
            builder.keep("identifiers", "identifiers", named)
        formats = self._database.execute("SELECT format FROM data WHERE book = ? ORDER BY format", (book,))
        if names := [_text(name) for (name,) in formats]:
            builder.keep("data", "formats", names)

    def _take_rating(self, builder: PieceBuilder, book: int, piece_id: str, added: Any) -> None:
        """Take the stars of a book; when they were given stands nowhere, so they count from when it was added."""
        rows = self._database.execute(
            "SELECT r.rating FROM books_ratings_link l JOIN ratings r ON r.id = l.rating WHERE l.book = ?", (book,)
        )
        for (rating,) in rows:
            # No stars are no rating.
            if isinstance(rating, int) and rating > 0:
                builder.keep("ratings", "rating", rating / 2)
                self._opinions.rate(builder.where, "ratings", piece_id, rating / 2, STARS, added)


def _take_custom(builder: PieceBuilder, column: _Column, values: list[Any]) -> None:
    """Take the values of a column of the owner's: texts as keywords, others into the extras."""
    field = f"#{column.label}"
    if column.datatype in {"text", "enumeration", "series"}:
        builder.keywords(field, column.label, [_text(value) for value in values])
    elif values:
        value = values[0]
        if column.datatype == "comments":
            value = plain_text(_text(value))
        elif column.datatype == "bool":
            value = bool(value)
        elif column.datatype == "rating" and isinstance(value, int):
            value = value / 2
        builder.keep(field, column.label, value)


def _text(value: Any) -> str:
    """Return a value as text, which raises `UnicodeDecodeError` of bytes that are none.

    SQLite lets any column hold values of any kind.
    """
    if isinstance(value, bytes):
        return value.decode()
    return "" if value is None else str(value)
