"""Texts of other systems: what is left of HTML for people to read, without what stands in most of them."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable
from html.parser import HTMLParser

_UNREAD = frozenset({"script", "style", "template", "noscript"})
"""Elements whose text nobody reads."""
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "code", "em", "font", "i", "mark", "s", "small", "span", "strong", "sub", "sup", "u"}
)
"""Elements that do not part words."""
_MARKUP = re.compile(r"<[!/A-Za-z][^<>]*>")


def plain_text(text: str) -> str:
    """Return a text without tags, scripts, comments and entities, its white space joined; costs one pass."""
    if not _MARKUP.search(text):
        # Entities stand in texts without tags, too, and twice encoded ones in many feeds.
        return " ".join(html.unescape(text).split())
    reader = _TextReader()
    reader.feed(text)
    reader.close()
    return " ".join("".join(reader.parts).split())


def plain_name(text: str) -> str:
    """Return a label or keyword without entities, and without blanks at its ends."""
    return (html.unescape(text) if "&" in text else text).strip()


LEAST_TEXTS = 5
"""Texts from which on boilerplate is looked for: of fewer, what stands in half of them says nothing."""
MAX_TEXTS = 2_000
"""Texts by which it is found: the first ones."""
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+")  # noqa: RUF001  # ends of sentences in Chinese and Japanese


class Boilerplate:
    """Sentences that stand in over half of the texts of an import; ``found`` is what of them was taken out.

    They are looked for when the first text is met, in the first texts that ``read`` gives.
    """

    def __init__(self, read: Callable[[], Iterable[str]] = tuple) -> None:
        self._read = read
        self._sentences: frozenset[str] | None = None
        self.found: dict[str, None] = {}

    def without(self, text: str) -> str:
        """Return a plain text without these sentences."""
        if self._sentences is None:
            self._sentences = frozenset(common_sentences(self._read()))
        if not self._sentences:
            return text
        sentences = _SENTENCE.split(text)
        self.found |= dict.fromkeys(each for each in sentences if each in self._sentences)
        return " ".join(each for each in sentences if each not in self._sentences)


def common_sentences(texts: Iterable[str]) -> list[str]:
    """Return the sentences that stand in over half of some texts, each counted once a text."""
    counts = Counter[str]()
    number = 0
    for text in texts:
        number += 1
        counts.update(set(_SENTENCE.split(text)))
    return sorted(each for each, count in counts.items() if 2 * count > number) if number >= LEAST_TEXTS else []


class _TextReader(HTMLParser):
    """Collects the text between tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unread = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in _UNREAD and not self._unread:
            self._unread = tag
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unread:
            self._unread = ""
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.parts.append(data)
