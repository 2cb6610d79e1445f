"""Books of one person: exports of Goodreads and StoryGraph (CSV), and the database of a Calibre library."""

import math
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import MAX_LINE_BYTES, Files, InputFile, TableRow, UnreadableFile, printable
from penchant_import.moments import excerpt
from penchant_import.opinions import Attitude, Opinions
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    LABEL,
    FieldTaker,
    PieceBuilder,
    extra,
    keywords,
    merge_rows,
    omit_because,
    parts,
    skip_field,
    take_fields,
)
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
MAX_STARS = 5.0
"""The best rating of all three: Calibre counts half stars."""
_SHELVES = {
    "read": Attitude.FINISHED,
    "currently-reading": Attitude.STARTED,
    "to-read": Attitude.PLANNED,
}
"""The shelves of which each book stands on one, by the names that Goodreads gives them."""
_SERIES = re.compile(r"\(([^()#]*#[^()]*)\)\s*\Z")
"""What titles end in where the book is one of a series: ``(Discworld, #1; Rincewind, #1)``."""
_ROLES = frozenset({"translator", "illustrator", "narrator", "editor"})
_CONTRIBUTOR = re.compile(r"(?P<name>[^()]+)\((?P<role>[^()]+)\)")
_NUMBERS_END = 1e9
"""Beyond all pages and years; what is no number is not below it either."""


def _take_title(builder: PieceBuilder, field: str, value: str) -> None:
    builder.label(field, value)
    match = _SERIES.search(value)
    if match:
        names = (part.partition("#")[0].rstrip(", ") for part in parts(match[1], ";"))
        builder.keywords(field, "series", [name for name in names if name])


def _names(value: str) -> list[str]:
    """Return authors, whose first and last names some books have many blanks between."""
    return [" ".join(name.split()) for name in parts(value, ",")]


def _shelves(category: str) -> FieldTaker:
    def take(builder: PieceBuilder, field: str, value: str) -> None:
        shelves = [shelf for shelf in parts(value, ",") if shelf not in _SHELVES]
        kept = [shelf for shelf in shelves if shelf not in PERSONAL_SHELVES]
        builder.keywords(field, category, kept)
        if len(kept) < len(shelves):
            builder.omit(field, OF_THE_OWNER)

    return take


def _unquote(value: str) -> str:
    """Return a number that is written as a formula (``="0451"``), so that spreadsheets keep its zeros."""
    return value.removeprefix("=").strip('"')


def _number(member: str) -> FieldTaker:
    """Return what keeps a number other than 0, which stands where none is known."""

    def take(builder: PieceBuilder, field: str, value: str) -> None:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not abs(number) < _NUMBERS_END:
            builder.omit(field, "no number")
        elif number:
            builder.keep(field, member, int(number) if number.is_integer() else number)

    return take


def _take_contributors(builder: PieceBuilder, field: str, value: str) -> None:
    """Take people with what they did in parentheses: ``Ed Eff (Translator)``."""
    for person in parts(value, ","):
        match = _CONTRIBUTOR.fullmatch(person)
        if match and match["role"].lower() in _ROLES:
            builder.keywords(field, match["role"].lower(), [match["name"].strip()])
        else:
            builder.omit(field, "nobody whose part in the book is known")


def _characters(trait: str) -> FieldTaker:
    return keywords("characters", read=lambda value: [trait] if value == "Yes" else [])


class _Export(NamedTuple):
    """An export of a shelf of books: which columns it has, and what becomes of each."""

    id: str
    rating: str
    shelf: str
    times: tuple[str, ...]
    needed: tuple[str, ...]
    accepted: str
    fields: Mapping[str, FieldTaker]


_GOODREADS = _Export(
    id="Book Id",
    rating="My Rating",
    shelf="Exclusive Shelf",
    times=("Date Read", "Date Added"),
    needed=("Book Id", "Title", "My Rating", "Exclusive Shelf"),
    accepted="the file that My Books, Import and export gives",
    fields={
        "Title": _take_title,
        "Author": keywords("author", read=_names),
        "Additional Authors": keywords("author", read=_names),
        "Bookshelves": _shelves("shelf"),
        "Publisher": keywords("publisher"),
        "ISBN": extra("isbn", read=_unquote),
        "ISBN13": extra("isbn13", read=_unquote),
        "Binding": extra("binding"),
        "Number of Pages": _number("pages"),
        "Average Rating": _number("averageRating"),
        "Original Publication Year": _number("year"),
        "Year Published": _number("editionYear"),
        "My Review": extra("review", read=plain_text),
        "Private Notes": omit_because("private"),
        **dict.fromkeys(("Author l-f", "Bookshelves with positions"), skip_field),
    },
)
_STORYGRAPH = _Export(
    id="ISBN/UID",
    rating="Star Rating",
    shelf="Read Status",
    times=("Last Date Read", "Date Added"),
    needed=("Title", "Authors", "ISBN/UID", "Read Status", "Star Rating"),
    accepted="the export of a StoryGraph library",
    fields={
        "Title": LABEL,
        "Authors": keywords("author", read=_names),
        "Contributors": _take_contributors,
        "Moods": keywords("mood", ","),
        "Pace": keywords("pace"),
        "Tags": _shelves("tag"),
        "Character- or Plot-Driven?": keywords("driven by"),
        "Strong Character Development?": _characters("strong development"),
        "Loveable Characters?": _characters("loveable"),
        "Diverse Characters?": _characters("diverse"),
        "Flawed Characters?": _characters("flawed"),
        "Format": extra("binding"),
        "Review": extra("review", read=plain_text),
        **dict.fromkeys(("Dates Read", "Read Count", "Owned?"), skip_field),
    },
)


