"""Research sets: MovieLens, goodbooks-10k, and any in the atomic files of RecBole.

MovieLens has ``movies``, ``ratings`` and ``tags``, as CSV with a heading or as ``.dat`` separated by ``::``; goodbooks
``books``, ``book_tags`` with ``tags``, ``ratings`` and ``to_read``, all CSV, and no times. What people called a film or
a book is held in memory, as counts, until the pieces have been read; ratings are not.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penchant_engine.model import InteractionType
from penchant_import.drafts import (
    Draft,
    DraftKind,
    anonymous_omission,
    interaction_draft,
    omitted_draft,
    problem_draft,
    type_of_rating,
)
from penchant_import.files import Files, InputFile, TableForm, TableRow, UnreadableFile
from penchant_import.formats.books import OF_THE_OWNER, PERSONAL_SHELVES
from penchant_import.formats.tables import Table, find_roles, note_values, read_interactions
from penchant_import.options import ImportOptions
from penchant_import.pieces import PieceBuilder, merge_rows, parts
from penchant_import.report import Notes


def _interactions(
    rows: Iterable[TableRow], file: str, members: Mapping[str, str], options: ImportOptions, notes: Notes
) -> Iterator[Draft]:
    """Yield what a table says that people did; ``members`` are its columns by what they become.

    Without a column that becomes the type, a rating, all rows are what people want to read.
    """
    time, rating = members.get("timestamp"), members.get("type")
    taken = {column: member for member, column in members.items()}
    for row in note_values(rows, file, notes, taken=taken):
        where, kind = (file, row.line), InteractionType.BOOKMARK
        if row.problem:
            yield problem_draft(DraftKind.INTERACTION, where, "", row.problem)
            continue
        if (omission := anonymous_omission(row.values[members["userId"]])) is not None:
            yield omitted_draft(where, omission)
            continue
        if rating is not None:
            try:
                kind = type_of_rating(row.values[rating], options.rating_scale)
            except ValueError as error:
                yield problem_draft(DraftKind.INTERACTION, where, rating, str(error))
                continue
        who = row.values[members["userId"]], row.values[members["contentId"]]
        moment = None if time is None else (time, row.values[time])
        yield interaction_draft(where, who=who, kind=kind, time=moment, time_format=options.time_format)


_YEAR = re.compile(r"(?P<title>.*\S)\s*\((?P<year>\d{4})\)\s*\Z", re.DOTALL)
_MOVIELENS = {
    "movies": ("movieId", "title", "genres"),
    "ratings": ("userId", "movieId", "rating", "timestamp"),
    "tags": ("userId", "movieId", "tag", "timestamp"),
}
_RATING = {"userId": "userId", "contentId": "movieId", "type": "rating", "timestamp": "timestamp"}
_Tags = Mapping[str, Counter[str]]


def read_movielens(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield films, then ratings."""
    by_stem = {stem: files.with_stem(stem, "csv", "dat") for stem in _MOVIELENS}
    if not by_stem["movies"] and not by_stem["ratings"]:
        raise UnreadableFile("Found neither movies.csv nor ratings.csv (or .dat).")
    tags = _count_tags(files, by_stem["tags"], notes)
    for file in by_stem["movies"]:
        for row in _movielens_rows(files, file, "movies"):
            yield _film(row, file.name, tags, notes)
    for file in by_stem["ratings"]:
        yield from _interactions(_movielens_rows(files, file, "ratings"), file.name, _RATING, options, notes)


def _movielens_rows(files: Files, file: InputFile, stem: str) -> Iterator[TableRow]:
    names: Sequence[str] = _MOVIELENS[stem]
    if file.name.lower().endswith(".dat"):
        return files.separated(file, names, "::", or_latin_1=True)
    files.require_columns(file, names)
    return files.rows(file)


