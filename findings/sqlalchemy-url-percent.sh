#!/bin/sh
# A SQLite path that is written into a SQLAlchemy address is percent-decoded since 2.1: another file is opened.
#
# Seen on 2026-11-28 with SQLAlchemy 2.1.9 and, for comparison, 2.0.58 (CPython 3.11.7).
# Two folders, "live%20A" and "live A"; create_engine("sqlite+pysqlite:///live%20A/x.db") makes its file
#   with 2.0.58 in "live%20A", the folder that was named; with 2.1.9 in "live A", the other one.
# No error, no warning. URL.create("sqlite+pysqlite", database=path) takes the path as it is in both.
#
# Why it matters here: data folders are named by people and build servers (Jenkins writes %2F into the names of
# workspaces). A key made for one folder went into the database of another, under the lock file of the first.
#
# Output seen:
#   2.0.58 as text: live%20A ; by URL.create: live%20A
#   2.1.9 as text: live A ; by URL.create: live%20A
# Fails if either version behaves otherwise.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/open.py" <<'PROGRAM'
import os, sys
import sqlalchemy

def holder(address):
    for name in ("live%20A", "live A"):
        os.makedirs(name, exist_ok=True)
    engine = sqlalchemy.create_engine(address)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a)")
    engine.dispose()
    found = [name for name in ("live%20A", "live A") if os.listdir(name)]
    for name in found:
        os.remove(os.path.join(name, "x.db"))
    return ",".join(found)

as_text = holder("sqlite+pysqlite:///live%20A/x.db")
created = holder(sqlalchemy.URL.create("sqlite+pysqlite", database="live%20A/x.db"))
print(f"{sqlalchemy.__version__} as text: {as_text} ; by URL.create: {created}")
sys.exit((as_text, created) != (sys.argv[1], "live%20A"))
PROGRAM
cd "$folder"
while read -r version expected; do
    python3 -m venv --clear "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "sqlalchemy==$version"
    "$folder/venv/bin/python" open.py "$expected"
done <<'CASES'
2.0.58 live%20A
2.1.9 live A
CASES
