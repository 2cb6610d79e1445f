"""Films: the titles of IMDb's non-commercial sets, and the tables of TMDB as they are passed around (CSV)."""

from collections.abc import Iterator, Mapping
from typing import Any

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import Files, InputFile, TableRow, UnreadableFile
from penchant_import.formats.jellyfin import ACTORS
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    DESCRIPTION,
    LABEL,
    FieldTaker,
    PieceBuilder,
    extra,
    keywords,
    merge_rows,
    omit_field,
    parts,
)
from penchant_import.report import Notes
from penchant_import.texts import name_of, read_objects

_NOTHING = r"\N"
"""What IMDb writes where there is nothing."""
_IMDB_NEEDED = {"tconst", "primaryTitle", "genres"}


def _number(member: str) -> FieldTaker:
    return lambda builder, field, value: builder.keep(field, member, int(value) if value.isdecimal() else value)


def _comma_keywords(category: str) -> FieldTaker:
    return lambda builder, field, value: builder.keywords(field, category, parts(value, ","))


_IMDB: Mapping[str, FieldTaker] = {
    "titleType": keywords("type"),
    "genres": _comma_keywords("genre"),
    "startYear": _number("year"),
    "runtimeMinutes": _number("runtimeMinutes"),
    "originalTitle": _number("originalTitle"),
}


def read_imdb(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the titles of ``title.basics.tsv``; other tables of the set are left out."""
    file = files.find("title.basics.tsv")
    if file is None:
        raise UnreadableFile("Found no title.basics.tsv (or .tsv.gz).")
    columns = next((line.decode("latin-1") for _, line in files.lines(file)), "").split("\t")
    if not set(columns) >= _IMDB_NEEDED:
        raise UnreadableFile(f"{file}, line 1: the columns {', '.join(sorted(_IMDB_NEEDED))} are accepted, with tabs.")
    for row in files.separated(file, columns, "\t"):
        if row.line > 1:
            yield _title(row, file.name, options, notes)


def _title(row: TableRow, file: str, options: ImportOptions, notes: Notes) -> Draft:
    if row.problem:
        return problem_draft(DraftKind.PIECE, (file, row.line), "", row.problem)
    values = {column: value for column, value in row.values.items() if value != _NOTHING}
    builder = PieceBuilder(notes, file, row.line, values.pop("tconst", ""), options=options)
    notes.mapped(file, "tconst", "id")
    builder.label("primaryTitle", values.pop("primaryTitle", ""))
    for column, value in values.items():
        # Other columns hold 0 where they say nothing, such as isAdult.
        if value != "0" or column in _IMDB:
            _IMDB.get(column, omit_field)(builder, column, value)
    return builder.draft()


_Credits = Mapping[str, Mapping[str, list[str]]]
"""Actors and directors by film."""


def _cell_keywords(category: str) -> FieldTaker:
    return lambda builder, field, value: builder.keywords(field, category, _names(value))


def _take_poster(builder: PieceBuilder, field: str, value: Any) -> None:
    """Take the path of a poster, and the address that it has on TMDB's server of pictures."""
    builder.keep(field, "poster", value)
    builder.keep(field, "image", value if value.startswith("http") else f"{_POSTERS}/{value.lstrip('/')}")


_POSTERS = "https://image.tmdb.org/t/p/w342"
"""Where posters lie, 342 dots wide, as the documents of TMDB's interface say."""
_TMDB: Mapping[str, FieldTaker] = {
    "title": LABEL,
    "overview": DESCRIPTION,
    "genres": _cell_keywords("genre"),
    "keywords": _cell_keywords("keyword"),
    "production_companies": _cell_keywords("company"),
    "production_countries": _cell_keywords("country"),
    "spoken_languages": _cell_keywords("language"),
    "original_language": _cell_keywords("language"),
    "release_date": extra("releaseDate"),
    "runtime": extra("runtime"),
    "poster_path": _take_poster,
    "imdb_id": extra("imdbId"),
}


def read_tmdb(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the films of TMDB's tables, with their credits where a file has these."""
    columns = {file: set(files.columns(file, options.form)) for file in files.select("csv", "tsv")}
    films = [file for file, names in columns.items() if names >= {"id", "title", "genres"}]
    if not films:
        raise UnreadableFile("Found no table with the columns id, title and genres.")
    # Credits before films, whichever file comes first: they are joined by the film's id, and held in memory.
    people: dict[str, Mapping[str, list[str]]] = {}
    for file, names in columns.items():
        if names >= {"movie_id", "cast", "crew"}:
            people |= _read_credits(files, file, options, notes)
        elif file not in films:
            notes.left_out(file.name, "(the whole file)", "neither a table of films nor one of credits", 1)

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if value and column != "id":
                _TMDB.get(column, omit_field)(builder, column, value)
        for category, named in people.get(values["id"], {}).items():
            builder.keywords(category, category, named)

    for file in films:
        yield from merge_rows(files.rows(file, options.form), file.name, "id", options, notes, take)


def _read_credits(files: Files, file: InputFile, options: ImportOptions, notes: Notes) -> _Credits:
    people: dict[str, Mapping[str, list[str]]] = {}
    for row in files.rows(file, options.form):
        if row.problem:
            notes.left_out(file.name, "(row)", row.problem, row.line)
            continue
        crew = [person for person in _cells(row.values["crew"]) if isinstance(person, dict)]
        directors = [str(person.get("name")) for person in crew if person.get("job") == "Director"]
        people[row.values["movie_id"]] = {"actor": _names(row.values["cast"])[:ACTORS], "director": directors}
    return people


def _names(text: str) -> list[str]:
    """Return the names in a cell: those of objects in a list, or of a text with commas."""
    return [name.strip() for name in map(name_of, _cells(text)) if isinstance(name, str) and name.strip()]


def _cells(text: str) -> list[Any]:
    listed = read_objects(text)
    return listed if listed is not None else [] if text.startswith("[") else text.split(",")
