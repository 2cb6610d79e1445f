"""Feeds: the entries of RSS (0.9 to 2.0, 1.0 included) and Atom files, with the fullest text that each has.

Categories that a podcast has as a whole are those of its episodes, too. Of entries of one id the newest counts.
"""

import email.utils
import functools
import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant_engine.moments import format_timestamp
from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import Files, InputFile
from penchant_import.markup import local_name, outline, read_items, text_of
from penchant_import.moments import read_moment, zone_offset
from penchant_import.options import ImportOptions
from penchant_import.pieces import IdRegister, PieceBuilder
from penchant_import.report import Notes
from penchant_import.rules import decode_entities
from penchant_import.texts import name_without_address

_IDS = ("guid", "id", "link")
"""Fields that name an entry, the first that there is."""
_KEYWORDS = {"category": "category", "subject": "category", "keywords": "category"}
_PEOPLE = ("author", "creator")
_TIMES = ("pubDate", "published", "date", "issued")
_REVISED = ("updated", "modified", *_TIMES)
"""Fields that tell when an entry was changed last, the first that there is."""
_TEXTS = ("encoded", "content", "description", "summary", "subtitle")
"""Fields that hold an entry's text, the fullest first."""
_MEDIA = ("thumbnail", "enclosure", "content", "image")
"""Fields that name a picture, or what the entry is to be heard or watched by."""
_GROUP = "group"
_ATOM = "http://www.w3.org/2005/Atom"
_IMAGE = re.compile(r"<img\s[^<>]*?\bsrc\s*=\s*[\"'](https?://[^\"'<>\s]+)", re.IGNORECASE)
_MAX_SEARCHED = 20_000
"""Letters of a text in which a picture is looked for."""


_ZERO = re.compile(r"\s-?0001\s+\d\d:")
"""A year 1 or before, as writers put it that know no time."""
_LAST_WORD = re.compile(r"\s([A-Za-z]{1,5})\s*\Z")


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the entries."""
    known = IdRegister(notes)
    for file in files.select("xml", "rss", "atom", "rdf"):
        of_all: list[str] = []
        for line, entry in read_items(files, file, ("item", "entry", "category", "link")):
            name = local_name(entry.tag)
            if name == "category":
                # Outside of entries: those of a podcast, some within others.
                of_all += [text for item in entry.iter() if (text := item.get("text"))]
            elif name == "link":
                if entry.get("rel") == "next":
                    notes.note_further_pages(file.name, "link (next)", line)
            else:
                piece_id, draft = _piece(entry, (file.name, line), of_all, options, notes)
                if draft.problem or known.accept(draft, piece_id, _revised(entry)):
                    yield draft
        files.findings[file] = functools.partial(_describe_contents, files, file)


def _describe_contents(files: Files, file: InputFile) -> str:
    return f"{outline(files, file)}; a feed has <item> or <entry>"


def _revised(entry: Element) -> str | None:
    texts = {name: text_of(item) for item in entry if (name := local_name(item.tag)) in _REVISED}
    try:
        return read_moment(read_time(next((text for name in _REVISED if (text := texts.get(name))), "")))
    except ValueError:
        return None


def _piece(
    entry: Element, where: tuple[str, int], of_all: list[str], options: ImportOptions, notes: Notes
) -> tuple[str, Draft]:
    # Other namespaces have titles, texts and links, too.
    own = sorted(entry, key=lambda element: _namespace(element) != _namespace(entry))
    name, piece_id = next(((field, value) for field in _IDS if (value := _first(own, field))), ("", ""))
    if not piece_id:
        # Many podcasts leave the guid empty: an episode is its sound.
        name, piece_id = "enclosure", next((e.get("url", "") for e in entry if local_name(e.tag) == "enclosure"), "")
    if not piece_id:
        detail = "Found an entry without an id; one of guid, id and link is accepted."
        return "", problem_draft(DraftKind.PIECE, where, "", detail)
    builder = PieceBuilder(notes, *where, piece_id, id_field=name, options=options)
    fields = [(local_name(element.tag), element) for element in own]
    # Media of a group are those of the entry, in several forms.
    fields += [(local_name(part.tag), part) for name, group in fields if name == _GROUP for part in group]
    for field, element in fields:
        _take(builder, element, field)
    builder.keywords("category (of all)", "category", of_all)
    texts = _texts(fields, _namespace(entry))
    for field, text in texts[:1]:
        builder.description(field, text)
    # The first picture within a text, where the entry names none.
    picture = next((match for _, text in texts if (match := _IMAGE.search(text[:_MAX_SEARCHED]))), None)
    if picture is not None and not builder.has_extra("image"):
        builder.keep("(picture in the text)", "image", decode_entities(picture[1]))
    return piece_id, builder.draft()


def _namespace(element: Element) -> str:
    return element.tag.rpartition("}")[0].lstrip("{")


def _texts(fields: Sequence[tuple[str, Element]], namespace: str) -> list[tuple[str, str]]:
    """Return the texts of an entry of a namespace with their fields, the fullest first."""
    texts = [
        (name, text_of(element))
        for name in _TEXTS
        for field, element in fields
        # Content of other namespaces is a medium, with the captions of that.
        if field == name and (name != "content" or _namespace(element) in (namespace, _ATOM))
    ]
    return [(name, text) for name, text in texts if text]


def _first(elements: Sequence[Element], field: str) -> str:
    values = (_value(element) for element in elements if local_name(element.tag) == field)
    return next((value for value in values if value), "")


def _value(element: Element) -> str:
    """Return the value of an element: its text, or an attribute where the format writes it there."""
    attributes = (element.get(name) for name in ("term", "label", "text", "href", "url"))
    return text_of(element) or next((value for value in attributes if value), "")


def _take(builder: PieceBuilder, element: Element, field: str) -> None:
    """Take an element of an entry where it belongs; elements that have no place are noted."""
    value = _value(element)
    if not value and not len(element):
        return
    if field == "title":
        builder.label(field, value)
    elif field in _KEYWORDS:
        values = value.split(",") if field == "keywords" else [value]
        builder.keywords(field, _KEYWORDS[field], [item.strip() for item in values if item.strip()])
    elif field in _PEOPLE:
        _take_person(builder, element, field, value)
    elif field in _TIMES:
        builder.moment(field, "availableFrom", read_time(value))
    elif field == "link":
        _take_link(builder, element, value)
    elif field in _MEDIA:
        _take_medium(builder, element, field)
    elif field == "block" and value.lower() == "yes":
        builder.hide(field)
    elif field not in (*_IDS, *_TEXTS, *_REVISED, _GROUP):
        builder.omit(field)


def _take_person(builder: PieceBuilder, element: Element, field: str, value: str) -> None:
    name = next((text_of(part) for part in element if local_name(part.tag) == "name"), value)
    if name := name_without_address(name):
        builder.keywords(field, "author", [name])
    else:
        builder.omit(field, "an address without a name")


def _take_medium(builder: PieceBuilder, element: Element, field: str) -> None:
    address = element.get("url") or element.get("href")
    member = _medium(element, field, address or "")
    if member is None:
        builder.omit(field, "neither picture, sound nor film, by its type and the ending of its address")
    elif not builder.has_extra(member):
        builder.keep(field, member, address)


def _take_link(builder: PieceBuilder, element: Element, value: str) -> None:
    """Take a link of Atom, which has several kinds: that of the entry's own page, and that of sound or film."""
    kind = element.get("rel", "alternate")
    if kind == "alternate":
        builder.keep("link", "link", value)
    elif kind == "enclosure":
        _take_medium(builder, element, "link")


