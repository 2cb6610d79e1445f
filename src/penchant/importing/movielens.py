"""MovieLens: ``movies``, ``ratings`` and ``tags``, as CSV with a heading or as ``.dat`` separated by ``::``.

Tags are held in memory, counted by film, until the films have been read; ratings are not.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from penchant.importing.actions import type_of_rating
from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Files, TableRow
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.interactions import interaction_draft, problem_draft
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.tables import note_values, require_columns

Tags = Mapping[str, Counter[str]]

SEPARATOR = "::"
NO_GENRES = "(no genres listed)"
_YEAR = re.compile(r"(?P<title>.*\S)\s*\((?P<year>\d{4})\)\s*\Z", re.DOTALL)
_COLUMNS = {
    "movies": ("movieId", "title", "genres"),
    "ratings": ("userId", "movieId", "rating", "timestamp"),
    "tags": ("userId", "movieId", "tag", "timestamp"),
}


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield films, then ratings."""
    found = {stem: files.named(stem, "csv", "dat") for stem in _COLUMNS}
    if not found["movies"] and not found["ratings"]:
        raise UnreadableFile("Found neither movies.csv nor ratings.csv (or .dat).")
    tags = _count_tags(files, found["tags"], notes)
    for file in found["movies"]:
        for row in _rows(files, file, "movies"):
            yield _film(row, file.name, tags, notes)
    for file in found["ratings"]:
        yield from _ratings(files, file, options, notes)


def _rows(files: Files, file: InputFile, stem: str) -> Iterator[TableRow]:
    names: Sequence[str] = _COLUMNS[stem]
    if file.name.lower().endswith(".dat"):
        return files.separated(file, names, SEPARATOR)
    require_columns(files, file, names)
    return files.rows(file)


def _count_tags(files: Files, found: Sequence[InputFile], notes: Notes) -> Tags:
    """Return how many people gave each tag to each film; a person's tags of a film stand together in the file."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    group, given = ("", ""), set[str]()
    for file in found:
        for row in note_values(
            _rows(files, file, "tags"), file.name, notes, taken={"tag": "categories/tag"}, elsewhere=("movieId",)
        ):
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


def _film(row: TableRow, file: str, tags: Tags, notes: Notes) -> Draft:
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
    if values["genres"] == NO_GENRES:
        notes.left_out(file, "genres", "no genre", row.line)
    else:
        builder.keywords("genres", "genre", (genre for genre in values["genres"].split("|") if genre))
    builder.weights("tags", "tag", tags.get(values["movieId"], {}))
    for column in values.keys() - set(_COLUMNS["movies"]):
        builder.keep(column, column, values[column])
    return builder.draft()


def _ratings(files: Files, file: InputFile, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the ratings of a file as interactions."""
    taken = {"userId": "userId", "movieId": "contentId", "rating": "type", "timestamp": "timestamp"}
    name = file.name
    for row in note_values(_rows(files, file, "ratings"), name, notes, taken=taken):
        where, values = (name, row.line), row.values
        if row.problem:
            yield problem_draft(DraftKind.INTERACTION, where, "", row.problem)
            continue
        try:
            kind = type_of_rating(values["rating"], options.rating_scale)
        except ValueError as error:
            yield problem_draft(DraftKind.INTERACTION, where, "rating", str(error))
            continue
        who = values["userId"], values["movieId"]
        yield interaction_draft(where, who=who, kind=kind, time=("timestamp", values["timestamp"]))
