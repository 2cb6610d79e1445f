"""Shops: exports of products of Shopify and WooCommerce (CSV), and feeds of Google Merchant (XML or a table)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from penchant.importing.drafts import Draft
from penchant.importing.files import Files, InputFile, TableRow, UnreadableFile, require_columns
from penchant.importing.markup import local_name, outline, read_items, text_of
from penchant.importing.measures import plain
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import (
    DESCRIPTION,
    LABEL,
    FieldTaker,
    PieceBuilder,
    extra,
    keywords,
    leave_field,
    merge_rows,
    parts,
    skip_field,
    window,
)
from penchant.importing.report import Notes
from penchant.importing.texts import plain_text

ENDINGS = ("csv",)


def _hide_if(is_hidden: Callable[[str], bool]) -> FieldTaker:
    return lambda builder, field, value: builder.hide(field) if is_hidden(value) else None


_SHOPIFY_IDS = ("handle", "urlhandle")
_SHOPIFY_STATE = _hide_if(lambda value: value.lower() in {"false", "draft", "archived", "unlisted"})
_SHOPIFY: Mapping[str, FieldTaker] = {
    "title": LABEL,
    "bodyhtml": DESCRIPTION,
    "description": DESCRIPTION,
    "vendor": keywords("brand"),
    "type": keywords("type"),
    "tags": keywords("tag", ","),
    "productcategory": keywords("category", ">"),
    "variantprice": extra("price"),
    "price": extra("price"),
    "imagesrc": extra("image"),
    "productimageurl": extra("image"),
    "variantsku": extra("sku"),
    "sku": extra("sku"),
    "published": _SHOPIFY_STATE,
    "publishedononlinestore": _SHOPIFY_STATE,
    "status": _SHOPIFY_STATE,
}
_OPTION = re.compile(r"option(\d)(name|value)")
_NO_OPTION = "Default Title"
"""The one value of a product without variants."""


def read_shopify(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of Shopify, which have a row for each variant and each picture; rows may end early."""
    for file in files.taken(*ENDINGS):
        columns = files.columns(file, options.form)
        if options.id_column is not None:
            require_columns(file, [options.id_column], columns)
        id_column = options.id_column or next((each for each in columns if plain(each) in _SHOPIFY_IDS), None)
        if id_column is None:
            raise UnreadableFile(f"{file}: no column Handle; an export of products is accepted (Products, Export).")
        rows = _noting_filled(files.rows(file, options.form, fill=True), file.name, notes)
        yield from merge_rows(rows, file.name, id_column, options, notes, _ShopifyProducts(id_column).take)


def _noting_filled(rows: Iterable[TableRow], file: str, notes: Notes) -> Iterator[TableRow]:
    for row in rows:
        if row.filled:
            notes.left_out(file, "(row)", "ends early; the cells that are missing at its end count as empty", row.line)
        yield row


