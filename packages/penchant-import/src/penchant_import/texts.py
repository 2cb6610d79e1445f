"""Texts of other systems: HTML as people read it, without what stands in most of them, and lists written as texts."""

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penchant_import.rules import decode_entities

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
        result = text.find("-->", begin.start() + len("<!"))
        return result + len("-->") if result >= 0 else result
    if begin["name"] is None:
        return text.find(">", begin.end()) + 1 or -1
    closed = _END.match(text, begin.end())
    return -1 if closed is None else closed.end()


def plain_name(text: str) -> str:
    """Return a label or keyword without entities, and without blanks at its ends."""
    return decode_entities(text).strip()


_BRACKETS = {"[": "]", "{": "}"}
_BLANKS = re.compile(r"\s*+")
_VALUE = re.compile(
    r"(?P<quote>['\"])(?P<quoted>(?:(?!(?P=quote))[^\\]|\\.)*+)(?P=quote)|(?P<bare>[^\[\]{},'\"\s][^\[\]{},]*+)",
    re.DOTALL,
)
"""A value of a list: between quotes, or bare up to the comma; after a quoted value a blank parts as well."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_NOTHING = frozenset({"none", "null", "nan", "<na>"})
"""How a list says that a value is missing."""
_MAX_DEPTH = 10
_NAMES = ("name", "english_name", "label", "title")
"""Members that name an object, the likeliest first."""
LISTED = "lists, by the brackets of their cells"
"""What a report says of a column whose cells are lists in another notation."""


def read_list(text: str) -> list[Any] | None:
    """Return the list that a cell holds in another notation, objects by their names; ``None`` where it holds none.

    The cell's own brackets decide: JSON, what Python, numpy and DuckDB write, and arrays of PostgreSQL. ``[untitled]``
    is a list of one, as DuckDB writes it; ``[a] and [b]`` is a text. Numbers are texts, with all their digits.
    """
    if text[:1] == "(" and _TUPLE.fullmatch(text):
        text = f"[{text[1:-1].rstrip(', ')}]"
    if not text or _BRACKETS.get(text[0]) != text[-1]:
        stripped = text.strip()
        return None if len(stripped) == len(text) else read_list(stripped)
    result = _remembered(text) if len(text) <= _KEPT_LETTERS else read_objects(text)
    return None if result is None else [name_of(item) for item in result]


_QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
_TUPLE = re.compile(rf"\({_QUOTED}(?:, ?{_QUOTED})*+,?\)")
"""A tuple of texts as Python writes it."""
_KEPT_LETTERS = 500
"""Letters of lists that are remembered: most rows of a table have one that stood in another row, too."""


def read_objects(text: str) -> list[Any] | None:
    """Return the list that a text is, as `read_list` does, with objects as they are."""
    if not text or _BRACKETS.get(text[0]) != text[-1]:
        return None
    try:
        values = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        try:
            values, end = _bracketed(text, 0, 0)
        except (ValueError, IndexError):
            return None
        if end != len(text):
            return None
    values = [values] if isinstance(values, dict) else values
    return [item for item in values if item is not None]


_remembered = functools.lru_cache(maxsize=1 << 13)(read_objects)


def name_of(value: Any) -> Any:
    """Return the name of an object of a list, a truth value as JSON writes it, or what else it is as it is."""
    if isinstance(value, dict):
        return next((value[name] for name in _NAMES if isinstance(value.get(name), str)), value)
    return str(value).lower() if isinstance(value, bool) else value


def _bracketed(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Return the list, or the object, that begins at a bracket, and where it ends.

    Raises:
        ValueError, IndexError: it is none.
    """
    closing, values, members = _BRACKETS[text[at]], [], {}
    if depth > _MAX_DEPTH:
        raise ValueError
    at = _skip_blanks(text, at + 1)
    while text[at] != closing:
        value, is_quoted, at = _value(text, at, depth)
        at = _skip_blanks(text, at)
        if is_quoted and closing == "}" and text[at] == ":":
            members[value], _, at = _value(text, _skip_blanks(text, at + 1), depth)
            at = _skip_blanks(text, at)
        else:
            values.append(value)
        if text[at] == ",":
            at = _skip_blanks(text, at + 1)
        elif text[at] != closing and not (is_quoted and text[at] in "'\""):
            raise ValueError
    return members or values, at + 1


def _value(text: str, at: int, depth: int) -> tuple[Any, bool, int]:
    """Return a value, whether it is quoted, and where it ends."""
    if text[at] in _BRACKETS:
        inner, end = _bracketed(text, at, depth + 1)
        return inner, False, end
    result = _VALUE.match(text, at)
    if result is None:
        raise ValueError
    if result["bare"] is None:
        return _ESCAPE.sub(_unescape, result["quoted"]), True, result.end()
    bare = result["bare"].rstrip()
    return (None if bare.lower() in _NOTHING else bare), False, result.end()


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    return chr(int(code, 16)) if code else _ESCAPED.get(escape[4], escape[4])


def _skip_blanks(text: str, at: int) -> int:
    result = _BLANKS.match(text, at)
    return at if result is None else result.end()


MIN_TEXTS = 5
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
    """Sentences that stand in over half of the texts of an import; ``removed`` is what of them was taken out.

    They are looked for when the first text is met, in the first texts that ``read`` gives.
    """

    def __init__(self, read: Callable[[], Iterable[str]] = tuple) -> None:
        self._read = read
        self._sentences: frozenset[str] | None = None
        self.removed: dict[str, None] = {}

    def without(self, text: str) -> str:
        """Return a plain text without these sentences."""
        if self._sentences is None:
            self._sentences = frozenset(common_sentences(self._read()))
        if not self._sentences:
            return text
        sentences = _SENTENCE.split(text)
        self.removed |= dict.fromkeys(item for item in sentences if item in self._sentences)
        return " ".join(item for item in sentences if item not in self._sentences)


def common_sentences(texts: Iterable[str]) -> list[str]:
    """Return the sentences that stand in over half of some texts, each counted once a text."""
    counts = Counter[str]()
    number = 0
    for text in texts:
        number += 1
        counts.update(set(_SENTENCE.split(text)))
    return sorted(item for item, count in counts.items() if 2 * count > number) if number >= MIN_TEXTS else []