def _count_tags(files: Files, tag_files: Sequence[InputFile], notes: Notes) -> _Tags:
    """Return how many people gave each tag to each film; a person's tags of a film stand together in the file."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    group, given = ("", ""), set[str]()
    for file in tag_files:
        rows = _movielens_rows(files, file, "tags")
        for row in note_values(rows, file.name, notes, taken={"tag": "categories/tag"}, elsewhere=("movieId",)):
            if row.problem:
                notes.left_out(file.name, "(row)", row.problem, row.line)
                continue
            user_id, film_id, tag = row.values["userId"], row.values["movieId"], row.values["tag"]
            if (user_id, film_id) != group:
                group, given = (user_id, film_id), set()
            if tag not in given:
                given.add(tag)
                counts[film_id][tag] += 1
    return counts


def _film(row: TableRow, file: str, tags: _Tags, notes: Notes) -> Draft:
    """Return the piece of a film, with how many people gave it each tag as weights."""
    if row.problem:
        return problem_draft(DraftKind.PIECE, (file, row.line), "", row.problem)
    values = row.values
    builder = PieceBuilder(notes, file, row.line, values["movieId"])
    notes.mapped(file, "movieId", "id")
    # Titles end in the year of the film, in parentheses.
    match = _YEAR.match(values["title"])
    builder.label("title", match["title"] if match else values["title"])
    if match:
        builder.keep("title", "year", int(match["year"]))
    if values["genres"] == "(no genres listed)":
        builder.omit("genres", "no genre")
    else:
        builder.keywords("genres", "genre", parts(values["genres"], "|"))
    builder.weights("tags", "tag", tags.get(values["movieId"], {}))
    for column in values.keys() - set(_MOVIELENS["movies"]):
        builder.keep(column, column, values[column])
    return builder.draft()


FULL_WEIGHT = 100
"""The weight of the shelf that a book stands on most often."""
_BOOK_COLUMNS = ("book_id", "title", "authors")
_BOOK_EXTRAS = {
    "original_publication_year": "year",
    "original_title": "originalTitle",
    "language_code": "language",
    "isbn": "isbn",
    "image_url": "imageUrl",
}
_READ = {"userId": "user_id", "contentId": "book_id"}


class _Shelves:
    """Shelves by edition: how many people put its book on each shelf, as pairs of tag and count."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._counts: dict[str, array[int]] = {}

    def add(self, edition: str, tag: str, count: int) -> None:
        self._counts.setdefault(edition, array("q")).extend((int(tag), count))

    def weights(self, edition: str) -> dict[str, int]:
        """Return the weight of each shelf: its share of the most frequent one's count, at least 1."""
        pairs = iter(self._counts.get(edition, ()))
        # One iterator twice, so that it gives pairs: tags and counts stand in turn.
        counts = {self._names[str(tag)]: count for tag, count in zip(pairs, pairs, strict=True)}
        most = max(counts.values(), default=1)
        return {name: max(1, round(FULL_WEIGHT * count / most)) for name, count in counts.items()}