class _ShopifyProducts:
    """Takes the rows of products; names of options stand in the first row of a product alone."""

    def __init__(self, id_column: str) -> None:
        self._id_column = id_column
        self._product = ""
        self._options: dict[str, str] = {}

    def take(self, builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        # The names of another product's options do not count for this one.
        if values[self._id_column] != self._product:
            self._product, self._options = values[self._id_column], {}
        for column, value in values.items():
            option = _OPTION.fullmatch(plain(column))
            if not value or column == self._id_column:
                continue
            if option is None:
                _SHOPIFY.get(plain(column), leave_field)(builder, column, value)
            elif option[2] == "name":
                self._options[option[1]] = value.lower()
            elif value != _NO_OPTION:
                builder.qualities(column, self._options.get(option[1], "option"), [value])


_COMMA = re.compile(r"(?<!\\),")
"""A comma inside of a value has a backslash before it."""


def _values(text: str) -> list[str]:
    values = (part.replace("\\,", ",").strip() for part in _COMMA.split(text))
    return [part for part in values if part]


def _woo_keywords(category: str) -> FieldTaker:
    return lambda builder, field, value: builder.keywords(field, category, _values(value))


_WOO_IDS = ("id", "sku", "handle", "slug", "permalink")
"""Columns that name a product, the first that does."""
_WOO_VISIBILITY = _hide_if(lambda value: value not in {"visible", "catalog", "search"})
_WOOCOMMERCE: Mapping[str, FieldTaker] = {
    "id": skip_field,
    "type": skip_field,
    "name": LABEL,
    "description": DESCRIPTION,
    "shortdescription": lambda builder, field, value: builder.keep(field, "shortDescription", plain_text(value)),
    "categories": lambda builder, field, value: keywords("category", ">")(builder, field, _values(value)),
    "tags": _woo_keywords("tag"),
    "brands": _woo_keywords("brand"),
    "brand": _woo_keywords("brand"),
    "published": _hide_if(lambda value: value != "1"),
    "visibilityincatalog": _WOO_VISIBILITY,
    "visibilityincatalogue": _WOO_VISIBILITY,
    "images": lambda builder, field, value: builder.keep(field, "image", _values(value)[0]),
    "regularprice": extra("price"),
    "saleprice": extra("salePrice"),
    "sku": extra("sku"),
}
_ATTRIBUTE = re.compile(r"attribute(\d+)(name|values)")


def read_woocommerce(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of WooCommerce, by English headings."""
    for file in files.taken(*ENDINGS):
        columns = files.columns(file, options.form)
        names = {plain(column): column for column in columns}
        if not names.keys() >= {"name", "type"}:
            raise UnreadableFile(f"{file}: no columns Type and Name; an export of products in English is accepted.")
        ids = [names[name] for name in _WOO_IDS if name in names]
        if options.id_column is not None:
            require_columns(file, [options.id_column], columns)
        elif not ids:
            raise UnreadableFile(f"{file}: no column ID or SKU; name the column of ids with --id-column.")
        id_column = options.id_column or ids[0]
        rows = _without_variations(files.rows(file, options.form), names["type"], file.name, notes)
        if options.id_column is None:
            rows = _named_otherwise(rows, id_column, ids[1:], file.name, notes)
        yield from merge_rows(rows, file.name, id_column, options, notes, _take_woocommerce)


def _named_otherwise(
    rows: Iterable[TableRow], id_column: str, others: Sequence[str], file: str, notes: Notes
) -> Iterator[TableRow]:
    """Yield rows, those without an id with that of another column."""
    for row in rows:
        other = next((column for column in others if row.values.get(column)), None)
        if row.problem or row.values[id_column] or other is None:
            yield row
            continue
        notes.left_out(file, id_column, f"empty; {other} names the product instead", row.line)
        yield row._replace(values=row.values | {id_column: row.values[other]})


def _without_variations(rows: Iterable[TableRow], column: str, file: str, notes: Notes) -> Iterator[TableRow]:
    for row in rows:
        if not row.problem and "variation" in parts(row.values[column], ","):
            notes.left_out(file, "(row)", "a variation, whose values its product has as well", row.line)
        else:
            yield row


def _take_woocommerce(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
    """Take the values of a product; those of an attribute become keywords of a category of its name."""
    attributes = {column: _ATTRIBUTE.fullmatch(plain(column)) for column in values}
    # Names first: the column of an attribute's values may stand before that of its name.
    names = {match[1]: values[column].lower() for column, match in attributes.items() if match and match[2] == "name"}
    described = any(plain(column) == "description" and value for column, value in values.items())
    for column, value in values.items():
        attribute = attributes[column]
        if not value or (attribute and attribute[2] == "name"):
            continue
        if attribute:
            builder.qualities(column, names.get(attribute[1]) or "attribute", _values(value))
        elif plain(column) == "shortdescription" and not described:
            builder.description(column, value)
        else:
            _WOOCOMMERCE.get(plain(column), leave_field)(builder, column, value)


_ID = "id"
_NAMING = frozenset({"title", "link", "image_link", "price", "description", "item_group_id"})
"""Fields one of which an item of a feed has beside its id."""
_ACCEPTED = "Google's feed has <item> or <entry> with g:id and g:title"
_LEVELS = {"product_type": keywords("type", ">"), "google_product_category": keywords("category", ">")}
"""Fields whose texts are paths of categories; they may be repeated."""
_MERCHANT: Mapping[str, FieldTaker] = {
    **_LEVELS,
    **{name: keywords(name.replace("_", " ")) for name in ("brand", "gender", "age_group", "pattern", "author")},
    **{f"custom_label_{number}": keywords(f"custom label {number}") for number in range(5)},
    **{name: extra(name) for name in ("link", "price", "availability", "size")},
    "title": LABEL,
    "description": DESCRIPTION,
    "color": keywords("color", "/"),
    "material": keywords("material", "/"),
    "expiration_date": window("availableUntil"),
    "image_link": extra("image"),
    "sale_price": extra("salePrice"),
    "item_group_id": extra("itemGroupId"),
}


def read_merchant(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of a feed; those of a group that stand together are one with ``--id-column item_group_id``."""
    id_field = options.id_column or _ID

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for field, value in values.items():
            if value and field != id_field:
                _MERCHANT.get(field, leave_field)(builder, field, value)

    for file in files.taken("xml", "tsv", "txt", "csv"):
        is_xml = next(iter(files.lines(file)), (0, b""))[1].lstrip().startswith(b"<")
        rows = _feed_items(files, file, id_field) if is_xml else _feed_rows(files, file, options, id_field)
        identified = (_with_id(row, id_field) for row in rows)
        yield from merge_rows(identified, file.name, id_field, options, notes, take)


def _with_id(row: TableRow, id_field: str) -> TableRow:
    """Return a row that has an id, of a product without a group its own one."""
    if row.problem or row.values.get(id_field):
        return row
    return row._replace(values=row.values | {id_field: row.values.get(_ID, "")})


def _feed_rows(files: Files, file: InputFile, options: ImportOptions, id_field: str) -> Iterator[TableRow]:
    columns = [_field(column) for column in files.columns(file, options.form)]
    if id_field not in columns:
        raise UnreadableFile(f"{file}: no column {id_field} in line 1; a product feed is accepted.")
    for row in files.rows(file, options.form):
        yield row._replace(values={_field(column): value for column, value in row.values.items()})


def _field(column: str) -> str:
    return column.strip().lower().replace(" ", "_")


def _feed_items(files: Files, file: InputFile, id_field: str) -> Iterator[TableRow]:
    """Yield the items of a feed as rows; of a field that is repeated the values stand behind each other.

    Items are called by any name, within any root, if they have the names of Google's fields.
    """
    outlined = outline(files, file)
    tags = [
        name
        for name, fields in outlined.children.items()
        if name != outlined.root and not fields.isdisjoint({_ID, id_field}) and not _NAMING.isdisjoint(fields)
    ]
    files.findings[file] = lambda: f"{outlined}; {_ACCEPTED}"
    for line, item in read_items(files, file, tags or ("item", "entry")):
        values: dict[str, Any] = {}
        for element in item:
            if not len(element):
                values.setdefault(local_name(element.tag), []).append(text_of(element) or element.get("href", ""))
        # All fields of a feed are texts; only those of categories are repeated.
        row = {name: texts if name in _LEVELS else texts[0] for name, texts in values.items()}
        # Of another vocabulary nothing is taken, rather than faults told of each item.
        if tags or not _MERCHANT.keys().isdisjoint(row):
            yield TableRow(line, row)
