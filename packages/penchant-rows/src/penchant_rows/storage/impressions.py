"""Impressions as they are stored: what a person was shown, and what placements showed and what came of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, and_, case, func, select

from penchant.storage.databases.opening import Transactions
from penchant.storage.hashing import list_person, user_key
from penchant.storage.secrets import LIST_IDS, read_secret
from penchant_engine.model import InteractionType
from penchant_rows.model import StoredImpression
from penchant_rows.storage.impression_ledger import SUCCESSES, first_key, made_at_of
from penchant_rows.storage.placement_counts import CountsTable, PlacementDay, counts_by_day, read_counts
from penchant_rows.storage.tables import impressions, placement_pieces

SLICES = 168
"""Parts of a time of which some are read where all is too much: the hours of a week."""
STREAMED_ROWS = 5_000
"""Impressions of everybody that are in memory at a time: a megabyte or two."""


class PlacementCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a placement over some days; ``pieces`` is how many different ones each variant has shown.

    A piece counts there whose days, from the first to the last on which it was shown, meet the days that are counted.
    """

    table: CountsTable
    pieces: Mapping[str, int]


class ShownPiece(NamedTuple):
    """A piece that a list showed; of a list for nobody in particular the person is empty."""

    list_key: bytes
    person: bytes
    piece_id: str


PLAYS = 1 << InteractionType.PLAY.code | 1 << InteractionType.WATCH.code
"""The bits of the types of interaction by which a piece is played."""


class ShownCount(NamedTuple):
    """How often lists showed a piece, how often that led to something, and how often to its being played."""

    shown: int
    successes: int
    played: int = 0


class ShownCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What lists that were made from a moment on showed, by piece; ``since`` is a later one where all is too much."""

    since: int
    pieces: Mapping[str, ShownCount]


def _shown_rows(own: ColumnElement[bool], since: int, until: int) -> Select[Any]:
    """Select what lists showed that were made from one moment until before another, as the primary key has it."""
    columns = impressions.c
    statement = select(columns.list_key, columns.person, columns.piece_id, columns.placement)
    between = (columns.list_key >= first_key(since)) & (columns.list_key < first_key(until))
    return statement.where(own, between).order_by(columns.list_key, columns.piece_key)


class ImpressionStore:
    """What was shown in all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_of_person(
        self, source_id: int, incarnation: int, user_id: str, since: int, lists: int | None = None
    ) -> list[StoredImpression]:
        """Return what a person was shown in lists that were made since a moment, newest list first.

        Of the newest ``lists`` at most, if that is given.
        """
        rows = self._rows_of_person(source_id, incarnation, user_id, since, lists=lists)
        return [
            StoredImpression(
                placement=row.placement,
                variant=row.variant,
                piece_id=row.piece_id,
                position=row.position,
                made_at=made_at_of(row.list_key),
                shown_at=row.shown_at,
                led_to=tuple(kind for kind in InteractionType if row.led_to & 1 << kind.code),
            )
            for row in rows
        ]

    def passed_over(
        self, source_id: int, incarnation: int, user_id: str, placement: str, *, since: int, limit: int
    ) -> Mapping[str, int]:
        """Return how often a person was shown each piece in lists of a placement, and did nothing with it since.

        By the latest ``limit`` pieces in lists that were made since a moment. A piece that led to something is counted
        anew from the next list on.
        """
        rows = self._rows_of_person(source_id, incarnation, user_id, since, impressions.c.placement == placement)
        return _passed_over(rows[:limit])

    def passed_over_by_all(
        self, source_id: int, incarnation: int, user_ids: Iterable[str], placement: str, *, since: int, limit: int
    ) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield `passed_over` of each of these people who was shown something, one person at a time in memory."""
        shown = _shown_to_known(source_id, incarnation, placement, since)
        statement = select(impressions).where(shown).order_by(impressions.c.person)
        with self._transactions.read() as connection:
            secret = read_secret(connection, LIST_IDS)
            people = {list_person(secret, user_key(source_id, each)): each for each in user_ids} if secret else {}
            result = connection.execution_options(yield_per=STREAMED_ROWS).execute(statement)
            for person, rows in groupby(result, key=lambda row: bytes(row.person)):
                user_id = people.get(person)
                if user_id is not None:
                    yield user_id, _passed_over(_newest_first(rows)[:limit])

    def outcomes_by_person(
        self, source_id: int, incarnation: int, placement: str, since: int
    ) -> list[tuple[str, int, int]]:
        """Return, for each person and variant, the variant, how many pieces were shown and how many led to something.

        Of lists of a placement that were made since a moment, for people who are known.
        """
        has_led = (impressions.c.led_to.op("&")(SUCCESSES) != 0) & ~impressions.c.repeated
        led = case((has_led, 1), else_=0)
        statement = (
            select(impressions.c.variant, func.count(), func.sum(led))
            .where(_shown_to_known(source_id, incarnation, placement, since))
            .group_by(impressions.c.person, impressions.c.variant)
        )
        with self._transactions.read() as connection:
            return [(variant, int(shown), int(led)) for variant, shown, led in connection.execute(statement)]

    def read_counts(self, source_id: int, incarnation: int, placement: str, days: tuple[int, int]) -> PlacementCounts:
        """Return the counts of a placement from one UTC day to another, both included, all of one moment."""
        first, last = days
        own = (placement_pieces.c.source_id == source_id) & (placement_pieces.c.incarnation == incarnation)
        own &= placement_pieces.c.placement == placement
        shown = select(placement_pieces.c.variant, func.count()).where(
            own, placement_pieces.c.last_day >= first, placement_pieces.c.first_day <= last
        )
        with self._transactions.read() as connection:
            table = read_counts(connection, source_id, incarnation, placement, days)
            pieces = connection.execute(shown.group_by(placement_pieces.c.variant)).all()
        return PlacementCounts(table=table, pieces={row[0]: row[1] for row in pieces})

    def shown_between(
        self, source_id: int, incarnation: int, placement: str, times: tuple[int, int], *, limit: int
    ) -> tuple[list[ShownPiece], bool]:
        """Return what lists of a placement that were made from one moment until before another showed, and whether all.

        ``limit`` rows of the source are read at most. Where there are more an equal part of them is of each of
        `SLICES` times of equal length, its first ones.
        """
        begins, ends = times
        own = (impressions.c.source_id == source_id) & (impressions.c.incarnation == incarnation)
        edges = [begins + (ends - begins) * number // SLICES for number in range(SLICES + 1)]
        with self._transactions.read() as connection:
            rows = connection.execute(_shown_rows(own, begins, ends).limit(limit + 1)).all()
            is_whole = len(rows) <= limit
            if not is_whole:
                rows = [
                    row
                    for since, until in pairwise(edges)
                    for row in connection.execute(_shown_rows(own, since, until).limit(limit // SLICES))
                ]
        shown = [ShownPiece(bytes(row[0]), bytes(row[1]), row[2]) for row in rows if row[3] == placement]
        return shown, is_whole

    def seen_since(self, source_id: int, incarnation: int, since: int, *, limit: int) -> ShownCounts:
        """Return what lists of a source that were made since a moment showed, by the newest ``limit`` impressions."""
        columns = impressions.c
        own = (columns.source_id == source_id) & (columns.incarnation == incarnation)
        newest = (
            select(columns.list_key, columns.piece_id, columns.led_to, columns.repeated)
            .where(own, columns.list_key >= first_key(since))
            .order_by(columns.list_key.desc())
            .limit(limit)
            .subquery()
        )
        has_led = (newest.c.led_to.op("&")(SUCCESSES) != 0) & ~newest.c.repeated
        was_played = (newest.c.led_to.op("&")(PLAYS) != 0) & ~newest.c.repeated
        counts = [func.sum(case((each, 1), else_=0)) for each in (has_led, was_played)]
        statement = select(newest.c.piece_id, func.count(), *counts).group_by(newest.c.piece_id)
        with self._transactions.read() as connection:
            rows = connection.execute(statement).all()
            total = sum(row[1] for row in rows)
            oldest = connection.execute(select(func.min(newest.c.list_key))).scalar() if total == limit else None
        begun = since if oldest is None else made_at_of(oldest)
        return ShownCounts(since=begun, pieces={row[0]: ShownCount(*map(int, row[1:])) for row in rows})

    def count_by_day(
        self, source_id: int, incarnation: int, days: tuple[int, int], kinds: Sequence[int], *, limit: int
    ) -> list[PlacementDay]:
        """Return what each placement did on UTC days from one to another, of some kinds (`counts_by_day`).

        Of ``limit`` rows of counts at most, those of the latest days.
        """
        with self._transactions.read() as connection:
            return counts_by_day(connection, source_id, incarnation, days, kinds, limit)

    def _rows_of_person(
        self,
        source_id: int,
        incarnation: int,
        user_id: str,
        since: int,
        *conditions: ColumnElement[bool],
        lists: int | None = None,
    ) -> list[Any]:
        """Return a person's impressions of lists since a moment, of the newest list first, in the order of the list.

        Chosen and sorted here: by keys of lists SQLite would read what everybody was shown, and not this person alone.
        """
        oldest = first_key(since)
        with self._transactions.read() as connection:
            person = list_person(read_secret(connection, LIST_IDS), user_key(source_id, user_id))
            own = and_(
                impressions.c.source_id == source_id,
                impressions.c.person == person,
                impressions.c.incarnation == incarnation,
                *conditions,
            )
            statement = select(impressions).where(own)
            if lists is not None:
                # Materialized, for the reason above: the limit alone would have SQLite go by keys of lists.
                keys = select(impressions.c.list_key).where(own).cte().prefix_with("MATERIALIZED")
                newest = select(keys.c.list_key).distinct().order_by(keys.c.list_key.desc()).limit(lists)
                statement = statement.where(impressions.c.list_key.in_(newest))
            return _newest_first(row for row in connection.execute(statement) if bytes(row.list_key) >= oldest)


def _shown_to_known(source_id: int, incarnation: int, placement: str, since: int) -> ColumnElement[bool]:
    """Select what lists of a placement that were made since a moment showed to people who are known."""
    return and_(
        impressions.c.source_id == source_id,
        impressions.c.incarnation == incarnation,
        impressions.c.placement == placement,
        impressions.c.list_key >= first_key(since),
        impressions.c.person != b"",
    )


def _newest_first(rows: Iterable[Any]) -> list[Any]:
    """Return impressions of the newest list first, in the order of the list, those of one position by their key."""
    ordered = sorted(rows, key=lambda row: (row.position, bytes(row.piece_key)))
    ordered.sort(key=lambda row: bytes(row.list_key), reverse=True)
    return ordered


def _passed_over(rows: Iterable[Any]) -> Mapping[str, int]:
    """Return how often each piece of these, newest first, led to nothing, and to nothing later."""
    counts: Counter[str] = Counter()
    taken: set[str] = set()
    for row in rows:
        if row.led_to:
            taken.add(row.piece_id)
        elif row.piece_id not in taken:
            counts[row.piece_id] += 1
    return counts
