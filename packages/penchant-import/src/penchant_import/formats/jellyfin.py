"""Jellyfin: answers of its API (JSON), and the ``.nfo`` files that it and Kodi write beside films, shows and albums.

Kodi can write its whole library into one ``videodb.xml`` as well, with the elements of ``.nfo`` files, and episodes
within their shows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import PurePath
from typing import Any
from xml.etree.ElementTree import Element  # what the safe parser gives

import msgspec

from penchant_import.drafts import Draft, DraftKind, portion_of, problem_draft
from penchant_import.files import AnswerEntry, Files, InputFile, UnreadableFile, read_answer
from penchant_import.markup import local_name, read_items, text_of
from penchant_import.opinions import Attitude, Opinions
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    DESCRIPTION,
    FieldTaker,
    IdRegister,
    PieceBuilder,
    extra,
    keywords,
    omit_because,
    parts,
    skip_field,
    take_day,
    take_fields,
    take_label,
)
from penchant_import.report import Notes
from penchant_import.texts import plain_text

ACTORS = 5
"""Actors of a film that are taken: those named first."""
MAX_RATING = 10.0
"""The best rating that a person can give, in both."""
_KINDS = ("Movie", "Series", "MusicAlbum", "MusicVideo", "AudioBook", "Book", "Video")
"""Types of items that are pieces."""
_OWNERS = {"Episode": "SeriesId", "Season": "SeriesId", "Audio": "AlbumId"}
"""Types of items that are parts of a piece, and which of their members names it."""
_TICKS_PER_MINUTE = 600_000_000
_NO_PIECE = "neither a piece nor a part of one"


def _objects_in(values: Any) -> list[Any]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _names_in(values: Any) -> list[Any]:
    return [value.get("Name") for value in _objects_in(values)]


def _take_people(builder: PieceBuilder, field: str, value: Any) -> None:
    by_role: dict[str, list[Any]] = {}
    for person in _objects_in(value):
        by_role.setdefault(str(person.get("Type")).lower(), []).append(person.get("Name"))
    for role in ("actor", "director", "writer", "author"):
        builder.keywords(field, role, by_role.get(role, [])[: ACTORS if role == "actor" else None])


def _take_provider_ids(builder: PieceBuilder, field: str, value: Any) -> None:
    for service, number in value.items() if isinstance(value, dict) else ():
        builder.keep(f"{field}/{service}", f"{service[:1].lower()}{service[1:]}Id", number)


def _minutes(value: Any) -> int | None:
    return value // _TICKS_PER_MINUTE if isinstance(value, int) else None


_ITEM: Mapping[str, FieldTaker] = {
    "Name": take_label,
    "Overview": DESCRIPTION,
    "Genres": keywords("genre"),
    "Tags": keywords("tag"),
    "Studios": keywords("studio", read=_names_in),
    "People": _take_people,
    "Artists": keywords("artist"),
    "AlbumArtists": keywords("artist", read=_names_in),
    "OfficialRating": keywords("certification"),
    "ProductionLocations": keywords("country"),
    "SeriesName": keywords("series"),
    "OriginalTitle": extra("originalTitle"),
    "ProductionYear": extra("year"),
    "CommunityRating": extra("averageRating"),
    "CriticRating": extra("criticRating"),
    "Status": extra("status"),
    "Taglines": extra("tagline", read=lambda lines: lines[0] if isinstance(lines, list) and lines else None),
    "PremiereDate": take_day,
    "RunTimeTicks": extra("runtimeMinutes", read=_minutes),
    "ProviderIds": _take_provider_ids,
    "ImageTags": omit_because("pictures without the address of their server"),
    **dict.fromkeys(("Id", "Type", "GenreItems", "AlbumArtist", "ArtistItems", "UserData"), skip_field),
}


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the pieces of answers and of ``.nfo`` files, then what the person of ``--user`` thinks of each."""
    opinions = Opinions(options, notes)
    items, folders = _Items(options, notes, opinions), _Folders(files, options, notes, opinions)
    # Of folders no other XML is Kodi's library.
    taken = [
        file
        for file in files.select("json", "nfo", "xml")
        if file.is_named or file.ending != "xml" or file.name == _LIBRARY_FILE
    ]
    total, entries, last = 0, 0, ""
    for file in taken:
        if file.ending not in ("nfo", "xml"):
            for entry in read_answer(files, file):
                entries += 1
                yield from items.pieces(file.name, entry)
            total = max(total, _total(files, file))
            last = file.name
    if entries < total:
        notes.note_further_pages(last, "TotalRecordCount", 1)
    # Shows before their episodes, whatever their folders are called.
    xml = [file for file in taken if file.ending in ("nfo", "xml")]
    for file in sorted(xml, key=lambda file: file.name != _SHOW_FILE):
        yield from folders.pieces(file)
    if not items.count and not folders.count:
        raise UnreadableFile(
            "Found no film, show, album or book: answers of Jellyfin's /Items (JSON), .nfo files and Kodi's "
            "videodb.xml are accepted."
        )
    yield from opinions.drafts()


