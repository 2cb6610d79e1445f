"""Inclusion: what entries of a list carry of their pieces, as it is stored at the version of the answer."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Self

import msgspec

from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service import Services
from penchant.service.lists.answer_cache import AnswerCache
from penchant.wire import encode
from penchant.wire.fields import Record
from penchant.wire.stored import piece_members

ENTRY_BYTES = 400
"""Memory of what is remembered of a piece beside the bytes: key, table and slot of another one."""

Members = Mapping[str, Any]
Entry = dict[str, Any]


class OutdatedAnswer(Exception):  # no error: the answer is made once more
    """The source has changed since an answer was made, so that what is stored now is not of its version."""


class PieceInclusion:
    """Adds members of pieces to the entries of lists; for the event loop only.

    What was wanted of pieces is kept beside answers by the version of their source, so that other lists of a source at
    rest need no read.
    """

    def __init__(self, database: AsyncStorage, answers: AnswerCache) -> None:
        self._database = database
        self._answers = answers

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what includes pieces over the service."""
        return cls(services.database, services.lists.answers)

    async def encode(
        self, view: View, answer: Record | Sequence[Record], wanted: Sequence[str], *, is_public: bool
    ) -> bytes:
        """Return an answer as JSON, its entries with the wanted members of their pieces; of extras what is public.

        Raises:
            OutdatedAnswer: the source is at another version by now.
        """
        built = msgspec.to_builtins(answer)
        entries = _entries(built)
        mentions = list(_mentions(built, entries)) if "label" in wanted else []
        ids = map(itemgetter("id"), entries)
        await self._include(view, list(zip(entries, ids, strict=True)), tuple(wanted), is_public=is_public)
        if mentions:
            await self._include(view, mentions, ("label",), is_public=is_public)
        return encode(built)

    async def _include(
        self, view: View, entries: Sequence[tuple[Entry, str]], wanted: Sequence[str], *, is_public: bool
    ) -> None:
        head = view.head
        # As text, whose hash is worked out once for all entries.
        place = repr((head.source_id, head.incarnation, head.epoch, head.version, wanted, is_public))
        missing, find = dict[str, list[Entry]](), self._answers.find_members
        for entry, piece_id in entries:
            members: Members | None = find((place, piece_id))
            if members is None:
                missing.setdefault(piece_id, []).append(entry)
            else:
                entry.update(members)
        if not missing:
            return
        read = self._database.storage.pieces.read_with_head
        now, found = await self._database.read(read, head.account_id, head.name, [*missing])
        if (now.incarnation, now.epoch, now.version) != (head.incarnation, head.epoch, head.version):
            raise OutdatedAnswer
        settings = view.source_settings if is_public else None
        for piece_id, piece in found.items():
            members = piece_members(piece, view.reading, wanted, settings)
            self._answers.keep_members((place, piece_id), members, len(piece.body) + ENTRY_BYTES)
            for entry in missing[piece_id]:
                entry.update(members)


def _entries(answer: Any) -> list[Entry]:
    """Return the entries of a list, and of each of several lists."""
    entries = list[Entry]()
    for each in answer if isinstance(answer, list) else (answer,):
        entries += each.get("content", ())
        for one in each.get("lists", ()):
            entries += one.get("content", ())
    return entries


def _mentions(answer: Any, entries: Sequence[Entry]) -> Iterator[tuple[Entry, str]]:
    """Yield what names a piece beside the entries, with its id: the seed of a list, and liked pieces among reasons."""
    for each in (answer, *answer.get("lists", ())) if isinstance(answer, dict) else ():
        seed = each.get("seed", {})
        if "contentId" in seed:
            yield seed, seed["contentId"]
    for entry in entries:
        if "why" not in entry:
            continue
        for part in entry["why"].get("parts", ()):
            yield from ((share, share["id"]) for share in part.get("pieces", ()))
