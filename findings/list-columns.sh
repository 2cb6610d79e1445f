#!/bin/sh
# A column of lists comes out of common writers as text, in a notation of each one's own; none reads the others'.
#
# Seen on 2026-11-28 with pandas 3.1.1, duckdb 2.0.1, fastparquet 2026.9.0 and pyarrow 26.0.1 (CPython 3.11.7).
# The genres of a film, ["Film noir", "Crime, true", "it's"], written by the default options of
#   pandas to CSV:        Python's repr, quotes chosen by what a text holds
#   DuckDB to CSV:        brackets, quotes only where needed, and a backslash before one: no CSV, JSON or Python list
#   fastparquet:          JSON as text; pyarrow gives the column the type extension<arrow.json>, its values are str
# A reader that splits at commas gets "[Film noir" from each, without an error; json.loads reads one of the three,
# ast.literal_eval two.
#
# Why it matters here: keywords come in such columns. Split as text the same genre is another keyword at the beginning,
# in the middle and at the end of a list, and films of one genre share nothing.
#
# Output seen:
#   pandas ['Film noir', 'Crime, true', "it's"]
#   duckdb [Film noir, 'Crime, true', 'it\'s']
#   fastparquet ["Film noir","Crime, true","it's"] as extension<arrow.json>
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pandas==3.1.1 duckdb==2.0.1 fastparquet==2026.9.0 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import csv
import duckdb, fastparquet, pandas
from pyarrow import parquet

genres = ["Film noir", "Crime, true", "it's"]
film = pandas.DataFrame({"id": ["rope"], "genre": [genres]})

def cell(path):
    with open(path, newline="") as file:
        return next(csv.DictReader(file))["genre"]

film.to_csv("pandas.csv", index=False)
print("pandas", cell("pandas.csv"))
duckdb.sql("COPY (SELECT 'rope' AS id, ['Film noir', 'Crime, true', 'it''s'] AS genre) TO 'duckdb.csv'")
print("duckdb", cell("duckdb.csv"))
fastparquet.write("fast.parquet", film)
table = parquet.read_table("fast.parquet")
print("fastparquet", table.column("genre")[0].as_py(), "as", table.schema.field("genre").type)
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
pandas ['Film noir', 'Crime, true', "it's"]
duckdb [Film noir, 'Crime, true', 'it\'s']
fastparquet ["Film noir","Crime, true","it's"] as extension<arrow.json>
EXPECTED
