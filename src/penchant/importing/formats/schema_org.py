"""schema.org: things described in JSON-LD, in files of their own or in web pages (``<script>``) that were saved."""

from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import msgspec

from penchant.importing.drafts import Draft, DraftKind, problem_draft
from penchant.importing.files import Files, InputFile, json_problem
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.report import Notes
from penchant.wire.syntax import UNREADABLE

ENDINGS = ("jsonld", "json", "ndjson", "jsonl", "html", "htm")
TYPE = "type"
"""The category of what a thing is."""
_IDS = ("@id", "identifier", "sku", "isbn", "gtin13", "url")
_LABELS = ("name", "headline", "title")
_CATEGORIES = {
    "genre": "genre", "keywords": "keyword", "about": "about", "author": "author", "creator": "author",
    "director": "director", "actor": "actor", "musicBy": "composer", "byArtist": "artist", "brand": "brand",
    "manufacturer": "brand", "category": "category", "color": "color", "material": "material",
    "recipeCategory": "category", "recipeCuisine": "cuisine", "recipeIngredient": "ingredient",
    "suitableForDiet": "diet", "articleSection": "section", "inLanguage": "language", "publisher": "publisher",
    "productionCompany": "company", "countryOfOrigin": "country", "contentRating": "content rating",
}  # fmt: skip
"""Properties that are keywords, and of which category."""
_WITH_COMMAS = {"genre", "keywords", "recipeCategory", "recipeCuisine", "category"}
"""Properties whose texts are lists where they hold commas."""
_EXTRAS = ("url", "image", "isbn", "sku", "duration", "dateCreated", "numberOfPages", "totalTime")
_ARTICLES = ("NewsArticle", "Article", "BlogPosting", "ReportageNewsArticle", "OpinionNewsArticle")
_LISTS = {"@graph": None, "itemListElement": "item", "dataFeedElement": "item", "hasPart": None, "mainEntity": None}
"""Properties that hold things, and the property of their elements that is the thing."""
_Node = Mapping[str, Any]


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the things that have a name and an id."""
    for file in files.taken(*ENDINGS):
        number = 0
        for text in _documents(files, file):
            try:
                document = msgspec.json.decode(text)
            except UNREADABLE:
                number += 1
                detail = f"{json_problem(text, 'text')} JSON-LD is accepted."
                yield problem_draft(DraftKind.PIECE, (file.name, number), "", detail)
                continue
            nodes = list(_nodes(document))
            # A thing may name its author by an ``@id`` alone, whose name stands elsewhere in the document.
            names = {node["@id"]: name for node in nodes if isinstance(node.get("@id"), str) and (name := _name(node))}
            for node in nodes:
                if _name(node) and TYPE_KEY in node and not _is_part(node):
                    number += 1
                    yield _ThingReader(node, (file.name, number), names, options, notes).piece()


TYPE_KEY = "@type"
_PARTS = {"Person", "Organization", "WebSite", "BreadcrumbList", "ImageObject", "ItemList", "DataFeed", "Brand"}
"""Types of things that describe others, and are no pieces."""


def _is_part(node: _Node) -> bool:
    return bool(_PARTS & set(_listed(node[TYPE_KEY])))


def _documents(files: Files, file: InputFile) -> Iterator[bytes]:
    """Yield the JSON texts of a file: all of it, one a line, or those of the scripts of a page."""
    if file.ending in ("html", "htm"):
        page = _ScriptCollector()
        page.feed(files.document(file).decode("utf-8", "replace"))
        yield from (text.encode() for text in page.found)
    elif file.ending in ("ndjson", "jsonl"):
        yield from (text for _, text in files.lines(file))
    else:
        yield files.document(file)


class _ScriptCollector(HTMLParser):
    """Collects the scripts of a page that are JSON-LD."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a script."""
        if tag == "script" and dict(attrs).get("type") == "application/ld+json":
            self._is_inside = True
            self.found.append("")

    def handle_data(self, data: str) -> None:
        """Take the text of a script."""
        if self._is_inside:
            self.found[-1] += data

    def handle_endtag(self, tag: str) -> None:
        """End a script."""
        self._is_inside = self._is_inside and tag != "script"


def _nodes(value: Any) -> Iterator[_Node]:
    """Yield the things of a document, those of lists and graphs one by one."""
    for node in _listed(value):
        if not isinstance(node, dict):
            continue
        yield node
        for name, inner in _LISTS.items():
            for element in _listed(node.get(name, [])):
                thing = element.get(inner, element) if inner and isinstance(element, dict) else element
                yield from _nodes(thing)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _name(node: _Node) -> str:
    return next((node[name] for name in _LABELS if isinstance(node.get(name), str) and node[name]), "")


class _ThingReader:
    """Makes a piece of a thing; ``names`` are the names of other things by their ``@id``."""

    def __init__(
        self, node: _Node, where: tuple[str, int], names: Mapping[str, str], options: ImportOptions, notes: Notes
    ) -> None:
        self._node = node
        self._where = where
        self._names = names
        self._options = options
        self._notes = notes

    def piece(self) -> Draft:
        """Return the piece, or the problem of a thing without an id."""
        chosen = (self._options.id_column,) if self._options.id_column else _IDS
        found = ((name, self._id(self._node.get(name))) for name in chosen)
        name, piece_id = next(((name, each) for name, each in found if each), ("", ""))
        if not piece_id:
            detail = f"Found {_name(self._node)!r} without an id; one of {', '.join(chosen)} is accepted."
            return problem_draft(DraftKind.PIECE, self._where, "", detail)
        builder = PieceBuilder(self._notes, *self._where, piece_id, options=self._options)
        self._notes.mapped(self._where[0], name, "id")
        builder.label(next(each for each in _LABELS if self._node.get(each)), _name(self._node))
        for field, value in self._node.items():
            if value not in (None, "", []):
                self._take(builder, field, value)
        return builder.draft()

    def _id(self, value: Any) -> str:
        """Return an identifier: a text, a number, or the value of a ``PropertyValue``."""
        value = _listed(value)[0] if value else None
        if isinstance(value, dict):
            value = value.get("value", value.get("@id"))
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""

    def _take(self, builder: PieceBuilder, field: str, value: Any) -> None:
        """Take a property of the thing where it belongs; properties that have no place are noted."""
        is_article = bool(set(_ARTICLES) & set(_listed(self._node[TYPE_KEY])))
        if field == TYPE_KEY:
            builder.keywords(field, TYPE, _listed(value))
        elif field in _CATEGORIES:
            builder.keywords(field, _CATEGORIES[field], self._texts(field, value))
        elif field == "datePublished":
            if is_article:
                builder.moment(field, "availableFrom", value)
            else:
                builder.keep(field, field, value)
        elif field == "expires":
            builder.moment(field, "availableUntil", value)
        elif field in _EXTRAS:
            builder.keep(field, field, self._address(value) if field == "image" else value)
        elif field not in (*_LABELS, *_IDS, "@context", *_LISTS):
            builder.leave(field)

    def _texts(self, field: str, value: Any) -> list[str]:
        """Return the texts of a property: those of a list, the names of things, and what they point at."""
        found: list[str] = []
        for each in _listed(value):
            if isinstance(each, dict):
                found.append(_name(each) or self._names.get(each.get("@id", ""), ""))
            elif isinstance(each, str) and field in _WITH_COMMAS:
                found += each.split(",")
            elif isinstance(each, str):
                found.append(self._names.get(each, each))
        return [text.strip() for text in found if text.strip()]

    def _address(self, value: Any) -> Any:
        first = _listed(value)[0]
        return first.get("url") if isinstance(first, dict) else first
