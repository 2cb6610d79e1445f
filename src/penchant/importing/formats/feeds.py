"""Feeds: the entries of RSS (0.9 to 2.0, 1.0 included) and Atom files."""

import email.utils
from collections.abc import Iterator
from datetime import UTC
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant.importing.drafts import Draft, DraftKind, problem_draft
from penchant.importing.files import Files
from penchant.importing.markup import local_name, read_items, text_of
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.report import Notes
from penchant.wire import format_timestamp

ENDINGS = ("xml", "rss", "atom", "rdf")
_IDS = ("guid", "id", "link")
"""Fields that name an entry, the first that there is."""
_KEYWORDS = {"category": "category", "subject": "category", "keywords": "category", "creator": "author"}
_TIMES = ("pubDate", "published", "date", "issued")
_PICTURES = ("thumbnail", "enclosure", "content")


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the entries."""
    for file in files.taken(*ENDINGS):
        for line, entry in read_items(files, file, ("item", "entry")):
            yield _piece(entry, (file.name, line), options, notes)


def _piece(entry: Element, where: tuple[str, int], options: ImportOptions, notes: Notes) -> Draft:
    name, piece_id = next(((field, found) for field in _IDS if (found := _first(entry, field))), ("", ""))
    if not piece_id:
        detail = "Found an entry without an id; one of guid, id and link is accepted."
        return problem_draft(DraftKind.PIECE, where, "", detail)
    builder = PieceBuilder(notes, *where, piece_id, options=options)
    notes.mapped(where[0], name, "id")
    for element in entry:
        _take(builder, element, local_name(element.tag))
    return builder.draft()


def _first(entry: Element, field: str) -> str:
    values = (_value(element) for element in entry if local_name(element.tag) == field)
    return next((value for value in values if value), "")


def _value(element: Element) -> str:
    """Return the value of an element: its text, or an attribute where the format writes it there."""
    return text_of(element) or element.get("term") or element.get("href") or element.get("url") or ""


def _take(builder: PieceBuilder, element: Element, field: str) -> None:
    """Take an element of an entry where it belongs; elements that have no place are noted."""
    value = _value(element)
    if not value and not len(element):
        return
    if field == "title":
        builder.label(field, value)
    elif field in _KEYWORDS:
        values = value.split(",") if field == "keywords" else [value]
        builder.keywords(field, _KEYWORDS[field], [each.strip() for each in values if each.strip()])
    elif field == "author":
        name = next((text_of(part) for part in element if local_name(part.tag) == "name"), value)
        builder.keywords(field, "author", [name])
    elif field in _TIMES:
        builder.moment(field, "availableFrom", read_time(value))
    elif field == "link":
        # Atom has links of several kinds; this one is that of the entry's own page.
        if element.get("rel", "alternate") == "alternate":
            builder.keep(field, "link", value)
    elif field in _PICTURES and _is_picture(element, field):
        builder.keep(field, "image", element.get("url"))
    elif field not in _IDS:
        builder.leave(field)


def _is_picture(element: Element, field: str) -> bool:
    kind = element.get("type") or element.get("medium") or ""
    return element.get("url") is not None and (field == "thumbnail" or kind.startswith("image"))


def read_time(text: str) -> str:
    """Return a time of RSS (``Sun, 01 Nov 2026 10:00:00 GMT``) as it is read elsewhere; others as they are."""
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, IndexError):
        return text
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return format_timestamp(round(aware.timestamp() * 1000))
