#!/bin/sh
# Lists of stop words are written with letters that texts of their language do not use: they match next to nothing.
#
# Seen on 2026-11-28 with stopwordsiso 0.7.1 (CPython 3.11.7).
# - Romanian: every word with s or t and a mark below has the cedilla (U+015F, U+0163); texts that follow the spelling
#   of today have the comma below (U+0219, U+021B). "şi" (and) is in the list, "și" is not.
# - Greek: most words lack the accents that texts have ("ειναι", is, is in the list, "είναι" is not), and 67 have
#   U+2206, the mathematical increment, where a delta belongs.
# - Turkish: "için" is in the list, but str.casefold of a sentence's first word "İçin" is five characters of which the
#   second is U+0307, so that it is not.
# - English: 1,298 words, of which world, home, computer, system, fire and microsoft are among the telling ones of a title.
# NFC, NFKC and casefold, which one would reach for, make none of these equal.
#
# Why it matters here: keywords are made of texts by leaving such words out. In Romanian and Greek catalogues the
# commonest words of the language became keywords that all pieces share; a film "Home Fire" had none.
#
# Output seen:
#   ro 434 words: cedilla 32, comma below 0; şi True, și False
#   el 847 words: U+2206 in 67; ειναι True, είναι False
#   tr 504 words: için True, İçin folded False
#   en 1298 words: world home computer system fire microsoft
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check stopwordsiso==0.7.1
"$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import unicodedata
from stopwordsiso import stopwords

def folded(word):
    return unicodedata.normalize("NFKC", word).casefold()

ro, el, tr, en = map(stopwords, ("ro", "el", "tr", "en"))
cedilla, comma = (sum(bool(set(word) & set(letters)) for word in ro) for letters in ("\u015f\u0163", "\u0219\u021b"))
print(f"ro {len(ro)} words: cedilla {cedilla}, comma below {comma}; şi {'şi' in ro}, și {folded('și') in ro}")
increment = sum("\u2206" in word for word in el)
print(f"el {len(el)} words: U+2206 in {increment}; ειναι {'ειναι' in el}, είναι {folded('είναι') in el}")
print(f"tr {len(tr)} words: için {'için' in tr}, İçin folded {folded('İçin') in tr}")
print(f"en {len(en)} words:", *[w for w in "world home computer system fire microsoft".split() if w in en])
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
ro 434 words: cedilla 32, comma below 0; şi True, și False
el 847 words: U+2206 in 67; ειναι True, είναι False
tr 504 words: için True, İçin folded False
en 1298 words: world home computer system fire microsoft
EXPECTED
