"""Films and shows that one person watched: exports of Letterboxd (CSV), backups and answers of Trakt (JSON)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penchant_import.drafts import Draft, DraftKind, portion_of, problem_draft
from penchant_import.files import AnswerEntry, Files, InputFile, UnreadableFile, read_answer, require_columns
from penchant_import.opinions import Attitude, Opinions
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    DESCRIPTION,
    FieldTaker,
    PieceBuilder,
    extra,
    keywords,
    parts,
    take_day,
    take_fields,
    take_label,
)
from penchant_import.report import NO_PLACE, Notes
from penchant_import.texts import plain_text

MAX_STARS = 5.0
_NAME, _YEAR, _URI, _DAY, _RATING, _WATCHED = "Name", "Year", "Letterboxd URI", "Date", "Rating", "Watched Date"
_NEEDED = (_DAY, _NAME, _YEAR, _URI)
_KNOWN = {*_NEEDED, _RATING, _WATCHED, "Rewatch", "Review", "Tags"}
_TABLES = ("watched", "ratings", "watchlist", "films", "diary", "reviews")
"""Tables of the export, in the order in which they are read; ``films`` are those in its folder ``likes``."""
_ENTRIES = ("diary", "reviews")
"""Tables whose address is that of an entry of the diary, not of the film."""
_OTHER_FOLDERS = ("deleted", "orphaned", "lists", "likes")
"""Folders of the export that hold tables of the same names, of what is gone, or of what others wrote."""
_STEM = re.compile(r"[a-z]+")
_FOUR_DIGITS = re.compile(r"[0-9]{4}")
_ATTITUDES = {
    "watched": Attitude.FINISHED,
    "watchlist": Attitude.PLANNED,
    "films": Attitude.LIKED,
    "diary": Attitude.FINISHED,
}


@dataclass(slots=True)
class _Film:
    """A film of the export: where it is named first, its address, and what several tables say of it."""

    where: tuple[str, int]
    name: str
    year: str
    uri: str = ""
    is_ambiguous: bool = False
    tags: dict[str, None] = field(default_factory=dict)
    review: str = ""

    @property
    def piece_id(self) -> str:
        """The film's address, or its name and year where only the diary knows of it."""
        return self.uri or (f"{self.name} ({self.year})" if self.year else self.name)


