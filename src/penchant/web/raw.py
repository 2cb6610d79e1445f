"""Requests as clients wrote them: paths and queries, decoded once, strictly, and headers, put in order once.

Frameworks route on the decoded path, where an id's ``%2F`` has become a separator. Here the path stays
encoded until its segments have been told apart.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers

from penchant.errors import MalformedPath

_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = re.compile(r"[ -$&-~]*\Z")
_ASCII_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NUMBERED = re.compile(r"\[\d*\]\Z")


class RequestHeaders(Headers):
    """The headers of a request by name: they are put in order once, where Starlette looks through all for each."""

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        super().__init__(raw=raw)
        self._by_name: dict[str, list[str]] = {}
        for name, value in raw:
            self._by_name.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))

    def __getitem__(self, key: str) -> str:
        return self._by_name[key.lower()][0]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower() in self._by_name

    def get(self, key: str, default: Any = None) -> Any:
        """Return the first value of a header."""
        found = self._by_name.get(key.lower())
        return default if found is None else found[0]

    def getlist(self, key: str) -> list[str]:
        """Return all values of a header."""
        return list(self._by_name.get(key.lower(), ()))


def first_header(raw: list[tuple[bytes, bytes]], name: bytes) -> str:
    """Return the first value of a header, "" for none: for those who need no other one."""
    return next((value for each, value in raw if each == name), b"").decode("latin-1")


def is_plain(raw: str) -> bool:
    """Return whether nothing of a path has to be decoded, and nothing in it refused."""
    return _PLAIN.match(raw) is not None


def decode_component(raw: str) -> str:
    """Return a path segment or query component decoded once, as strict UTF-8.

    Raises:
        MalformedPath: a broken escape, invalid UTF-8, raw non-ASCII or a control character.
    """
    # Most components have nothing to decode and nothing to refuse.
    if raw.isascii() and "%" not in raw and not _ASCII_CONTROL.search(raw):
        return raw
    if not raw.isascii():
        raise MalformedPath("The path or query holds raw non-ASCII bytes. Percent-encode them as UTF-8.")
    if _ESCAPE.search(raw):
        raise MalformedPath("The path or query holds a % that no two hexadecimal digits follow. Write it as %25.")
    try:
        text = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedPath("The path or query holds an escape that is not valid UTF-8.") from error
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise MalformedPath("The path or query holds a control character, which no name or id may.")
    return text


@dataclass(frozen=True, slots=True)
class QueryParameters:
    """The decoded parameters of a request, in the order given, repeated ones included.

    ``raw_values`` are the values as they came, in the order of the pairs.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    raw_values: tuple[str, ...] = ()

    def values(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for key, value in self.pairs if key == name]

    def numbered(self, name: str) -> list[str]:
        """Return the values given as ``name=``, ``name[]=`` or ``name[0]=``, in the order given."""
        return [value for key, value in self.pairs if list_name(key) == name]

    def separated(self, name: str) -> list[str]:
        """Return the values as `numbered` does, those of ``name=`` split at commas that are not encoded."""
        values: list[str] = []
        for (key, value), raw in zip(self.pairs, self.raw_values, strict=True):
            if key == name:
                # Split while encoded: a comma that belongs to a name comes as %2C.
                values += map(_decode_form, raw.split(","))
            elif list_name(key) == name:
                values.append(value)
        return values

    def names(self) -> Iterator[str]:
        """Yield each parameter's name once, in the order given."""
        return iter(dict.fromkeys(key for key, _ in self.pairs))


def list_name(key: str) -> str:
    """Return the name of the list that a key such as ``name[]`` or ``name[0]`` adds to; other keys as they are."""
    return _NUMBERED.sub("", key)


def parse_query(raw: bytes) -> QueryParameters:
    """Return the parameters of a raw query string; ``+`` is a space there.

    Raises:
        MalformedPath: as `decode_component`.
    """
    if not raw:
        return QueryParameters()
    pairs, raw_values = [], []
    for part in raw.decode("latin-1").split("&"):
        if part:
            name, _, value = part.partition("=")
            pairs.append((_decode_form(name), _decode_form(value)))
            raw_values.append(value)
    return QueryParameters(tuple(pairs), tuple(raw_values))


def _decode_form(raw: str) -> str:
    # Before decoding: an encoded plus, %2B, stays one.
    return decode_component(raw.replace("+", " "))
