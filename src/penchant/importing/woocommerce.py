"""WooCommerce: the export of products (CSV, with English headings) of a WordPress shop."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penchant.importing.drafts import Draft
from penchant.importing.files import Files, TableRow
from penchant.importing.inputs import UnreadableFile
from penchant.importing.merging import RowMerger
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.roles import plain
from penchant.importing.shopify import parts
from penchant.importing.tables import NO_PLACE

ENDINGS = ("csv",)
_NEEDED = {"id", "name", "type"}
_EXTRAS = {"regularprice": "price", "saleprice": "salePrice", "sku": "sku"}
_KEYWORDS = {"tags": "tag", "brands": "brand", "brand": "brand"}
_SHOWN = {"published": ("1",), "visibilityincatalog": ("visible", "catalog", "search")}
"""Columns that say whether a product is shown, and the values with which it is."""
_ATTRIBUTE = re.compile(r"attribute(\d+)(name|values)")
_COMMA = re.compile(r"(?<!\\),")
"""A comma inside of a value has a backslash before it."""
_VARIATION = "variation"


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products."""
    for file in files.taken(*ENDINGS):
        columns = {plain(column): column for column in files.columns(file, options.form)}
        if not columns.keys() >= _NEEDED:
            raise UnreadableFile(f"{file}: no columns ID, Type and Name; an export of products in English is accepted.")
        id_column = options.id_column or columns["id"]
        rows = _without_variations(files.rows(file, options.form), columns["type"], file.name, notes)
        yield from RowMerger(file.name, id_column, options, notes).pieces(rows, _take)


def _without_variations(rows: Iterable[TableRow], column: str, file: str, notes: Notes) -> Iterator[TableRow]:
    for row in rows:
        if not row.problem and _VARIATION in parts(row.values[column], ","):
            notes.left_out(file, "(row)", "a variation, whose values its product has as well", row.line)
        else:
            yield row


def _take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
    """Take the values of a product; those of an attribute become keywords of a category of its name."""
    found = {column: _ATTRIBUTE.fullmatch(plain(column)) for column in values}
    # Names first: the column of an attribute's values may stand before that of its name.
    names = {match[1]: values[column].lower() for column, match in found.items() if match and match[2] == "name"}
    for column, value in values.items():
        match = found[column]
        if not value or (match and match[2] == "name"):
            continue
        if match:
            builder.keywords(column, names.get(match[1]) or "attribute", _values(value))
        else:
            _take_value(builder, column, plain(column), value)


def _take_value(builder: PieceBuilder, column: str, name: str, value: str) -> None:
    """Take a value of a column that is no attribute where it belongs; others are noted."""
    if name == "name":
        builder.label(column, value)
    elif name == "categories":
        builder.keywords(column, "category", [level for path in _values(value) for level in parts(path, ">")])
    elif name in _KEYWORDS:
        builder.keywords(column, _KEYWORDS[name], _values(value))
    elif name in _SHOWN:
        if value not in _SHOWN[name]:
            builder.hide(column)
    elif name == "images":
        builder.keep(column, "image", _values(value)[0])
    elif name in _EXTRAS:
        builder.keep(column, _EXTRAS[name], value)
    elif name not in _NEEDED:
        builder.leave(column, NO_PLACE)


def _values(text: str) -> list[str]:
    found = (part.replace("\\,", ",").strip() for part in _COMMA.split(text))
    return [part for part in found if part]