class _AnswerTotal(msgspec.Struct, rename="pascal"):
    """What an answer says of the list that it is a part of."""

    total_record_count: int = 0


def _total(files: Files, file: InputFile) -> int:
    """Return how many entries the list has of which an answer is a part, if it says so."""
    try:
        return msgspec.json.decode(files.document(file), type=_AnswerTotal).total_record_count
    except msgspec.DecodeError:
        return 0


class _Items:
    """Reads items of the API."""

    def __init__(self, options: ImportOptions, notes: Notes, opinions: Opinions) -> None:
        self._options = options
        self._notes = notes
        self._opinions = opinions
        self.count = 0

    def pieces(self, file: str, entry: AnswerEntry) -> Iterator[Draft]:
        """Yield the piece of an item, if it is one, and take what its person did."""
        where, item = (file, entry.number), entry.value
        kind = str(item.get("Type")) if isinstance(item, dict) else ""
        if kind in _OWNERS:
            self.count += 1
            owner = item.get(_OWNERS[kind])
            # What a person thinks of one episode says little of the show; that it was watched does.
            if isinstance(owner, str) and owner:
                self._take_opinion(where, owner, item, is_part=True)
            else:
                self._notes.left_out(file, kind, f"no {_OWNERS[kind]} that says of what it is a part", entry.number)
        elif kind in _KINDS:
            self.count += 1
            yield self._piece(where, item)
        else:
            self._notes.left_out(file, kind[:40] or "(entry)", _NO_PIECE, entry.number)

    def _piece(self, where: tuple[str, int], item: Mapping[str, Any]) -> Draft:
        piece_id = item.get("Id")
        if not isinstance(piece_id, str) or not piece_id:
            return problem_draft(DraftKind.PIECE, where, "/Id", "Found an item without an Id.")
        builder = PieceBuilder(self._notes, *where, piece_id, id_field="Id", options=self._options)
        builder.keywords("Type", "type", [item["Type"]])
        # Most members that say nothing are there all the same.
        take_fields(_ITEM, builder, item, empty=(None, "", [], {}, False))
        self._take_opinion(where, piece_id, item, is_part=False)
        return builder.draft()

    def _take_opinion(self, where: tuple[str, int], piece_id: str, item: Mapping[str, Any], *, is_part: bool) -> None:
        data = item.get("UserData")
        if not isinstance(data, dict):
            return
        time = data.get("LastPlayedDate")
        if data.get("IsFavorite") and not is_part:
            self._opinions.add(where, "UserData/IsFavorite", piece_id, Attitude.LIKED, time)
        if data.get("Rating") and not is_part:
            self._opinions.rate(where, "UserData/Rating", piece_id, data["Rating"], MAX_RATING, time)
        elif isinstance(data.get("Likes"), bool) and not is_part:
            self._opinions.rate(where, "UserData/Likes", piece_id, MAX_RATING if data["Likes"] else 0, MAX_RATING, time)
        if data.get("Played"):
            self._opinions.add(where, "UserData/Played", piece_id, Attitude.FINISHED, time)
        elif data.get("PlaybackPositionTicks"):
            # How far an episode was watched says little of its show.
            portion = None if is_part else portion_of(data["PlaybackPositionTicks"], item.get("RunTimeTicks"))
            self._opinions.start(where, "UserData/PlaybackPositionTicks", piece_id, time, portion)


