"""schema.org: things described in JSON-LD, in files of their own or in web pages (``<script>``) that were saved.

Of a page only what it is about is taken: not the page itself, its navigation, questions about a product, or the article
around a recipe.
"""

import contextlib
import functools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import msgspec

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import Files, InputFile, json_problem
from penchant_import.measures import normalize_name
from penchant_import.moments import read_moment
from penchant_import.options import ImportOptions
from penchant_import.pieces import SOLD_OUT, IdRegister, PieceBuilder
from penchant_import.report import Notes
from penchant_import.rules import UNREADABLE, encode
from penchant_import.texts import name_without_address

TYPE = "type"
"""The category of what a thing is."""
_IDS = ("@id", "identifier", "sku", "isbn", "gtin13", "url", "mainEntityOfPage")
_LABELS = ("name", "headline", "title")
_CATEGORIES = {
    "genre": "genre", "keywords": "keyword", "about": "about", "author": "author", "creator": "author",
    "director": "director", "actor": "actor", "musicBy": "composer", "byArtist": "artist", "brand": "brand",
    "manufacturer": "brand", "category": "category", "color": "color", "material": "material",
    "recipeCategory": "category", "recipeCuisine": "cuisine", "suitableForDiet": "diet",
    "articleSection": "section", "inLanguage": "language", "publisher": "publisher",
    "productionCompany": "company", "countryOfOrigin": "country", "contentRating": "content rating",
}  # fmt: skip
"""Properties that are keywords, and of which category."""
_WITH_COMMAS = {"genre", "keywords", "recipeCategory", "recipeCuisine", "category"}
"""Properties whose texts are lists where they hold commas."""
_EXTRAS = ("url", "image", "isbn", "sku", "duration", "dateCreated", "numberOfPages", "totalTime")
_DESCRIPTIONS = ("articleBody", "description", "abstract", "text")
"""Properties that describe a thing, the fullest first."""
_TEXTS = frozenset({*_LABELS, *_DESCRIPTIONS, *_CATEGORIES})
"""Properties that have texts, which may be given by language."""
_ARTICLES = ("NewsArticle", "Article", "BlogPosting", "ReportageNewsArticle", "OpinionNewsArticle")
_LISTS = {"@graph": None, "itemListElement": "item", "dataFeedElement": "item", "hasPart": None, "mainEntity": None}
"""Properties that hold things, and the property of their elements that is the thing."""
_Node = Mapping[str, Any]


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the things that have a name."""
    known = IdRegister(notes)
    for file in files.select("jsonld", "json", "ndjson", "jsonl", "html", "htm"):
        number = 0
        types = Counter[str]()
        for page in _pages(files, file):
            things = page.things(notes, file.name, number)
            for detail in page.problems:
                # Of a page that tells what it is about all the same, a broken script is no loss.
                if page.is_web and things:
                    notes.left_out(file.name, "(script)", detail, 1)
                    continue
                number += 1
                yield problem_draft(DraftKind.PIECE, (file.name, number), "", f"{detail} JSON-LD is accepted.")
            types.update(_type(node) for node in page.nodes)
            # A thing may name its author by an ``@id`` alone, whose name stands elsewhere in the document.
            named = [node for node in page.nodes if isinstance(node.get("@id"), str)]
            names = {node["@id"]: name for node in named if (name := _name(node))}
            for node in things:
                number += 1
                piece_id, draft = _ThingReader(node, (file.name, number), names, options, notes).piece(page)
                if draft.problem or known.accept(draft, piece_id, _revised(node)):
                    yield draft
        files.findings[file] = functools.partial(_describe_contents, types)


def _describe_contents(types: Counter[str]) -> str:
    if not types:
        return "no JSON-LD"
    counted = ", ".join(f"{count} {name}" for name, count in types.most_common(_MAX_LISTED_TYPES))
    if types.keys() - _PARTS:
        return f"things of JSON-LD ({counted}), none of them with a name and a type to recommend"
    return f"things of JSON-LD ({counted}), none of them to recommend"


TYPE_KEY = "@type"
_MAX_LISTED_TYPES = 5
_PART_NAMES = (
    "Person Organization Corporation NewsMediaOrganization WebSite BreadcrumbList ListItem ImageObject ItemList "
    "DataFeed Brand WebPage CollectionPage ItemPage AboutPage ContactPage FAQPage QAPage SearchResultsPage "
    "ProfilePage CheckoutPage MedicalWebPage Question Answer Comment Review Rating AggregateRating Offer "
    "AggregateOffer WPHeader WPFooter WPSideBar WPAdBlock SiteNavigationElement WebPageElement SearchAction "
    "HowToStep HowToSection PostalAddress ContactPoint SpeakableSpecification PropertyValue DefinedTerm "
    "DefinedTermSet CategoryCode CategoryCodeSet Language Country QuantitativeValue MonetaryAmount PriceSpecification "
    "UnitPriceSpecification OfferShippingDetails MerchantReturnPolicy NutritionInformation GeoCoordinates"
)
_PARTS = frozenset(_PART_NAMES.split())
"""Types of things that describe others, or are parts of pages, and are no pieces."""
_MEDIA = frozenset({"VideoObject", "AudioObject", "MediaObject"})


def _type(node: _Node) -> str:
    kinds = _listed(node.get(TYPE_KEY))[0:1]
    return kinds[0] if kinds and isinstance(kinds[0], str) else "things without a type"


def _rank(node: _Node) -> int:
    """Return how much a page is about a thing: 0 the most, articles only without others, media only by themselves."""
    types = set(map(str, _listed(node[TYPE_KEY])))
    return 2 if types & _MEDIA else 1 if types & set(_ARTICLES) else 0


@dataclass(slots=True)
class _SavedPage:
    """The things of a document, or of all those of a web page; ``address`` is the id of one that has none."""

    address: str = ""
    is_web: bool = False
    nodes: list[_Node] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, text: bytes) -> None:
        try:
            value = _decoded(text)
            self.nodes += _nodes(_plain(value) if _OTHER_FORM.search(text) else value)
        except UNREADABLE:
            self.problems.append(json_problem(text, "text"))

    def things(self, notes: Notes, file: str, line: int) -> Sequence[_Node]:
        """Return the things that may be pieces: of a web page those that it is most about."""
        named = [node for node in self.nodes if _name(node) and TYPE_KEY in node]
        things = [node for node in named if not _PARTS & set(map(str, _listed(node[TYPE_KEY])))]
        main = min(map(_rank, things), default=0)
        chosen = [node for node in things if not self.is_web or _rank(node) == main]
        for node in self.nodes:
            if TYPE_KEY in node and not _name(node) and not _PARTS & set(map(str, _listed(node[TYPE_KEY]))):
                notes.left_out(file, _type(node), "without a name", line + 1)
        for node in things:
            if self.is_web and _rank(node) != main:
                notes.left_out(file, _type(node), "belongs to what the page is about", line + 1)
        return chosen

    def take_address(self) -> str:
        """Return the address once: two things of a page are not the same."""
        address, self.address = self.address, ""
        return address


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        # Texts of web pages often have raw line breaks within, which browsers forgive.
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return msgspec.json.decode(text)


def _pages(files: Files, file: InputFile) -> Iterator[_SavedPage]:
    """Yield what a file holds: one page, one document, or a document a line."""
    if file.ending in ("ndjson", "jsonl"):
        for _, text in files.lines(file):
            page = _SavedPage()
            page.add(text)
            yield page
        return
    text = files.document(file)
    page = _SavedPage(address=file.name.rpartition(".")[0])
    if file.ending in ("html", "htm"):
        scripts = _ScriptCollector()
        scripts.feed(_markup(text))
        page = _SavedPage(address=scripts.address or page.address, is_web=True)
        for script in filter(str.strip, scripts.texts):
            page.add(script.encode("utf-8", "surrogateescape"))
    else:
        page.add(text)
    yield page


def _markup(text: bytes) -> str:
    """Return a page in UTF-8 or as it says that it is written; bytes that are neither are faults of their scripts."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        declared = _CHARSET.search(text[:_MAX_CHARSET_BYTES])
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            return text.decode(declared[1].decode() if declared else "utf-8")
        return text.decode("utf-8", "surrogateescape")


