"""Lines of the change feed: where it begins, what became of each piece, where it ends."""

from typing import Any, Literal

import msgspec

from penchant.wire.encoding import encode
from penchant.wire.records import Piece


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
