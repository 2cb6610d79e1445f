"""Rules of the interface that readers of files follow: which texts are ids and names, and how much a request holds.

The service checks all of it again; its tests hold both alike.
"""

import html
import re
from typing import Any

import msgspec

MAX_NAME_LENGTH = 200
"""Characters in the name of a source, a category level or a catalog (interface, section 1)."""
MAX_ID_LENGTH = 500
"""Characters in the id of a piece or a person, and in a keyword (interface, section 1)."""
MAX_LABEL_LENGTH = 2_000
"""Characters in a label (interface, section 1)."""
MAX_PIECES = 2_000
"""Pieces in one submission (specification, Limits)."""
MAX_INTERACTIONS = 10_000
"""Interactions in one request (interface, section 6)."""
MAX_MEMBERS = 8
"""Members of pieces that words are taken from (interface, section 7)."""
MAX_ALIASES = 20_000
"""Keywords that a source's vocabulary names, all together (interface, section 11)."""
AUTO, NONE = "auto", "none"
LANGUAGES = (
    *("cs", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it"),
    *("nl", "no", "pl", "pt", "ro", "ru", "sv", "tr", "uk"),
)
"""Languages of texts whose stop words are known."""
DEFAULT_WORDS: dict[str, Any] = {"from": ["label", "extras.description"], "keep": 40, "language": AUTO}
"""The setting `words` of a source that an import makes."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises of text that it does not take."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NUL = re.compile("\\x00")
_LONG_NUMBER = re.compile(r"(?<=&#)[0-9]{20,}")
_AT_BYTE = re.compile(r" \(byte (\d+)\)")
_CONSTANT = re.compile(rb"-?(NaN|Infinity)")
_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Return a value as JSON."""
    return _encoder.encode(value)


def decode_entities(text: str) -> str:
    """Return a text with its HTML entities decoded, whatever number one has."""
    if "&" not in text:
        return text
    # Python takes the square of its digits for a number, and reads none of thousands; with eight none is a character.
    return html.unescape(_LONG_NUMBER.sub(lambda number: number[0].lstrip("0")[:8] or "0", text))


def _problem(text: str, limit: int, control: re.Pattern[str]) -> str | None:
    if 0 < len(text) <= limit and text.isprintable():
        return None  # by far the most frequent case, and printable texts hold no control
    if not text:
        return f"Found an empty text; 1 to {limit} characters are accepted."
    if len(text) > limit:
        return f"Found {len(text)} characters; 1 to {limit} are accepted."
    return "Found a control character, which is not accepted here." if control.search(text) else None


def id_problem(text: str) -> str | None:
    """Return what is wrong with an id or keyword, or ``None``."""
    return _problem(text, MAX_ID_LENGTH, _CONTROL)


class _Identity(msgspec.Struct):
    id: str


_identity = msgspec.json.Decoder(_Identity)


def piece_id_of(body: bytes) -> str | None:
    """Return the id of a piece, ``None`` of what has none that is accepted: all that is known without the service."""
    try:
        piece_id = _identity.decode(body).id
    except UNREADABLE:
        return None
    return None if id_problem(piece_id) else piece_id


def name_problem(text: str) -> str | None:
    """Return what is wrong with the name of a category level or a catalog, or ``None``."""
    return _problem(text, MAX_NAME_LENGTH, _CONTROL)


def source_problem(text: str) -> str | None:
    """Return what is wrong with the name of a source, or ``None``."""
    return "A source cannot be called '-', which is the service's own." if text == "-" else name_problem(text)


def label_problem(text: str) -> str | None:
    """Return what is wrong with a label, or ``None``; it may be empty and hold any character but NUL."""
    return _problem(text, MAX_LABEL_LENGTH, _NUL) if text else None


def syntax_problem(text: bytes) -> str | None:
    """Return why a text is not JSON, with the line and column where it ceases to be; ``None`` of one that is."""
    try:
        text.decode()
        msgspec.json.decode(text, type=msgspec.Raw)
    except UnicodeDecodeError as error:
        return f"The body is not UTF-8: no character begins at {_place(text, error.start)}."
    except RecursionError:
        return "the body: The body is nested deeper than is accepted."
    except msgspec.DecodeError as error:
        match = _AT_BYTE.search(str(error))
        if match is None:
            return f"The body is not JSON: it ends before its end at {_place(text, len(text))}."
        at = int(match[1])
        # The byte is that of the letter: in -Infinity it is behind the minus.
        constant = _CONSTANT.match(text, at - 1) or _CONSTANT.match(text, at)
        if constant is not None:
            return (
                f"The body is not JSON: {constant[0].decode()} is no JSON number, at {_place(text, constant.start())}."
            )
        detail = str(error)[: match.start()].removeprefix("JSON is malformed: ")
        return f"The body is not JSON: {detail} at {_place(text, at)}."
    return None


def _place(text: bytes, at: int) -> str:
    start, line = text.rfind(b"\n", 0, at) + 1, text.count(b"\n", 0, at) + 1
    return f"line {line}, column {len(text[start:at].decode(errors='replace')) + 1}"
