"""List files: the lists of many people as a file: lines of JSON, compressed or not, or a table (Parquet)."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from penchant.errors import Refused

WriteLists = Callable[[Iterator[bytes], BinaryIO], None]
"""Writes parts, each some lines of JSON compressed by gzip, to a file."""


class _Entry(msgspec.Struct, frozen=True):
    id: str
    score: float


class _List(msgspec.Struct, frozen=True):
    id: str
    content: list[_Entry]

    @property
    def begin(self) -> tuple[str, ...]:
        return (self.id,)


class _VariantList(msgspec.Struct, frozen=True, rename="camel"):
    user_id: str
    variant: str
    kind: str
    content: list[_Entry]

    @property
    def begin(self) -> tuple[str, ...]:
        return (self.user_id, self.variant, self.kind)


def writer_of(out: Path, *, is_placement: bool) -> WriteLists:
    """Return what writes a file of this name, of lists of a placement or of recommendations.

    Raises:
        click.UsageError: its ending is none that can be written.
        Refused: what writes it is not installed.
    """
    if out.name.endswith(".ndjson.gz"):
        return lambda parts, file: file.writelines(parts)
    if out.suffix == ".ndjson":
        return lambda parts, file: file.writelines(gzip.decompress(part) for part in parts)
    if out.suffix == ".parquet":
        return _parquet_writer(is_placement=is_placement)
    raise click.UsageError("--out ends with .ndjson.gz, .ndjson or .parquet.")


def _parquet_writer(*, is_placement: bool) -> WriteLists:
    """Return what writes a row for each entry, a group of rows for each part."""
    try:
        import pyarrow.parquet  # noqa: PLC0415  # an extra
    except ImportError:
        raise Refused("Parquet needs pyarrow: pip install 'penchant[parquet]'.") from None
    arrow: Any = pyarrow
    names = ("userId", "variant", "kind") if is_placement else ("userId",)
    kinds = dict.fromkeys(names, arrow.string())
    kinds |= {"rank": arrow.int32(), "contentId": arrow.string(), "score": arrow.float64()}
    schema = arrow.schema(list(kinds.items()))
    decoder: msgspec.json.Decoder[_List | _VariantList]
    decoder = msgspec.json.Decoder(_VariantList if is_placement else _List)

    def write(parts: Iterator[bytes], file: BinaryIO) -> None:
        with arrow.parquet.ParquetWriter(file, schema) as writer:
            for part in parts:
                rows = [
                    (*found.begin, rank, entry.id, entry.score)
                    for found in map(decoder.decode, gzip.decompress(part).splitlines())
                    for rank, entry in enumerate(found.content, start=1)
                ]
                columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
                arrays = [arrow.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))

    return write
