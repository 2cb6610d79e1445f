#!/bin/sh
# polars reads lines of JSON by the members of the first hundred: what only later objects have is gone, at any depth,
# without an error or a warning; a value of another type, at the same place, ends it with one.
#
# Seen on 2026-11-29 with polars 2.1.0 and duckdb 2.0.1 (CPython 3.11.7).
# A hundred pieces with extras of a year, and one after them with a label and an extra director:
#   polars, read or scanned: the last piece has no label, and extras of nothing but an empty year
#   with infer_schema_length=None it has both
#   DuckDB, which looks at 20,480 lines, reads both; of one past these it says line and member
#
# Why it matters here: an export is in the order of ids, and catalogues have members of a few pieces (series have
# seasons, one shelf has translators). Read with polars for a notebook or another service, these are silently empty.
#
# Output seen:
#   read ('last', {'year': None})
#   scanned ('last', {'year': None})
#   all looked at ('last', {'year': None, 'director': 'Ito'}, 'Rope')
#   duckdb [('last', {'year': None, 'director': 'Ito'}, 'Rope')]
#   duckdb past its sample: InvalidInputException True
#   another type: ComputeError
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 duckdb==2.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import json
from pathlib import Path

import duckdb
import polars


def write(count, *last):
    pieces = [{"id": str(number), "extras": {"year": 1900}} for number in range(count)]
    Path("pieces.ndjson").write_text("".join(json.dumps(piece) + "\n" for piece in [*pieces, *last]))


LAST = {"id": "last", "extras": {"director": "Ito"}, "label": "Rope"}
write(100, LAST)
print("read", polars.read_ndjson("pieces.ndjson").row(-1))
print("scanned", polars.scan_ndjson("pieces.ndjson").collect().row(-1))
print("all looked at", polars.read_ndjson("pieces.ndjson", infer_schema_length=None).row(-1))
print("duckdb", duckdb.sql("SELECT * FROM 'pieces.ndjson' WHERE id = 'last'").fetchall())
write(20_500, LAST)
try:
    duckdb.sql("FROM 'pieces.ndjson'").fetchall()
except duckdb.Error as error:
    print("duckdb past its sample:", type(error).__name__, "line 20501" in str(error))
write(100, {"id": "last", "extras": {"year": "late"}})
try:
    polars.read_ndjson("pieces.ndjson")
except polars.exceptions.PolarsError as error:
    print("another type:", type(error).__name__)
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
read ('last', {'year': None})
scanned ('last', {'year': None})
all looked at ('last', {'year': None, 'director': 'Ito'}, 'Rope')
duckdb [('last', {'year': None, 'director': 'Ito'}, 'Rope')]
duckdb past its sample: InvalidInputException True
another type: ComputeError
EXPECTED
