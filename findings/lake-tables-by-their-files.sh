#!/bin/sh
# Whoever reads a table of Delta Lake or Iceberg by the files in its folder reads deleted rows, and others twice. polars,
# DuckDB, pandas and pyarrow do so without a word; only their readers of the log tell which files still count.
#
# Seen on 2026-11-29 with deltalake 1.6.6, pyiceberg 0.12.0, polars 2.1.0, duckdb 2.0.1, pandas 3.1.1, pyarrow 26.0.1
# (CPython 3.11.7). A deletion writes the rows that stay into another file; the first one lies there until a vacuum,
# in Delta Lake for a week at least by default. pandas does not see the folder _delta_log beside them.
#
# Why it matters here: a folder of Parquet is what one imports. A piece, or a person's interactions, would come back
# after they were deleted. penchant refuses such a folder and says how its rows are written out.
#
# Output seen:
#   delta, by its log ['mast', 'sail']
#   delta, polars ['mast', 'mast', 'rope', 'sail', 'sail']
#   delta, duckdb ['mast', 'mast', 'rope', 'sail', 'sail']
#   delta, pandas ['mast', 'mast', 'rope', 'sail', 'sail']
#   delta, pyarrow ['mast', 'mast', 'rope', 'sail', 'sail']
#   iceberg, by its log ['mast', 'sail']
#   iceberg, polars ['mast', 'mast', 'rope', 'sail', 'sail']
#   iceberg, duckdb ['mast', 'mast', 'rope', 'sail', 'sail']
#   iceberg, pandas ['mast', 'mast', 'rope', 'sail', 'sail']
#   iceberg, pyarrow ['mast', 'mast', 'rope', 'sail', 'sail']
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    deltalake==1.6.6 'pyiceberg[sql-sqlite]==0.12.0' polars==2.1.0 duckdb==2.0.1 pandas==3.1.1 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - 2>log <<'PROGRAM' | tee "$folder/seen"
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
from deltalake import DeltaTable, write_deltalake
from pyarrow import dataset
from pyiceberg.catalog.sql import SqlCatalog

films = pyarrow.table({"id": ["rope", "sail", "mast"]})
write_deltalake("delta", films)
delta = DeltaTable("delta")
delta.delete("id = 'rope'")

Path("lake").mkdir()
catalog = SqlCatalog("lake", uri="sqlite:///lake/catalog.db", warehouse=Path("lake").absolute().as_uri())
catalog.create_namespace("ns")
iceberg = catalog.create_table("ns.films", schema=films.schema)
iceberg.append(films)
iceberg.delete("id = 'rope'")

LAKES = {
    "delta": (polars.scan_delta("delta").collect()["id"].to_list(), "delta"),
    "iceberg": (iceberg.scan().to_arrow()["id"].to_pylist(), "lake/ns/films/data"),
}
for name, (ids, folder) in LAKES.items():
    print(f"{name}, by its log", sorted(ids))
    print(f"{name}, polars", sorted(polars.read_parquet(f"{folder}/*.parquet")["id"]))
    print(f"{name}, duckdb", sorted(row[0] for row in duckdb.sql(f"SELECT id FROM '{folder}/*.parquet'").fetchall()))
    print(f"{name}, pandas", sorted(pandas.read_parquet(folder)["id"]))
    print(f"{name}, pyarrow", sorted(dataset.dataset(folder, format="parquet").to_table()["id"].to_pylist()))
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
delta, by its log ['mast', 'sail']
delta, polars ['mast', 'mast', 'rope', 'sail', 'sail']
delta, duckdb ['mast', 'mast', 'rope', 'sail', 'sail']
delta, pandas ['mast', 'mast', 'rope', 'sail', 'sail']
delta, pyarrow ['mast', 'mast', 'rope', 'sail', 'sail']
iceberg, by its log ['mast', 'sail']
iceberg, polars ['mast', 'mast', 'rope', 'sail', 'sail']
iceberg, duckdb ['mast', 'mast', 'rope', 'sail', 'sail']
iceberg, pandas ['mast', 'mast', 'rope', 'sail', 'sail']
iceberg, pyarrow ['mast', 'mast', 'rope', 'sail', 'sail']
EXPECTED
