"""Plain pieces: a typed, strict decoder takes them, and they hold nothing unusual that needs a second look.

A piece that is not plain is not wrong: `penchant.wire.pieces` looks at its every member. Most pieces are plain, and
to see that costs a third as much.
"""

import re
from typing import Annotated, Any

import msgspec

from penchant.model import MAX_ID_LENGTH, MAX_LABEL_LENGTH, MAX_NAME_LENGTH, MAX_WEIGHT, EncodedPiece, PieceLimits
from penchant.wire.encoding import encode
from penchant.wire.syntax import MAX_FREE_DEPTH, UNREADABLE, is_deeper
from penchant.wire.text import RESERVED_IDS
from penchant.wire.times import parse_timestamp

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
_Label = Annotated[str, msgspec.Meta(max_length=MAX_LABEL_LENGTH)]
_Weight = Annotated[int, msgspec.Meta(ge=0, le=MAX_WEIGHT)]
_CONTROL = re.compile(rb'\\[^"\\]|\x7f|\xc2[\x80-\x9f]')
"""A control character in JSON as `encode` writes it; it may find one behind two backslashes that is none."""
_BACKSLASH, _DELETE, _BEFORE_C1 = b"\\\x7f\xc2"
"""What one of these begins with; to look for a byte is six times faster than for bytes."""


class _PlainKeyword(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    key: _Id | None = None
    weight: _Weight | None = None


_Categories = dict[_Name, list[_Id | _PlainKeyword]]
_Filters = dict[str, list[_Name] | str]


class _PlainPiece(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A piece in the order of the specification's members; an absent label is left out, an absent object is empty."""

    id: _Id
    label: _Label | None = None
    categories: _Categories
    filters: _Filters | None = None
    extras: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(_PlainPiece)


def read_plain(raw: msgspec.Raw, limits: PieceLimits) -> EncodedPiece | None:
    """Return a piece as it will be returned, or ``None`` if it is not plain."""
    if memoryview(raw).nbytes > limits.piece_bytes:
        return None
    try:
        piece = _decoder.decode(raw)
    except UNREADABLE:
        return None
    # A default would be left out by the encoder: absent filters and extras are returned as empty objects.
    piece.filters = piece.filters or {}
    piece.extras = piece.extras or {}
    if (
        piece.id in RESERVED_IDS
        or sum(map(len, piece.categories.values())) > limits.keywords
        or _repeats_keyword(piece.categories)
        or not _is_plain_filters(piece.filters)
        or is_deeper(piece.extras, MAX_FREE_DEPTH)
    ):
        return None
    encoded = encode(piece)
    if _may_hold_control(encoded):
        piece.extras = None  # where control characters are welcome
        if _may_hold_control(encode(piece)):
            return None
    return EncodedPiece(id=piece.id, body=encoded)


def _repeats_keyword(categories: _Categories) -> bool:
    """Return whether a keyword with members comes twice in a category, perhaps with two weights."""
    for items in categories.values():
        keys = [item.key for item in items if type(item) is _PlainKeyword]
        if keys and len(set(keys)) < len(keys):
            return True
    return False


def _is_plain_filters(filters: _Filters) -> bool:
    """Return whether the window holds times, and the catalogs are a list."""
    if isinstance(filters.get("catalogs"), str):
        return False
    for name in ("availableFrom", "availableUntil"):
        moment = filters.get(name)
        if moment is None:
            continue
        try:
            parse_timestamp(moment if isinstance(moment, str) else "")
        except ValueError:
            return False
    return True


def _may_hold_control(encoded: bytes) -> bool:
    """Return whether a text in JSON that `encode` wrote may hold a control character."""
    found = _BACKSLASH in encoded or _DELETE in encoded or _BEFORE_C1 in encoded
    return found and _CONTROL.search(encoded) is not None
