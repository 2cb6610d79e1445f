#!/bin/sh
# Of a member that stands twice in an object services read the last, and SQL the first: SQLite and DuckDB by ->> and
# json_extract. SQLite's json_set changes the first too, so that whoever reads the last never sees the change, while
# its json_patch keeps the last. Readers of tables refuse the object.
#
# Seen on 2026-11-29 with apsw 3.54.1.0 (SQLite 3.54.1), duckdb 2.0.1, msgspec 0.23.0, orjson 3.13.0, pandas 3.1.1,
# polars 2.1.0, pyarrow 26.0.1 (CPython 3.11.7), of {"id": "rope", "tags": {"noir": 80, "noir": 5}, "id": "heat"}.
#
# Why it matters here: pieces are kept as they were sent. A query over the database, an index on an expression or a
# rule at a proxy that looks with ->> decides about rope, where the service that reads the same bytes has heat.
#
# Output seen:
#   json, msgspec, orjson, pandas heat 5
#   sqlite rope 80
#   sqlite patched {"id":"heat","tags":{"noir":5}}
#   sqlite set, then read as JSON: heat
#   duckdb rope 80
#   refused by duckdb, polars, pyarrow
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    apsw==3.54.1.0 duckdb==2.0.1 msgspec==0.23.0 orjson==3.13.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import json
from pathlib import Path

import apsw, duckdb, msgspec, orjson, pandas, polars
from pyarrow import json as arrow_json

TEXT = '{"id": "rope", "tags": {"noir": 80, "noir": 5}, "id": "heat"}'
Path("film.ndjson").write_text(TEXT + "\n")
read = {
    "json": json.loads(TEXT),
    "msgspec": msgspec.json.decode(TEXT),
    "orjson": orjson.loads(TEXT),
    "pandas": pandas.read_json("film.ndjson", lines=True).to_dict("records")[0],
}
print(", ".join(read), *{f"{film['id']} {film['tags']['noir']}" for film in read.values()})
database = apsw.Connection(":memory:")
ask = lambda words: next(iter(database.execute(f"SELECT {words}", {"film": TEXT})))
print("sqlite", *ask(":film ->> 'id', json_extract(:film, '$.tags.noir')"))
print("sqlite patched", *ask("json_patch('{}', :film)"))
print("sqlite set, then read as JSON:", json.loads(ask("json_set(:film, '$.id', 'gun')")[0])["id"])
print("duckdb", *duckdb.sql(f"SELECT '{TEXT}'::JSON ->> 'id', '{TEXT}'::JSON ->> '$.tags.noir'").fetchall()[0])
refused = []
for name, reader in {
    "duckdb": lambda: duckdb.sql("FROM 'film.ndjson'").fetchall(),
    "polars": lambda: polars.read_ndjson("film.ndjson"),
    "pyarrow": lambda: arrow_json.read_json("film.ndjson"),
}.items():
    try:
        reader()
    except Exception:
        refused.append(name)
print("refused by", ", ".join(refused))
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
json, msgspec, orjson, pandas heat 5
sqlite rope 80
sqlite patched {"id":"heat","tags":{"noir":5}}
sqlite set, then read as JSON: heat
duckdb rope 80
refused by duckdb, polars, pyarrow
EXPECTED
