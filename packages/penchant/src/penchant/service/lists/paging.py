"""Paging: where lists go on, as cursors say it; the service keeps nothing of it.

A cursor has the marks of what was listed, so that nothing comes twice however the scores move. It is bound to the
source and to what the request chose its list by, the person included; how long a page is, and what its entries carry,
is free. Pages after the first are made by the same ranking, which is told what was listed (`ListRanking`).
"""

from collections.abc import Sequence
from typing import TypeAlias

from penchant.storage import SourceHead
from penchant.wire import encode
from penchant.wire.cursors import ListCursor, decode_cursor, encode_cursor

NEXT_HEADER = "x-penchant-next"
"""The header of an answer that is not the end of its list."""
Asked: TypeAlias = Sequence[object]
"""What a request chooses its list by: values that JSON can hold, always in the same order."""


class ListPages:
    """Makes and reads cursors, of all sources of a database."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def cursor(self, head: SourceHead, asked: Asked, cursor: ListCursor) -> str:
        """Return a cursor as text, for who asks the same again."""
        return encode_cursor(self._secret, _bound(head, asked), cursor)

    def read(self, head: SourceHead, asked: Asked, text: str) -> ListCursor:
        """Return what a cursor says.

        Raises:
            ValueError: it is none of this request; the message is for the caller.
        """
        return decode_cursor(self._secret, _bound(head, asked), text)


def _bound(head: SourceHead, asked: Asked) -> bytes:
    # A source that was deleted and made again is another one; accounts have sources of their own.
    return encode([head.source_id, head.incarnation, *asked])
