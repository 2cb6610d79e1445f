"""Search of the documents: every section is an entry, and each word searched must begin a word of it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
    lower: tuple[str, str, str] = field(init=False, repr=False)
    """Page, title and text in lower case, in which words are looked for."""

    def __post_init__(self) -> None:
        """Make lower case once, not for each search."""
        object.__setattr__(self, "lower", (self.page.lower(), self.title.lower(), self.text.lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A section that was found; ``excerpt`` is HTML, with the words marked."""

    entry: SearchEntry
    excerpt: Markup


def words_of(query: str) -> list[str]:
    """Return the words that are looked for, lower case; single letters are none, since they stand everywhere."""
    words = re.findall(r"[\w\-./{}]+", query[:MAX_QUERY_CHARACTERS].lower())
    return [word for word in words if len(word) >= MIN_LETTERS][:MAX_WORDS]


def search(entries: Iterable[SearchEntry], words: Sequence[str]) -> list[SearchHit]:
    """Return the sections that have all words, best first, equally good ones in the order of the documents."""
    if not words:
        return []
    scored = [(score, entry) for entry in entries if (score := _score(entry, words))]
    # A stable sort: equally good ones keep the order of the documents.
    scored.sort(key=lambda pair: -pair[0])
    # Escaped: what somebody searches for is text, never a pattern.
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE) for word in words]
    return [SearchHit(entry=entry, excerpt=_excerpt(entry.text, patterns)) for _, entry in scored[:MAX_FOUND]]


def _score(entry: SearchEntry, words: Sequence[str]) -> int:
    """Return how well an entry fits; 0 where a word is missing."""
    page, title, text = entry.lower
    total = 0
    for word in words:
        score = _IN_TEXT * _count(word, text, _MOST_IN_TEXT)
        score += _IN_HEADING * _count(word, title, 1) + _IN_PAGE_TITLE * _count(word, page, 1)
        if not score:
            return 0
        total += score
    return total


def _count(word: str, text: str, most: int) -> int:
    """Return how many words of a text begin with a word, up to ``most``; a pattern takes twenty times as long."""
    count, place = 0, text.find(word)
    while place >= 0 and count < most:
        before = text[place - 1 : place]
        count += not (before.isalnum() or before == "_")
        place = text.find(word, place + len(word))
    return count


def _excerpt(text: str, patterns: Sequence[re.Pattern[str]]) -> Markup:
    """Return the text around the first word that is in it, escaped, every word marked."""
    places = [match.start() for pattern in patterns if (match := pattern.search(text))]
    begin = max(0, min(places, default=0) - _EXCERPT_CHARACTERS // 3)
    # From the beginning of a word; the third before the hit shows what it is about.
    begin = text.find(" ", begin) + 1 if begin else 0
    cut = text[begin : begin + _EXCERPT_CHARACTERS]
    if begin + len(cut) < len(text):
        cut = cut.rpartition(" ")[0] or cut
    either = re.compile("|".join(pattern.pattern for pattern in patterns), re.IGNORECASE)
    html = Markup("… ") if begin else Markup()
    end = 0
    for match in either.finditer(cut):
        # Escaped piece by piece, between marks that are ours.
        html += escape(cut[end : match.start()]) + Markup("<mark>") + escape(match.group()) + Markup("</mark>")
        end = match.end()
    return html + escape(cut[end:]) + (Markup(" …") if begin + len(cut) < len(text) else Markup())
