"""Browsing of a source: its pieces by the beginning of an id or a part of the label, and their titles.

Every answer costs about a page, however large the source: ids come from the table's primary key. Labels are in no
index; they are read one after the other, so many at a time.
"""

import bisect
import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Self

import msgspec

from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.service import Services
from penchant.wire.attributes import (
    PIECE_MEMBERS,
    ExtrasMember,
    count_extras,
    decode_extras,
    pointers_of,
)
from penchant.wire.stored import decode_stored_label
from penchant.wire.syntax import Faults
from penchant_engine.attributes import steps_of
from penchant_engine.bounded_cache import BoundedCache

PAGE = 50
"""Pieces on a page."""
MAX_SCANNED = 5_000
"""Pieces whose labels are read for one page, in 30 to 50 ms; the next page goes on from there."""
MAX_OFFERED, OFFERED_CHARACTERS = 120, 4_000
"""Titles that a field offers, and how long all of them may be: 7 KB of a page."""
MAX_TITLED = 8
"""Sources whose titles are remembered, each until its next version."""
MAX_TITLES = 20_000
"""Pieces whose titles are read where one is looked for, `MAX_SCANNED` in a turn of a thread; 6 MB of a source."""
MAX_SAMPLED, MAX_SAMPLED_BYTES = 2_000, 16 * 1024 * 1024
"""The newest pieces whose extras are looked at, once for each version, in 70 ms of CPU, and how large they may be."""
MAX_COMPLETED = 30
"""Titles by which a field completes what is typed."""


class LabelledPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece by its id, with its label where it has one."""

    id: str
    label: str | None = None


class PiecePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of pieces; ``after`` is the id that the next page goes on from, ``None`` where there is no more.

    ``looked_at`` tells how many pieces were read for it, where these are more than were found.
    """

    pieces: Sequence[LabelledPiece]
    after: str | None = None
    looked_at: int | None = None


class PieceTitles(msgspec.Struct, frozen=True, kw_only=True):
    """The titles of a source: some for a field to offer, ascending, and all by their text without its case.

    Of each, ascending, the first piece that is called so, with its title as it is written. ``after`` is the id behind
    which pieces were not read, ``None`` where all were. ``keys`` are the texts of ``pieces``, ``joined`` all of them
    with a NUL, which no label holds, on each side: so that a key stroke takes a search in one text.
    """

    offered: Sequence[str]
    pieces: Mapping[str, LabelledPiece]
    after: str | None
    keys: Sequence[str]
    joined: str

    def like(self, text: str) -> list[LabelledPiece]:
        """Return the pieces whose title begins so, then those of which another word does, each ascending by title."""
        begun = text.strip().casefold()
        first = bisect.bisect_left(self.keys, begun)
        found = list(itertools.takewhile(lambda key: key.startswith(begun), self.keys[first : first + MAX_COMPLETED]))
        inside = self._inside(begun) if begun and "\0" not in begun else ()
        return [self.pieces[key] for key in itertools.islice(itertools.chain(found, inside), MAX_COMPLETED)]

    def _inside(self, begun: str) -> Iterator[str]:
        """Yield the texts in which a word but the first goes on from a text, ascending."""
        at = self.joined.find(f" {begun}")
        while at >= 0:
            end = self.joined.index("\0", at)
            key = self.joined[self.joined.rindex("\0", 0, at) + 1 : end]
            if not key.startswith(begun):
                yield key
            at = self.joined.find(f" {begun}", end)


class SampledExtras(NamedTuple):
    """What the extras of the newest pieces have, and how many pieces were looked at."""

    members: Sequence[ExtrasMember]
    looked_at: int


class _BoundedBodies:
    """Bodies of pieces up to `MAX_SAMPLED_BYTES`, which counts those that were read."""

    def __init__(self, bodies: Iterator[bytes]) -> None:
        self._bodies = bodies
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        total = 0
        for body in self._bodies:
            self.count, total = self.count + 1, total + len(body)
            yield body
            if total > MAX_SAMPLED_BYTES:
                return


