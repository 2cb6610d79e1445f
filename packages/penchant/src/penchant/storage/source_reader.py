"""One source as it is read in one transaction: its row, pieces, lists, feeds and export, as rows and streams."""

import contextlib
import functools
import itertools
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, CursorResult, select
from sqlalchemy.sql import Select

from penchant.errors import UnknownSource
from penchant.model import EncodedPiece, ListKind
from penchant.storage import statements
from penchant.storage.bodies import BodyReader
from penchant.storage.databases.connections import driver_errors
from penchant.storage.databases.opening import Transactions
from penchant.storage.hashing import source_id
from penchant.storage.interaction_pages import (
    InteractionColumns,
    InteractionPage,
    interaction_pages,
    piece_ids,
    user_ids,
)
from penchant.storage.records import (
    ChangeListing,
    ContentFeed,
    Erasure,
    FeedCursor,
    InteractionChange,
    InteractionsFeed,
    KeywordRules,
    PieceChange,
    PieceListing,
    PieceText,
    SourceCuration,
    SourceExport,
    SourceHead,
)
from penchant.storage.schema import (
    ERASURE_CODE,
    TYPES,
    interactions,
    lists,
    pieces,
    preferences,
    sources,
)
from penchant.storage.secrets import ERASURES, read_secret, reveal_key
from penchant_engine.model import WHOLE, StoredInteraction, counted_portion

BATCH_ROWS = 1000
"""Rows that a stream of small rows holds at a time."""
BODY_ROWS = 50
"""Pieces that a listing holds at a time: bodies may be large, and a slow client holds a few batches."""


def to_head(row: Sequence[Any] | None, account_id: int, name: str) -> SourceHead | None:
    """Return the head in a row of `statements.HEAD`; ``None`` for a deleted source or another one's row."""
    # The columns of a `SourceHead` are the first eleven; the twelfth says whether the source is deleted. The name is
    # compared, since two names may have the same number.
    if row is None or row[11] or row[1] != account_id or row[2] != name:
        return None
    return tuple.__new__(SourceHead, row[:11])


def rules_of(row: Any) -> KeywordRules:
    """Return the rules of words in a row of `statements.HEAD`."""
    return KeywordRules(bytes(row.words or b""), bytes(row.words_wanted or b""))


