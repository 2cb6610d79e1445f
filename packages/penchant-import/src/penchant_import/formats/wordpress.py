"""WordPress: posts, pages and products of its export (WXR), an RSS file with elements of its own.

Files are read twice: which picture belongs to a post, and what its author is called, stands anywhere in them. That
costs some 200 bytes of memory a picture; posts are not held.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import Files, UnreadableFile
from penchant_import.formats.feeds import read_time
from penchant_import.markup import child_text, local_name, read_items, text_of
from penchant_import.moments import read_moment
from penchant_import.options import ImportOptions
from penchant_import.pieces import IdRegister, PieceBuilder
from penchant_import.placeholders import is_never
from penchant_import.report import Notes
from penchant_import.rules import decode_entities
from penchant_import.texts import name_without_address, plain_text

_TYPES = frozenset({"post", "page", "product"})
"""Types of items that are pieces; others are menus, styles, forms and orders, or what plugins make of them."""
_IDS = ("guid", "link", "post_id")
"""Fields that name an item, the first that there is; feeds of the same site name their entries by the guid, too."""
_SCHEDULED = "future"
_PUBLIC = frozenset({"publish", _SCHEDULED})
_TAXONOMIES: Mapping[str, str] = {
    "post_tag": "tag",
    "product_cat": "category",
    "product_tag": "tag",
    "product_brand": "brand",
}
"""Categories of taxonomies that are called otherwise there."""
_INTERNAL = frozenset({
    "nav_menu", "link_category", "post_format", "wp_theme", "wp_template_part_area", "wp_pattern_category",
    "product_type", "product_visibility", "product_shipping_class", "term_language", "translation_priority",
    "elementor_library_type", "elementor_library_category", "yst_prominent_words", "amp_validation_error",
    "action-group",
})  # fmt: skip
"""Taxonomies of WordPress and of plugins that say how an item is handled, not what it is about."""
_SEARCH_ONLY = ("product_visibility", "exclude-from-catalog")
"""The term of products that are found by a search alone, or not at all."""
_TRANSLATIONS = "_translations"
"""What names of taxonomies end in whose terms join the translations of one item."""
_LANGUAGE = "language"
_MAX_LEVELS = 20
"""Levels of categories, in files that may say that one is its own parent."""
_ATTRIBUTE = "pa_"
"""What names of taxonomies begin with that are a product's attributes."""
_UNCATEGORIZED = frozenset({"uncategorized", "uncategorised"})
_STOCK = "_stock_status"
_META = {"_price": "price", "_sale_price": "salePrice", "_sku": "sku", _STOCK: "availability"}
"""Custom fields of products that are kept, and as which extra."""
_THUMBNAIL = "_thumbnail_id"
_REVISED = ("post_modified_gmt", "post_modified", "post_date_gmt", "post_date")
_READ = frozenset({
    *_REVISED, "guid", "post_id", "title", "encoded", "pubDate", "post_type", "status", "post_password",
})  # fmt: skip
"""Fields that are read before, or say the same as one that is."""
_MAX_ADDRESS = 2_000
"""Letters of an address of a picture, since all of a site are kept: what browsers and servers take."""
_PICTURE = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|svg)(?:\?|\Z)", re.IGNORECASE)
_IMAGE = re.compile(r"<img\b[^<>]*?\bsrc\s*=\s*[\"']([^\"'<>]+)", re.IGNORECASE)
_SHORTCODE = re.compile(
    r"\[/\w[\w-]*\]|\[\w[\w-]*\s[^\[\]=]*=[^\[\]]*\]|\[(?:caption|gallery|embed|audio|video|playlist)\b[^\[\]]*\]"
)
"""What WordPress replaces in texts by something else: what has attributes or an end, and its own ones."""


class _Site(NamedTuple):
    """What items refer to: names of authors by login, addresses by picture, a first picture by post, and categories.

    ``names`` of terms and the nicenames of their ``parents`` go by taxonomy and nicename.
    """

    authors: dict[str, str]
    attachments: dict[str, str]
    pictures: dict[str, str]
    names: dict[tuple[str, str], str]
    parents: dict[tuple[str, str], str]

    def levels(self, domain: str, nicename: str, name: str) -> list[str]:
        """Return the names of a term and of those above it, the topmost first."""
        levels = [name]
        while (above := self.parents.get((domain, nicename))) and len(levels) < _MAX_LEVELS:
            nicename = above
            levels.append(self.names.get((domain, above), above))
        return list(dict.fromkeys(reversed(levels)))