def read_goodbooks(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield books, ratings, and what people want to read."""
    books, ratings, to_read = (files.find(f"{stem}.csv") for stem in ("books", "ratings", "to_read"))
    if books is None and ratings is None:
        raise UnreadableFile("Found neither books.csv nor ratings.csv.")
    if books is not None:
        files.require_columns(books, _BOOK_COLUMNS)
        shelves = _read_shelves(files, notes)
        for row in files.rows(books):
            yield _book(row, books.name, shelves, notes)
    for file, members in ((ratings, _READ | {"type": "rating"}), (to_read, _READ)):
        if file is not None:
            files.require_columns(file, members.values())
            yield from _interactions(files.rows(file), file.name, members, options, notes)


def _read_shelves(files: Files, notes: Notes) -> _Shelves:
    """Return the shelves of all books, without those that tell of their owner; none where a table is missing."""
    tags, book_tags = files.find("tags.csv"), files.find("book_tags.csv")
    if tags is None or book_tags is None:
        return _Shelves({})
    files.require_columns(tags, ("tag_id", "tag_name"))
    files.require_columns(book_tags, ("goodreads_book_id", "tag_id", "count"))
    names = {row.values["tag_id"]: row.values["tag_name"] for row in files.rows(tags) if not row.problem}
    shelves = _Shelves(names)
    for row in files.rows(book_tags):
        reason = row.problem or _reason_against(row, names)
        if reason:
            notes.left_out(book_tags.name, "tag_id", reason, row.line)
        else:
            shelves.add(row.values["goodreads_book_id"], row.values["tag_id"], int(row.values["count"]))
            notes.mapped(book_tags.name, "tag_id", "categories/shelf")
    return shelves


def _reason_against(row: TableRow, names: Mapping[str, str]) -> str | None:
    name, count = names.get(row.values["tag_id"]), row.values["count"]
    if name is None or not row.values["tag_id"].isdecimal():
        return "no name in tags.csv"
    if name in PERSONAL_SHELVES:
        return OF_THE_OWNER
    return None if count.isdecimal() and int(count) > 0 else "no count above 0"


def _book(row: TableRow, file: str, shelves: _Shelves, notes: Notes) -> Draft:
    """Return the piece of a row, its shelves as weighted keywords, or the problem of a row that cannot be read."""
    if row.problem:
        return problem_draft(DraftKind.PIECE, (file, row.line), "", row.problem)
    values = row.values
    builder = PieceBuilder(notes, file, row.line, values["book_id"])
    notes.mapped(file, "book_id", "id")
    builder.label("title", values["title"].strip())
    builder.keywords("authors", "author", (" ".join(name.split()) for name in parts(values["authors"], ",")))
    builder.weights("goodreads_book_id", "shelf", shelves.weights(values.get("goodreads_book_id", "")))
    for column, value in values.items():
        if column in _BOOK_EXTRAS:
            builder.keep(column, _BOOK_EXTRAS[column], _year(value) if column == "original_publication_year" else value)
        elif column not in (*_BOOK_COLUMNS, "goodreads_book_id") and value:
            builder.omit(column)
    return builder.draft()


def _year(text: str) -> int | None:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return None


_TOKEN, _TOKENS, _NUMBER = "token", "token_seq", "float"


def read_recbole(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the items, then the interactions, of tables whose heading says the type of each column (``id:token``)."""
    items = [file for file in files.all if file.ending == "item"]
    interactions = [file for file in files.all if file.ending == "inter"]
    if not items and not interactions:
        raise UnreadableFile("Found neither a file that ends in .item nor one in .inter.")
    form = TableForm(options.delimiter or "\t", options.encoding)
    for file in items:
        yield from _atomic_items(files, file, form, options, notes)
    for file in interactions:
        columns = files.columns(file, form)
        table = Table(file, columns, find_roles(columns, file, options))
        yield from read_interactions(files.rows(file, form), table, options, notes)


def _atomic_items(
    files: Files, file: InputFile, form: TableForm, options: ImportOptions, notes: Notes
) -> Iterator[Draft]:
    roles = find_roles(files.columns(file, form), file, options)

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if value and column != roles.id:
                _take_typed(builder, column, value, is_label=column == roles.label)

    yield from merge_rows(files.rows(file, form), file.name, roles.id, options, notes, take)


def _take_typed(builder: PieceBuilder, column: str, value: str, *, is_label: bool) -> None:
    """Take a value by the type in its column's name: ``token_seq`` and ``token`` are keywords, ``float`` an extra."""
    name, _, kind = column.partition(":")
    if is_label or name.lower().endswith(("title", "name")):
        builder.label(column, value)
    elif kind == _TOKENS:
        builder.keywords(column, name, parts(value, " "))
    elif kind == _TOKEN:
        builder.keywords(column, name, [value])
    elif kind == _NUMBER:
        builder.keep(column, name, _number(value))
    else:
        builder.omit(column)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
