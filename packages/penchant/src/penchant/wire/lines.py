"""Lines of JSON: of the change feed, and of what ``penchant export`` writes for an import."""

from typing import Any, Literal

import msgspec

from penchant.wire.pieces import Piece
from penchant.wire.preferences import read_preferences
from penchant.wire.syntax import Faults, decode_object, encode, kind_of
from penchant.wire.text import id_problem
from penchant_engine.model import Preferences


class ChangeLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One line of the feed.

    ``begin`` comes first, with the version that the feed leads to, the ``history`` of which that version is, and
    whether it is ``complete``: then these are all pieces, and a follower forgets what it had. ``upsert`` has a piece,
    ``delete`` the id of one that is gone. A feed without ``end`` was cut.
    """

    type: Literal["begin", "upsert", "delete", "end"]
    source: str | None = None
    version: int | None = None
    complete: bool | None = None
    history: str | None = None
    piece: Piece | None = None
    id: str | None = None


def begin_line(source: str, version: int, history: str, *, complete: bool) -> bytes:
    """Return the first line."""
    return _line(type="begin", source=source, version=version, complete=complete, history=history)


def upsert_line(body: bytes) -> bytes:
    """Return the line of a piece by its stored JSON."""
    return b'{"type":"upsert","piece":%s}\n' % body


def delete_line(piece_id: str) -> bytes:
    """Return the line of a piece that is gone."""
    return _line(type="delete", id=piece_id)


def end_line(version: int) -> bytes:
    """Return the last line."""
    return _line(type="end", version=version)


def _line(**members: Any) -> bytes:
    return encode(members) + b"\n"


_USER_ID = "userId"


class StatedPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """What one person has said."""

    user_id: str
    preferences: Preferences


def encode_stated_preferences(user_id: str, body: bytes) -> bytes:
    """Return the value of a line ``{"preferences":…}`` from preferences as they are stored: an object with members."""
    return b'{"userId":' + encode(user_id) + b"," + body[1:]


def decode_stated_preferences(body: bytes) -> StatedPreferences:
    """Return whose preferences, and which, are in the value of a line.

    Raises:
        InvalidSyntax, TooManyEntries, InvalidInput: as `decode_preferences`, and where nobody is named.
    """
    value = decode_object(body)
    user_id = value.pop(_USER_ID, None)
    problem = id_problem(user_id) if isinstance(user_id, str) else f"Found {kind_of(user_id)}; an id is accepted."
    faults = Faults()
    if problem:
        faults.add(f"/{_USER_ID}", problem)
    faults.raise_any()
    return StatedPreferences(user_id=user_id, preferences=read_preferences(value))