_ALL = "*.nfo"
_SHOW_FILE = "tvshow.nfo"
_LIBRARY_FILE = "videodb.xml"
_ROOTS = {"movie": "Movie", "tvshow": "Series", "album": "MusicAlbum", "musicvideo": "MusicVideo"}
"""Elements that are pieces, and what the API calls such items."""
_EPISODE = "episodedetails"
_ROOT = re.compile(rb"<(movie|tvshow|album|musicvideo|episodedetails|season|artist)[\s/>]")
_START_BYTES = 64 * 1024
"""In which the first element of a file stands: before it are at most a declaration and a comment."""
_ADDRESS = re.compile(rb"imdb\.com/title/(?P<imdb>tt\d+)|themoviedb\.org/(?:movie|tv)/(?P<tmdb>\d+)")
"""What an address of an item at a service says of its number there."""
_SERVICES = ("imdb", "tmdb", "tvdb", "musicbrainzalbum")
"""Whose number becomes the id, the first that there is."""
_ID = "id"
"""What elements end in that are numbers of services: ``imdbid``, ``tmdb_id``."""
_NFO_OPINIONS = ("watched", "playcount", "lastplayed", "isuserfavorite", "userrating", "resume")
_NFO_SILENT = {"title", "name", "plot", "outline", *_NFO_OPINIONS}
"""Elements that are read by themselves."""
_TRUE = "true"


class _Folders:
    """Reads ``.nfo`` files; an episode belongs to the show of the nearest folder around it that has one."""

    def __init__(self, files: Files, options: ImportOptions, notes: Notes, opinions: Opinions) -> None:
        self._files = files
        self._options = options
        self._notes = notes
        self._opinions = opinions
        self._shows: dict[PurePath, str] = {}
        self._known = IdRegister(notes)
        self.count = 0

    def pieces(self, file: InputFile) -> Iterator[Draft]:
        """Yield the piece of a file, or what is wrong with it, and take what its person did."""
        with self._files.open(file) as stream:
            content = stream.read(_START_BYTES)
        match = _ROOT.search(content)
        root = match[1].decode() if match else ""
        if root not in (*_ROOTS, _EPISODE):
            self._omit(_NO_PIECE if root else "no XML as Kodi and Jellyfin write it")
            return
        self.count += 1
        is_empty, behind = True, content.rpartition(b">")[2] if file.ending == "nfo" else b""
        try:
            for line, item in read_items(self._files, file, (*_ROOTS, _EPISODE)):
                is_empty, tag = False, local_name(item.tag)
                if tag == _EPISODE:
                    self._take_episode(file, item)
                else:
                    piece_id, draft = self._piece(file, line, tag, item, behind)
                    # A person's rating is of both.
                    if draft.problem or self._known.accept(draft, piece_id):
                        yield draft
        except UnreadableFile as error:
            # In .nfo files Kodi lets addresses, and further episodes, stand behind the first element.
            if file.ending == "xml":
                raise
            if is_empty and root == _EPISODE:
                self._omit("an episode whose XML is broken")
            elif is_empty:
                yield problem_draft(DraftKind.PIECE, (str(file), 1), "", error.detail)

    def _omit(self, reason: str) -> None:
        # One name for all files in notes: a library has thousands, of one piece each.
        self._notes.left_out(_ALL, "(the whole file)", reason, 1)

    def _take_episode(self, file: InputFile, item: Element) -> None:
        around = (file.folder, *file.folder.parents)
        show = next((self._shows[folder] for folder in around if folder in self._shows), None)
        if show is None:
            self._notes.left_out(_ALL, _EPISODE, f"no {_SHOW_FILE} in a folder around it", 1)
        else:
            self._take_opinion((_ALL, 1), show, _by_name(item), is_part=True)

    def _piece(self, file: InputFile, line: int, tag: str, item: Element, behind: bytes) -> tuple[str, Draft]:
        """Return the id and the piece of an item; an address may stand ``behind`` its XML."""
        elements = _by_name(item)
        title = _first(elements, "title", "name")
        ids = _ids_of(elements)
        if match := _ADDRESS.search(behind):
            ids.setdefault("imdb" if match["imdb"] else "tmdb", (match["imdb"] or match["tmdb"]).decode())
        piece_id = _piece_id(tag, ids, title, _first(elements, "year"))
        where = (_ALL, 1) if file.ending == "nfo" else (file.name, line)
        if not piece_id:
            return "", problem_draft(DraftKind.PIECE, (str(file), line), "", "Found neither an id nor a title.")
        if tag == "tvshow":
            self._shows[file.folder] = piece_id
            for episode in elements.pop(_EPISODE, ()):
                self._take_opinion(where, piece_id, _by_name(episode), is_part=True)
        builder = PieceBuilder(
            self._notes,
            *where,
            piece_id,
            id_field="uniqueid" if ids.keys() & set(_SERVICES) else "title",
            options=self._options,
        )
        builder.label("title", title)
        builder.keywords(tag, "type", [_ROOTS[tag]])
        builder.description("plot", _first(elements, "plot", "outline"))
        for service, number in ids.items():
            builder.keep("uniqueid", f"{service}Id", number)
        for name, group in elements.items():
            _take_elements(builder, name, group)
        self._take_opinion(where, piece_id, elements, is_part=False)
        # What is wrong with it is told by its path.
        return piece_id, builder.draft()._replace(file=str(file))

    def _take_opinion(
        self, where: tuple[str, int], piece_id: str, elements: Mapping[str, list[Element]], *, is_part: bool
    ) -> None:
        time = _first(elements, "lastplayed")
        rating = _first(elements, "userrating")
        if _first(elements, "isuserfavorite").lower() == _TRUE and not is_part:
            self._opinions.add(where, "isuserfavorite", piece_id, Attitude.LIKED, time)
        if rating not in ("", "0", "0.0") and not is_part:
            self._opinions.rate(where, "userrating", piece_id, rating, MAX_RATING, time)
        if _first(elements, "watched").lower() == _TRUE or _first(elements, "playcount") not in ("", "0"):
            self._opinions.add(where, "playcount", piece_id, Attitude.FINISHED, time)


