"""Browsing for the dashboard: an account's sources with their activity, and pieces by id, label and keyword.

Every answer costs about a page, however large the source: ids come from the table's primary key, keywords from the
index. Labels are in neither; they are read one after the other, so many at a time.
"""

import asyncio
import bisect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.service.access import Access
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant.wire.attributes import decode_stored_extra
from penchant.wire.stored import decode_stored_card, decode_stored_label
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index.browsing import pieces_having
from penchant_engine.model import DAY_MS, WORDS_CATEGORY, Term

PAGE = 50
"""Pieces on a page."""
MAX_SCANNED = 5_000
"""Pieces whose labels are read for one page, in 30 to 50 ms; the next page goes on from there
(D61 of docs/decisions.md)."""
DAYS = 30
"""Days of interactions that are counted."""
MAX_COUNTED = 100_000
"""Interactions of a source that are counted at most; a page says where older ones are left out."""
COUNTS_LIFE_S = 15.0
"""How long counts of interactions are shown, in seconds, once there are new ones."""
COUNTING_WAIT_S = 0.3
"""How long an answer waits for counts; they go on being made, for the next one."""
MAX_OFFERED, OFFERED_CHARACTERS = 120, 4_000
"""Titles that a field offers, and how long all of them may be: 7 KB of a page."""
MAX_TITLED = 8
"""Sources whose titles are remembered, each until its next version."""
MAX_TITLES = 20_000
"""Pieces whose titles are read where one is looked for, `MAX_SCANNED` in a turn of a thread; 6 MB of a source."""
MAX_COMPLETED = 30
"""Titles by which a field completes what is typed."""
MAX_COUNTS = 1_000
"""Sources whose counts are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPiece:
    """A piece by its id, with its label where it has one."""

    id: str
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceCard:
    """A piece as pages show it: by its title, with the address of its picture if there is one.

    One that is not in the source now has its id alone.
    """

    id: str
    label: str | None = None
    kind: str = ""
    year: str = ""
    picture: str | None = None
    is_stored: bool = False

    @property
    def title(self) -> str:
        """Return what it is called: its label, else its id."""
        return self.label or self.id

    @property
    def detail(self) -> str:
        """Return the line below its title."""
        year = f"{self.year[1:]} BC" if self.year.startswith("-") else self.year
        return ", ".join(part for part in (self.kind.capitalize(), year) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class PiecePage:
    """A page of pieces; ``after`` is the id that the next page goes on from, ``None`` where there is no more.

    ``looked_at`` tells how many pieces were read for it, where these are more than were found.
    """

    pieces: Sequence[LabelledPiece]
    after: str | None = None
    looked_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChange:
    """What words a piece would get by another rule, which of those that it has would go, and how many would stay.

    ``language`` is that whose stop words are left out, `none` for none.
    """

    id: str
    label: str | None
    language: str
    come: Sequence[str]
    go: Sequence[str]
    stay: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCounts:
    """Interactions by UTC day, the last of which is today; ``complete`` tells that all were counted."""

    first_day: int
    counts: Sequence[int]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOverview:
    """Where a source stands. ``lag`` is in versions, ``None`` where this process has not read the source yet."""

    head: SourceHead
    lag: int | None
    daily: DailyCounts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTitles:
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


@dataclass(frozen=True, slots=True)
class _DailyTotals:
    version: int
    day: int
    at: float
    daily: DailyCounts


class SourceBrowser:
    """Looks through sources and their pieces."""

    def __init__(self, database: AsyncStorage, views: Views, metrics: Metrics, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._views = views
        self._metrics = metrics
        self._clock = clock
        self._totals: BoundedCache[int, _DailyTotals] = BoundedCache(MAX_COUNTS)
        self._counting: dict[int, asyncio.Task[DailyCounts]] = {}
        self._titles: BoundedCache[tuple[int, int, int], PieceTitles] = BoundedCache(MAX_TITLED)

    async def sources(self, access: Access, *, skip: int, limit: int) -> tuple[int, list[SourceOverview]]:
        """Return how many sources an account has, and where those of a page stand, ascending by name."""
        heads = await self._database.promptly(self._database.storage.sources.list_of, access.account_id)
        shown = heads[skip : skip + limit]
        counting = {head.source_id: self._daily(head) for head in shown}
        if waited := [task for task in counting.values() if isinstance(task, asyncio.Task)]:
            await asyncio.wait(waited, timeout=COUNTING_WAIT_S)
        return len(heads), [
            SourceOverview(head=head, lag=self._lag(access, head), daily=_result(counting[head.source_id]))
            for head in shown
        ]

    async def answered(self) -> dict[int, int]:
        """Return the number of answers since the start, by status."""
        counts = await asyncio.to_thread(self._metrics.counts, "penchant_requests", "status")
        return {int(status): count for (status,), count in counts.items()}

    async def by_id(self, view: View, beginning: str, *, after: str | None = None) -> PiecePage:
        """Return the pieces whose id begins so, ascending."""
        rows = await self._database.promptly(self._rows, view, beginning, after)
        # Ids are sorted: those that begin so come first, and the first other one ends them.
        pieces = [piece for piece in rows if piece.id.startswith(beginning)]
        return _page(pieces)

    async def by_keyword(self, view: View, term: Term, *, after: str | None = None) -> PiecePage:
        """Return the pieces that have a term, ascending by id."""
        ids = pieces_having(view.snapshot, term, after=after, limit=PAGE + 1)
        labels = await self.labels(view, ids[:PAGE])
        return _page([LabelledPiece(id=piece_id, label=labels.get(piece_id)) for piece_id in ids])

    async def by_label(self, view: View, text: str, *, after: str | None = None) -> PiecePage:
        """Return pieces whose label contains a text, ignoring case, ascending; reads `MAX_SCANNED` labels at most."""
        return await self._database.in_thread(self._scan, view, text, after)

    async def labels(self, view: View, ids: Sequence[str]) -> dict[str, str]:
        """Return the labels of some pieces, a few hundred at most, that have one."""
        return await self._told(view, ids, decode_stored_label)

    async def cards(self, view: View, ids: Sequence[str]) -> dict[str, PieceCard]:
        """Return some pieces, a few hundred at most, as pages show them; each of the ids has one."""
        bodies = await self._bodies(view, ids)
        pointer = view.settings.image_attribute

        def card(piece_id: str) -> PieceCard:
            body = bodies.get(piece_id)
            if body is None:
                return PieceCard(id=piece_id)
            stored = decode_stored_card(body)
            picture = None if pointer is None else decode_stored_extra(body, pointer)
            return PieceCard(
                id=piece_id,
                label=stored.label,
                kind=stored.kind,
                year=stored.year,
                picture=picture,
                is_stored=True,
            )

        return {piece_id: card(piece_id) for piece_id in ids}

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

    async def piece_called(self, view: View, text: str) -> str | None:
        """Return the id of the piece of this id or title; ``None`` where there is none, or none is found by title."""
        if text in view.snapshot:
            return text
        found = (await self.all_titles(view)).pieces.get(text.strip().casefold())
        return None if found is None else found.id

    async def called_like(self, view: View, text: str) -> list[LabelledPiece]:
        """Return some pieces whose title goes on from a text, or has a word that does (`PieceTitles.like`)."""
        return (await self.all_titles(view)).like(text)

    async def texts_at(self, view: View, pointer: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts to which a JSON pointer leads in the extras of some pieces, of those that have one."""
        return await self._told(view, ids, lambda body: decode_stored_extra(body, pointer))

    async def word_changes(
        self, view: View, make: Callable[[bytes], tuple[str, Sequence[str]]], ids: Sequence[str]
    ) -> list[WordChange]:
        """Return what other words, made with their language, would change for some pieces, of those that there are."""
        bodies = await self._bodies(view, ids)

        def change(piece_id: str, body: bytes) -> WordChange:
            before = view.reading.keywords_of_unstored(body).get(WORDS_CATEGORY, ())
            language, after = make(body)
            come = [word for word in after if word not in before]
            return WordChange(
                id=piece_id,
                label=decode_stored_label(body),
                language=language,
                come=come,
                go=[word for word in before if word not in after],
                stay=len(after) - len(come),
            )

        def changes() -> list[WordChange]:
            return [change(piece_id, bodies[piece_id]) for piece_id in ids if piece_id in bodies]

        return await self._database.in_thread(changes)

    async def _told(self, view: View, ids: Sequence[str], read: Callable[[bytes], str | None]) -> dict[str, str]:
        texts = {piece_id: read(body) for piece_id, body in (await self._bodies(view, ids)).items()}
        return {piece_id: text for piece_id, text in texts.items() if text is not None}

    async def _bodies(self, view: View, ids: Sequence[str]) -> dict[str, bytes]:
        if not ids:
            return {}
        name = (view.head.account_id, view.head.name)
        return await self._database.promptly(self._database.storage.pieces.read_some, *name, ids)

    def _rows(self, view: View, start: str, after: str | None) -> list[LabelledPiece]:
        name = (view.head.account_id, view.head.name)
        with self._database.storage.pieces.open_from(*name, start=start, after=after, limit=PAGE + 1) as batches:
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

    def _scan(self, view: View, text: str, after: str | None) -> PiecePage:
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
                    if len(matching) == PAGE:
                        return PiecePage(pieces=matching, after=row.id, looked_at=looked_at)
                # Where too few labels fit, the next page goes on behind the last one that was looked at.
                last = rows[-1].id
        return PiecePage(pieces=matching, after=last if looked_at == MAX_SCANNED else None, looked_at=looked_at)

    def _lag(self, access: Access, head: SourceHead) -> int | None:
        version = self._views.cached_version(access.account_id, head.name)
        return None if version is None else max(0, head.version - version)

    def _daily(self, head: SourceHead) -> "DailyCounts | asyncio.Task[DailyCounts]":
        """Return a source's interactions by day, or the task that counts them."""
        today = self._clock.today()
        # Counts of yesterday begin a day too early, however fresh they are.
        cached = self._totals.get(head.source_id)
        if cached is not None and cached.day == today:
            fresh = self._clock.monotonic() - cached.at <= COUNTS_LIFE_S
            if fresh or cached.version == head.interactions_version:
                return cached.daily
        task = self._counting.get(head.source_id)
        if task is None:
            task = self._counting[head.source_id] = asyncio.create_task(self._count(head, today))
        return task

    async def _count(self, head: SourceHead, today: int) -> DailyCounts:
        """Count a source's interactions of the last `DAYS` days, and remember the counts."""
        first = today - DAYS + 1
        try:
            rows = await self._database.in_thread(
                self._database.storage.people.count_by_day,
                head.source_id,
                since=first * DAY_MS,
                limit=MAX_COUNTED,
            )
        finally:
            # After a failure, too: the next page tries again.
            del self._counting[head.source_id]
        by_day = dict(rows)
        counts = [by_day.get(first + day, 0) for day in range(DAYS)]
        daily = DailyCounts(first_day=first, counts=counts, complete=sum(by_day.values()) < MAX_COUNTED)
        self._totals.put(head.source_id, _DailyTotals(head.interactions_version, today, self._clock.monotonic(), daily))
        return daily


def _result(counted: "DailyCounts | asyncio.Task[DailyCounts]") -> DailyCounts | None:
    if isinstance(counted, DailyCounts):
        return counted
    # The page's other reads report the same failure; a count alone is not worth an error.
    return counted.result() if counted.done() and counted.exception() is None else None


def _page(pieces: Sequence[LabelledPiece]) -> PiecePage:
    return PiecePage(pieces=pieces[:PAGE], after=pieces[PAGE - 1].id if len(pieces) > PAGE else None)
