"""Texts of other systems: what is left of HTML for people to read, without what stands in most of them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from penchant.words import decode_entities

_UNREAD = frozenset({"script", "style", "template", "noscript"})
"""Elements whose text nobody reads."""
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "code", "em", "font", "i", "mark", "s", "small", "span", "strong", "sub", "sup", "u"}
)
"""Elements that do not part words."""
_MARKUP = re.compile(r"<[!/A-Za-z][^<>]*>")
_BEGIN = re.compile(r"<(?:(?P<comment>!--)|[!?]|(?P<slash>/?)(?P<name>[A-Za-z][^\s/>]*))")
"""Where markup begins: a comment, a declaration, or a tag."""
_END = re.compile(r"(?:[^>=]++|=\s*+(?:\"[^\"]*\"|'[^']*')?+)*+>")
"""What follows up to the end of a tag. A quotation without an end is none: a text has one of each kind at most."""
_AS_IT_IS = {name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in ("script", "style")}
"""What ends elements whose text has no markup."""


def plain_text(text: str) -> str:
    """Return a text without tags, scripts, comments and entities, its white space joined; costs one pass."""
    if not _MARKUP.search(text):
        # Entities stand in texts without tags, too, and twice encoded ones in many feeds.
        return " ".join(decode_entities(text).split())
    return " ".join("".join(_texts_beside_markup(text)).split())


def _texts_beside_markup(text: str) -> Iterator[str]:
    """Yield the texts that people read, and a blank for each tag that parts words.

    Python's own parser looks for the end of each tag anew, which takes the square of a text of beginnings. Here the
    first markup without an end is text, and all that follows it.
    """
    place, unread = 0, ""
    while (begin := _BEGIN.search(text, place)) is not None:
        end = _end_of(text, begin)
        if end < 0:
            break
        if not unread:
            yield decode_entities(text[place : begin.start()])
        name = (begin["name"] or "").lower()
        if name and name not in _INLINE:
            yield " "
        if begin["slash"]:
            unread = "" if name == unread else unread
        elif name in _UNREAD and not unread:
            unread = name
            if name in _AS_IT_IS:
                closing = _AS_IT_IS[name].search(text, end)
                end = len(text) if closing is None else closing.start()
        place = end
    if not unread:
        yield decode_entities(text[place:])


def _end_of(text: str, begin: re.Match[str]) -> int:
    """Return where the markup ends that begins there; -1 where it has no end."""
    if begin["comment"]:
        found = text.find("-->", begin.start() + len("<!"))
        return found + len("-->") if found >= 0 else found
    if begin["name"] is None:
        return text.find(">", begin.end()) + 1 or -1
    closed = _END.match(text, begin.end())
    return -1 if closed is None else closed.end()


def plain_name(text: str) -> str:
    """Return a label or keyword without entities, and without blanks at its ends."""
    return decode_entities(text).strip()


LEAST_TEXTS = 5
"""Texts from which on boilerplate is looked for: of fewer, what stands in half of them says nothing."""
MAX_TEXTS = 2_000
"""Texts by which it is found: the first ones."""
_ADDRESS = re.compile(r"[<(\[]?(?<![@\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+[>)\]]?")
_MAX_AUTHOR = 1_000
"""Letters of a name in which an address is looked for."""


def name_without_address(text: str) -> str:
    """Return the name of somebody without the address beside it, in whatever order; of an address alone nothing.

    What is said of pieces is public.
    """
    if "@" not in text or len(text) > _MAX_AUTHOR or not _ADDRESS.search(text):
        return text
    name = _ADDRESS.sub(" ", text).strip(" \t\r\n\"',;")
    return name[1:-1].strip() if name.startswith("(") and name.endswith(")") else " ".join(name.split())


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
