"""Cards of rows: what a placement has shown, week by week, in figures of which nobody can be seen.

Only whole weeks (Monday to Sunday, UTC) of the days for which impressions are kept are told, and none that was shown to
some, but fewer than `LEAST_PEOPLE` known people; a value of an attribute that fewer of them saw is in no share. Pieces
that the row pins are told apart, and are in no figure. Each figure is defined in web/interface/placements.md.

What is read is bounded (`MAX_SHOWN` impressions of a source and week), and figures are kept for an hour: of weeks that
are over they change only with the catalogue and with what is liked by now.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, Self

import msgspec
import numpy as np

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import UnknownSource
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.service.curation import settings_now
from penchant.service.lists.inputs import ListInputs
from penchant.service.shares import heavy_shares
from penchant.storage import source_id
from penchant.wire import format_timestamp
from penchant.wire.attributes import decode_stored_marks
from penchant.wire.times import format_day
from penchant_engine.attributes import Attribute, AttributeType, numbered
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import FloatArray, IntArray, Strings
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.lists.personal import popular_at
from penchant_engine.model import DAY_MS
from penchant_rows.errors import UnknownPlacement
from penchant_rows.model import IMPRESSION_DAYS
from penchant_rows.service.descriptions import control_in_words, data_in_words, parts_of, rules_in_words
from penchant_rows.service.versions import PlacementInForce, read_row
from penchant_rows.storage.impressions import ImpressionStore, ShownPiece
from penchant_rows.storage.placements import PlacementStore
from penchant_rows.wire.placement_answers import CardPart, CardWeek, PlacementCard
from penchant_rows.wire.settings import RowSettings

LEAST_PEOPLE = 10
"""Known people whom a week, or a value in it, was shown to at least, for a figure to be told."""
NEW_DAYS = 30
"""How old what was shown may be, at the end of its week, to count as new."""
MAX_SHOWN = 100_000
"""Impressions of a source that are read of a week: about a third of a second, 30 MB."""
MAX_LISTS, MAX_LISTED = 200, 10
"""Lists of a week by which diversity is measured, and pieces of each: 9,000 pairs."""
MAX_PIECES = 1_000
"""Pieces whose attributes are looked up, those shown most."""
MAX_VALUES = 8
"""Values of an attribute that are told, those shown most."""
WEEKS = 4
FRESH_MS = 3_600_000
MAX_KEPT = 256
"""Cards that are kept, some kilobytes each."""
_WEEK = 7
_MONDAY = 4
"""The first Monday after the first day of 1970."""
_TOLD_TYPES = (AttributeType.KEYWORD, AttributeType.KEYWORDS, AttributeType.BOOLEAN)
DIGITS = 2


class WeekFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a row showed in a week, the days counted from 1970; figures are ``None`` where there is nothing to tell."""

    first_day: int
    last_day: int
    shown: int
    pinned: int
    is_whole: bool
    coverage: float | None = None
    popularity: float | None = None
    newness: float | None = None
    diversity: float | None = None
    shares: Mapping[str, Mapping[str, float]]


class CardFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Since when there is a row, by its oldest version that is kept, when it changed, and its weeks, newest first."""

    placement: PlacementInForce
    since: int
    changed_at: int
    weeks: Sequence[WeekFigures]


class _CardKey(NamedTuple):
    source_id: int
    incarnation: int
    epoch: int
    name: str
    version: int
    first_day: int


class Cards:
    """The cards of the rows of sources; figures of weeks are remembered for an hour. For the event loop only."""

    def __init__(
        self, database: AsyncStorage, views: Views, inputs: ListInputs, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._database = database
        self._views = views
        self._inputs = inputs
        self._clock = clock
        self._kept: BoundedCache[_CardKey, tuple[int, WeekFigures | None]] = BoundedCache(MAX_KEPT)
        self._shares = heavy_shares("cards of rows are being made")

    async def public_view(self, account: str, source: str) -> View | None:
        """Return a source whose cards anybody may read, by the name of its account; ``None`` where there is none."""
        account_id = await self._database.promptly(self._database.storage.accounts.find, account)
        # By what is stored, before an index is made for a stranger.
        if (
            account_id is None
            or not (await settings_now(self._database, account_id, source)).of(RowSettings).public_cards
        ):
            return None
        try:
            view = await self._views.view(account_id, source)
        except UnknownSource:
            return None
        return view if view.settings.of(RowSettings).public_cards else None

    async def figures(self, view: View, name: str) -> CardFigures | None:
        """Return the figures of a row; ``None`` where there is none of this name.

        Raises:
            Overloaded: too many cards are being made.
        """
        number = source_id(view.head.account_id, view.head.name)
        rows = await self._database.promptly(self._database.storage.store(PlacementStore).list_versions, number, name)
        if not rows:
            return None
        versions = [read_row(row) for row in rows]
        pinned = frozenset(pin.piece_id for each in versions for pin in each.spec.rules.pins or ())
        weeks = [await self._week(view, versions[0], first, pinned) for first in self._first_days(view)]
        return CardFigures(
            placement=versions[0],
            since=rows[-1].recorded_at,
            changed_at=rows[0].recorded_at,
            weeks=[each for each in weeks if each is not None],
        )

    def _first_days(self, view: View) -> list[int]:
        """Return the first days of the weeks that are over and kept, the newest first."""
        today = self._clock.today()
        latest = today - (today - _MONDAY) % _WEEK - _WEEK
        oldest = today - min(IMPRESSION_DAYS, view.settings.retention_days)
        return [first for first in range(latest, latest - WEEKS * _WEEK, -_WEEK) if first >= oldest]

    async def _week(
        self, view: View, placement: PlacementInForce, first: int, pinned: frozenset[str]
    ) -> WeekFigures | None:
        head, now = view.head, self._clock.now_ms()
        key = _CardKey(head.source_id, head.incarnation, head.epoch, placement.name, placement.version, first)
        kept = self._kept.get(key)
        if kept is not None and now - kept[0] < FRESH_MS:
            return kept[1]
        audience = await self._inputs.audience(view, now, 0)
        popularity = popular_at(view, now, audience)
        async with self._shares.turn(head.account_id):
            figures = await self._database.in_thread(self._measured, view, placement.name, first, pinned, popularity)
        self._kept.put(key, (now, figures))
        return figures

    def _measured(
        self, view: View, name: str, first: int, pinned: frozenset[str], popularity: Popularity
    ) -> WeekFigures | None:
        """Return the figures of a week; ``None`` where it was shown to too few people to tell any."""
        head, storage = view.head, self._database.storage
        times = (first * DAY_MS, (first + _WEEK) * DAY_MS)
        shown, is_whole = storage.store(ImpressionStore).shown_between(
            head.source_id, head.incarnation, name, times, limit=MAX_SHOWN
        )
        if not shown or not _is_told(each.person for each in shown):
            return None
        free = [each for each in shown if each.piece_id not in pinned]
        counts = Counter(each.piece_id for each in free)
        located = _LocatedCounts.of(view, counts)
        known, shares = located.part_of >= 0, np.zeros(len(counts))
        for number in range(len(view.snapshot.parts)):
            own = located.part_of == number
            shares[own] = popularity.shares[number][located.rows[own]]
        return WeekFigures(
            first_day=first,
            last_day=first + _WEEK - 1,
            shown=len(free),
            pinned=len(shown) - len(free),
            is_whole=is_whole,
            coverage=_rounded(int(known.sum()) / max(1, view.snapshot.piece_count)),
            popularity=_mean(shares[known], located.amounts[known]),
            newness=_newness(view, located, times[1] - NEW_DAYS * DAY_MS),
            diversity=_diversity(view, free),
            shares=self._shares_by_attribute(view, free, counts),
        )

    def _shares_by_attribute(
        self, view: View, shown: Sequence[ShownPiece], counts: Counter[str]
    ) -> dict[str, dict[str, float]]:
        """Return of each attribute that has words which part of what was shown has each of its commonest values."""
        attributes = {key: each for key, each in view.settings.attributes.items() if each.type in _TOLD_TYPES}
        if not attributes:
            return {}
        ids = [piece_id for piece_id, _ in counts.most_common(MAX_PIECES)]
        bodies = self._database.storage.pieces.read_some(view.head.account_id, view.head.name, ids)
        people: dict[str, list[bytes]] = defaultdict(list)
        for each in shown:
            people[each.piece_id].append(each.person)
        return {
            key: _value_shares(attribute, bodies, people, len(shown))
            for key, attribute in attributes.items()
            if len(shown)
        }


def _value_shares(
    attribute: Attribute, bodies: Mapping[str, bytes], people: Mapping[str, Sequence[bytes]], total: int
) -> dict[str, float]:
    (own,) = numbered([attribute])
    seen_by: dict[str, list[bytes]] = defaultdict(list)
    for piece_id, body in bodies.items():
        for mark in decode_stored_marks(body, [own]):
            seen_by[mark[1:]].extend(people[piece_id])
    told = {value: len(seen) / total for value, seen in seen_by.items() if _is_told(seen)}
    best = sorted(told, key=lambda value: (-told[value], value))[:MAX_VALUES]
    names = {"0": "false", "1": "true"} if attribute.type is AttributeType.BOOLEAN else {}
    return {names.get(value, value): _rounded(told[value]) for value in best}


def _is_told(people: Iterable[bytes]) -> bool:
    """Return whether enough different people are among these, or none who is known: then it is about nobody."""
    known = {person for person in people if person}
    return not known or len(known) >= LEAST_PEOPLE


def _diversity(view: View, shown: Sequence[ShownPiece]) -> float | None:
    """Return the mean distance of two pieces in a list, 1 - |A and B| / |A or B| of their keywords."""
    lists: dict[bytes, list[str]] = defaultdict(list)
    for each in shown:
        lists[each.list_key].append(each.piece_id)
    chosen = [ids[:MAX_LISTED] for _, ids in sorted(lists.items()) if len(ids) > 1]
    chosen = chosen[:: max(1, -(-len(chosen) // MAX_LISTS))]
    return variety_of(view, chosen)


def newness_of(view: View, counts: Mapping[str, int], since: int) -> float | None:
    """Return which part of what was shown is of pieces available since a moment; ``None`` where none is known."""
    return _newness(view, _LocatedCounts.of(view, counts), since)


class _LocatedCounts(NamedTuple):
    """How often pieces were shown, and where they are: a part, -1 for those that are gone, and a row of it."""

    amounts: FloatArray
    part_of: IntArray
    rows: IntArray

    @classmethod
    def of(cls, view: View, counts: Mapping[str, int]) -> Self:
        ids = Strings.of(sorted(counts))
        amounts = np.asarray([counts[piece_id] for piece_id in ids], dtype=np.float64)
        return cls(amounts, *view.snapshot.locate(ids))


def _newness(view: View, located: _LocatedCounts, since: int) -> float | None:
    made = np.zeros(len(located.amounts), dtype=np.int64)
    for number, part in enumerate(view.snapshot.parts):
        own = located.part_of == number
        made[own] = part.segment.available_from[located.rows[own]]
    known = located.part_of >= 0
    return _mean((made[known] >= since).astype(np.float64), located.amounts[known])


def variety_of(view: View, lists: Iterable[Sequence[str]]) -> float | None:
    """Return the mean over lists of the mean distance of two of their pieces; ``None`` where no list has two."""
    lists = list(lists)
    every = {piece_id for ids in lists for piece_id in ids}
    terms = {piece_id: frozenset(view.snapshot.terms_of(piece_id) or ()) for piece_id in every}
    means = []
    for ids in lists:
        pairs = [(terms[one], terms[other]) for one, other in combinations(ids, 2) if terms[one] and terms[other]]
        if pairs:
            means.append(sum(1 - len(one & other) / len(one | other) for one, other in pairs) / len(pairs))
    return _rounded(sum(means) / len(means)) if means else None


def _mean(values: FloatArray, amounts: FloatArray) -> float | None:
    return _rounded(float(np.average(values, weights=amounts))) if amounts.sum() else None


def _rounded(number: float) -> float:
    return round(number, DIGITS)


async def read_card(cards: Cards, view: View, name: str) -> PlacementCard[str]:
    """Return the card of a row: words and figures.

    Raises:
        UnknownPlacement: there is none of this name.
        Overloaded: too many cards are being made.
    """
    figures = await cards.figures(view, name)
    if figures is None:
        raise UnknownPlacement(f"The source has no placement {name!r}.")
    spec, settings = figures.placement.spec, view.settings
    told = {key: spec.members[key] for key in ("title", "purpose") if key in spec.members}
    return PlacementCard(
        placement=name,
        kind=spec.rules.kind,
        since=format_timestamp(figures.since),
        changed_at=format_timestamp(figures.changed_at),
        counts=[CardPart(part=part, share=share) for part, share in parts_of(spec.rules, settings)],
        rules=rules_in_words(spec),
        uses=data_in_words(spec.rules, settings),
        retention_days=settings.retention_days,
        control=control_in_words(spec.rules),
        least_people=LEAST_PEOPLE,
        weeks=[_card_week(each) for each in figures.weeks],
        **told,
    )


def _card_week(figures: WeekFigures) -> CardWeek:
    return CardWeek(
        first=format_day(figures.first_day),
        last=format_day(figures.last_day),
        shown=figures.shown,
        pinned=figures.pinned,
        complete=figures.is_whole,
        coverage=figures.coverage,
        popularity=figures.popularity,
        newness=figures.newness,
        diversity=figures.diversity,
        shares={key: dict(values) for key, values in figures.shares.items()},
    )
