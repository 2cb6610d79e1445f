"""List ids as the service makes and reads them: what placements put into the header `LIST_HEADER` of their answers.

`Services.list_ids` is the one object: ``make`` gives the value for an answer, ``read`` what such a value says,
``position`` where a piece stood in the list, and ``person`` the keyed hash under which impressions know somebody. All
are pure computations of microseconds; the secret is the database's own, and goes with it into backups and moves
(`penchant.storage.secrets`).
"""

import secrets
import time
from collections.abc import Callable, Sequence

from penchant.model import ListIdentity
from penchant.storage import SourceHead, list_person, user_key
from penchant.wire import decode_list_id, encode_list_id
from penchant.wire.list_ids import CHANCE_BYTES, position_in_list

LIST_HEADER = "x-penchant-list"
"""The header of an answer that is a placement's list."""


class ListIds:
    """Makes and reads the ids of lists, of all sources of a database."""

    def __init__(self, secret: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock

    def make(
        self, head: SourceHead, *, placement: str, variant: str, user_id: str | None, pieces: Sequence[str]
    ) -> str:
        """Return the id of a list of a source that is answered now, with these pieces in this order.

        ``user_id`` is ``None`` where it is for nobody in particular. Two names of more than
        `penchant.wire.MAX_LIST_NAMES_BYTES` bytes together do not fit: `ValueError`.
        """
        person = b"" if user_id is None else self.person(head.source_id, user_id)
        return encode_list_id(
            self._secret,
            _origin(head),
            (placement, variant),
            person=person,
            made_at=int(self._clock() * 1000),
            chance=secrets.token_bytes(CHANCE_BYTES),
            pieces=pieces,
        )

    def read(self, head: SourceHead, text: str, *, user_id: str | None = None) -> ListIdentity:
        """Return what a list's id says; with ``user_id`` it must not be a list for somebody else.

        Raises:
            ValueError: it is no id of this source's lists, or for another person; the message is for the caller.
        """
        found = decode_list_id(self._secret, _origin(head), text)
        if user_id is not None and found.person and found.person != self.person(head.source_id, user_id):
            raise ValueError("This list was made for another person.")
        return found

    def position(self, identity: ListIdentity, piece_id: str, reported: int = 0) -> int | None:
        """Return where a piece stands in a list, from 1; ``None`` where it was not in it.

        Of lists from before ids proved that it is what was ``reported``, 0 for unknown.
        """
        return position_in_list(self._secret, identity, piece_id, reported)

    def person(self, source_id: int, user_id: str) -> bytes:
        """Return the keyed hash by which list ids and impressions name a person."""
        return list_person(self._secret, user_key(source_id, user_id))


def _origin(head: SourceHead) -> bytes:
    """Return what ids of lists of this source hold on to: of a source that was deleted and made again it is another."""
    return head.source_id.to_bytes(8, "big") + head.incarnation.to_bytes(8, "big")
