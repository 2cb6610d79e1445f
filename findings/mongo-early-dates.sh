#!/bin/sh
# In MongoDB's relaxed Extended JSON a date is a text from 1970 to 9999, and before that an object of milliseconds: one
# member of one export comes in two forms, and the second has a number in a text.
#
# Seen on 2026-11-29 with pymongo 4.20.1 (CPython 3.11.7), whose bson.json_util writes relaxed by default.
# Two films, of 1948 and of 1972:
#   {"$date": {"$numberLong": "-683856000000"}} and {"$date": "1972-05-01T00:00:00Z"}
# Its reader takes both. Microseconds are cut, since a stored date has milliseconds.
#
# Why it matters here: catalogues of films and books have dates before 1970, and only those. A reader that was tried
# with recent works reads texts, and takes the object for one more nested member, or fails at the oldest works.
#
# Output seen:
#   1948 {"$date": {"$numberLong": "-683856000000"}}
#   1972 {"$date": "1972-05-01T00:00:00Z"}
#   microseconds {"$date": "1972-05-01T00:00:00.123Z"}
#   canonical {"$date": {"$numberLong": "73526400000"}}
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pymongo==4.20.1
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
from datetime import UTC, datetime

from bson.json_util import CANONICAL_JSON_OPTIONS, dumps

print("1948", dumps(datetime(1948, 5, 1, tzinfo=UTC)))
print("1972", dumps(datetime(1972, 5, 1, tzinfo=UTC)))
print("microseconds", dumps(datetime(1972, 5, 1, 0, 0, 0, 123456, tzinfo=UTC)))
print("canonical", dumps(datetime(1972, 5, 1, tzinfo=UTC), json_options=CANONICAL_JSON_OPTIONS))
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
1948 {"$date": {"$numberLong": "-683856000000"}}
1972 {"$date": "1972-05-01T00:00:00Z"}
microseconds {"$date": "1972-05-01T00:00:00.123Z"}
canonical {"$date": {"$numberLong": "73526400000"}}
EXPECTED