def read_goodreads(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the books of an export, then what the person of ``--user`` thinks of each."""
    return _read_export(_GOODREADS, files, options, notes)


def read_storygraph(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the books of an export, those without a number by title and authors, then opinions as of Goodreads."""
    return _read_export(_STORYGRAPH, files, options, notes)


def _read_export(export: _Export, files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    opinions = Opinions(options, notes)
    fields = {**export.fields, **dict.fromkeys((export.id, export.rating, export.shelf, *export.times), skip_field)}

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        take_fields(fields, builder, values)
        _take_opinion(export, opinions, builder, values, options, notes)

    for file in files.select("csv"):
        if not set(files.columns(file, options.form)) >= set(export.needed):
            raise UnreadableFile(f"{file}: no columns {', '.join(export.needed)}; {export.accepted} is accepted.")
        rows: Iterable[TableRow] = files.rows(file, options.form)
        if export is _STORYGRAPH:
            rows = map(partial(_identify_by_title, file.name, notes), rows)
        yield from merge_rows(rows, file.name, export.id, options, notes, take)
    yield from opinions.drafts()


def _take_opinion(
    export: _Export,
    opinions: Opinions,
    builder: PieceBuilder,
    values: Mapping[str, str],
    options: ImportOptions,
    notes: Notes,
) -> None:
    """Take a rating, or the shelf of a book without one."""
    # Slashes part the days; an export that was kept by a spreadsheet may need --time-format.
    day = next((values[column] for column in export.times if values.get(column)), "")
    time = day if options.time_format else day.replace("/", "-")
    book_id, rating, shelf = values[export.id], values[export.rating], values[export.shelf]
    if rating not in ("", "0"):
        opinions.rate(builder.where, export.rating, book_id, rating, MAX_STARS, time)
    elif chosen := options.types.get(shelf.lower()):
        opinions.add(builder.where, export.shelf, book_id, Attitude.FINISHED, time, chosen)
    elif shelf in _SHELVES:
        opinions.add(builder.where, export.shelf, book_id, _SHELVES[shelf], time)
    elif shelf:
        notes.note_unmapped(builder.where[0], export.shelf, shelf, builder.where[1])


def _identify_by_title(file: str, notes: Notes, row: TableRow) -> TableRow:
    """Return a row, one without a number with its title and authors in its place."""
    title, authors = row.values.get("Title"), row.values.get("Authors")
    if row.problem or row.values[_STORYGRAPH.id] or not title:
        return row
    notes.left_out(file, _STORYGRAPH.id, "empty; title and authors name the book instead", row.line)
    return row._replace(values=row.values | {_STORYGRAPH.id: f"{title} ({authors})" if authors else title})


_SQLITE = b"SQLite format 3\0"
_TABLE_NAMES = (
    "authors books books_authors_link books_languages_link books_publishers_link books_ratings_link books_series_link "
    "books_tags_link comments custom_columns data identifiers languages publishers ratings series tags"
)
_TABLES = _TABLE_NAMES.split()
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
        excerpt = printable(", ".join(sorted(names)[:20])) or "none"
        raise UnreadableFile(
            f"{file}: no library of Calibre: the tables {', '.join(missing[:5])} are missing; found are {excerpt}."
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
        self, database: sqlite3.Connection, file: InputFile, options: ImportOptions, notes: Notes, opinions: Opinions
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
                detail = f"Found no UTF-8 ({excerpt(error.object)}); enter that text anew in Calibre (Edit metadata)."
                yield problem_draft(DraftKind.PIECE, (self._file.name, number), "", detail)

    def _book(self, number: int, row: Mapping[str, Any]) -> Draft:
        piece_id = _text(row[self._id])
        builder = PieceBuilder(self._notes, self._file.name, number, piece_id, id_field=self._id, options=self._options)
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
                self._opinions.rate(builder.where, "ratings", piece_id, rating / 2, MAX_STARS, added)


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