def read_wxr(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield posts, pages and products; what is not public is hidden, and its texts stay out."""
    if options.id_column not in (None, *_IDS):
        raise UnreadableFile(f"Found --id-column {options.id_column}; one of {', '.join(_IDS)} is accepted.")
    chosen = files.select("xml", "wxr")
    site = _Site({}, {}, {}, {}, {})
    known = IdRegister(notes)
    for file in chosen:
        for _, element in read_items(files, file, ("author", "category", "term", "item")):
            _gather(element, site)
    for file in chosen:
        for line, item in read_items(files, file, ("item",)):
            kind = child_text(item, "post_type")
            if kind in _TYPES:
                reader = _ItemReader(item, (file.name, line), site, options, notes)
                draft = reader.piece(kind)
                if draft.problem or known.accept(draft, reader.id()[1], _revised(item)):
                    yield draft
            elif kind == "attachment":
                notes.mapped(file.name, "item (attachment)", "extras/image")
            elif kind:
                notes.left_out(file.name, f"item ({kind})", "no post, page or product", line)
            else:
                detail = "Found an item without wp:post_type; an export of WordPress is accepted (other RSS: feed)."
                yield problem_draft(DraftKind.PIECE, (file.name, line), "wp:post_type", detail)


def _revised(item: Element) -> str | None:
    text = next((text for name in _REVISED if not is_never(text := child_text(item, name))), "")
    try:
        return read_moment(text)
    except ValueError:
        return None


def _gather(element: Element, site: _Site) -> None:
    kind = local_name(element.tag)
    if kind == "author":
        if name := name_without_address(plain_text(child_text(element, "author_display_name"))):
            site.authors[child_text(element, "author_login")] = name
    elif kind in ("category", "term"):
        taxonomy = child_text(element, "term_taxonomy") or "category"
        nicename = child_text(element, "category_nicename", "term_slug")
        if nicename:
            site.names[taxonomy, nicename] = decode_entities(child_text(element, "cat_name", "term_name"))
        if parent := child_text(element, "category_parent", "term_parent"):
            site.parents[taxonomy, nicename] = parent
    elif 0 < len(address := child_text(element, "attachment_url")) <= _MAX_ADDRESS:
        site.attachments[child_text(element, "post_id")] = address
        if _PICTURE.search(address):
            site.pictures.setdefault(child_text(element, "post_parent"), address)


class _ItemReader:
    """Makes a piece of an item."""

    def __init__(
        self, item: Element, where: tuple[str, int], site: _Site, options: ImportOptions, notes: Notes
    ) -> None:
        self._item = item
        self._where = where
        self._site = site
        self._options = options
        self._notes = notes
        self._chosen = {column.column for column in options.keywords}
        if options.catalogs is not None:
            self._chosen.add(options.catalogs.column)

        self._names = (options.id_column,) if options.id_column else _IDS

    def id(self) -> tuple[str, str]:
        """Return the field of the id and the id; two empty texts where there is none."""
        ids = ((name, child_text(self._item, name)) for name in self._names)
        return next(((name, entry) for name, entry in ids if entry), ("", ""))

    def piece(self, kind: str) -> Draft:
        """Return the piece, or the problem of an item without an id."""
        name, piece_id = self.id()
        if not piece_id:
            detail = f"Found an item without {' or '.join(self._names)}."
            return problem_draft(DraftKind.PIECE, self._where, "", detail)
        builder = PieceBuilder(self._notes, *self._where, piece_id, id_field=name, options=self._options)
        builder.catalogs("post_type", [kind])
        is_public = self._is_public()
        if not is_public:
            builder.hide("status")
        self._texts(builder, is_public=is_public)
        self._time(builder)
        self._picture(builder, is_public=is_public)
        for element in self._item:
            self._take(builder, element, local_name(element.tag))
        return builder.draft()

    def _is_public(self) -> bool:
        """Return whether an item is public, or says when it will be: a scheduled one may have no time in UTC."""
        status = child_text(self._item, "status")
        if status == _SCHEDULED and not self._moment():
            return False
        return status in _PUBLIC and not child_text(self._item, "post_password")

    def _moment(self) -> str:
        moment = child_text(self._item, "post_date_gmt")
        return "" if is_never(moment) else moment

    def _texts(self, builder: PieceBuilder, *, is_public: bool) -> None:
        """Take title, content and excerpt; the latter two of what is public alone, since extras can be read."""
        builder.label("title", plain_text(child_text(self._item, "title")))
        # Both are called "encoded", in namespaces of their own.
        texts = {entry.tag: text_of(entry) for entry in self._item if local_name(entry.tag) == "encoded"}
        excerpt = next((text for tag, text in texts.items() if text and "excerpt" in tag), "")
        content = next((text for tag, text in texts.items() if text and "excerpt" not in tag), "")
        if is_public:
            builder.description("content:encoded", _SHORTCODE.sub(" ", content))
            if content:
                builder.keep("excerpt:encoded", "excerpt", plain_text(excerpt))
            else:
                builder.description("excerpt:encoded", excerpt)
        elif content or excerpt:
            builder.omit("content:encoded", "of a post that is not public")

    def _time(self, builder: PieceBuilder) -> None:
        if moment := self._moment():
            builder.moment("post_date_gmt", "availableFrom", moment)
        elif published := child_text(self._item, "pubDate"):
            # What was never published has the year -1 here.
            builder.moment("pubDate", "availableFrom", read_time(published))

    def _picture(self, builder: PieceBuilder, *, is_public: bool) -> None:
        """Take the featured picture; else the first that was uploaded to the item, or that its public text shows."""
        featured = self._site.attachments.get(self._meta().get(_THUMBNAIL, ""))
        uploaded = self._site.pictures.get(child_text(self._item, "post_id"))
        texts = (text_of(entry) for entry in self._item if is_public and local_name(entry.tag) == "encoded")
        inside = next((match for text in texts if (match := _IMAGE.search(text))), None)
        builder.keep("picture", "image", featured or uploaded or (decode_entities(inside[1]) if inside else None))

    def _meta(self) -> dict[str, str]:
        return {
            child_text(entry, "meta_key"): child_text(entry, "meta_value")
            for entry in self._item
            if local_name(entry.tag) == "postmeta"
        }

    def _take(self, builder: PieceBuilder, element: Element, field: str) -> None:
        """Take an element where it belongs; elements that have no place are noted."""
        value = text_of(element)
        if not value or field in _READ:
            return
        if field == "link":
            builder.keep(field, "link", value)
        elif field == "creator":
            if name := name_without_address(self._site.authors.get(value, value)):
                builder.keywords(field, "author", [name])
        elif field == "category":
            self._take_term(builder, element, value)
        elif field == "postmeta":
            self._take_meta(builder, child_text(element, "meta_key"), child_text(element, "meta_value"))
        else:
            builder.omit(field)

    def _take_meta(self, builder: PieceBuilder, key: str, value: str) -> None:
        """Take a custom field: those of products, and what was chosen with ``--keywords`` or ``--catalogs``."""
        if key in self._chosen:
            builder.value(f"postmeta {key}", key, value, self._options)
        elif key in _META:
            builder.keep(f"postmeta {key}", _META[key], value)
            if key == _STOCK:
                builder.orderable(f"postmeta {key}", is_orderable=value != "outofstock")
        elif key != _THUMBNAIL:
            # Those of WordPress and its plugins begin so, and there are dozens.
            builder.omit("postmeta _…" if key.startswith("_") else f"postmeta {key}")

    def _take_term(self, builder: PieceBuilder, element: Element, value: str) -> None:
        domain = element.get("domain") or "category"
        nicename = element.get("nicename") or value
        field = f"category ({domain})"
        if (domain, nicename) == _SEARCH_ONLY:
            builder.hide(field)
        elif domain in _INTERNAL or domain.endswith(_TRANSLATIONS):
            builder.omit(field)
        elif domain == _LANGUAGE:
            builder.keep(field, "language", nicename)
        elif nicename.lower() in _UNCATEGORIZED:
            builder.omit(field, "means that there is none")
        else:
            name = _TAXONOMIES.get(domain) or domain.removeprefix(_ATTRIBUTE).replace("_", " ").replace("-", " ")
            builder.keywords(field, name, self._site.levels(domain, nicename, decode_entities(value)))
