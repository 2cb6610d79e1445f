#!/bin/sh
# DuckDB makes a struct of objects in lines of JSON, or a map, by how sparse their members are: with nine films that
# have a tag each it is a struct of nine tags, with ten a map. What a query may ask of the column changes with it.
#
# Seen on 2026-11-29 with duckdb 2.0.1 (CPython 3.11.7).
# Films {"id": 0, "tags": {"tag 0": 1.0}}, {"id": 1, "tags": {"tag 1": 1.0}} ...
#   of nine each has all nine tags, eight of them null; a tag that no film has is an error; map_keys is none of a struct
#   of ten each has its own tag; a tag that no film has is null; struct_keys is none of a map
#   to_json and json_keys take both, and say nine keys and one
# With a member that all films share the change comes with the nineteenth film.
#
# Why it matters here: weights by keyword are the sparsest objects that there are. A query that was tried on a sample
# of a catalogue fails on the whole, and Parquet that is written from either has columns of another type.
#
# Output seen:
#   9 STRUCT keys 9 unknown BinderException map_keys BinderException
#   10 MAP keys 1 unknown None map_keys ['tag 0']
#   18 films that share a tag STRUCT
#   19 films that share a tag MAP
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import json
from pathlib import Path

import duckdb


def write(count, **shared):
    films = [{"id": number, "tags": {f"tag {number}": 1.0, **shared}} for number in range(count)]
    Path("films.ndjson").write_text("".join(json.dumps(film) + "\n" for film in films))
    return str(duckdb.sql("SELECT tags FROM 'films.ndjson'").types[0]).partition("(")[0]


def ask(expression):
    try:
        return duckdb.sql(f"SELECT {expression} FROM 'films.ndjson' WHERE id = 0").fetchall()[0][0]
    except duckdb.Error as error:
        return type(error).__name__


for count in (9, 10):
    kind, keys = write(count), ask("len(json_keys(to_json(tags)))")
    print(count, kind, "keys", keys, "unknown", ask("tags['none']"), "map_keys", ask("map_keys(tags)"))
for count in (18, 19):
    print(count, "films that share a tag", write(count, film=1.0))
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
9 STRUCT keys 9 unknown BinderException map_keys BinderException
10 MAP keys 1 unknown None map_keys ['tag 0']
18 films that share a tag STRUCT
19 films that share a tag MAP
EXPECTED
