#!/bin/sh
# A column of dictionaries becomes one of structs with everybody's keys on its way through Arrow; what was not there,
# and what was there without a value, are the same null afterwards, and whole numbers come back as floats.
#
# Seen on 2026-11-28 with pandas 3.1.1, pyarrow 26.0.1, polars 2.1.0 and duckdb 2.0.1 (CPython 3.11.7).
# Three films with weights of tags, {"noir": 3}, {"crime": 2} and {"noir": None}:
#   pandas to Parquet and back, and pandas to polars: each film has both tags, the other one null
#   of whole numbers pandas makes floats on the way back, since their column now has nulls
#   DuckDB, which reads the same frame without Arrow, keeps the keys of each
# No step warns, and the number of keys of each film grows to that of all tags.
#
# Why it matters here: dictionaries of weights are how keywords stand in frames. Read as "a keyword without a weight",
# the nulls give every piece every keyword of the catalogue, and all of them are alike.
#
# Output seen:
#   Parquet [{'noir': 3.0, 'crime': None}, {'noir': None, 'crime': 2.0}, {'noir': None, 'crime': None}]
#   polars [{'noir': 3, 'crime': None}, {'noir': None, 'crime': 2}, {'noir': None, 'crime': None}]
#   duckdb [{'noir': 3}, {'crime': 2}, {'noir': None}]
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import duckdb, pandas, polars

films = pandas.DataFrame({"id": ["rope", "heat", "gun"], "tag": [{"noir": 3}, {"crime": 2}, {"noir": None}]})
films.to_parquet("films.parquet")
print("Parquet", pandas.read_parquet("films.parquet")["tag"].tolist())
print("polars", polars.from_pandas(films)["tag"].to_list())
print("duckdb", [tag for (tag,) in duckdb.sql("SELECT tag FROM films").fetchall()])
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
Parquet [{'noir': 3.0, 'crime': None}, {'noir': None, 'crime': 2.0}, {'noir': None, 'crime': None}]
polars [{'noir': 3, 'crime': None}, {'noir': None, 'crime': 2}, {'noir': None, 'crime': None}]
duckdb [{'noir': 3}, {'crime': 2}, {'noir': None}]
EXPECTED
