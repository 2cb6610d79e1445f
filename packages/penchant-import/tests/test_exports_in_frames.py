"""Exports that go through the tables of pandas, polars, DuckDB and pyarrow: they come back equal, or it is told."""

import itertools
import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import compute, feather, parquet
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json

from import_folders import Folder, run
from penchant.errors import PenchantError, UnknownSource
from penchant.importing import StoredTarget, export_lines
from penchant.storage import Storage
from penchant_import.options import ImportOptions, KeywordColumn
from strategies import examples

Rows = list[dict[str, Any]]
_TEXTS = st.text(st.sampled_from("aBé ,'\"[]\\{}:1"), min_size=1, max_size=8).map(lambda text: f"x{text.strip()}")
_KEYWORDS = st.lists(_TEXTS, min_size=1, max_size=3, unique=True)
PIECES = st.lists(
    st.fixed_dictionaries(
        {"id": st.from_regex(r"[a-z][a-z0-9/.é]{0,5}", fullmatch=True), "label": _TEXTS, "genre": _KEYWORDS},
        optional={
            "tag": _KEYWORDS,
            "catalogs": _KEYWORDS,
            "availableFrom": st.sampled_from(["2026-11-01T10:00:00.000Z", "1999-12-31T23:59:59.120Z"]),
            "note": _TEXTS,
            "year": st.integers(1, 10**15),
        },
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda each: str(each["id"]),
)
INTERACTIONS = st.lists(
    st.fixed_dictionaries(
        {
            "userId": st.from_regex(r"[a-z][a-z0-9.é]{0,5}", fullmatch=True),
            "type": st.sampled_from(["Click", "Watch", "Purchase", "RateDislike"]),
            "contentId": st.sampled_from(["a", "b/c"]),
            "timestamp": st.sampled_from([f"2026-11-0{day}T10:00:0{day}.{day}00Z" for day in range(1, 8)]),
        }
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda each: tuple(each.values()),
)

OPTIONS = ImportOptions(
    label_column="label",
    keywords=(KeywordColumn(column="genre", category="genre"), KeywordColumn(column="tag", category="tag")),
    catalogs=KeywordColumn(column="catalogs", category=""),
)
FORMATS = {"csv": "csv", "ndjson": "ndjson", "parquet": "parquet", "arrow": "parquet"}
"""The endings of files, and the format by which they are imported."""


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """Return a flat row as the piece that it stands for."""
    window = {"availableFrom": row.get("availableFrom"), "catalogs": row.get("catalogs")}
    members = {
        "categories": {name: row.get(name) for name in ("genre", "tag")},
        "filters": window,
        "extras": {name: row.get(name) for name in ("note", "year")},
    }
    present = {name: {key: each for key, each in inner.items() if each is not None} for name, inner in members.items()}
    return {"id": row["id"], "label": row["label"]} | present


def by_pandas(source: Path, path: Path) -> None:
    """Read lines into a frame of pandas, and write it in the form that the ending says."""
    frame = pd.read_json(source, lines=True, dtype=False)
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".ndjson":
            frame.to_json(path, orient="records", lines=True)
        case ".parquet":
            frame.to_parquet(path)
        case _:
            frame.to_feather(path)


def by_polars(source: Path, path: Path) -> None:
    """Read lines into a frame of polars; its CSV has no lists, so that people join them."""
    frame = pl.read_ndjson(source, infer_schema_length=None)
    match path.suffix:
        case ".csv":
            lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
            frame.with_columns(pl.col(name).list.join("|") for name in lists).write_csv(path)
        case ".ndjson":
            frame.write_ndjson(path)
        case ".parquet":
            frame.write_parquet(path)
        case _:
            frame.write_ipc(path)


def by_duckdb(source: Path, path: Path) -> None:
    """Read lines into a table of DuckDB; Arrow, which it writes by an extension alone, goes through pyarrow."""
    with closing(duckdb.connect()) as connection:
        films = connection.read_json(str(source), format="newline_delimited")
        if path.suffix == ".arrow":
            feather.write_feather(films.to_arrow_table(), path, compression="uncompressed")
            return
        form = {".csv": "(HEADER)", ".ndjson": "(FORMAT json)", ".parquet": "(FORMAT parquet)"}[path.suffix]
        connection.sql(f"COPY (FROM films) TO '{path}' {form}")


def by_pyarrow(source: Path, path: Path) -> None:
    """Read lines into a table of pyarrow; it writes no lines itself, and no lists into CSV."""
    table = arrow_json.read_json(source)
    match path.suffix:
        case ".csv":
            for place, field in enumerate(table.schema):
                if pa.types.is_list(field.type):
                    table = table.set_column(place, field.name, compute.binary_join(table[field.name], "|"))
            arrow_csv.write_csv(table, path)
        case ".ndjson":
            lines = (json.dumps(row, default=lambda moment: moment.isoformat()) for row in table.to_pylist())
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        case ".parquet":
            parquet.write_table(table, path)
        case _:
            feather.write_feather(table, path, compression="lz4")


TOOLS: dict[str, Callable[[Path, Path], None]] = {
    "pandas": by_pandas,
    "polars": by_polars,
    "duckdb": by_duckdb,
    "pyarrow": by_pyarrow,
}
COUNTER = itertools.count()


class Trip:
    """A way out of a source, through a file of a tool, and into another source."""

    def __init__(self, storage: Storage, folder: Folder, tool: str, ending: str) -> None:
        self._storage, self._path, self._tool, self._ending = storage, folder.path, tool, ending

    def go(self, rows: Rows, flatten: Callable[[dict[str, Any]], dict[str, Any]], **options: Any) -> tuple[Rows, Rows]:
        """Return what a source holds and what comes back; the same twice where the difference is told.

        What makes a table of what the export writes is ``flatten``; lines of JSON go through the tool as they are.
        """
        number = next(COUNTER)
        folders = [Folder(self._path / f"{name}{number}") for name in ("out", "back")]
        for each in folders:
            each.path.mkdir()
        folders[0].write("rows.ndjson", *map(json.dumps, rows))
        run("ndjson", folders[0], self._target(f"a{number}"))
        before = self._exported(f"a{number}")
        flat = before if self._ending == "ndjson" else [flatten(each) for each in before]
        source = folders[0].write("flat.ndjson", *map(json.dumps, flat))
        TOOLS[self._tool](source, folders[1].path / f"table.{self._ending}")
        format_name = FORMATS[self._ending]
        given = {} if format_name == "ndjson" else options
        try:
            work = run(format_name, folders[1], self._target(f"b{number}"), skip_invalid=True, **given)
        except PenchantError:
            # Refused as a whole, with a reason.
            return before, before
        after = self._exported(f"b{number}")
        is_told = work.tally.invalid_rows or work.notes.all_left_out()
        return before, (before if is_told and after != before else after)

    def _target(self, source: str) -> StoredTarget:
        return StoredTarget(self._storage, account="default", source=source, actor="me")

    def _exported(self, source: str) -> Rows:
        parts = ("interactions",)
        account = self._storage.accounts.ensure("default")
        try:
            with self._storage.sources.open_export(account, source) as export:
                now = time.time_ns() // 1_000_000
                return [json.loads(line) for line in export_lines(export, parts, now)]
        except UnknownSource:
            return []


@pytest.fixture(params=[(tool, ending) for tool in TOOLS for ending in FORMATS], ids="-".join)
def trip(request: pytest.FixtureRequest, storage: Storage, folder: Folder) -> Trip:
    """A way through each tool, by each kind of file."""
    return Trip(storage, folder, *request.param)


def flat_piece(line: dict[str, Any]) -> dict[str, Any]:
    """Return a piece as a row of a table."""
    return {"id": line["id"], "label": line["label"], **line["categories"], **line["filters"], **line["extras"]}


def as_tables_have_it(line: dict[str, Any]) -> dict[str, Any]:
    """Return a piece without what tables cannot tell: whether a number is a text, and nothing from null."""
    extras: dict[str, Any] = {
        name: str(value) for name, value in line["extras"].items() if value is not None and name != "year"
    }
    if line["extras"].get("year") is not None:
        extras["year"] = float(line["extras"]["year"])
    return line | {"extras": extras}


@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=PIECES)
def test_pieces_come_back_from_tables_of_tools(trip: Trip, rows: Rows) -> None:
    before, after = trip.go([nested(row) for row in rows], flat_piece, options=OPTIONS)

    assert list(map(as_tables_have_it, after)) == list(map(as_tables_have_it, before))


@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=INTERACTIONS)
def test_interactions_come_back_from_tables_of_tools(trip: Trip, rows: Rows) -> None:
    before, after = trip.go(rows, dict)

    assert sorted(map(str, after)) == sorted(map(str, before))
