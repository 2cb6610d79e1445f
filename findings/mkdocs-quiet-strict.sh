#!/bin/sh
# `mkdocs build --strict` fails on a warning, `mkdocs build --strict --quiet` passes over it.
#
# Seen on 2026-11-28 with CPython 3.11.7 and mkdocs 1.6.1: warnings are counted where they are logged, and --quiet logs
# errors alone. So a build whose output nobody wants to see says of a broken link that all is well.
#
# Why it matters here: the documents are built strictly by a test, and by a script that should say little. Both leave
# --quiet out, and hide the output themselves.
#
# Output seen:
#   --strict 1
#   --strict --quiet 0
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mkdocs==1.6.1
mkdir -p "$folder/site/docs"
cd "$folder/site"
printf 'site_name: documents\n' >mkdocs.yml
printf '[gone](missing.md)\n' >docs/index.md
for options in --strict "--strict --quiet"; do
    code=0
    # shellcheck disable=SC2086
    "$folder/venv/bin/mkdocs" build $options >"$folder/out" 2>&1 || code=$?
    echo "$options $code"
done | tee "$folder/seen"
cmp "$folder/seen" - <<'EXPECTED'
--strict 1
--strict --quiet 0
EXPECTED
