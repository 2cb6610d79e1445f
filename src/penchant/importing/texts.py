"""Texts of other systems: what is left of HTML for people to read."""

import html
import re
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


class _TextReader(HTMLParser):
    """Collects the text between tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unread = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Part words at a tag, and stop reading at a script."""
        del attrs
        if tag in _UNREAD and not self._unread:
            self._unread = tag
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Part words at an element without content."""
        del attrs
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """Part words at the end of an element, and read on after a script."""
        if tag == self._unread:
            self._unread = ""
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        """Take a text."""
        if not self._unread:
            self.parts.append(data)
