#!/bin/sh
# A day before 1900 in a cell of a spreadsheet is three different things: openpyxl writes it as a negative number and
# reads it back, calamine reads midnight, and polars a day later. Of 1899-12-30 and 31 openpyxl itself writes 0.
#
# Seen on 2026-11-29 with openpyxl 3.1.5, python-calamine 0.9.1, pandas 3.1.1, polars 2.1.0 and fastexcel 0.21.0
# (CPython 3.11.7), in a file that openpyxl wrote.
#
# Why it matters here: films and books of the nineteenth century are in the sheets of archives. Nothing fails and
# nothing warns; a release date becomes 00:00:00, or is off by a day. From 1900-01-01 on all of them agree.
#
# Output seen:
#   written ['-1673', '0', '0', '1']
#   openpyxl ['1895-06-01 00:00:00', '00:00:00', '00:00:00', '1900-01-01 00:00:00']
#   pandas by openpyxl: the same
#   calamine ['00:00:00', '00:00:00', '00:00:00', '1900-01-01']
#   pandas by calamine ['00:00:00', '00:00:00', '00:00:00', '1900-01-01 00:00:00']
#   polars ['1895-06-02', '1899-12-31', '1899-12-31', '1900-01-01']
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    openpyxl==3.1.5 python-calamine==0.9.1 pandas==3.1.1 polars==2.1.0 fastexcel==0.21.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PROGRAM' | tee "$folder/seen"
import re
import zipfile
from datetime import date

import openpyxl
import pandas
import polars
from python_calamine import CalamineWorkbook

book = openpyxl.Workbook()
for day in (date(1895, 6, 1), date(1899, 12, 30), date(1899, 12, 31), date(1900, 1, 1)):
    book.active.append([day])
book.save("films.xlsx")
text = zipfile.ZipFile("films.xlsx").read("xl/worksheets/sheet1.xml").decode()
print("written", re.findall("<v>(.*?)</v>", text))
plain = [str(row[0].value) for row in openpyxl.load_workbook("films.xlsx").active.iter_rows()]
print("openpyxl", plain)
framed = [str(value) for value in pandas.read_excel("films.xlsx", header=None, engine="openpyxl")[0]]
print("pandas by openpyxl:", "the same" if framed == plain else framed)
print("calamine", [str(row[0]) for row in CalamineWorkbook.from_path("films.xlsx").get_sheet_by_index(0).to_python()])
framed = pandas.read_excel("films.xlsx", header=None, engine="calamine")[0]
print("pandas by calamine", [str(value) for value in framed])
print("polars", [str(value) for (value,) in polars.read_excel("films.xlsx", has_header=False).rows()])
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
written ['-1673', '0', '0', '1']
openpyxl ['1895-06-01 00:00:00', '00:00:00', '00:00:00', '1900-01-01 00:00:00']
pandas by openpyxl: the same
calamine ['00:00:00', '00:00:00', '00:00:00', '1900-01-01']
pandas by calamine ['00:00:00', '00:00:00', '00:00:00', '1900-01-01 00:00:00']
polars ['1895-06-02', '1899-12-31', '1899-12-31', '1900-01-01']
EXPECTED
