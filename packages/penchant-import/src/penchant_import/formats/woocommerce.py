"""WooCommerce: exports of products (CSV), whose headings are in the language of whoever exported them.

``woocommerce.tsv`` has the headings of languages. Of others, and of what a release translates otherwise, the columns
are known by their order, which is the same in each export of all columns, and which the codes in them prove.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from itertools import islice
from typing import Any

from penchant_import.drafts import Draft
from penchant_import.files import Files, InputFile, TableRow, UnreadableFile, printable, require_columns
from penchant_import.formats.shops import SUMMARY, take_product
from penchant_import.measures import normalize_name
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    DESCRIPTION,
    LABEL,
    FieldTaker,
    PieceBuilder,
    RowTaker,
    extra,
    hide_if,
    keywords,
    merge_rows,
    parts,
    skip_field,
)
from penchant_import.report import Notes

_LANGUAGES = "woocommerce.tsv"
_NUMBER = re.compile(r"\d+")
_NUMBERED = "%d"
"""Stands for the number of an attribute in a heading."""
_KNOWN_HEADINGS = 2
"""Headings of a language that a file has at least, if it is in it: type and name."""

_LAYOUT_NAMES = (
    "id type sku gtin name published featured visibilityincatalog shortdescription description salestarts saleends "
    "taxstatus taxclass instock stock lowstock backorders soldindividually weight length width height reviews "
    "purchasenote saleprice regularprice categories tags shippingclass images downloadlimit downloadexpiry parent "
    "groupedproducts upsells crosssells externalurl buttontext position"
)
_LAYOUT = _LAYOUT_NAMES.split()
"""The columns of an export of all columns, in their order; before 3.5 without ``lowstock``, before 9.4 ``gtin``."""
_YES_NO = frozenset({"0", "1"})
_KINDS = frozenset({"simple", "variable", "variation", "grouped", "external", "virtual", "downloadable"})
_CODES: Mapping[str, frozenset[str]] = {
    "published": frozenset({"-1", "0", "1", "2"}),
    "featured": _YES_NO,
    "visibilityincatalog": frozenset({"visible", "catalog", "search", "hidden"}),
    "taxstatus": frozenset({"taxable", "shipping", "none", ""}),
    "backorders": frozenset({"0", "1", "notify"}),
    "soldindividually": _YES_NO,
    "reviews": _YES_NO,
}
"""What cells hold in every language."""
_TRIED_ROWS = 20
_ATTRIBUTE = re.compile(r"attribute(\d+)(name|values)")
_ATTRIBUTE_COLUMNS = 4
"""Columns of an attribute: its name, its values, and whether it is shown and global."""

_VALUE = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?=,|\Z)|((?:\\,|[^,])+)')
"""A value of several: in quotes, or with a backslash before each comma that is its own."""


def _values(text: str) -> list[str]:
    quoted_or_not = ((match[1] or "").replace('""', '"') or match[2] or "" for match in _VALUE.finditer(text))
    values = (value.replace("\\,", ",").strip() for value in quoted_or_not)
    return [value for value in values if value]


_IDS = ("id", "sku", "handle", "slug", "permalink")
"""Columns that name a product, the first that does."""
_FIELDS: Mapping[str, FieldTaker] = {
    "id": skip_field,
    "type": skip_field,
    "name": LABEL,
    "description": DESCRIPTION,
    "shortdescription": SUMMARY,
    "categories": keywords("category", ">", read=_values),
    "tags": keywords("tag", read=_values),
    "brands": keywords("brand", read=_values),
    "brand": keywords("brand", read=_values),
    "published": hide_if(lambda value: value != "1"),
    "visibilityincatalog": hide_if(lambda value: value not in {"visible", "catalog"}),
    "images": extra("image", read=lambda value: next(iter(_values(value)), None)),
    "regularprice": extra("price"),
    "saleprice": extra("salePrice"),
    "sku": extra("sku"),
    # What is on backorder can be ordered.
    "instock": lambda builder, field, value: builder.orderable(field, is_orderable=value != "0"),
    "stock": PieceBuilder.stock,
}


def read_woocommerce(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of WooCommerce."""
    for file in files.select("csv"):
        fields = _fields_of(files, file, options)
        columns = {field: column for column, field in reversed(list(fields.items()))}
        if not columns.keys() >= {"name", "type"}:
            excerpt = printable(", ".join(fields)) or "none"
            raise UnreadableFile(
                f"{file}: no columns Type and Name; an export of products of WooCommerce is accepted, in a language "
                f"that it is known in or with all columns; any other table by --from csv. Found are {excerpt}."
            )
        ids = [columns[name] for name in _IDS if name in columns]
        if options.id_column is not None:
            require_columns(file, [options.id_column], list(fields))
        elif not ids:
            raise UnreadableFile(f"{file}: no column ID or SKU; name the column of ids with --id-column.")
        id_column = options.id_column or ids[0]
        rows = _without_variations(files.rows(file, options.form), columns["type"], file.name, notes)
        if options.id_column is None:
            rows = _named_otherwise(rows, id_column, ids[1:], file.name, notes)
        yield from merge_rows(rows, file.name, id_column, options, notes, _taker(fields))


