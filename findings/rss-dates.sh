#!/bin/sh
# Years and zones of RSS are read as others than were written, without an error: 0001 as 2001, BST as UTC.
#
# Seen on 2026-11-28 with CPython 3.11.7 and feedparser 6.0.14; the first date is what Hugo 0.111.3 and 0.168.0 write
# for a page without one. email.utils takes a year below 100 for one of two digits, even if four were written, and a
# zone that RFC 822 does not name for UTC. feedparser has the year right, and the same for zones.
#
# Why it matters here: an entry would be available since 2001, or an hour late, and of two entries of one id the wrong
# one would be the newest. penchant reads the year 1 as no time and knows the zones that go by one name.
#
# Output seen:
#   email.utils 2001-01-01T00:00:00+00:00 2026-07-01T10:00:00
#   feedparser 0001-01-01 00:00 2026-07-01 10:00
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check feedparser==6.0.14
cd "$folder"
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import email.utils

import feedparser

DATES = ("Mon, 01 Jan 0001 00:00:00 +0000", "Wed, 01 Jul 2026 10:00:00 BST")
print("email.utils", *(email.utils.parsedate_to_datetime(date).isoformat() for date in DATES))
items = "".join(f"<item><guid>{date}</guid><pubDate>{date}</pubDate></item>" for date in DATES)
feed = feedparser.parse(f"<rss><channel>{items}</channel></rss>")
times = [each.published_parsed for each in feed.entries]
print("feedparser", *("{:04}-{:02}-{:02} {:02}:{:02}".format(*time[:5]) for time in times))
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
email.utils 2001-01-01T00:00:00+00:00 2026-07-01T10:00:00
feedparser 0001-01-01 00:00 2026-07-01 10:00
EXPECTED