def _by_name(item: Element) -> dict[str, list[Element]]:
    named: dict[str, list[Element]] = {}
    for element in item:
        named.setdefault(local_name(element.tag).lower(), []).append(element)
    return named


def _first(elements: Mapping[str, list[Element]], *names: str) -> str:
    """Return the first text that is not empty of elements of these names."""
    texts = (text_of(element) for name in names for element in elements.get(name, ()))
    return next((text for text in texts if text), "")


def _ids_of(elements: Mapping[str, list[Element]]) -> dict[str, str]:
    """Return the numbers that services know an item by."""
    ids = {
        element.get("type", "").lower(): text_of(element)
        for element in elements.get("uniqueid", ())
        if element.get("type") and text_of(element)
    }
    for name in elements:
        if name.endswith(_ID) and (number := _first(elements, name)):
            ids.setdefault(name.removesuffix(_ID).rstrip("_"), number)
    ids.pop("unique", None)
    ids.pop("", None)
    # Older files of Kodi have an element that says nothing of whose number it is, but for those of IMDb.
    if (number := _first(elements, "id")).startswith("tt"):
        ids.setdefault("imdb", number)
    return ids


def _piece_id(tag: str, ids: Mapping[str, str], title: str, year: str) -> str:
    """Return the id of an item: by IMDb, or another service and what it is there, or by its title."""
    service = next((service for service in _SERVICES if service in ids), None)
    if service == "imdb":
        return ids[service]
    if service is not None:
        # These count films and shows apart.
        return f"{service}:{_ROOTS[tag].lower()}:{ids[service]}"
    return f"{title} ({year})" if title and _WHOLE.fullmatch(year) else title


