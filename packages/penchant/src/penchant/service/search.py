"""Search of a source: pieces by anything that is written in them, people by their ids, keywords and categories.

What has an order is found along it: ids in the table, keywords and attributes in the index. All other texts are read
piece by piece, a few hundred in a turn of a thread, up to a bound of pieces and time; an answer says how far it looked,
and the next one goes on from there. Keywords and categories are counted in the snapshot, by what rules see of them:
those that the vocabulary joins are one.
"""

import enum
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import msgspec

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import EncodedPiece
from penchant.service import Services
from penchant.service.people import oldest_kept
from penchant.storage import InteractionQuery
from penchant.wire import encode
from penchant.wire.stored import decode_stored_label, decode_stored_texts
from penchant_engine.attributes import AttributeType, MarkSpan, mark_of, numbered
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index.browsing import (
    CatalogCount,
    CategoryCount,
    TermCount,
    TermPage,
    TermTable,
    categories,
    count_catalogs,
    count_terms,
    pieces_having,
    pieces_marked,
    terms_beginning,
)
from penchant_engine.model import Term

Count = TypeVar("Count")
VersionKey = tuple[int, int, int]
"""A source, its incarnation and its version."""
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
MAX_TERM_TABLES = 8
"""Sources whose counted keywords are remembered, each until its next version: 8 bytes a keyword, beside the index."""
MAX_COUNTED_SOURCES = 64
"""Sources whose categories are remembered, each until its next version."""
FEW_ACTS = 3
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


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found: the best ``hits`` of ``count`` pieces, and the most frequent keywords that begin so.

    ``looked_at`` tells how many pieces were read through; ``after`` is the id that another search goes on from,
    ``None`` where all were.
    """

    hits: Sequence[PieceHit]
    count: int
    terms: Sequence[TermCount]
    looked_at: int
    after: str | None


class PeoplePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the people who were found, and how many there are among those who did or said something lately.

    ``is_complete`` tells that these are all.
    """

    people: Sequence[str]
    count: int
    is_complete: bool


