"""Shopify: the export of products (CSV), which has a row for each variant and each picture of a product."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from penchant.importing.drafts import Draft
from penchant.importing.files import Files
from penchant.importing.inputs import UnreadableFile
from penchant.importing.merging import RowMerger
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.roles import plain
from penchant.importing.tables import NO_PLACE

ENDINGS = ("csv",)
IDS = ("handle", "urlhandle")
_KEYWORDS = {
    "vendor": ("brand", None),
    "type": ("type", None),
    "tags": ("tag", ","),
    "productcategory": ("category", ">"),
}
"""Columns of keywords, their category, and what parts them."""
_EXTRAS = {
    "variantprice": "price",
    "price": "price",
    "imagesrc": "image",
    "productimageurl": "image",
    "variantsku": "sku",
    "sku": "sku",
}
_STATES = ("published", "publishedononlinestore", "status")
_HIDDEN = ("false", "draft", "archived", "unlisted")
_OPTION = re.compile(r"option(\d)(name|value)")
_NO_OPTION = "Default Title"
"""The one value of a product without variants."""


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products."""
    for file in files.taken(*ENDINGS):
        columns = files.columns(file, options.form)
        ids = [column for column in columns if plain(column) in IDS] if options.id_column is None else columns
        id_column = options.id_column or next(iter(ids), None)
        if id_column not in columns:
            raise UnreadableFile(f"{file}: no column Handle; an export of products is accepted (Products, Export).")
        taker = _ProductTaker(id_column)
        yield from RowMerger(file.name, id_column, options, notes).pieces(files.rows(file, options.form), taker.take)


class _ProductTaker:
    """Takes the rows of products; names of options stand in the first row of a product alone."""

    def __init__(self, id_column: str) -> None:
        self._id_column = id_column
        self._product = ""
        self._options: dict[str, str] = {}

    def take(self, builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        """Take a row."""
        # The names of another product's options do not count for this one.
        if values[self._id_column] != self._product:
            self._product, self._options = values[self._id_column], {}
        for column, value in values.items():
            if value and column != self._id_column:
                self._take(builder, column, plain(column), value)

    def _take(self, builder: PieceBuilder, column: str, name: str, value: str) -> None:
        """Take a value where its column belongs; values of columns that have no place are noted."""
        option = _OPTION.fullmatch(name)
        if name == "title":
            builder.label(column, value)
        elif name in _KEYWORDS:
            category, separator = _KEYWORDS[name]
            builder.keywords(column, category, parts(value, separator) if separator else [value])
        elif name in _EXTRAS:
            builder.keep(column, _EXTRAS[name], value)
        elif option:
            self._take_option(builder, column, (option[1], option[2]), value)
        elif name in _STATES:
            if value.lower() in _HIDDEN:
                builder.hide(column)
        else:
            builder.leave(column, NO_PLACE)

    def _take_option(self, builder: PieceBuilder, column: str, option: tuple[str, str], value: str) -> None:
        number, part = option
        if part == "name":
            self._options[number] = value.lower()
        elif value != _NO_OPTION:
            builder.keywords(column, self._options.get(number, "option"), [value])


def parts(text: str, separator: str) -> list[str]:
    """Return the parts of a text that are not blank, trimmed."""
    return [part.strip() for part in text.split(separator) if part.strip()]
