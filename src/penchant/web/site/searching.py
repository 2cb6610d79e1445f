"""Search of the documents: every section is an entry, and each word searched must begin a word of it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

MAX_QUERY_CHARACTERS = 200
"""More of a query is not looked at."""
MAX_WORDS = 8
MIN_LETTERS = 2
MAX_FOUND = 30
_EXCERPT_CHARACTERS = 160
_IN_PAGE_TITLE, _IN_HEADING, _IN_TEXT = 20, 10, 1
"""What a word counts by where it stands."""
_MOST_IN_TEXT = 5
"""A word that is often in a long text counts no more than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """A section that can be found."""

    page: str
    title: str
    address: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A section that was found; ``excerpt`` is HTML, with the words marked."""

    entry: SearchEntry
    excerpt: Markup


def words_of(query: str) -> list[str]:
    """Return the words that are looked for, lower case; single letters are none, since they stand everywhere."""
    found = re.findall(r"[\w\-./{}]+", query[:MAX_QUERY_CHARACTERS].lower())
    return [word for word in found if len(word) >= MIN_LETTERS][:MAX_WORDS]


def search(entries: Iterable[SearchEntry], words: Sequence[str]) -> list[SearchHit]:
    """Return the sections that have all words, best first, equally good ones in the order of the documents."""
    if not words:
        return []
    # Escaped: what somebody searches for is text, never a pattern.
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words]
    scored = [(score, entry) for entry in entries if (score := _score(entry, patterns))]
    # A stable sort: equally good ones keep the order of the documents.
    scored.sort(key=lambda pair: -pair[0])
    return [SearchHit(entry=entry, excerpt=_excerpt(entry.text, patterns)) for _, entry in scored[:MAX_FOUND]]


def _score(entry: SearchEntry, patterns: Sequence[re.Pattern[str]]) -> int:
    """Return how well an entry fits; 0 where a word is missing."""
    total = 0
    for pattern in patterns:
        score = _IN_TEXT * min(_MOST_IN_TEXT, len(pattern.findall(entry.text)))
        score += _IN_HEADING if pattern.search(entry.title) else 0
        score += _IN_PAGE_TITLE if pattern.search(entry.page) else 0
        if not score:
            return 0
        total += score
    return total


def _excerpt(text: str, patterns: Sequence[re.Pattern[str]]) -> Markup:
    """Return the text around the first word that is in it, escaped, every word marked."""
    places = [found.start() for pattern in patterns if (found := pattern.search(text))]
    begin = max(0, min(places, default=0) - _EXCERPT_CHARACTERS // 3)
    # From the beginning of a word; the third before the hit shows what it is about.
    begin = text.find(" ", begin) + 1 if begin else 0
    cut = text[begin : begin + _EXCERPT_CHARACTERS]
    if begin + len(cut) < len(text):
        cut = cut.rpartition(" ")[0] or cut
    either = re.compile("|".join(pattern.pattern for pattern in patterns), re.IGNORECASE)
    html = Markup("… ") if begin else Markup()
    end = 0
    for found in either.finditer(cut):
        # Escaped piece by piece, between marks that are ours.
        html += escape(cut[end : found.start()]) + Markup("<mark>") + escape(found.group()) + Markup("</mark>")
        end = found.end()
    return html + escape(cut[end:]) + (Markup(" …") if begin + len(cut) < len(text) else Markup())
