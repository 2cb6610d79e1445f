"""Browsing for the dashboard: an account's sources with their activity, and pieces by id, label and keyword.

Every answer costs about a page, however large the source: ids come from the table's primary key, keywords from the
index. Labels are in neither; they are read one after the other, so many at a time.

A search finds pieces by anything that is written in them, and people by their ids: what has an order along it, ids in
the table, keywords and attributes in the index. All other texts are read piece by piece, a few hundred in a turn of a
thread, up to a bound of pieces and time; an answer says how far it looked, and the next one goes on from there.
"""

import asyncio
import bisect
import enum
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.model import EncodedPiece
from penchant.service.access import Access
from penchant.service.people import oldest_kept
from penchant.storage import InteractionQuery, SourceHead
from penchant.telemetry import Metrics
from penchant.wire import (
    decode_stored_card,
    decode_stored_extra,
    decode_stored_label,
    decode_stored_texts,
    encode,
    words_of_piece,
)
from penchant.words import NO_KEPT_WORDS, WordRule
from penchant_engine.attributes import AttributeType, MarkSpan, mark_of, numbered
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import CategoryCount, TermCount, categories, pieces_having, pieces_marked, terms_beginning
from penchant_engine.model import DAY_MS, Term

MAX_HITS = 50
"""Pieces that an answer shows, the best of those that were found; and people."""
NAMED_TERMS = 10
"""Keywords that an answer names, and whose pieces it looks at."""
OF_TERM = 10
"""Pieces of each of these keywords, and of each attribute."""
LOOK_ROWS = 500
"""Pieces whose texts are read in one turn of a thread, in 4 to 10 ms."""
MAX_LOOKED_AT = 20_000
"""Pieces whose texts are read for an answer at most."""
LOOK_S = 0.5
"""How long that may take."""
NEWEST_PEOPLE = 20_000
"""Interactions, and preferences, among which people are looked for: 20 ms where there are so many."""
NEWEST_TO_TRY = 2_000
"""Interactions by which people are told apart who did much lately from those who did little."""
FEW_ACTS = 3
MAX_TO_TRY = 6
_LAST_CODE_POINT = "\U0010ffff"
_MARKS = "\"'([{.,:;!?-–—«»„“”‘’"  # noqa: RUF001  # what stands around words


class HitPlace(enum.IntEnum):
    """Where a piece has what was looked for, the best place first."""

    WHOLE_ID = 0
    ID = 1
    TITLE_WORDS = 2
    TITLE = 3
    KEYWORD = 4
    TEXT = 5
    SEVERAL = 6


