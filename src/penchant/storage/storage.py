"""The one door to what is stored: reads now, changes through the lanes of group commit.

Synchronous and safe for threads. It knows no HTTP, no index, and no clock but the one that stamps changes.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

from sqlalchemy import Connection, text

from penchant.errors import PenchantError, StorageUnavailable
from penchant.model import EncodedPiece, Interaction
from penchant.storage import access, maintenance, reads
from penchant.storage.bodies import Dictionaries
from penchant.storage.connections import connections_in_use
from penchant.storage.group_commit import Grouping, Lane, in_source_order, is_interactions, now_ms
from penchant.storage.hashing import source_id
from penchant.storage.opening import AnyDatabase, open_database
from penchant.storage.postgresql import Pooling
from penchant.storage.records import (
    AccountUsage,
    AuditEntry,
    Command,
    ContentFeed,
    Curation,
    Cursor,
    EraseUser,
    Export,
    InteractionQuery,
    InteractionsFeed,
    KeyRecord,
    Listing,
    Outcome,
    RecordInteractions,
    SourceHead,
)
from penchant.storage.translation import driver_errors
from penchant.storage.writes import Writing
from penchant.telemetry import Metrics

PURGE_CHUNK = 1_000
"""Rows of a kind and source that one step of housekeeping removes."""


class Storage:
    """An open database."""

    def __init__(self, database: AnyDatabase, metrics: Metrics | None = None) -> None:
        self._database = database
        self._dictionaries = Dictionaries()
        grouping = Grouping(self._transact)
        self._content = Lane("content", grouping.carry_out, metrics)
        self._interactions = Lane("interactions", grouping.carry_out, metrics)

    @property
    def quick_reads(self) -> bool:
        """Whether a read takes microseconds, so that an event loop may do it itself."""
        return self._database.quick_reads

    @property
    def queued(self) -> dict[str, tuple[int, int]]:
        """How many changes wait in each lane, and the size of their bodies."""
        return {"content": self._content.queued, "interactions": self._interactions.queued}

    @property
    def connections(self) -> int:
        """How many connections are in use."""
        return connections_in_use(self._database.engines)

    def close(self) -> None:
        """Commit what is queued and close every connection."""
        self._content.close()
        self._interactions.close()
        self._database.close()

    def ping(self) -> None:
        """Raise `StorageUnavailable` unless the database answers."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    # Changes.

    def submit(self, command: Command) -> Future[Outcome]:
        """Queue a command; its future is done once its group is committed and synced to disk.

        Raises:
            Overloaded: too much is queued already.
        """
        lane = self._interactions if is_interactions(command) else self._content
        return lane.submit(command)

    def _transact(self, commands: Sequence[Command]) -> list[Outcome | PenchantError]:
        """Carry out commands in one transaction; those that may not be done are answered with their error."""
        outcomes: dict[int, Outcome | PenchantError] = {}
        with driver_errors(), self._database.exclusive():
            with self._database.writing_engine.begin() as connection:
                writing = Writing(connection, self._database, self._dictionaries, now_ms())
                for places in in_source_order(commands):
                    outcomes |= zip(places, _carried_out(writing, [commands[place] for place in places]), strict=True)
            if any(isinstance(command, EraseUser) for command in commands):
                self._database.forget_log()
        return [outcomes[place] for place in range(len(commands))]

    # Reads of a source.

    def head(self, account_id: int, source: str) -> SourceHead | None:
        """Return where a source stands; ``None`` for one that does not exist. Read before every answer."""
        with driver_errors():
            return reads.to_head(self._database.head_row(source_id(account_id, source)), account_id, source)

    def heads(self, names: Sequence[tuple[int, str]]) -> list[SourceHead | None]:
        """Return where several sources, as account and name, stand; ``None`` for those that do not exist."""
        numbers = [source_id(*name) for name in names]
        with driver_errors():
            rows = {row[0]: row for row in self._database.head_rows(numbers)}
        return [reads.to_head(rows.get(number), *name) for number, name in zip(numbers, names, strict=True)]

    def read_piece(self, account_id: int, source: str, piece_id: str) -> tuple[SourceHead, bytes | None]:
        """Return a piece's body, ``None`` for an unknown one, with the head it was read at."""
        with self._reading(account_id, source) as reading:
            return reading.head, reading.body(piece_id)

    def read_pieces(self, account_id: int, source: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the bodies of some pieces, a few hundred at most; those that there are not are left out."""
        with self._reading(account_id, source) as reading:
            return reading.bodies(ids)

    @contextlib.contextmanager
    def open_following(
        self, account_id: int, source: str, *, start: str = "", after: str | None = None, limit: int
    ) -> Iterator[Iterator[Sequence[EncodedPiece]]]:
        """Open the pieces from an id on (``after``: past it), ascending, in batches that are read one by one."""
        with self._reading(account_id, source) as reading:
            yield reading.following(start=start, after=after, limit=limit)

    def read_curation(self, account_id: int, source: str) -> tuple[SourceHead, Curation]:
        """Return the lists and settings, with the head they were read at."""
        with self._reading(account_id, source) as reading:
            return reading.head, reading.curation()

    @contextlib.contextmanager
    def open_listing(
        self, account_id: int, source: str, *, skip: int = 0, limit: int | None = None
    ) -> Iterator[Listing]:
        """Open a page of pieces, ascending by id; it is read batch by batch, by one thread at a time."""
        with self._reading(account_id, source) as reading:
            yield reading.listing(skip=skip, limit=limit, bodies=True)

    @contextlib.contextmanager
    def open_ids(self, account_id: int, source: str, *, skip: int = 0, limit: int | None = None) -> Iterator[Listing]:
        """Open a page of ids, as `open_listing` but without bodies."""
        with self._reading(account_id, source) as reading:
            yield reading.listing(skip=skip, limit=limit, bodies=False)

    @contextlib.contextmanager
    def open_export(self, account_id: int, source: str) -> Iterator[Export]:
        """Open all of a source, to be read batch by batch."""
        with self._reading(account_id, source) as reading:
            yield reading.export()

    @contextlib.contextmanager
    def content_feed(self, account_id: int, source: str, cursor: Cursor | None) -> Iterator[ContentFeed]:
        """Open the content's changes after a cursor."""
        with self._reading(account_id, source) as reading:
            yield reading.content_feed(cursor)

    @contextlib.contextmanager
    def interactions_feed(self, account_id: int, source: str, cursor: Cursor | None) -> Iterator[InteractionsFeed]:
        """Open the interactions after a cursor."""
        with self._reading(account_id, source) as reading:
            yield reading.interactions_feed(cursor)

    def user_interactions(self, source_id: int, query: InteractionQuery) -> list[Interaction]:
        """Return a person's interactions, newest first, of one millisecond the later recorded first."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return reads.user_interactions(connection, source_id, query)

    def interactions_by_day(self, source_id: int, *, since: int, limit: int) -> list[tuple[int, int]]:
        """Return UTC days with their numbers of interactions, ascending; of the newest ``limit`` ones at most."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return reads.interactions_by_day(connection, source_id, since, limit)

    def list_sources(self, account_id: int) -> list[SourceHead]:
        """Return the sources of an account, ascending by name."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return reads.list_heads(connection, account_id)

    def large_sources(self, minimum: int) -> list[SourceHead]:
        """Return the sources of all accounts with at least so many pieces."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return reads.large_heads(connection, minimum)

    def busy_sources(self, minimum: int) -> list[SourceHead]:
        """Return the sources of all accounts in which so many interactions were recorded, whatever became of them."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return reads.busy_heads(connection, minimum)

    @contextlib.contextmanager
    def _reading(self, account_id: int, source: str) -> Iterator[reads.Reading]:
        with (
            driver_errors(),
            reads.reading(self._database.reading_engine, account_id, source, self._dictionaries) as reading,
        ):
            yield reading

    # Accounts and keys.

    def account_id(self, name: str) -> int:
        """Return the number of an account, which is made if it is missing."""
        with driver_errors(), self._database.exclusive(), self._database.writing_engine.begin() as connection:
            return access.ensure_account(connection, self._database.insert, name)

    def find_account(self, name: str) -> int | None:
        """Return the number of an account; ``None`` for one that was never made."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return access.find_account(connection, name)

    def create_key(self, record: KeyRecord, *, actor: str) -> None:
        """Store a key, making its account if it is missing."""
        with driver_errors(), self._database.exclusive(), self._database.writing_engine.begin() as connection:
            access.ensure_account(connection, self._database.insert, record.account)
            access.add_key(connection, record)
            Writing(connection, self._database, self._dictionaries, now_ms()).note(
                record.account_id, actor, "key.create", record.key_id
            )

    def revoke_key(self, key_id: str, *, actor: str) -> bool:
        """Revoke a key; tell whether it was in force."""
        revoke = functools.partial(access.revoke_key, key_id=key_id, now=now_ms())
        return self._change_key(key_id, revoke, actor, "key.revoke")

    def set_plan(self, key_id: str, plan: str, *, actor: str) -> bool:
        """Put a key into a plan; tell whether it was in another one."""
        return self._change_key(key_id, functools.partial(access.set_plan, key_id=key_id, plan=plan), actor, "key.plan")

    def _change_key(self, key_id: str, change: Callable[[Connection], bool], actor: str, action: str) -> bool:
        """Change a key where there is something to change, with an entry in the audit log."""
        with driver_errors(), self._database.exclusive(), self._database.writing_engine.begin() as connection:
            record = access.find_key(connection, key_id)
            if record is None or not change(connection):
                return False
            Writing(connection, self._database, self._dictionaries, now_ms()).note(
                record.account_id, actor, action, key_id
            )
            return True

    def find_key(self, key_id: str) -> KeyRecord | None:
        """Return a key by its id, revoked or not."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return access.find_key(connection, key_id)

    def list_keys(self) -> list[KeyRecord]:
        """Return every key, oldest first; revoked ones stay listed."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return access.list_keys(connection)

    def usage(self, account_id: int, month: str) -> int:
        """Return the recommendation answers that are counted for an account in a month (``YYYY-MM``)."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return access.answers(connection, account_id, month)

    def accounts_usage(self, month: str, *, account_id: int | None = None) -> list[AccountUsage]:
        """Return what accounts have and their answers of a month (``YYYY-MM``), ascending by name."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return access.accounts_usage(connection, month, account_id)

    def audit_log(self, *, account_id: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Return the newest entries of the audit log, newest first."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            return access.audit_entries(connection, account_id, limit)

    # Housekeeping.

    def purge(
        self, retention_days: maintenance.RetentionDays, *, now: int | None = None, chunk: int = PURGE_CHUNK
    ) -> int:
        """Remove a chunk of what no answer needs any more, a transaction per source; return the rows removed."""
        with driver_errors(), self._database.reading_engine.connect() as connection:
            numbers = maintenance.source_numbers(connection)
        removed = 0
        for number in numbers:
            with (
                driver_errors(),
                self._database.exclusive(),
                self._database.writing_engine.begin() as connection,
            ):
                removed += maintenance.purge_source(
                    connection, number, now=now or now_ms(), chunk=chunk, retention_days=retention_days
                )
        with driver_errors():
            self._database.forget_log()
        return removed

    def check(self) -> list[str]:
        """Return what is wrong with what is stored; nothing where all is well."""
        with driver_errors():
            found = self._database.integrity_problems()
            with self._database.reading_engine.connect() as connection:
                return found + maintenance.problems(connection)


def _carried_out(writing: Writing, commands: Sequence[Command]) -> Sequence[Outcome | PenchantError]:
    """Carry out one command, or interactions of one source together; return what became of each."""
    try:
        together = [command for command in commands if isinstance(command, RecordInteractions)]
        if len(together) == len(commands):
            return writing.record(together)
        return [writing.execute(command) for command in commands]
    except StorageUnavailable:
        raise
    except PenchantError as error:
        return [error] * len(commands)


def open_storage(
    *,
    folder: Path,
    database_url: str | None = None,
    pooling: Pooling | None = None,
    metrics: Metrics | None = None,
) -> Storage:
    """Open the database in a folder, or the PostgreSQL database of an address, and bring its schema up to date.

    Raises:
        StorageUnavailable: it cannot be reached or written.
        StorageIncompatible: it is another program's, a newer release's, or the target of an unfinished move.
    """
    return Storage(open_database(folder, database_url, pooling=pooling, metrics=metrics), metrics)
