"""Inclusion: what entries of a list carry of their pieces, as it is stored at the version of the answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from penchant.bounded_cache import BoundedCache
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import EncodedPiece
from penchant.wire import encode, piece_members

ENTRY_BYTES = 400
"""Memory of a remembered piece beside its bytes: key, record and slot of the table."""

_Key = tuple[int, int, int, int, str]
Entry = dict[str, Any]


class OutdatedAnswer(Exception):  # no error: the answer is made once more
    """The source has changed since an answer was made, so that what is stored now is not of its version."""


class PieceInclusion:
    """Adds members of pieces to the entries of lists; for the event loop only.

    Pieces are remembered by the version of their source, so that lists of a source at rest need no read; beyond
    ``limit_bytes`` those used least recently go.
    """

    def __init__(self, database: AsyncStorage, *, limit_bytes: int) -> None:
        self._database = database
        self._pieces: BoundedCache[_Key, EncodedPiece] = BoundedCache(limit_bytes)

    async def included(self, view: View, body: bytes, wanted: Sequence[str], *, is_public: bool) -> bytes:
        """Return an answer whose entries have the wanted members of their pieces; of extras what is public, if so.

        Raises:
            OutdatedAnswer: the source is at another version by now.
        """
        answer = msgspec.json.decode(body)
        entries = list(_entries(answer))
        mentions = list(_mentions(answer, entries)) if "label" in wanted else []
        pieces = await self._read(view, [*(entry["id"] for entry in entries), *(each for _, each in mentions)])
        settings = view.source_settings if is_public else None
        for entry in entries:
            piece = pieces.get(entry["id"])
            if piece is not None:
                entry.update(piece_members(piece, view.reading, wanted, settings))
        for mention, mentioned in mentions:
            if (piece := pieces.get(mentioned)) is not None:
                mention.update(piece_members(piece, view.reading, ("label",)))
        return encode(answer)

    async def _read(self, view: View, ids: Sequence[str]) -> Mapping[str, EncodedPiece]:
        head = view.head
        place = (head.source_id, head.incarnation, head.epoch, head.version)
        known = {each: piece for each in ids if (piece := self._pieces.get((*place, each))) is not None}
        missing = [each for each in dict.fromkeys(ids) if each not in known]
        if missing:
            read = self._database.storage.pieces.read_with_head
            now, found = await self._database.read(read, head.account_id, head.name, missing)
            if (now.incarnation, now.epoch, now.version) != place[1:]:
                raise OutdatedAnswer
            for each, piece in found.items():
                self._pieces.put((*place, each), piece, len(piece.body) + ENTRY_BYTES)
            known |= found
        return known


def _entries(answer: Any) -> Iterator[Entry]:
    """Yield the entries of a list, and of each of several lists."""
    for each in answer if isinstance(answer, list) else (answer,):
        yield from each.get("content", ())
        for one in each.get("lists", ()):
            yield from one.get("content", ())


def _mentions(answer: Any, entries: Sequence[Entry]) -> Iterator[tuple[Entry, str]]:
    """Yield what names a piece beside the entries, with its id: the seed of a list, and liked pieces among reasons."""
    for each in (answer, *answer.get("lists", ())) if isinstance(answer, dict) else ():
        seed = each.get("seed", {})
        if "contentId" in seed:
            yield seed, seed["contentId"]
    for entry in entries:
        for part in entry.get("why", {}).get("parts", ()):
            yield from ((share, share["id"]) for share in part.get("pieces", ()))