class SourceReader:
    """One read transaction over a source: its row first, then its pieces, lists and interactions.

    All is of one moment, that of the first read, so that what is read belongs to the versions of `head`. A batch of
    a stream may be read in another thread, by one at a time.
    """

    def __init__(self, connection: Connection, account_id: int, name: str, transactions: Transactions) -> None:
        row = connection.execute(statements.HEAD, {"source_id": source_id(account_id, name)}).one_or_none()
        head = to_head(row, account_id, name)
        if row is None or head is None:
            raise UnknownSource("The account has no source of this name; the first submission makes it.")
        self.head = head
        self._connection = connection
        self._row = row
        self._bodies = BodyReader(connection, head.source_id, transactions.dictionaries)
        self._outages = transactions.database.outages
        self._parts = transactions.database.parts
        self._streams = contextlib.ExitStack()

    @property
    def rules(self) -> KeywordRules:
        """By which rules the pieces have words."""
        return rules_of(self._row)

    def close(self) -> None:
        """End what is still being read: a stream that nobody reads to its end would outlive its connection."""
        self._streams.close()

    def body(self, piece_id: str) -> bytes | None:
        """Return the body of a live piece."""
        statement = self._live(select(pieces.c.codec, pieces.c.body)).where(pieces.c.piece_id == piece_id)
        row = self._connection.execute(statement).one_or_none()
        return None if row is None else self._bodies.read(row.codec, row.body)

    def listing(self, *, skip: int, limit: int | None, bodies: bool) -> PieceListing:
        """Return a page of live pieces, ascending by id; without ``bodies`` these are empty."""
        columns = (pieces.c.piece_id, pieces.c.codec, pieces.c.body) if bodies else (pieces.c.piece_id,)
        statement = self._live(select(*columns)).order_by(pieces.c.piece_id).offset(skip or None).limit(limit)

        def batches() -> Iterator[Sequence[EncodedPiece]]:
            for rows in self._stream(statement, BODY_ROWS if bodies else BATCH_ROWS):
                yield [
                    EncodedPiece(id=row[0], body=self._bodies.read(row[1], row[2]) if bodies else b"") for row in rows
                ]

        return PieceListing(head=self.head, batches=batches(), cut=functools.partial(_cut, self._connection))

    def pieces(self, ids: Sequence[str]) -> dict[str, EncodedPiece]:
        """Return live pieces by id, of a thousand ids at most, with what is kept of words; other ids are left out."""
        columns = (pieces.c.piece_id, pieces.c.codec, pieces.c.body, pieces.c.words)
        statement = self._live(select(*columns), statements.version_of_one)
        return {
            row[0]: EncodedPiece(id=row[0], body=self._bodies.read(row[1], row[2]), words=bytes(row[3] or b""))
            for row in self._connection.execute(statement.where(pieces.c.piece_id.in_(ids)))
        }

    def following(self, *, start: str, after: str | None, limit: int) -> Iterator[Sequence[EncodedPiece]]:
        """Yield up to ``limit`` live pieces from the id ``start`` on, and past the id ``after``, ascending."""
        statement = self._live(select(pieces.c.piece_id, pieces.c.codec, pieces.c.body))
        statement = statement.where(pieces.c.piece_id >= start)
        if after is not None:
            statement = statement.where(pieces.c.piece_id > after)
        for rows in self._stream(statement.order_by(pieces.c.piece_id).limit(limit), min(limit, BATCH_ROWS)):
            yield [EncodedPiece(id=row[0], body=self._bodies.read(row[1], row[2])) for row in rows]

    def newest(self, limit: int) -> Iterator[bytes]:
        """Yield the bodies of up to ``limit`` live pieces that were submitted last, the latest first."""
        statement = self._live(select(pieces.c.codec, pieces.c.body)).order_by(pieces.c.version.desc()).limit(limit)
        for rows in self._stream(statement, BODY_ROWS):
            yield from (self._bodies.read(row[0], row[1]) for row in rows)

    def texts(self, after: str, limit: int) -> list[PieceText]:
        """Return up to ``limit`` live pieces past an id, ascending, with what is kept of their words."""
        columns = (pieces.c.piece_id, pieces.c.version, pieces.c.codec, pieces.c.body, pieces.c.words)
        statement = self._live(select(*columns)).where(pieces.c.piece_id > after).order_by(pieces.c.piece_id)
        return [
            PieceText(row[0], row[1], self._bodies.read(row[2], row[3]), bytes(row[4] or b""))
            for row in self._connection.execute(statement.limit(limit))
        ]

    def curation(self) -> SourceCuration:
        """Return the lists, the settings, and what parts keep beside them."""
        statement = (
            select(lists.c.kind, lists.c.piece_id)
            .where(lists.c.source_id == self.head.source_id)
            .order_by(lists.c.position)
        )
        listed: dict[str, list[str]] = {kind.value: [] for kind in ListKind}
        for kind, piece_id in self._connection.execute(statement):
            listed[kind].append(piece_id)
        return SourceCuration(
            whitelist=tuple(listed[ListKind.WHITELIST.value]),
            blacklist=tuple(listed[ListKind.BLACKLIST.value]),
            settings=stored_settings(self._connection, self.head.source_id),
            words=self.rules.in_force,
            parts=self._read_parts(),
        )

    def _read_parts(self) -> dict[str, Any]:
        parts = ((part.name, part.follow) for part in self._parts if part.follow is not None)
        return {name: follow(self._connection, self.head.source_id) for name, follow in parts}

    def content_feed(self, cursor: FeedCursor | None) -> ContentFeed:
        """Return the content's changes after a cursor, or all live pieces where it no longer leads on."""
        complete = not self._leads_on(cursor, self.head.version, self._row.cleared_at, self._row.purged_below)
        columns = (
            pieces.c.piece_id,
            pieces.c.deleted,
            pieces.c.first_submitted_at,
            pieces.c.codec,
            pieces.c.body,
            pieces.c.words,
        )
        if complete or cursor is None:
            statement = self._live(select(*columns))
        else:
            # Deleted pieces too: these are what a follower has to remove. None is cleared, as `_leads_on` has seen.
            statement = select(*columns).where(
                pieces.c.source_id == self.head.source_id, pieces.c.version > cursor.version
            )

        return ContentFeed(
            head=self.head,
            complete=complete,
            curation=self.curation(),
            batches=self._changes(statement),
            live=lambda: self._changes(self._live(select(*columns))),
        )

    def _changes(self, statement: Select[Any]) -> Iterator[Sequence[PieceChange]]:
        with driver_errors(self._outages):
            result = self._streamed(statement, BATCH_ROWS)
            # As the driver gives them: a row of SQLAlchemy's for each takes as long as the database does for it.
            while rows := result.cursor_strategy.fetchmany(result, result.cursor, BATCH_ROWS):
                ids, deleted, moments, codecs, bodies, words = zip(*rows, strict=True)
                read = self._bodies.read_all(codecs, bodies)
                yield list(map(PieceChange, ids, map(bool, deleted), moments, read, words))

    def changes(self, cursor: FeedCursor | None) -> ChangeListing:
        """Return the changes of the pieces after a cursor, or all live pieces where it no longer leads on."""
        feed = self.content_feed(cursor)
        cut = functools.partial(_cut, self._connection)
        return ChangeListing(head=feed.head, complete=feed.complete, batches=feed.batches, cut=cut)

    def interactions_feed(self, cursor: FeedCursor | None) -> InteractionsFeed:
        """Return the interactions after a cursor, ascending by version."""
        cleared_at = self._row.interactions_cleared_at
        complete = not self._leads_on(
            cursor, self.head.interactions_version, cleared_at, self._row.interactions_purged_below
        )
        # What is complete begins above what is cleared: rows below may still be there.
        after = cleared_at if complete or cursor is None else cursor.version
        # Only where somebody was erased: most feeds have one interaction.
        secret = functools.cache(lambda: read_secret(self._connection, ERASURES))

        def batches() -> Iterator[Sequence[InteractionChange | Erasure]]:
            for rows in self._stream(statements.FEED, source=self.head.source_id, after=after):
                yield _interaction_changes(rows, secret)

        return InteractionsFeed(
            head=self.head,
            complete=complete,
            batches=batches(),
            after=after,
            pages=self._pages,
            piece_ids=functools.partial(piece_ids, self._connection, self.head.source_id),
        )

    def _pages(self, after: int, until: int) -> Iterator[InteractionPage]:
        # Their reader may be outside of what translates the errors of this transaction.
        with driver_errors(self._outages):
            yield from interaction_pages(self._connection, self.head.source_id, after, until)

    def export(self) -> SourceExport:
        """Return everything but what was erased or deleted."""
        pieces = self.listing(skip=0, limit=None, bodies=True).batches
        return SourceExport(
            head=self.head,
            curation=self.curation(),
            pieces=pieces,
            interactions=self._interactions,
            columns=InteractionColumns(
                self._pages(self._row.interactions_cleared_at, self.head.interactions_version),
                functools.partial(user_ids, self._connection, self.head.source_id),
                functools.partial(piece_ids, self._connection, self.head.source_id),
            ),
            preferences=self._preferences(),
            read=lambda read: read(self._connection, self.head.source_id),
        )

    def _preferences(self) -> Iterator[Sequence[tuple[str, bytes]]]:
        """Yield people's ids with their preferences as stored JSON, ascending by id."""
        statement = (
            select(preferences.c.user_id, preferences.c.body)
            .where(
                preferences.c.source_id == self.head.source_id,
                preferences.c.version > self._row.interactions_cleared_at,
            )
            .order_by(preferences.c.user_id)
        )
        for rows in self._stream(statement):
            yield [(row[0], bytes(row[1])) for row in rows]

    def _interactions(self, since: int) -> Iterator[Sequence[StoredInteraction]]:
        """Yield the interactions from a moment on, ascending by time; erasures are none."""
        statement = (
            select(interactions.c.user_id, *statements.INTERACTION)
            .where(
                interactions.c.source_id == self.head.source_id,
                interactions.c.version > self._row.interactions_cleared_at,
                interactions.c.type != ERASURE_CODE,
                interactions.c.occurred_at >= since,
            )
            .order_by(interactions.c.occurred_at, interactions.c.version)
        )
        for rows in self._stream(statement):
            yield list(itertools.starmap(statements.to_interaction, rows))

    def _leads_on(self, cursor: FeedCursor | None, version: int, cleared_at: int, purged_below: int) -> bool:
        """Return whether the rows after a cursor are all that its follower needs; otherwise it starts from nothing.

        They are not where the history is another one (incarnation, epoch), where rows that it must have heard of are
        gone (cleared, or purged tombstones and erasures), and where it is ahead of a database that was set back.
        """
        return (
            cursor is not None
            and (cursor.incarnation, cursor.epoch) == (self.head.incarnation, self.head.epoch)
            and max(cleared_at, purged_below) <= cursor.version <= version
        )

    def _live(self, statement: Select[Any], version: ColumnElement[int] | None = None) -> Select[Any]:
        return statement.where(
            pieces.c.source_id == self.head.source_id,
            pieces.c.deleted.is_(False),
            (pieces.c.version if version is None else version) > self._row.cleared_at,
        )

    def _stream(self, statement: Select[Any], rows: int = BATCH_ROWS, **values: int) -> Iterator[Sequence[Any]]:
        # Its reader is often outside of what translates the errors of this transaction.
        with driver_errors(self._outages):
            yield from self._streamed(statement, rows, **values).partitions()

    def _streamed(self, statement: Select[Any], rows: int, **values: int) -> CursorResult[Any]:
        result = self._connection.execution_options(yield_per=rows).execute(statement, values)
        self._streams.callback(result.close)
        return result


