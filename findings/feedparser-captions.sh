#!/bin/sh
# What feedparser calls an entry's summary depends on where its picture stands: the caption of a media:content before
# the description takes its place, and the description becomes the `content`; behind it, the other way round.
#
# Seen on 2026-11-29 with feedparser 6.0.14 (CPython 3.11.7). Media RSS lets each media:content have a title and a
# description of its own, wherever it stands. The title of a medium never becomes that of the entry, while itunes:title
# is not read at all; itunes:summary before the description takes its place as well.
#
# Why it matters here: words of descriptions become keywords, and by captions such as "Getty Images" all entries of a
# paper are alike. penchant takes an entry's own elements first, and none from within a media:content.
#
# Output seen:
#   medium last: title 'Storm', summary 'Wind and rain.', content 'A photograph'
#   medium first: title 'Storm', summary 'A photograph', content 'Wind and rain.'
#   itunes first: title 'Storm', summary 'Short', content 'Wind and rain.'
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check feedparser==6.0.14
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import feedparser

NAMES = 'xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
OWN = "<title>Storm</title><guid>1</guid><description>Wind and rain.</description>"
INNER = "<media:title>Getty Images</media:title><media:description>A photograph</media:description>"
MEDIUM = f'<media:content url="https://paper.example/1.jpg" medium="image">{INNER}</media:content>'
PODCAST = "<itunes:title>1</itunes:title><itunes:summary>Short</itunes:summary>"
ENTRIES = {"medium last": OWN + MEDIUM, "medium first": MEDIUM + OWN, "itunes first": PODCAST + OWN}
for name, parts in ENTRIES.items():
    (entry,) = feedparser.parse(f"<rss {NAMES}><channel><item>{parts}</item></channel></rss>").entries
    print(f"{name}: title {entry.title!r}, summary {entry.summary!r}, content {entry.content[0].value!r}")
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
medium last: title 'Storm', summary 'Wind and rain.', content 'A photograph'
medium first: title 'Storm', summary 'A photograph', content 'Wind and rain.'
itunes first: title 'Storm', summary 'Short', content 'Wind and rain.'
EXPECTED