def _take_elements(builder: PieceBuilder, name: str, elements: list[Element]) -> None:
    texts = [text for element in elements if (text := text_of(element))]
    if name in _NFO_ELEMENTS:
        _NFO_ELEMENTS[name](builder, name, elements)
    elif not texts or name in _NFO_SILENT or name.endswith(_ID):
        return
    elif name in _NFO_TEXTS:
        # Kodi wrote several genres in one element.
        values = [value for text in texts for value in parts(text, " / ")] if name == "genre" else texts
        _NFO_TEXTS[name](builder, name, values)
    else:
        builder.omit(name)


_WHOLE = re.compile(r"[0-9]{1,9}")


_first_value = itemgetter(0)


def _first_number(member: str) -> FieldTaker:
    """Return what keeps the first of several numbers; 0 stands where none is known."""

    def take(builder: PieceBuilder, field: str, values: list[str]) -> None:
        if not _WHOLE.fullmatch(values[0]):
            builder.omit(field, "no number")
        elif number := int(values[0]):
            builder.keep(field, member, number)

    return take


_NFO_TEXTS: Mapping[str, FieldTaker] = {
    "genre": keywords("genre"),
    "tag": keywords("tag"),
    "studio": keywords("studio"),
    "country": keywords("country"),
    "director": keywords("director"),
    "credits": keywords("writer"),
    "writer": keywords("writer"),
    "mpaa": keywords("certification"),
    "artist": keywords("artist"),
    "albumartist": keywords("artist"),
    "style": keywords("style"),
    "mood": keywords("mood"),
    "originaltitle": extra("originalTitle", read=_first_value),
    "tagline": extra("tagline", read=_first_value),
    "status": extra("status", read=_first_value),
    "trailer": extra("trailer", read=_first_value),
    "review": extra("review", read=lambda values: plain_text(values[0])),
    "year": _first_number("year"),
    "runtime": _first_number("runtimeMinutes"),
    **dict.fromkeys(("premiered", "releasedate"), lambda builder, field, values: take_day(builder, field, values[0])),
}
"""What becomes of elements that hold texts alone."""


def _child(element: Element, name: str) -> str:
    return next((text_of(child) for child in element if local_name(child.tag) == name), "")


def _names_of(elements: list[Element], name: str, most: int | None = None) -> list[str]:
    return [text for element in elements if (text := _child(element, name))][:most]


def _collections(elements: list[Element]) -> list[str]:
    """Return the films that a film belongs to, whose name newer files have in an element of its own."""
    names = [_child(element, "name") or text_of(element) for element in elements]
    return [name for name in names if name]


def _take_picture(builder: PieceBuilder, name: str, elements: list[Element]) -> None:
    """Take the address of the first poster, where it is one: most pictures lie beside the file."""
    pictures: Iterable[tuple[str, str]] = (
        [(element.get("aspect", "poster"), text_of(element)) for element in elements]
        if name == "thumb"
        else [(local_name(child.tag), text_of(child)) for element in elements for child in element]
    )
    address = next((text for kind, text in pictures if kind == "poster" and text.startswith("http")), None)
    if address is None:
        builder.omit(name, "no address of a poster")
    else:
        builder.keep(name, "image", address)


_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,20})?")


def _take_average(builder: PieceBuilder, name: str, elements: list[Element]) -> None:
    """Take what others think on average: the rating that is the default, or the only one."""
    ratings = [child for element in elements for child in element] if name == "ratings" else elements
    chosen = next((part for part in ratings if part.get("default") == _TRUE), ratings[0] if ratings else None)
    text = "" if chosen is None else _child(chosen, "value") or text_of(chosen)
    # As float() reads them, without its infinities.
    if _DECIMAL.fullmatch(text):
        builder.keep(name, "averageRating", float(text))
    else:
        builder.omit(name, "no number")


_NFO_ELEMENTS: Mapping[str, FieldTaker] = {
    "actor": keywords("actor", read=partial(_names_of, name="name", most=ACTORS)),
    "albumartistcredits": keywords("artist", read=partial(_names_of, name="artist")),
    "set": keywords("collection", read=_collections),
    "thumb": _take_picture,
    "art": _take_picture,
    "rating": _take_average,
    "ratings": _take_average,
}
"""What becomes of elements that hold others, or attributes that matter."""