def _interaction_changes(
    rows: Sequence[Sequence[Any]], secret: Callable[[], bytes]
) -> list[InteractionChange | Erasure]:
    return [
        Erasure(version=version, user_key=reveal_key(secret(), bytes(user_key), bytes(piece_key)))
        if code == ERASURE_CODE
        else InteractionChange(
            version,
            bytes(user_key),
            piece_id,
            TYPES[code],
            occurred_at,
            WHOLE if portion is None else counted_portion(TYPES[code], portion),
        )
        for version, user_key, piece_key, piece_id, code, occurred_at, portion in rows
        if portion != 0 or TYPES[code].is_rating
    ]


def _cut(connection: Connection) -> None:
    """Shut the socket down under the driver, which may be waiting for it in another thread."""
    driver = connection.connection.driver_connection
    number = getattr(driver, "fileno", None)  # a file's connection has none
    with contextlib.suppress(OSError, connection.dialect.loaded_dbapi.Error):
        if number is not None:
            # A duplicate of the descriptor: closing it leaves the driver's open, while the shutdown reaches both.
            with socket.socket(fileno=os.dup(number())) as shared:
                shared.shutdown(socket.SHUT_RDWR)


def stored_settings(connection: Connection, source_id: int) -> bytes:
    """Return the settings of a source as they are stored; empty for the defaults, and where there is none."""
    statement = select(sources.c.settings).where(sources.c.source_id == source_id)
    return bytes(connection.execute(statement).scalar_one_or_none() or b"")
