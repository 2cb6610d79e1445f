"""TMDB: tables of films with lists as JSON in their cells, and of their credits, as they are passed around as CSV."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penchant.importing.drafts import Draft
from penchant.importing.files import Files
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.merging import RowMerger
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.tables import NO_PLACE

ENDINGS = ("csv", "tsv")
ACTORS = 5
"""Actors of a film that are taken: those named first."""
_CREDIT_COLUMNS = {"movie_id", "cast", "crew"}
_CATEGORIES = {
    "genres": "genre",
    "keywords": "keyword",
    "production_companies": "company",
    "production_countries": "country",
    "spoken_languages": "language",
    "original_language": "language",
}
_EXTRAS = {"release_date": "releaseDate", "runtime": "runtime", "poster_path": "poster", "imdb_id": "imdbId"}
_Credits = Mapping[str, Mapping[str, list[str]]]
"""Actors and directors by film."""


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the films, with their credits where a file has these."""
    found = {file: set(files.columns(file, options.form)) for file in files.taken(*ENDINGS)}
    films = [file for file, columns in found.items() if columns >= {"id", "title", "genres"}]
    if not films:
        raise UnreadableFile("Found no table with the columns id, title and genres.")
    # Credits before films, whichever file comes first: they are joined by the film's id, and held in memory.
    people: dict[str, Mapping[str, list[str]]] = {}
    for file, columns in found.items():
        if columns >= _CREDIT_COLUMNS:
            people |= _read_credits(files, file, options, notes)
        elif file not in films:
            notes.left_out(file.name, "(the whole file)", "neither a table of films nor one of credits", 1)
    for file in films:
        yield from RowMerger(file.name, "id", options, notes).pieces(
            files.rows(file, options.form), lambda builder, values: _take(builder, values, people)
        )


def _read_credits(files: Files, file: InputFile, options: ImportOptions, notes: Notes) -> _Credits:
    """Return the first actors and the directors of each film in a table of credits."""
    found: dict[str, Mapping[str, list[str]]] = {}
    for row in files.rows(file, options.form):
        if row.problem:
            notes.left_out(file.name, "(row)", row.problem, row.line)
            continue
        crew = [person for person in _cells(row.values["crew"]) if isinstance(person, dict)]
        directors = [person for person in crew if person.get("job") == "Director"]
        actors = _names(row.values["cast"])[:ACTORS]
        found[row.values["movie_id"]] = {"actor": actors, "director": [str(each.get("name")) for each in directors]}
    return found


def _take(builder: PieceBuilder, values: Mapping[str, Any], people: _Credits) -> None:
    """Take the values of a film where they belong, then its people; others are noted."""
    for column, value in values.items():
        if not value or column == "id":
            continue
        if column == "title":
            builder.label(column, value)
        elif column in _CATEGORIES:
            builder.keywords(column, _CATEGORIES[column], _names(value))
        elif column in _EXTRAS:
            builder.keep(column, _EXTRAS[column], value)
        else:
            builder.leave(column, NO_PLACE)
    for category, names in people.get(values["id"], {}).items():
        builder.keywords(category, category, names)


def _names(text: str) -> list[str]:
    """Return the names in a cell: those of objects in a JSON list, or of a text with commas."""
    found = _cells(text)
    names = [each.get("name") or each.get("english_name") if isinstance(each, dict) else each for each in found]
    return [name.strip() for name in names if isinstance(name, str) and name.strip()]


def _cells(text: str) -> list[Any]:
    if not text.startswith("["):
        return text.split(",")
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        found = _python_list(text)
    return found if isinstance(found, list) else []


def _python_list(text: str) -> Any:
    """Return a list as Python writes it, which some of these tables have."""
    try:
        # Only literals are read: nothing that stands in a file is run.
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