def read_letterboxd(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the films of an export, then what the person of ``--user`` thinks of each; all are held in memory."""
    tables = [(table, file) for table in _TABLES for file in files.all if _table_of(file) == table]
    if not tables:
        names = ", ".join(f"{table}.csv" for table in _TABLES)
        raise UnreadableFile(f"Found no table of an export of Letterboxd; its tables are {names}.")
    diary = _FilmDiary(Opinions(options, notes), notes)
    for table, file in _tables_that_fit(tables, files, options, notes):
        for row in files.rows(file, options.form):
            if row.problem:
                yield problem_draft(DraftKind.PIECE, (file.name, row.line), "", row.problem)
            else:
                diary.take(table, (file.name, row.line), row.values)
    for film in diary.films.values():
        yield _film_draft(film, options, notes)
    yield from diary.opinions.drafts()


def _tables_that_fit(
    tables: list[tuple[str, InputFile]], files: Files, options: ImportOptions, notes: Notes
) -> list[tuple[str, InputFile]]:
    """Return the tables that have the columns of an export; others of their names, made by hand, are left out.

    Raises:
        UnreadableFile: none has them.
    """
    faults: dict[InputFile, UnreadableFile] = {}
    for _, file in tables:
        try:
            require_columns(file, _NEEDED, files.columns(file, options.form))
        except UnreadableFile as error:
            faults[file] = error
    if len(faults) == len(tables):
        raise next(iter(faults.values()))
    for file in faults:
        notes.left_out(file.name, "(the whole file)", f"no table of an export, which has {', '.join(_NEEDED)}", 1)
    return [(table, file) for table, file in tables if file not in faults]


def _table_of(file: InputFile) -> str | None:
    """Return which table of the export a file is, by its name, which may end in a number, and its folder."""
    match = _STEM.match(file.name.lower())
    table = match[0] if match and file.ending == "csv" else ""
    folder = file.folder.name.lower()
    if table == "films":
        return table if folder == "likes" else None
    return table if table in _TABLES and folder not in _OTHER_FOLDERS else None


class _FilmDiary:
    """The films of an export by name and year, which is all that joins entries of the diary with other tables."""

    def __init__(self, opinions: Opinions, notes: Notes) -> None:
        self.films: dict[tuple[str, str], _Film] = {}
        self.opinions = opinions
        self._notes = notes

    def take(self, table: str, where: tuple[str, int], values: Mapping[str, str]) -> None:
        """Take a row of a table: which film it names, what it says of the film, and what the person thinks."""
        film = self._film(table, where, values)
        if film is None:
            reason = "several films have this name and year, and an entry tells no more"
            self._notes.left_out(where[0], "(row)", reason, where[1])
            return
        for tag in parts(values.get("Tags", ""), ","):
            film.tags.setdefault(tag)
        film.review = plain_text(values.get("Review", "")) or film.review
        if table in _ATTITUDES:
            day = _WATCHED if values.get(_WATCHED) else _DAY
            self.opinions.add(where, day, film.piece_id, _ATTITUDES[table], values[day])
        if values.get(_RATING):
            self.opinions.rate(where, _RATING, film.piece_id, values[_RATING], MAX_STARS, values[_DAY])
        if values.get("Rewatch"):
            self._notes.left_out(where[0], "Rewatch", "what is watched several times counts once", where[1])
        for column in sorted(values.keys() - _KNOWN):
            if values[column]:
                self._notes.left_out(where[0], column, NO_PLACE, where[1])

    def _film(self, table: str, where: tuple[str, int], values: Mapping[str, str]) -> _Film | None:
        """Return the film of a row; ``None`` for an entry of the diary that may be of several films."""
        key, uri = (values[_NAME], values[_YEAR]), values[_URI]
        film = self.films.setdefault(key, _Film(where, *key))
        if table in _ENTRIES:
            return None if film.is_ambiguous else film
        if film.uri and film.uri != uri:
            film.is_ambiguous = True
            film = self.films.setdefault((key[0], uri), _Film(where, *key))
        film.uri = uri
        return film


def _film_draft(film: _Film, options: ImportOptions, notes: Notes) -> Draft:
    builder = PieceBuilder(notes, *film.where, film.piece_id, options=options)
    notes.mapped(film.where[0], _URI if film.uri else _NAME, "id")
    builder.label(_NAME, film.name)
    builder.keep(_YEAR, "year", int(film.year) if _FOUR_DIGITS.fullmatch(film.year) else film.year)
    builder.keep(_URI, "link", film.uri)
    # Named with their tables: the film itself may be named by another first.
    builder.keywords("diary/Tags", "tag", film.tags)
    builder.keep("reviews/Review", "review", film.review)
    return builder.draft()


MAX_TRAKT_RATING = 10.0
_THINGS = ("movie", "show")
_TIMES = {
    "watched_at": Attitude.FINISHED,
    "last_watched_at": Attitude.FINISHED,
    "paused_at": Attitude.STARTED,
}
"""Members that say when a person did something, and what that was."""
_LISTS = {"watchlist": Attitude.PLANNED, "favorites": Attitude.LIKED, "recommendations": Attitude.LIKED}
"""Lists of whose entries only the list itself tells what they mean; favourites were called recommendations before."""
_LIST_TIME = "listed_at"
_COLLECTED = ("collected_at", "last_collected_at")
_NOT_THEIRS = re.compile(r"(hidden|comments|likes|notes|network)\b", re.IGNORECASE)
"""Files of a backup about other things: what is hidden from lists, and what people write."""


def _take_ids(builder: PieceBuilder, name: str, value: Any) -> None:
    for service in ("imdb", "tmdb", "tvdb"):
        if isinstance(value, dict) and value.get(service):
            builder.keep(f"{name}/{service}", f"{service}Id", value[service])


def _take_poster(builder: PieceBuilder, name: str, value: Any) -> None:
    """Keep the first poster; Trakt leaves the scheme out of addresses of pictures."""
    posters = value.get("poster") if isinstance(value, dict) else None
    if isinstance(posters, list) and posters and isinstance(posters[0], str):
        address = posters[0] if "://" in posters[0] else f"https://{posters[0]}"
        builder.keep(f"{name}/poster", "image", address)


_TRAKT: Mapping[str, FieldTaker] = {
    "title": take_label,
    "overview": DESCRIPTION,
    "genres": keywords("genre"),
    "subgenres": keywords("subgenre"),
    "country": keywords("country"),
    "language": keywords("language"),
    "network": keywords("network"),
    "certification": keywords("certification"),
    "year": extra("year"),
    "tagline": extra("tagline"),
    "original_title": extra("originalTitle"),
    "runtime": extra("runtimeMinutes"),
    "status": extra("status"),
    "rating": extra("averageRating"),
    "released": take_day,
    "first_aired": take_day,
    "ids": _take_ids,
    "images": _take_poster,
}


def read_trakt(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield films and shows, then what the person of ``--user`` thinks of each.

    That an episode was watched says so of its show. A piece is yielded again where a later entry says more of it.
    """
    reader = _TraktReader(options, notes)
    for file in files.select("json"):
        if not file.is_named and _NOT_THEIRS.match(file.name):
            continue
        for entry in read_answer(files, file):
            draft = reader.piece(file, entry)
            if draft is not None:
                yield draft
    if not reader.members:
        raise UnreadableFile("Found no film and no show: a backup of Trakt, or saved answers of its API, are accepted.")
    yield from reader.opinions.drafts()


class _TraktReader:
    """Reads entries of history, ratings, lists and collections."""

    def __init__(self, options: ImportOptions, notes: Notes) -> None:
        self._options = options
        self._notes = notes
        self._id = options.id_column or "trakt"
        self.members: dict[str, int] = {}
        self.opinions = Opinions(options, notes)

    def piece(self, file: InputFile, entry: AnswerEntry) -> Draft | None:
        """Return the film or show of an entry, unless as much was said of it before, and take what it says of it."""
        where, value = (file.name, entry.number), entry.value
        kind = next((kind for kind in _THINGS if isinstance(value, dict) and isinstance(value.get(kind), dict)), None)
        if kind is None:
            self._notes.left_out(file.name, entry.section or "(entry)", "neither a film nor a show", entry.number)
            return None
        thing = value[kind]
        ids = thing.get("ids")
        number = ids.get(self._id) if isinstance(ids, dict) else None
        if not isinstance(number, int | str) or not number:
            detail = f"Found a {kind} without {self._id} among its ids; --id-column takes another of them."
            return problem_draft(DraftKind.PIECE, where, f"/{kind}/ids", detail)
        # Numbers of films and of shows are counted apart, and so are their names; IMDb's are not.
        piece_id = str(number) if self._id == "imdb" else f"{kind}:{number}"
        self._take_opinion(where, entry.section or file.name, piece_id, value)
        if len(thing) <= self.members.get(piece_id, 0):
            return None
        self.members[piece_id] = len(thing)
        return self._draft(where, kind, piece_id, thing)

    def _draft(self, where: tuple[str, int], kind: str, piece_id: str, thing: Mapping[str, Any]) -> Draft:
        builder = PieceBuilder(self._notes, *where, piece_id, id_field=f"{kind}/ids/{self._id}", options=self._options)
        builder.keywords(kind, "type", [kind])
        take_fields(_TRAKT, builder, thing)
        slug = thing["ids"].get("slug")
        if slug:
            builder.keep("ids/slug", "link", f"https://trakt.tv/{kind}s/{slug}")
        return builder.draft()

    def _take_opinion(self, where: tuple[str, int], section: str, piece_id: str, value: Mapping[str, Any]) -> None:
        """Take what an entry says: members tell it, but of lists their name."""
        if "rated_at" in value:
            # A rating of an episode or a season says little of the show.
            if value.get("type", "movie") in ("movie", "show"):
                self.opinions.rate(where, "rating", piece_id, value.get("rating"), MAX_TRAKT_RATING, value["rated_at"])
            else:
                self._notes.left_out(where[0], "rating", "a rating of an episode or a season", where[1])
            return
        done = next((name for name in _TIMES if name in value), None)
        if done is not None and _TIMES[done] is Attitude.STARTED:
            # How far an episode was watched says little of its show.
            portion = portion_of(value.get("progress"), 100) if "movie" in value else None
            self.opinions.start(where, done, piece_id, value[done], portion)
        elif done is not None:
            self.opinions.add(where, done, piece_id, _TIMES[done], value[done])
        elif _LIST_TIME in value:
            meaning = next((attitude for name, attitude in _LISTS.items() if name in section.lower()), None)
            if meaning is None:
                reason = "a list of their own; one of what is to be watched is called watchlist.json"
                self._notes.left_out(where[0], _LIST_TIME, reason, where[1])
            else:
                self.opinions.add(where, _LIST_TIME, piece_id, meaning, value[_LIST_TIME])
        elif any(name in value for name in _COLLECTED):
            self._notes.left_out(where[0], _COLLECTED[0], "what somebody owns is no interaction", where[1])
