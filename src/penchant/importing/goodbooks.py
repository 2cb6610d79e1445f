"""goodbooks-10k: ``books``, ``book_tags`` with ``tags``, ``ratings`` and ``to_read``, all CSV.

The shelves of the books are held in memory, as numbers; ratings are not. The set has no times.
"""

from array import array
from collections.abc import Iterator, Mapping

from penchant.importing.actions import type_of_rating
from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Files, TableRow
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.interactions import interaction_draft, problem_draft
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.tables import NO_PLACE, note_values, require_columns
from penchant.model import InteractionType

FULL_WEIGHT = 100
"""The weight of the shelf that a book stands on most often."""
_PERSONAL_NAMES = """
to-read currently-reading read owned owned-books own i-own books-i-own own-it my-books
my-library library default favorites favourites favourite favorite favorite-books
all-time-favorites wish-list wishlist to-buy maybe finished have abandoned did-not-finish dnf
re-read reread kindle ebook ebooks e-book e-books audiobook audiobooks audio-books
"""
PERSONAL_SHELVES = frozenset(_PERSONAL_NAMES.split())
"""Shelves that tell of their owner, not of the book."""
_BOOK_COLUMNS = ("book_id", "title", "authors")
_EXTRAS = {
    "original_publication_year": "year",
    "original_title": "originalTitle",
    "language_code": "language",
    "isbn": "isbn",
    "image_url": "imageUrl",
}


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


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield books, ratings, and what people want to read."""
    books, ratings, to_read = (files.find(f"{stem}.csv") for stem in ("books", "ratings", "to_read"))
    if books is None and ratings is None:
        raise UnreadableFile("Found neither books.csv nor ratings.csv.")
    if books is not None:
        require_columns(files, books, _BOOK_COLUMNS)
        shelves = _read_shelves(files, notes)
        for row in files.rows(books):
            yield _book(row, books.name, shelves, notes)
    if ratings is not None:
        yield from _interactions(files, ratings, options, notes, rated=True)
    if to_read is not None:
        yield from _interactions(files, to_read, options, notes, rated=False)


def _read_shelves(files: Files, notes: Notes) -> _Shelves:
    """Return the shelves of all books, without those that tell of their owner; none where a table is missing."""
    tags, book_tags = files.find("tags.csv"), files.find("book_tags.csv")
    if tags is None or book_tags is None:
        return _Shelves({})
    require_columns(files, tags, ("tag_id", "tag_name"))
    require_columns(files, book_tags, ("goodreads_book_id", "tag_id", "count"))
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
        return "a shelf that says nothing of the book"
    return None if count.isdecimal() and int(count) > 0 else "no count above 0"


def _book(row: TableRow, file: str, shelves: _Shelves, notes: Notes) -> Draft:
    """Return the piece of a row, its shelves as weighted keywords, or the problem of a row that cannot be read."""
    if row.problem:
        return problem_draft(DraftKind.PIECE, (file, row.line), "", row.problem)
    values = row.values
    builder = PieceBuilder(notes, file, row.line, values["book_id"])
    notes.mapped(file, "book_id", "id")
    builder.label("title", values["title"].strip())
    authors = (" ".join(name.split()) for name in values["authors"].split(","))
    builder.keywords("authors", "author", (name for name in authors if name))
    builder.weights("goodreads_book_id", "shelf", shelves.weights(values.get("goodreads_book_id", "")))
    for column, value in values.items():
        if column in _EXTRAS:
            builder.keep(column, _EXTRAS[column], _year(value) if column == "original_publication_year" else value)
        elif column not in (*_BOOK_COLUMNS, "goodreads_book_id") and value:
            notes.left_out(file, column, NO_PLACE, row.line)
    return builder.draft()


def _year(text: str) -> int | None:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return None


def _interactions(
    files: Files, file: InputFile, options: ImportOptions, notes: Notes, *, rated: bool
) -> Iterator[Draft]:
    """Yield what a table says that people did: their ratings, or, without a rating, that they want to read a book."""
    taken = {"user_id": "userId", "book_id": "contentId"} | ({"rating": "type"} if rated else {})
    require_columns(files, file, taken)
    for row in note_values(files.rows(file), file.name, notes, taken=taken):
        where, kind = (file.name, row.line), InteractionType.BOOKMARK
        if row.problem:
            yield problem_draft(DraftKind.INTERACTION, where, "", row.problem)
            continue
        if rated:
            try:
                kind = type_of_rating(row.values["rating"], options.rating_scale)
            except ValueError as error:
                yield problem_draft(DraftKind.INTERACTION, where, "rating", str(error))
                continue
        yield interaction_draft(where, who=(row.values["user_id"], row.values["book_id"]), kind=kind)
