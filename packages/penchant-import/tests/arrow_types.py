"""Columns of each type that Arrow knows, with values that are hard to convert, and what reads them all."""

import contextlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from penchant.errors import PenchantError
from penchant_import.files import Files, gather
from penchant_import.formats import read_drafts
from penchant_import.options import ImportOptions
from penchant_import.report import Notes

FAR, NOW_NS = 2**62, 1795855195123456789
"""A time that is in no year, and one of nanoseconds."""


def columns_of_all_types() -> dict[str, pa.Array]:
    """Return two values of each type, one of them absent or strange."""
    columns: dict[str, pa.Array] = {}
    units: tuple[Any, ...] = ("s", "ms", "us", "ns")
    for unit in units:
        for kind in (pa.timestamp(unit), pa.timestamp(unit, "Mars/Phobos"), pa.duration(unit)):
            columns[str(kind)] = pa.array([FAR, NOW_NS], pa.int64()).view(kind)
    for kind in (pa.time32("s"), pa.time32("ms"), pa.date32()):
        columns[str(kind)] = pa.array([2**31 - 1, None], pa.int32()).view(kind)
    for kind in (pa.time64("us"), pa.time64("ns"), pa.date64()):
        columns[str(kind)] = pa.array([FAR, 123456789], pa.int64()).view(kind)
    for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_()):
        columns[str(kind)] = pa.array([None, 1]).cast(kind)
    columns["half"] = pa.array([float("nan"), 1.5], pa.float32()).cast(pa.float16())
    columns["large double"] = pa.array([1e300, float("inf")])
    columns["null"] = pa.nulls(2)
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()):
        columns[str(kind)] = pa.array(["a", None], kind)
    columns["no text"] = pa.array([b"\xff", b"a"]).view(pa.string())
    columns["fixed bytes"] = pa.array([b"\x01\0", b"ab"], pa.binary(2))
    for kind in (pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(38, 3), pa.decimal256(76, 0)):
        columns[str(kind)] = pa.array([Decimal(12), None], kind)
    text = pa.string()
    for kind in (pa.list_(text), pa.large_list(text), pa.list_(text, 1), pa.list_view(text), pa.large_list_view(text)):
        columns[str(kind)] = pa.array([["a"], None], kind)
    columns["struct"] = pa.array([{"a": 1, "b": b"\xff"}, None])
    columns["map"] = pa.array([[("a", "b")], None], pa.map_(text, text))
    return columns | _columns_of_others()


def _columns_of_others() -> dict[str, pa.Array]:
    """Return columns whose types are made of others, or extend them."""
    kinds, numbers, words = pa.array([0, 1], pa.int8()), pa.array([1, 2]), pa.array(["a", "b"])
    intervals = [pa.MonthDayNano([1, 2, 3]), None]
    storages: dict[str, tuple[Callable[[], Any], list[Any], Any]] = {
        "uuid": (pa.uuid, [b"0123456789abcdef", None], pa.binary(16)),
        "json": (pa.json_, ['["a"]', "{"], pa.string()),
        "bool8": (pa.bool8, [2, None], pa.int8()),
        "opaque": (lambda: pa.opaque(pa.binary(), "x", "y"), [b"a", None], pa.binary()),
        "tensor": (lambda: pa.fixed_shape_tensor(pa.int8(), [2]), [[1, 2], None], pa.list_(pa.int8(), 2)),
    }
    extensions = {
        name: pa.ExtensionArray.from_storage(make(), pa.array(values, kind))
        for name, (make, values, kind) in storages.items()
    }
    return {
        "interval": pa.array(intervals, pa.month_day_nano_interval()),
        "dictionary": words.dictionary_encode(),
        "dictionary of lists": pa.DictionaryArray.from_arrays(kinds, pa.array([["a"], ["b"]])),
        "run ends": pa.RunEndEncodedArray.from_arrays([1, 2], words),
        "sparse": pa.UnionArray.from_sparse(kinds, [numbers, words]),
        "dense": pa.UnionArray.from_dense(kinds, pa.array([0, 1], pa.int32()), [numbers, words]),
    } | extensions


def read_all(folder: str) -> int:
    """Read a column of each type in each role, from files and streams; return how many were read or refused."""
    path, read = Path(folder) / "a.arrow", 0
    for column in columns_of_all_types().values():
        for role in ("id", "title", "genres", "moods", "catalogs", "available_until", "description"):
            table = pa.table(({} if role == "id" else {"id": ["1", "2"]}) | {role: column})
            for kind in ("parquet", "file", "stream"):
                # What cannot be written needs no reading.
                with contextlib.suppress(pa.ArrowException):
                    write_table(path, table, kind)
                    read += _read(path)
        events = pa.table(
            {"user": ["u", "u"], "item": ["a", "b"], "event": ["view", "view"], "ts": column, "x": column}
        )
        write_table(path, events, "stream")
        read += _read(path)
    return read


def write_table(path: Path, table: pa.Table, kind: str) -> None:
    """Write a table as a file of Parquet, or as a file or stream of Arrow, whatever it is called."""
    if kind == "parquet":
        parquet.write_table(table, path)
        return
    with (ipc.new_file if kind == "file" else ipc.new_stream)(path, table.schema) as writer:
        writer.write_table(table)


def _read(path: Path) -> int:
    with contextlib.suppress(PenchantError):
        list(read_drafts("parquet", Files(gather([path])), ImportOptions(), Notes()))
    return 1
