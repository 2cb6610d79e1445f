"""Which pieces need no second look? Those that a typed, strict decoder takes, and that hold nothing unusual."""

import re
from typing import Annotated, Any

import msgspec

from penchant.model import MAX_ID_LENGTH, MAX_LABEL_LENGTH, MAX_NAME_LENGTH, MAX_WEIGHT
from penchant.wire.syntax import is_suspect
from penchant.wire.text import submitted_id_problem

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
_Label = Annotated[str, msgspec.Meta(max_length=MAX_LABEL_LENGTH)]
_Weight = Annotated[int, msgspec.Meta(ge=0, le=MAX_WEIGHT)]
_CONTROL = re.compile(rb'\\[^"\\]|\x7f|\xc2[\x80-\x9f]')
"""A control character in JSON as we write it, wherever one stands; may also find two backslashes in a row."""


class _Keyword(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    key: _Id | None = None
    weight: _Weight | None = None


class PlainPiece(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A piece without unknown members and nested categories, its members in the order in which they are stored.

    ``filters`` and ``extras`` are as they came in.
    """

    id: _Id
    label: _Label | None = None
    categories: dict[_Name, list[_Id | _Keyword]]
    filters: Any = None
    extras: Any = None


_splitter = msgspec.json.Decoder(list[msgspec.Raw])
_decoder = msgspec.json.Decoder(PlainPiece)


def split(body: bytes) -> list[msgspec.Raw] | None:
    """Return the entries of an array as they came, or ``None`` of anything that must be read as a whole."""
    if is_suspect(body):
        return None
    try:
        return _splitter.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_plain(raw: msgspec.Raw) -> PlainPiece | None:
    """Return a piece if it is plain; all but its filters, its extras and control characters has been checked."""
    try:
        piece = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if submitted_id_problem(piece.id):
        return None
    for items in piece.categories.values():
        keys = [item.key for item in items if type(item) is _Keyword]
        if len(keys) > 1 and len(set(keys)) < len(keys):
            return None  # perhaps with different weights
    return piece


def may_hold_control(encoded: bytes) -> bool:
    """Return whether a text in this JSON, which we have written, may hold a control character; cheap."""
    if b"\\" not in encoded and b"\x7f" not in encoded and b"\xc2" not in encoded:
        return False
    return _CONTROL.search(encoded) is not None