class SourceBrowser:
    """Looks through sources and their pieces."""

    def __init__(self, database: AsyncStorage) -> None:
        self._database = database
        self._extras: BoundedCache[tuple[int, int, int], SampledExtras] = BoundedCache(MAX_TITLED)
        self._titles: BoundedCache[tuple[int, int, int], PieceTitles] = BoundedCache(MAX_TITLED)

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what looks through sources over the service."""
        return cls(services.database)

    async def by_id(self, view: View, beginning: str, *, after: str | None = None, limit: int = PAGE) -> PiecePage:
        """Return the pieces whose id begins so, ascending."""
        rows = await self._database.promptly(self._rows, view, beginning, after, limit + 1)
        # Ids are sorted: those that begin so come first, and the first other one ends them.
        pieces = [piece for piece in rows if piece.id.startswith(beginning)]
        return _page(pieces, limit)

    async def by_label(self, view: View, text: str, *, after: str | None = None, limit: int = PAGE) -> PiecePage:
        """Return pieces whose label contains a text, ignoring case, ascending; reads `MAX_SCANNED` labels at most."""
        return await self._database.in_thread(self._scan, view, text, after, limit)

    async def titles(self, view: View) -> PieceTitles:
        """Return the titles of a source, of its first `MAX_SCANNED` pieces at least."""
        key = (view.head.source_id, view.head.incarnation, view.head.version)
        titles = self._titles.get(key)
        if titles is None:
            titles = await self._database.in_thread(self._read_titles, view, {}, None)
            self._titles.put(key, titles)
        return titles

    async def all_titles(self, view: View) -> PieceTitles:
        """Return the titles of a source, of its first `MAX_TITLES` pieces."""
        titles = await self.titles(view)
        key = (view.head.source_id, view.head.incarnation, view.head.version)
        for _ in range(MAX_SCANNED, MAX_TITLES, MAX_SCANNED):
            if titles.after is None:
                break
            titles = await self._database.in_thread(self._read_titles, view, titles.pieces, titles.after)
            self._titles.put(key, titles)
        return titles

    async def extras(self, view: View) -> SampledExtras:
        """Return what could be an attribute in the extras of the newest `MAX_SAMPLED` pieces."""
        key = (view.head.source_id, view.head.incarnation, view.head.version)
        sample = self._extras.get(key)
        if sample is None:
            sample = await self._database.in_thread(self._sample, view.head.account_id, view.head.name)
            self._extras.put(key, sample)
        return sample

    async def check_pointers(
        self, account_id: int, source: str, wanted: SourceSettings, stored: SourceSettings, where: str = ""
    ) -> None:
        """Refuse pointers that lead to a piece's own member, unless that is in extras, too; stored ones may stay.

        Raises:
            InvalidInput: there are such pointers, each with its place in the settings.
        """
        kept = {each.pointer for each in stored.attributes.values()} | {stored.image_attribute}
        outside = {
            f"{where}{place}": given
            for place, given in pointers_of(wanted).items()
            if given not in kept and steps_of(given)[0] in PIECE_MEMBERS
        }
        if not outside:
            return
        names = await self._database.in_thread(self._names_in_extras, account_id, source)
        faults = Faults()
        for place, given in outside.items():
            if steps_of(given)[0] not in names:
                detail = (
                    f"{given} leads to a piece's own {steps_of(given)[0]}, and pointers lead into its extras. "
                    "Conditions name keywords and catalogs without an attribute."
                )
                faults.add(place, detail)
        faults.raise_any()

    async def called_like(self, view: View, text: str) -> list[LabelledPiece]:
        """Return some pieces whose title goes on from a text, or has a word that does (`PieceTitles.like`)."""
        return (await self.all_titles(view)).like(text)

    def _rows(self, view: View, start: str, after: str | None, limit: int) -> list[LabelledPiece]:
        name = (view.head.account_id, view.head.name)
        with self._database.storage.pieces.open_from(*name, start=start, after=after, limit=limit) as batches:
            return [LabelledPiece(id=row.id, label=decode_stored_label(row.body)) for rows in batches for row in rows]

    def _read_titles(self, view: View, known: Mapping[str, LabelledPiece], after: str | None) -> PieceTitles:
        """Return titles with those of the next `MAX_SCANNED` pieces past an id."""
        name = (view.head.account_id, view.head.name)
        found = dict(known)
        count = 0
        with self._database.storage.pieces.open_from(*name, after=after, limit=MAX_SCANNED) as batches:
            for row in itertools.chain.from_iterable(batches):
                count, after = count + 1, row.id
                label = decode_stored_label(row.body)
                if label is not None:
                    found.setdefault(label.casefold(), LabelledPiece(id=row.id, label=label))
        labels = [each.label or "" for each in itertools.islice(found.values(), MAX_OFFERED)]
        lengths = itertools.accumulate(len(each) for each in labels)
        offered = sorted(each for each, end in zip(labels, lengths, strict=True) if end <= OFFERED_CHARACTERS)
        pieces = dict(sorted(found.items()))
        return PieceTitles(
            offered=offered,
            pieces=pieces,
            after=after if count == MAX_SCANNED else None,
            keys=list(pieces),
            joined="\0".join(["", *pieces, ""]),
        )

    def _sample(self, account_id: int, source: str) -> SampledExtras:
        with self._newest(account_id, source) as bodies:
            members = count_extras(bodies)
        return SampledExtras(members, bodies.count)

    def _names_in_extras(self, account_id: int, source: str) -> set[str]:
        with self._newest(account_id, source) as bodies:
            return {name for body in bodies for name in decode_extras(body)}

    @contextlib.contextmanager
    def _newest(self, account_id: int, source: str) -> Iterator["_BoundedBodies"]:
        """Open the newest pieces, up to `MAX_SAMPLED` of them and `MAX_SAMPLED_BYTES`."""
        with self._database.storage.pieces.open_newest(account_id, source, limit=MAX_SAMPLED) as bodies:
            yield _BoundedBodies(bodies)

    def _scan(self, view: View, text: str, after: str | None, limit: int) -> PiecePage:
        """Return the next page of pieces whose label contains a text, reading labels in the order of ids."""
        needle = text.casefold()
        matching: list[LabelledPiece] = []
        looked_at = 0
        name = (view.head.account_id, view.head.name)
        with self._database.storage.pieces.open_from(*name, after=after, limit=MAX_SCANNED) as batches:
            for rows in batches:
                for row in rows:
                    looked_at += 1
                    label = decode_stored_label(row.body)
                    if label is None or needle not in label.casefold():
                        continue
                    matching.append(LabelledPiece(id=row.id, label=label))
                    if len(matching) == limit:
                        return PiecePage(pieces=matching, after=row.id, looked_at=looked_at)
                # Where too few labels fit, the next page goes on behind the last one that was looked at.
                last = rows[-1].id
        return PiecePage(pieces=matching, after=last if looked_at == MAX_SCANNED else None, looked_at=looked_at)


def _page(pieces: Sequence[LabelledPiece], limit: int) -> PiecePage:
    return PiecePage(pieces=pieces[:limit], after=pieces[limit - 1].id if len(pieces) > limit else None)