_CHARSET = re.compile(rb"<meta\b[^<>]*?\bcharset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_MAX_CHARSET_BYTES = 4096


class _ScriptCollector(HTMLParser):
    """Collects the scripts of a page that are JSON-LD, and the address that it has for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.address = ""
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "script" and (values.get("type") or "").strip().lower() == "application/ld+json":
            self._is_inside = True
            self.texts.append("")
        elif tag == "link" and "canonical" in (values.get("rel") or "").lower().split():
            self.address = values.get("href") or self.address
        elif tag == "meta" and values.get("property") == "og:url":
            self.address = self.address or values.get("content") or ""

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.texts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = self._is_inside and tag != "script"


_SCHEMA = re.compile(r"https?://schema\.org/")
_AT_SCHEMA_ORG = rb'"https?://schema\.org/?"'
_OTHER_FORM = re.compile(
    rb'"@(?:value|list|set|none)"|"schema:|"https?://schema\.org/\w|\\u00[2-7]|https?:\\/\\/schema'
    rb'|"(?!id")[a-z]{2}(?:-\w{2,8})?"\s*:|"@context"\s*:\s*(?!%b|\{\s*"@vocab"\s*:\s*%b\s*\}'
    rb'|\[\s*%b\s*(?:,\s*\{\s*"@language"\s*:\s*"[\w-]*"\s*\}\s*)?\])[\[{]'
    % (_AT_SCHEMA_ORG, _AT_SCHEMA_ORG, _AT_SCHEMA_ORG)
)
"""What in a text says that it may be in another form than the one that most have; escapes may hide it."""
_SCHEMA_ORG = "https://schema.org/"
_KEYWORD, _CONTEXT, _ID = "@", "@context", "@id"
_HOLDERS = ("@value", "@list", "@set")
_MAPS = frozenset({"@language", "@index", "@id", "@type", "@graph"})
"""Containers whose values are the values of an object."""
_LANGUAGE = re.compile(r"(?:[a-z]{2}(?:-\w{2,8})*|@none)\Z")
_MAX_ALIASES = 10
"""How often a name may stand for one that stands for another."""
_MAX_CONTEXTS = 64
_MAX_DEPTH = 200
_MAX_KNOWN_NAMES = 1_000


class _Context:
    """What names stand for, by the contexts in a thing and those around it; what lies elsewhere is never fetched."""

    def __init__(self, terms: Mapping[str, Any]) -> None:
        self._terms = terms
        self._names: dict[str, str] = {}

    def within(self, contexts: Any) -> "_Context":
        """Return this with what contexts in a thing say; equal ones are read once."""
        return _context_within(self, encode(contexts))

    def extended(self, contexts: Any) -> "_Context":
        terms = dict(self._terms)
        for context in _listed(contexts):
            if context is None:
                terms = {}
            stated = context if isinstance(context, dict) else {}
            names = [name for name in stated if name == "@vocab" or not name.startswith(_KEYWORD)]
            terms |= {name: stated[name] if isinstance(stated[name], dict) else {_ID: stated[name]} for name in names}
            # Resolved here: a later context may say something else of the names that stand in this one.
            known = _Context(terms)
            terms |= {name: terms[name] | {_ID: known._meaning(name, _MAX_ALIASES)} for name in names}
        return _Context(terms)

    def name(self, name: str) -> str:
        """Return a name of schema.org without what stands before it, one of JSON-LD itself, or another as it is.

        One that stands for something else, which is called otherwise, is that.
        """
        result = self._names.get(name)
        if result is None:
            meaning = self._meaning(name, _MAX_ALIASES)
            match = _SCHEMA.match(meaning)
            is_same = meaning.endswith(name) and not meaning.startswith(_KEYWORD)
            result = meaning[match.end() :] if match else name if is_same else meaning
            if len(self._names) >= _MAX_KNOWN_NAMES:
                self._names.clear()
            self._names[name] = result
        return result

    def _meaning(self, name: str, most: int) -> str:
        definition = self._terms.get(name, {})
        meaning = definition.get(_ID, name)
        # What points back at a thing is no property of it.
        if "@reverse" in definition:
            return f"@reverse {name}"
        if not isinstance(meaning, str) or not most:
            return name
        prefix, colon, rest = meaning.partition(":")
        if colon and not rest.startswith("//"):
            known = prefix in self._terms or prefix == "schema"
            before = self._meaning(prefix, most - 1) if prefix in self._terms else _SCHEMA_ORG
            return before + rest if known else meaning
        if meaning == name or colon or meaning.startswith(_KEYWORD):
            return meaning
        if meaning in self._terms:
            return self._meaning(meaning, most - 1)
        vocabulary = self._terms.get("@vocab", {}).get(_ID)
        return (vocabulary if isinstance(vocabulary, str) else _SCHEMA_ORG) + meaning

    def values(self, name: str, value: Any) -> tuple[Any, "_Context"]:
        """Return the value of a name, those of a map by languages or by something else, and the context within it."""
        definition = self._terms.get(name, {})
        containers = _MAPS.intersection(map(str, _listed(definition.get("@container"))))
        if isinstance(value, dict) and (containers or self._is_by_language(name, value)):
            entries = [(key, entry) for key, those in value.items() for entry in _listed(those)]
            is_by_id = _ID in containers
            value = [{_ID: key} | entry if is_by_id and isinstance(entry, dict) else entry for key, entry in entries]
        return value, self.within(definition[_CONTEXT]) if _CONTEXT in definition else self

    def _is_by_language(self, name: str, value: _Node) -> bool:
        return (
            self.name(name) in _TEXTS
            and value.keys() != {"id"}
            and all(map(_LANGUAGE.match, value))
            and all(isinstance(text, str) for texts in value.values() for text in _listed(texts))
        )


_NO_CONTEXT = _Context({})


@functools.lru_cache(_MAX_CONTEXTS)
def _context_within(outer: _Context, contexts: bytes) -> _Context:
    return outer.extended(msgspec.json.decode(contexts))


def _plain(value: Any, context: _Context = _NO_CONTEXT, depth: int = 0) -> Any:
    """Return JSON-LD as most write it: names of schema.org without prefixes, texts for value objects, no sets.

    Raises:
        RecursionError: things are in more others than `_MAX_DEPTH`.
    """
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, list):
        return [_plain(entry, context, depth + 1) for entry in value]
    if not isinstance(value, dict):
        return value
    context = context.within(value[_CONTEXT]) if _CONTEXT in value else context
    members: dict[str, Any] = {}
    for name, inner in value.items():
        term = context.name(name)
        if term == TYPE_KEY:
            kinds = [context.name(entry) if isinstance(entry, str) else entry for entry in _listed(inner)]
            given = kinds if isinstance(inner, list) else kinds[0]
        elif name == _CONTEXT or isinstance(inner, str):
            given = inner
        else:
            given = _plain(*context.values(name, inner), depth + 1)
            # Expanded, every value is in a list, and addresses are things.
            if isinstance(given, list) and len(given) == 1 and _SCHEMA.match(name):
                given = given[0]
        # Several names may stand for one, such as that of a title in each language.
        members[term] = given if term not in members else [*_listed(members[term]), *_listed(given)]
    held = [members[name] for name in _HOLDERS if name in members]
    return held[0] if len(held) == 1 else members


def _nodes(value: Any) -> Iterator[_Node]:
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


def _first_of(value: Any) -> Any:
    return next(iter(_listed(value)), None)


def _name(node: _Node) -> str:
    """Return the first name of a thing, which may have several, as in several languages."""
    names = (entry for label in _LABELS for entry in _listed(node.get(label)))
    return next((name for name in names if isinstance(name, str) and name), "")


def _availabilities(offers: Any) -> Iterator[str]:
    """Yield what offers, and those within them, say of whether they can be ordered, as it is compared."""
    for offer in _listed(offers):
        if isinstance(offer, dict):
            for state in _listed(offer.get("availability")):
                text = state.get(_ID, state.get("name")) if isinstance(state, dict) else state
                if isinstance(text, str) and text:
                    yield normalize_name(_SCHEMA.sub("", text).removeprefix("schema:"))
            yield from _availabilities(offer.get("offers"))


def _revised(node: _Node) -> str | None:
    """Return when a thing was changed last, if it says so."""
    try:
        return read_moment(_first_of(node.get("dateModified") or node.get("datePublished")))
    except ValueError:
        return None


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

    def piece(self, page: _SavedPage) -> tuple[str, Draft]:
        """Return the id and the piece, or the problem of a thing without an id."""
        chosen = (self._options.id_column,) if self._options.id_column else _IDS
        ids = ((name, self._id(self._node.get(name), page.address)) for name in chosen)
        name, piece_id = next(((name, entry) for name, entry in ids if entry), ("", ""))
        if not piece_id and chosen is _IDS:
            name, piece_id = "(address or name of the page)", page.take_address()
        if not piece_id:
            detail = f"Found {_name(self._node)!r} without an id; one of {', '.join(chosen)} is accepted."
            return "", problem_draft(DraftKind.PIECE, self._where, "", detail)
        builder = PieceBuilder(self._notes, *self._where, piece_id, id_field=name, options=self._options)
        builder.label(next(entry for entry in _LABELS if self._node.get(entry)), _name(self._node))
        for field_name, value in self._node.items():
            if value not in (None, "", []):
                self._take(builder, field_name, value)
        described = next((entry for entry in _DESCRIPTIONS if self._node.get(entry)), None)
        if described is not None:
            builder.description(described, _first_of(self._node[described]))
        return piece_id, builder.draft()

    def _id(self, value: Any, address: str) -> str:
        """Return an identifier: a text, a number, or the value of a ``PropertyValue``.

        What is a place within the page (``#recipe``) names nothing without the page's address.
        """
        value = _first_of(value) if value else None
        if isinstance(value, dict):
            value = value.get("value", value.get("@id"))
        if not isinstance(value, str | int) or isinstance(value, bool):
            return ""
        text = str(value)
        return "" if text.startswith("_:") else address + text if text.startswith("#") else text

    def _take(self, builder: PieceBuilder, field: str, value: Any) -> None:
        """Take a property of the thing where it belongs; properties that have no place are noted."""
        is_article = bool(set(_ARTICLES) & set(map(str, _listed(self._node[TYPE_KEY]))))
        if field == TYPE_KEY:
            builder.keywords(field, TYPE, _listed(value))
        elif field == "recipeIngredient":
            texts = self._texts(field, value)
            builder.keywords(field, "ingredient", [name for text in texts if (name := ingredient_name(text))])
        elif field in _CATEGORIES:
            builder.keywords(field, _CATEGORIES[field], self._texts(field, value))
        elif field == "datePublished":
            if is_article:
                builder.moment(field, "availableFrom", _first_of(value))
            else:
                builder.keep(field, field, value)
        elif field == "offers" and (states := list(_availabilities(value))):
            builder.orderable(field, is_orderable=not SOLD_OUT.issuperset(states))
        elif field == "expires":
            builder.moment(field, "availableUntil", _first_of(value))
        elif field in _EXTRAS:
            builder.keep(field, field, self._address(value) if field in ("image", "url") else value)
        elif field not in (*_LABELS, *_IDS, "@context", *_LISTS, *_DESCRIPTIONS):
            builder.omit(field)

    def _texts(self, field: str, value: Any) -> list[str]:
        """Return the texts of a property: those of a list, the names of things, and what they point at."""
        texts: list[str] = []
        for entry in _listed(value):
            if isinstance(entry, dict):
                known = entry.get("@id")
                texts.append(_name(entry) or (self._names.get(known, "") if isinstance(known, str) else ""))
            elif isinstance(entry, str) and field in _WITH_COMMAS:
                texts += entry.split(",")
            elif isinstance(entry, str):
                texts.append(self._names.get(entry, entry))
        if _CATEGORIES.get(field) == "author":
            texts = [name_without_address(text) for text in texts]
        return [text.strip() for text in texts if text.strip()]

    def _address(self, value: Any) -> Any:
        first = _first_of(value)
        if not isinstance(first, dict):
            return first
        return next((first[name] for name in ("url", "contentUrl", "@id") if first.get(name)), None)


_AMOUNT = r"(?:(?:ca|about|approx|circa|cirka)\.?\s+)?[\d¼½¾⅓⅔⅛⅜⅝⅞][\d\s.,/⁄¼½¾⅓⅔⅛⅜⅝⅞–-]*"  # noqa: RUF001  # as recipes have them
_UNITS = (
    "g|gr|gram|grams|gramm|kg|mg|ml|cl|dl|l|liter|liters|litre|litres|c|cup|cups|tsp|tsps|"
    "teaspoon|teaspoons|tbsp|tbsps|tablespoon|tablespoons|fl oz|oz|ounce|ounces|lb|lbs|pound|pounds|"
    "pint|pints|quart|quarts|pinch|pinches|dash|dashes|drop|drops|clove|cloves|can|cans|jar|jars|"
    "box|slice|slices|stick|sticks|piece|pieces|bunch|handful|package|packages|packet|msk|tsk|krm|"
    "st|burk|förp|klyfta|klyftor|nypa|el|tl|prise|stück|stk|ks|bund|dose|zehe|zehen|cuillères?|"
    "verres?|gousses?|pincée|cucharadas?|cucharaditas?|tazas?|dientes?|cucchiai|cucchiaino|cucchiaini|"
    "spicchi|spicchio"
)
_OF = r"(?:(?:of|de|di)\s+|d['’])"  # noqa: RUF001  # as above
_MEASURED = re.compile(rf"{_AMOUNT}\s*(?:(?:{_UNITS})\b\.?)?\s*{_OF}?|(?:{_UNITS})\s+{_OF}", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)")
_AFTER_NAME = re.compile(r"[,(]|\s\+\s")
"""What comes before how an ingredient is prepared, and what else of it is needed."""
_LONGEST_INGREDIENT = 200


def ingredient_name(text: str) -> str:
    """Return an ingredient of a recipe without its amount, what stands in brackets, and how it is prepared.

    Of the heading of a part of them (``For the sauce:``) nothing is left.
    """
    name = _ASIDE.sub(" ", _ASIDE.sub(" ", text[:_LONGEST_INGREDIENT])).strip()
    while match := _MEASURED.match(name):
        name = name[match.end() :].strip(" /+-–")  # noqa: RUF001  # between two amounts
    name = _AFTER_NAME.split(name)[0].lower()
    return "" if name.endswith(":") else " ".join(name.split())
