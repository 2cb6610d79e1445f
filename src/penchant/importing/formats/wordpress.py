"""WordPress: posts, pages and products of its export (WXR), an RSS file with elements of its own.

Files are read twice: which picture belongs to a post, and what its author is called, stands anywhere in them. That
costs some 200 bytes of memory a picture; posts are not held.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant.importing.drafts import Draft, DraftKind, problem_draft
from penchant.importing.files import Files, UnreadableFile
from penchant.importing.formats.feeds import read_time
from penchant.importing.markup import child_text, local_name, read_items, text_of
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.report import Notes
from penchant.importing.texts import plain_text
from penchant.words import decode_entities

_TYPES = frozenset({"post", "page", "product"})
"""Types of items that are pieces; others are menus, styles, forms and orders, or what plugins make of them."""
_IDS = ("guid", "link", "post_id")
"""Fields that name an item, the first that there is; feeds of the same site name their entries by the guid, too."""
_SHOWN = frozenset({"publish", "future"})
_TAXONOMIES: Mapping[str, str] = {
    "post_tag": "tag",
    "product_cat": "category",
    "product_tag": "tag",
    "product_brand": "brand",
}
"""Categories of taxonomies that are called otherwise there."""
_INTERNAL = frozenset({"nav_menu", "post_format", "product_type", "product_visibility", "product_shipping_class"})
_ATTRIBUTE = "pa_"
"""What names of taxonomies begin with that are a product's attributes."""
_UNCATEGORIZED = frozenset({"uncategorized", "uncategorised"})
_META = {"_price": "price", "_sale_price": "salePrice", "_sku": "sku", "_stock_status": "availability"}
"""Custom fields of products that are kept, and as which extra."""
_THUMBNAIL = "_thumbnail_id"
_NO_TIME = "0000-00-00"
"""How WordPress writes that there is no time."""
_READ = frozenset({
    "guid", "post_id", "title", "encoded", "post_date_gmt", "post_date", "pubDate", "post_type", "status",
    "post_password",
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
    """What items refer to: names of authors by login, addresses by picture, a first picture by post."""

    authors: dict[str, str]
    attachments: dict[str, str]
    pictures: dict[str, str]


def read_wxr(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield posts, pages and products; what is not public is hidden, and its texts stay out."""
    if options.id_column not in (None, *_IDS):
        raise UnreadableFile(f"Found --id-column {options.id_column}; one of {', '.join(_IDS)} is accepted.")
    chosen = files.taken("xml", "wxr")
    site = _Site({}, {}, {})
    for file in chosen:
        for _, element in read_items(files, file, ("author", "item")):
            _gather(element, site)
    for file in chosen:
        for line, item in read_items(files, file, ("item",)):
            kind = child_text(item, "post_type")
            if kind in _TYPES:
                yield _ItemReader(item, (file.name, line), site, options, notes).piece(kind)
            elif kind == "attachment":
                notes.mapped(file.name, "item (attachment)", "extras/image")
            elif kind:
                notes.left_out(file.name, f"item ({kind})", "no post, page or product", line)
            else:
                detail = "Found an item without wp:post_type; an export of WordPress is accepted (other RSS: feed)."
                yield problem_draft(DraftKind.PIECE, (file.name, line), "wp:post_type", detail)


def _gather(element: Element, site: _Site) -> None:
    if local_name(element.tag) == "author":
        if name := child_text(element, "author_display_name"):
            site.authors[child_text(element, "author_login")] = plain_text(name)
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

    def piece(self, kind: str) -> Draft:
        """Return the piece, or the problem of an item without an id."""
        names = (self._options.id_column,) if self._options.id_column else _IDS
        ids = ((name, child_text(self._item, name)) for name in names)
        name, piece_id = next(((name, each) for name, each in ids if each), ("", ""))
        if not piece_id:
            return problem_draft(DraftKind.PIECE, self._where, "", f"Found an item without {' or '.join(names)}.")
        builder = PieceBuilder(self._notes, *self._where, piece_id, options=self._options)
        self._notes.mapped(self._where[0], name, "id")
        builder.catalogs("post_type", [kind])
        is_shown = child_text(self._item, "status") in _SHOWN and not child_text(self._item, "post_password")
        if not is_shown:
            builder.hide("status")
        self._texts(builder, is_shown=is_shown)
        self._time(builder)
        self._picture(builder, is_shown=is_shown)
        for element in self._item:
            self._take(builder, element, local_name(element.tag))
        return builder.draft()

    def _texts(self, builder: PieceBuilder, *, is_shown: bool) -> None:
        """Take title, content and excerpt; the latter two of what is public alone, since extras can be read."""
        builder.label("title", plain_text(child_text(self._item, "title")))
        # Both are called "encoded", in namespaces of their own.
        texts = {each.tag: text_of(each) for each in self._item if local_name(each.tag) == "encoded"}
        excerpt = next((text for tag, text in texts.items() if text and "excerpt" in tag), "")
        content = next((text for tag, text in texts.items() if text and "excerpt" not in tag), "")
        if is_shown:
            builder.description("content:encoded", _SHORTCODE.sub(" ", content))
            if content:
                builder.keep("excerpt:encoded", "excerpt", plain_text(excerpt))
            else:
                builder.description("excerpt:encoded", excerpt)
        elif content or excerpt:
            builder.leave("content:encoded", "of a post that is not public")

    def _time(self, builder: PieceBuilder) -> None:
        moment = child_text(self._item, "post_date_gmt")
        if moment and not moment.startswith(_NO_TIME):
            builder.moment("post_date_gmt", "availableFrom", moment)
            return
        published = child_text(self._item, "pubDate")
        # What was never published has the year -1 here.
        if published and "-0001" not in published:
            builder.moment("pubDate", "availableFrom", read_time(published))

    def _picture(self, builder: PieceBuilder, *, is_shown: bool) -> None:
        """Take the featured picture; else the first that was uploaded to the item, or that its public text shows."""
        featured = self._site.attachments.get(self._meta().get(_THUMBNAIL, ""))
        uploaded = self._site.pictures.get(child_text(self._item, "post_id"))
        texts = (text_of(each) for each in self._item if is_shown and local_name(each.tag) == "encoded")
        inside = next((match for text in texts if (match := _IMAGE.search(text))), None)
        builder.keep("picture", "image", featured or uploaded or (decode_entities(inside[1]) if inside else None))

    def _meta(self) -> dict[str, str]:
        return {
            child_text(each, "meta_key"): child_text(each, "meta_value")
            for each in self._item
            if local_name(each.tag) == "postmeta"
        }

    def _take(self, builder: PieceBuilder, element: Element, field: str) -> None:
        """Take an element where it belongs; elements that have no place are noted."""
        value = text_of(element)
        if not value or field in _READ:
            return
        if field == "link":
            builder.keep(field, "link", value)
        elif field == "creator":
            builder.keywords(field, "author", [self._site.authors.get(value, value)])
        elif field == "category":
            _take_term(builder, element, value)
        elif field == "postmeta":
            self._take_meta(builder, child_text(element, "meta_key"), child_text(element, "meta_value"))
        else:
            builder.leave(field)

    def _take_meta(self, builder: PieceBuilder, key: str, value: str) -> None:
        """Take a custom field: those of products, and what was chosen with ``--keywords`` or ``--catalogs``."""
        if key in self._chosen:
            builder.value(f"postmeta {key}", key, value, self._options)
        elif key in _META:
            builder.keep(f"postmeta {key}", _META[key], value)
        elif key != _THUMBNAIL:
            # Those of WordPress and its plugins begin so, and there are dozens.
            builder.leave("postmeta _…" if key.startswith("_") else f"postmeta {key}")


def _take_term(builder: PieceBuilder, element: Element, value: str) -> None:
    domain = element.get("domain") or "category"
    field = f"category ({domain})"
    if domain in _INTERNAL:
        builder.leave(field)
    elif (element.get("nicename") or value).lower() in _UNCATEGORIZED:
        builder.leave(field, "means that there is none")
    else:
        name = _TAXONOMIES.get(domain) or domain.removeprefix(_ATTRIBUTE).replace("_", " ").replace("-", " ")
        builder.keywords(field, name, [decode_entities(value)])
