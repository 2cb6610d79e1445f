#!/bin/sh
# DuckDB writes the sum of whole numbers, and any HUGEINT, into Parquet as a floating number, which drops digits.
#
# Seen on 2026-11-28 with duckdb 2.0.1 and pyarrow 26.0.1 (CPython 3.11.7).
# In DuckDB the sum of BIGINT is a HUGEINT of 128 bits, exact in every query. Parquet has no such integer, and COPY ...
# TO a Parquet file makes it a double, without a word: 9007199254740993 comes out as 9007199254740992. The same number
# as DECIMAL(38, 0) is kept; as BIGINT, too.
#
# Why it matters here: ids and counts of interactions that were put together by a query (sums, or casts to HUGEINT of
# ids of 64 bits without a sign) come into tables for import that way. Two ids become one from 2^53 on.
#
# Output seen:
#   asked 9007199254740993 as HUGEINT
#   sum double 9007199254740992
#   bigint int64 9007199254740993
#   decimal decimal128(38, 0) 9007199254740993
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import duckdb
from pyarrow import parquet

values = "(VALUES (9007199254740993::BIGINT)) AS given(id)"
((found, kind),) = duckdb.sql(f"SELECT sum(id), typeof(sum(id)) FROM {values}").fetchall()
print("asked", found, "as", kind)
for name, column in (("sum", "sum(id)"), ("bigint", "sum(id)::BIGINT"), ("decimal", "sum(id)::DECIMAL(38, 0)")):
    duckdb.sql(f"COPY (SELECT {column} AS id FROM {values}) TO '{name}.parquet'")
    table = parquet.read_table(f"{name}.parquet")
    print(name, table.schema.field("id").type, int(table.column("id")[0].as_py()))
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
asked 9007199254740993 as HUGEINT
sum double 9007199254740992
bigint int64 9007199254740993
decimal decimal128(38, 0) 9007199254740993
EXPECTED
