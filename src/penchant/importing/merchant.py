"""Google Merchant: product feeds as XML (RSS or Atom with the namespace ``g``) or as tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant.importing.drafts import Draft
from penchant.importing.files import Files, TableRow
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.markup import local_name, read_items, text_of
from penchant.importing.merging import RowMerger
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.shopify import parts
from penchant.importing.tables import NO_PLACE

ENDINGS = ("xml", "tsv", "txt", "csv")
_ID = "id"
_LEVELS = {"product_type": "type", "google_product_category": "category"}
"""Fields whose texts are paths of categories."""
_SEVERAL = {"color": "color", "material": "material"}
"""Fields whose texts hold several values, with slashes between them."""
_KEYWORDS = {"brand": "brand", "gender": "gender", "age_group": "age group", "pattern": "pattern", "author": "author"}
_KEYWORDS |= {f"custom_label_{number}": f"custom label {number}" for number in range(5)}
_EXTRAS = {
    "link": "link",
    "image_link": "image",
    "price": "price",
    "sale_price": "salePrice",
    "availability": "availability",
    "item_group_id": "itemGroupId",
    "size": "size",
}
_WINDOW = {"expiration_date": "availableUntil"}


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products; those of a group that stand together are one with ``--id-column item_group_id``."""
    id_field = options.id_column or _ID
    for file in files.taken(*ENDINGS):
        rows = _items(files, file) if _is_xml(files, file) else _rows(files, file, options, id_field)
        yield from RowMerger(file.name, id_field, options, notes).pieces(
            (_with_id(row, id_field) for row in rows), lambda builder, values: _take(builder, values, id_field)
        )


def _is_xml(files: Files, file: InputFile) -> bool:
    return next(iter(files.lines(file)), (0, b""))[1].lstrip().startswith(b"<")


def _with_id(row: TableRow, id_field: str) -> TableRow:
    """Return a row that has an id, of a product without a group its own one."""
    return (
        row
        if row.problem or row.values.get(id_field)
        else row._replace(values=row.values | {id_field: row.values.get(_ID, "")})
    )


def _rows(files: Files, file: InputFile, options: ImportOptions, id_field: str) -> Iterator[TableRow]:
    columns = [_field(column) for column in files.columns(file, options.form)]
    if id_field not in columns:
        raise UnreadableFile(f"{file}: no column {id_field} in line 1; a product feed is accepted.")
    for row in files.rows(file, options.form):
        yield row._replace(values={_field(column): value for column, value in row.values.items()})


def _field(column: str) -> str:
    return column.strip().lower().replace(" ", "_")


def _items(files: Files, file: InputFile) -> Iterator[TableRow]:
    """Yield the items of a feed as rows; of a field that is repeated the values stand behind each other."""
    for line, item in read_items(files, file, ("item", "entry")):
        values: dict[str, Any] = {}
        for element in item:
            if not len(element):
                values.setdefault(local_name(element.tag), []).append(_text(element))
        # All fields of a feed are texts; only those of categories are repeated.
        joined = {name: texts if name in _LEVELS else texts[0] for name, texts in values.items()}
        yield TableRow(line, joined)


def _text(element: Element) -> str:
    return text_of(element) or element.get("href", "")


def _take(builder: PieceBuilder, values: Mapping[str, Any], id_field: str) -> None:
    """Take the fields of a product where they belong; those that have no place are noted."""
    for field, value in values.items():
        if not value or field == id_field:
            continue
        if field == "title":
            builder.label(field, value)
        elif field in _LEVELS:
            builder.keywords(field, _LEVELS[field], _levels(value))
        elif field in _SEVERAL:
            builder.keywords(field, _SEVERAL[field], parts(value, "/"))
        elif field in _KEYWORDS:
            builder.keywords(field, _KEYWORDS[field], [value])
        elif field in _WINDOW:
            builder.moment(field, _WINDOW[field], value)
        elif field in _EXTRAS:
            builder.keep(field, _EXTRAS[field], value)
        else:
            builder.leave(field, NO_PLACE)


def _levels(paths: str | Sequence[str]) -> list[str]:
    return [level for path in ([paths] if isinstance(paths, str) else paths) for level in parts(path, ">")]