class SourceSearch:
    """Searches sources."""

    def __init__(self, database: AsyncStorage, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._clock = clock
        self._categories: BoundedCache[VersionKey, list[CategoryCount]] = BoundedCache(MAX_COUNTED_SOURCES)
        self._catalogs: BoundedCache[VersionKey, list[CatalogCount]] = BoundedCache(MAX_COUNTED_SOURCES)
        self._terms: BoundedCache[VersionKey, list[TermTable]] = BoundedCache(MAX_TERM_TABLES)

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what searches sources over the service."""
        return cls(services.database, clock=services.clock)

    async def pieces(
        self, view: View, text: str, *, after: str | None = None, skip: int = 0, limit: int = MAX_HITS
    ) -> SearchResult:
        """Return the pieces that have a text, or all words of it, anywhere; ``after``: only what is read past an id."""
        words = _Words.of(text)
        terms: Sequence[TermCount] = ()
        hits: list[PieceHit] = []
        if after is None:
            terms = (await self.keywords(view, text, limit=NAMED_TERMS)).terms
            hits = await self._database.in_thread(self._ordered, view, text, terms)
        best: dict[str, PieceHit] = {}
        _keep_best(best, hits)
        looked_at, more = 0, bool(words.plain)
        # Turn by turn, so that other reads get the thread in between; once at least, however busy the machine is.
        deadline = self._clock.monotonic() + LOOK_S
        while more and looked_at < MAX_LOOKED_AT and (not looked_at or self._clock.monotonic() < deadline):
            rows, hits = await self._database.in_thread(self._look, view, words, after)
            _keep_best(best, hits)
            looked_at, more = looked_at + len(rows), len(rows) == LOOK_ROWS
            after = rows[-1] if rows else after
        return SearchResult(
            hits=sorted(best.values())[skip : skip + limit],
            count=len(best),
            terms=terms,
            looked_at=looked_at,
            after=after if more else None,
        )

    async def people(self, view: View, beginning: str) -> list[str]:
        """Return some people whose id begins so, as `people_beginning`."""
        return await self._database.promptly(self._people, view, beginning, MAX_HITS)

    async def people_beginning(self, view: View, beginning: str, *, skip: int, limit: int) -> PeoplePage:
        """Return people whose id begins so, ascending, of those who did or said something lately; first who is it."""
        found = await self._database.promptly(self._people, view, beginning, 2 * NEWEST_PEOPLE)
        # Each version of the interactions is of one of them, or of preferences.
        is_complete = view.head.interactions_version <= NEWEST_PEOPLE
        return PeoplePage(people=found[skip : skip + limit], count=len(found), is_complete=is_complete)

    async def active_people(self, view: View, *, known: str | None = None, skip: int, limit: int) -> PeoplePage:
        """Return the people of the newest interactions, those of most of them first, ties by id.

        ``known`` limits them to those of few (`little`), then of the fewest first, or to others (`well`).
        """
        counted = await self._database.promptly(self._count_newest, view)
        if known is not None:
            is_little = known == "little"
            counted = [each for each in counted if (each[1] <= FEW_ACTS) == is_little][:: -1 if is_little else 1]
        people = [user_id for user_id, _ in counted]
        is_complete = view.head.interactions_version <= NEWEST_TO_TRY
        return PeoplePage(people=people[skip : skip + limit], count=len(people), is_complete=is_complete)

    async def pieces_of(
        self, view: View, term: Term, *, after: str | None = None, skip: int, limit: int
    ) -> SearchResult:
        """Return the pieces that have exactly this keyword, ascending by id, from the one past an id on."""
        name = (view.head.account_id, view.head.name)

        def found() -> SearchResult:
            ids = pieces_having(view.snapshot, term, after=after, limit=skip + limit)[skip:]
            bodies = self._database.storage.pieces.read_some(*name, ids)
            where = f"{term.category}: {term.keyword}"
            hits = [
                PieceHit(HitPlace.KEYWORD, each, decode_stored_label(bodies[each]), where)
                for each in ids
                # One that was deleted since is in the snapshot still.
                if each in bodies
            ]
            count = int(view.snapshot.document_frequencies([term])[0])
            return SearchResult(hits=hits, count=count, terms=(), looked_at=0, after=None)

        return await self._database.in_thread(found)

    async def keywords(
        self, view: View, beginning: str, *, category: str | None = None, skip: int = 0, limit: int
    ) -> TermPage:
        """Return keywords that begin so, in small or capital letters, the most frequent first, ties by term."""
        tables = await self._tables(view)
        # In a thread, since all keywords begin with nothing.
        return await self._database.in_thread(
            terms_beginning, tables, spellings(beginning), category=category, skip=skip, limit=limit
        )

    async def _tables(self, view: View) -> list[TermTable]:
        """Return the keywords of a source with their counts, counted once for each version."""
        return await self._counted(self._terms, view, count_terms)

    async def catalogs(self, view: View) -> list[CatalogCount]:
        """Return the catalogs of a source, those of the most pieces first, counted once for each version."""
        return await self._counted(self._catalogs, view, count_catalogs)

    async def categories(self, view: View) -> list[CategoryCount]:
        """Return the categories of a source, ascending, counted once for each version."""
        return await self._counted(self._categories, view, categories, await self._tables(view))

    async def _counted(
        self, cache: BoundedCache[VersionKey, list[Count]], view: View, count: Callable[..., list[Count]], *more: Any
    ) -> list[Count]:
        """Return what is counted of a snapshot, from a cache where the source stands as it did."""
        key = (view.head.source_id, view.head.incarnation, view.head.version)
        counted = cache.get(key)
        if counted is None:
            counted = await self._database.in_thread(count, view.snapshot, *more)
            cache.put(key, counted)
        return counted

    def _count_newest(self, view: View) -> list[tuple[str, int]]:
        since = oldest_kept(view, self._clock.now_ms())
        return self._database.storage.people.count_newest(view.head.source_id, since=since, newest=NEWEST_TO_TRY)

    def _people(self, view: View, beginning: str, limit: int) -> list[str]:
        people, source = self._database.storage.people, view.head.source_id
        since = oldest_kept(view, self._clock.now_ms())
        ids = people.list_beginning(source, beginning, since=since, newest=NEWEST_PEOPLE, limit=limit)
        is_known = bool(beginning)
        if is_known:
            own = people.read(source, InteractionQuery(user_id=beginning, since=since, limit=1))
            is_known = bool(own.interactions or own.preferences)
        return [beginning] * is_known + [each for each in ids if each != beginning]

    def _ordered(self, view: View, text: str, terms: Sequence[TermCount]) -> list[PieceHit]:
        """Return pieces by what has an order: ids, keywords, of which some begin so, and attributes."""
        name = (view.head.account_id, view.head.name)
        hits = []
        with self._database.storage.pieces.open_from(*name, start=text, limit=MAX_HITS) as batches:
            for row in itertools.chain.from_iterable(batches):
                # Ids are sorted: the first that begins otherwise ends them.
                if not row.id.startswith(text):
                    break
                place = HitPlace.WHOLE_ID if row.id == text else HitPlace.ID
                hits.append(PieceHit(place, row.id, decode_stored_label(row.body)))
        indexed = _indexed(view, text, terms)
        bodies = self._database.storage.pieces.read_some(*name, list(indexed))
        for piece_id, body in bodies.items():
            place, where = indexed[piece_id]
            hits.append(PieceHit(place, piece_id, decode_stored_label(body), where))
        return hits

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


class _Words(msgspec.Struct, frozen=True):
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
