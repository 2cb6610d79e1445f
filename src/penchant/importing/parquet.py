"""Parquet and Arrow: tables as data frames are saved, with the columns that a CSV file would have."""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from penchant.errors import Refused
from penchant.importing.columns import Table, read_interactions, read_pieces
from penchant.importing.drafts import Draft
from penchant.importing.files import Files, TableRow
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.roles import find_roles

ENDINGS = ("parquet", "pq", "arrow", "feather")
_PARQUET = b"PAR1"
_BATCH_ROWS = 1_000


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the rows of the tables of pieces, then those of interactions."""
    tables = []
    for file in files.taken(*ENDINGS):
        columns = _open(files, file)[0]
        tables.append(Table(file, columns, find_roles(columns, file, options)))
    for table in tables:
        if table.roles.user is None:
            yield from read_pieces(_rows(files, table.file), table, options, notes)
    for table in tables:
        if table.roles.user is not None:
            yield from read_interactions(_rows(files, table.file), table, options, notes)


def _rows(files: Files, file: InputFile) -> Iterator[TableRow]:
    number = 0
    for batch in _open(files, file)[1]:
        for values in batch.to_pylist():
            number += 1
            yield TableRow(number, {name: _plain(value) for name, value in values.items()})


def _open(files: Files, file: InputFile) -> tuple[list[str], Iterator[Any]]:
    """Return the names of a table's columns, and its batches of rows.

    Raises:
        Refused: pyarrow is not installed.
        UnreadableFile: it is no such table.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  # the extra "parquet": it weighs more than all else together
        from pyarrow import ipc, parquet  # noqa: PLC0415  # as above
    except ImportError as error:
        raise Refused("Tables of Parquet and Arrow need pyarrow: pip install 'penchant[parquet]'.") from error
    try:
        with files.open(file) as stream:
            is_parquet = stream.read(len(_PARQUET)) == _PARQUET
        # Mapped, so that a table may be larger than the memory; a member of an archive has to be unpacked into it.
        source = pa.memory_map(str(file.path)) if file.member is None else pa.py_buffer(files.document(file))
        if is_parquet:
            table = parquet.ParquetFile(source)
            return list(table.schema_arrow.names), table.iter_batches(batch_size=_BATCH_ROWS)
        reader = ipc.open_file(source)
        return list(reader.schema.names), (reader.get_batch(index) for index in range(reader.num_record_batches))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(f"{file}: no table of Parquet or Arrow ({error}).") from error


def _plain(value: Any) -> Any:
    """Return a value as JSON and the readers of tables have it; whole numbers with a fraction of 0 are integers."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        # A column with a hole is one of floats in a data frame, ids and years included.
        return int(value) if value.is_integer() else value if math.isfinite(value) else ""
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else value