def _medium(element: Element, field: str, address: str) -> str | None:
    """Return the extra that a medium is, by its type, or by the ending of its address; ``None`` of others."""
    kind = (element.get("type") or element.get("medium") or "").lower()
    if field in ("thumbnail", "image") or kind.startswith("image"):
        return "image"
    if not address or kind.startswith(("audio", "video")):
        return "enclosure"
    path = re.split(r"[?#]", address, maxsplit=1)[0]
    path = path.partition("://")[2].partition("/")[2] if "://" in path else path
    return _BY_ENDING.get(path.rpartition(".")[2].lower())


_ENDINGS = {
    "image": "jpg jpeg jfif png gif webp avif svg bmp tif tiff heic",
    "enclosure": "mp3 m4a m4b aac ogg oga opus flac wav wma aif aiff mp4 m4v mov mkv webm avi mpg mpeg ogv wmv flv 3gp",
}
_BY_ENDING = {ending: member for member, endings in _ENDINGS.items() for ending in endings.split()}
"""What a medium is whose type is not told, by the ending of its address."""


# An entry's time is asked for twice: for its window, and for which of one id is the newest.
@functools.lru_cache(maxsize=8)
def read_time(text: str) -> str:
    """Return a time of RSS (``Sun, 01 Nov 2026 10:00:00 GMT``) as it is read elsewhere; others as they are."""
    # Otherwise a year of two digits, which would be one of ours.
    if _ZERO.search(text):
        return ""
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, IndexError):
        return text
    if moment.tzinfo is None and (zone := _LAST_WORD.search(text)):
        # Those of RFC 822 are known there; an unknown one counts as UTC, as it says.
        return f"{moment:%Y-%m-%dT%H:%M:%S}{zone_offset(zone[1]) or 'Z'}"
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return format_timestamp(round(aware.timestamp() * 1000))
