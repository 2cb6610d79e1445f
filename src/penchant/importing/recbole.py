"""RecBole: atomic files, tables separated by tabs whose heading says the type of each column (``item_id:token``)."""

from collections.abc import Iterator, Mapping
from typing import Any

from penchant.importing.columns import Table, read_interactions
from penchant.importing.drafts import Draft
from penchant.importing.files import Files, TableForm
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.merging import RowMerger
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.roles import Roles, find_roles
from penchant.importing.tables import NO_PLACE

_TOKEN, _TOKENS, _NUMBER = "token", "token_seq", "float"
_TITLES = ("title", "name")


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the items, then the interactions."""
    items = [file for file in files.all if file.ending == "item"]
    interactions = [file for file in files.all if file.ending == "inter"]
    if not items and not interactions:
        raise UnreadableFile("Found neither a file that ends in .item nor one in .inter.")
    form = TableForm(options.delimiter or "\t", options.encoding)
    for file in items:
        yield from _items(files, file, form, options, notes)
    for file in interactions:
        columns = files.columns(file, form)
        table = Table(file, columns, find_roles(columns, file, options))
        yield from read_interactions(files.rows(file, form), table, options, notes)


def _items(files: Files, file: InputFile, form: TableForm, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    roles: Roles = find_roles(files.columns(file, form), file, options)

    def take(builder: PieceBuilder, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if value and column != roles.id:
                _take(builder, column, value, is_label=column == roles.label)

    yield from RowMerger(file.name, roles.id, options, notes).pieces(files.rows(file, form), take)


def _take(builder: PieceBuilder, column: str, value: str, *, is_label: bool) -> None:
    """Take a value by the type in its column's name: ``token_seq`` and ``token`` are keywords, ``float`` an extra."""
    name, _, kind = column.partition(":")
    if is_label or name.lower().endswith(_TITLES):
        builder.label(column, value)
    elif kind == _TOKENS:
        builder.keywords(column, name, value.split())
    elif kind == _TOKEN:
        builder.keywords(column, name, [value])
    elif kind == _NUMBER:
        builder.keep(column, name, _number(value))
    else:
        builder.leave(column, NO_PLACE)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