@dataclass(frozen=True, slots=True, order=True)
class PieceHit:
    """A piece that was found: where, its id and label, and the text that it was found by."""

    place: HitPlace
    id: str
    label: str | None = field(compare=False, default=None)
    text: str = field(compare=False, default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found: the best ``hits`` of ``count`` pieces, and the most frequent keywords that begin so.

    ``looked_at`` tells how many pieces were read through; ``after`` is the id that another search goes on from,
    ``None`` where all were.
    """

    hits: Sequence[PieceHit]
    count: int
    terms: Sequence[TermCount]
    looked_at: int
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleToTry:
    """People whose lists are worth a look: who did most lately, and who did little yet."""

    active: Sequence[str]
    few: Sequence[str]


class SourceSearch:
    """Searches sources."""

    def __init__(self, database: AsyncStorage, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._clock = clock

    async def pieces(self, view: View, text: str, *, after: str | None = None) -> SearchResult:
        """Return the pieces that have a text, or all words of it, anywhere; ``after``: only what is read past an id."""
        words = _Words.of(text)
        terms, hits = ([], []) if after is not None else await self._database.in_thread(self._ordered, view, text)
        best: dict[str, PieceHit] = {}
        _keep_best(best, hits)
        looked_at, more = 0, True
        # Turn by turn, so that other reads get the thread in between; once at least, however busy the machine is.
        deadline = self._clock.monotonic() + LOOK_S
        while more and looked_at < MAX_LOOKED_AT and (not looked_at or self._clock.monotonic() < deadline):
            rows, hits = await self._database.in_thread(self._look, view, words, after)
            _keep_best(best, hits)
            looked_at, more = looked_at + len(rows), len(rows) == LOOK_ROWS
            after = rows[-1] if rows else after
        return SearchResult(
            hits=sorted(best.values())[:MAX_HITS],
            count=len(best),
            terms=terms,
            looked_at=looked_at,
            after=after if more else None,
        )

    async def people(self, view: View, beginning: str) -> list[str]:
        """Return people whose id begins so, ascending, of those who did or said something lately; first who is it."""
        return await self._database.promptly(self._people, view, beginning)

    async def people_to_try(self, view: View) -> PeopleToTry:
        """Return some people of whom lists show something, of those who did something lately."""
        counted = await self._database.promptly(self._count_newest, view)
        few = [user_id for user_id, count in reversed(counted) if count <= FEW_ACTS]
        active = [user_id for user_id, count in counted if count > FEW_ACTS]
        return PeopleToTry(active=active[:MAX_TO_TRY], few=few[:MAX_TO_TRY])

    def _count_newest(self, view: View) -> list[tuple[str, int]]:
        since = oldest_kept(view, self._clock.now_ms())
        return self._database.storage.people.count_newest(view.head.source_id, since=since, newest=NEWEST_TO_TRY)

    def _people(self, view: View, beginning: str) -> list[str]:
        people, source = self._database.storage.people, view.head.source_id
        since = oldest_kept(view, self._clock.now_ms())
        ids = people.list_beginning(source, beginning, since=since, newest=NEWEST_PEOPLE, limit=MAX_HITS)
        own = people.read(source, InteractionQuery(user_id=beginning, since=since, limit=1))
        is_known = bool(own.interactions or own.preferences)
        return [beginning] * is_known + [each for each in ids if each != beginning]

    def _ordered(self, view: View, text: str) -> tuple[list[TermCount], list[PieceHit]]:
        """Return keywords that begin so, and pieces by what has an order: ids, keywords and attributes."""
        name = (view.head.account_id, view.head.name)
        hits = []
        with self._database.storage.pieces.open_from(*name, start=text, limit=MAX_HITS) as batches:
            for row in itertools.chain.from_iterable(batches):
                # Ids are sorted: the first that begins otherwise ends them.
                if not row.id.startswith(text):
                    break
                place = HitPlace.WHOLE_ID if row.id == text else HitPlace.ID
                hits.append(PieceHit(place, row.id, decode_stored_label(row.body)))
        terms = terms_beginning(view.snapshot, spellings(text), limit=NAMED_TERMS)
        indexed = _indexed(view, text, terms)
        bodies = self._database.storage.pieces.read_some(*name, list(indexed))
        for piece_id, body in bodies.items():
            place, where = indexed[piece_id]
            hits.append(PieceHit(place, piece_id, decode_stored_label(body), where))
        return terms, hits

    def _look(self, view: View, words: "_Words", after: str | None) -> tuple[list[str], list[PieceHit]]:
        """Return the ids of the next pieces past an id, and those of them that have the words."""
        name = (view.head.account_id, view.head.name)
        ids, hits = [], []
        with self._database.storage.pieces.open_from(*name, after=after, limit=LOOK_ROWS) as batches:
            for row in itertools.chain.from_iterable(batches):
                ids.append(row.id)
                hit = words.hit(row)
                if hit is not None:
                    hits.append(hit)
        return ids, hits


def spellings(text: str) -> frozenset[str]:
    """Return ways to write the beginning of a keyword, which the index has as it was submitted."""
    return frozenset({text, text.lower(), text.upper(), text.capitalize(), text.title()})


def _keep_best(best: dict[str, PieceHit], hits: Iterable[PieceHit]) -> None:
    for hit in hits:
        best[hit.id] = min(hit, best.get(hit.id, hit))


def _indexed(view: View, text: str, terms: Sequence[TermCount]) -> dict[str, tuple[HitPlace, str]]:
    """Return some pieces that have one of the terms, or a value of an attribute that begins so, and which."""
    indexed: dict[str, tuple[HitPlace, str]] = {}
    for number, attribute in enumerate(numbered(view.settings.attributes.values())):
        if attribute.type not in {AttributeType.KEYWORD, AttributeType.KEYWORDS}:
            continue
        for spelling in spellings(text):
            first = mark_of(number, spelling)
            span = MarkSpan(first, first + _LAST_CODE_POINT)
            marked = pieces_marked(view.snapshot, span, limit=OF_TERM)
            indexed |= dict.fromkeys(marked, (HitPlace.TEXT, attribute.pointer))
    for each in terms:
        having = pieces_having(view.snapshot, each.term, after=None, limit=OF_TERM)
        indexed |= dict.fromkeys(having, (HitPlace.KEYWORD, f"{each.term.category}: {each.term.keyword}"))
    return indexed


@dataclass(frozen=True, slots=True)
class _Words:
    """The words that are looked for, without their case, and as they stand in the JSON of a stored piece."""

    plain: Sequence[str]
    written: Sequence[str]

    @classmethod
    def of(cls, text: str) -> "_Words":
        plain = text.casefold().split()
        return cls(plain, [encode(word).decode()[1:-1] for word in plain])

    def hit(self, piece: EncodedPiece) -> PieceHit | None:
        """Return a piece as a hit, by the best place that has all words, or all places together."""
        body = piece.body.decode().casefold()
        # Most pieces lack a word altogether: these are not decoded.
        if not all(word in body for word in self.written):
            return None
        texts = decode_stored_texts(piece.body)
        label = (texts.label or "").casefold()
        if self._are_in(label):
            words = [word.strip(_MARKS) for word in label.split()]
            begin = all(any(word.startswith(each) for word in words) for each in self.plain)
            return PieceHit(HitPlace.TITLE_WORDS if begin else HitPlace.TITLE, piece.id, texts.label)
        terms = [f"{term.category}: {term.keyword}" for term in texts.terms]
        for place, written in (
            (HitPlace.KEYWORD, terms),
            (HitPlace.TEXT, [f"{key}: {text}" for key, text in texts.extras]),
        ):
            for text in written:
                if self._are_in(text.casefold()):
                    return PieceHit(place, piece.id, texts.label, text)
        everything = "\n".join([piece.id, label, *terms, *(text for _, text in texts.extras)]).casefold()
        return PieceHit(HitPlace.SEVERAL, piece.id, texts.label) if self._are_in(everything) else None

    def _are_in(self, text: str) -> bool:
        return all(word in text for word in self.plain)


PAGE = 50
"""Pieces on a page."""
MAX_SCANNED = 5_000
"""Pieces whose labels are read for one page, in 30 to 50 ms; the next page goes on from there
(D61 of docs/decisions.md)."""
MAX_TERMS = 50
"""Keywords that a page offers."""
MAX_CATEGORIES = 200
"""Categories that a page names."""
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

    async def keywords(self, view: View, beginning: str) -> list[TermCount]:
        """Return the terms whose keyword begins so, in small or capital letters, the most frequent first."""
        # In a thread, since all keywords begin with nothing.
        return await self._database.in_thread(terms_beginning, view.snapshot, spellings(beginning), limit=MAX_TERMS)

    def categories(self, view: View) -> list[CategoryCount]:
        """Return the categories of a source, ascending."""
        return categories(view.snapshot, limit=MAX_CATEGORIES)

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

    async def word_changes(self, view: View, rule: WordRule | None, ids: Sequence[str]) -> list[WordChange]:
        """Return what another rule of words, or none, would change for some pieces, of those that there are."""
        bodies = await self._bodies(view, ids)

        def change(piece_id: str, body: bytes) -> WordChange:
            before = view.reading.words_of_draft(body)
            after = NO_KEPT_WORDS if rule is None else words_of_piece(body, rule)
            come = [word for word in after.words if word not in before]
            return WordChange(
                id=piece_id,
                label=decode_stored_label(body),
                language=after.language,
                come=come,
                go=[word for word in before if word not in after.words],
                stay=len(after.words) - len(come),
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