def _fields_of(files: Files, file: InputFile, options: ImportOptions) -> Mapping[str, str]:
    """Return which field each column is, by its heading in the language that knows most of them, else by its place."""
    columns = files.columns(file, options.form)
    by_language = [
        {column: known[key] for column in columns if (key := _key(column)) in known} for known in _headings()
    ]
    by_heading = max(by_language, key=len)
    named = {column: _numbered(column, field) for column, field in by_heading.items()}
    if len(named) < _KNOWN_HEADINGS:
        named = {}
    fields = {column: named.get(column) or normalize_name(column) for column in columns}
    if named.keys() == set(columns) or len(columns) < len(_LAYOUT) - 2:
        return fields
    rows = [row.values for row in islice(files.rows(file, options.form), _TRIED_ROWS) if not row.problem]
    placed = _fields_by_place(columns, rows)
    return {column: named.get(column) or placed.get(column) or fields[column] for column in columns}


@lru_cache(maxsize=1)
def _headings() -> Sequence[Mapping[str, str]]:
    """Return the headings of each language, as they are compared, and which field each is; English first."""
    lines = (resources.files(__package__) / _LANGUAGES).read_text(encoding="utf-8").splitlines()
    english, *others = (line.split("\t")[1:] for line in lines)
    # A British heading stands behind the American one, which names the field.
    names = [normalize_name(cell.partition("|")[0].replace(_NUMBERED, "")) for cell in english]
    return [
        {_key(item): name for name, cell in zip(names, cells, strict=True) for item in cell.split("|") if item}
        for cells in (english, *others)
    ]


def _key(heading: str) -> str:
    return _NUMBER.sub(_NUMBERED, " ".join(heading.casefold().split()))


def _numbered(column: str, field: str) -> str:
    number = _NUMBER.search(column)
    return field.replace("attribute", f"attribute{number[0]}") if number else field


def _fields_by_place(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """Return which fields columns are by their order, where the codes of all rows fit one; otherwise none."""
    for missing in ((), ("gtin",), ("lowstock",), ("gtin", "lowstock")):
        names = [name for name in _LAYOUT if name not in missing]
        placed = dict(zip(names, columns, strict=False))
        if len(columns) >= len(names) and rows and all(_fits(row, placed) for row in rows):
            fields = {column: name for name, column in placed.items()}
            return fields | _attributes_by_place(columns[len(names) :])
    return {}


def _fits(row: Mapping[str, str], placed: Mapping[str, str]) -> bool:
    kinds = set(parts(row[placed["type"]], ","))
    return bool(kinds & _KINDS) and all(row[placed[name]] in codes for name, codes in _CODES.items())


def _attributes_by_place(columns: Sequence[str]) -> dict[str, str]:
    """Return the names and values of attributes: the first two of four neighbours with the same number."""
    fields: dict[str, str] = {}
    numbers = [match[0] if (match := _NUMBER.search(column)) else "" for column in columns]
    for place, number in enumerate(numbers[: 1 - _ATTRIBUTE_COLUMNS or None]):
        is_first = number and (place == 0 or numbers[place - 1] != number)
        if is_first and numbers[place : place + _ATTRIBUTE_COLUMNS] == [number] * _ATTRIBUTE_COLUMNS:
            fields |= {columns[place]: f"attribute{number}name", columns[place + 1]: f"attribute{number}values"}
    return fields


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


def _taker(fields: Mapping[str, str]) -> RowTaker:
    """Return what takes a row; the values of an attribute become keywords of a category of its name."""
    attributes = {column: match for column, field in fields.items() if (match := _ATTRIBUTE.fullmatch(field))}

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        # Names first: the column of an attribute's values may stand before that of its name.
        names = {match[1]: values[column].lower() for column, match in attributes.items() if match[2] == "name"}

        def take_attribute(builder: PieceBuilder, column: str, value: str) -> None:
            match = attributes[column]
            if match[2] != "name":
                builder.attributes(column, names.get(match[1]) or "attribute", _values(value))

        takers = {**_FIELDS, **{match[0]: take_attribute for match in attributes.values()}}
        take_product(takers, fields, builder, values)

    return take
