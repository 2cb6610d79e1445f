"""Commands, which change something, and the transaction in which each is applied: what those of plugins may use.

A command is a record with ``apply(transaction)``, which carries it out and returns a result of its own; it stands
beside its statements, in the module of its subject. One that may not be done raises before it has written anything, so
that its group goes on without it.

Every change takes the next versions of its source. One submission of three pieces, a to c, then one that replaces b,
then a clearing; rows are overwritten in place, and a clearing touches none of them:

    content counter   version 3, live 3      version 4, live 3      version 5, live 0, cleared_at 5
    row of piece a    1                      1                      1 <= cleared_at: no longer live
    row of piece b    2                      4                      4 <= cleared_at: no longer live
    row of piece c    3                      3                      3 <= cleared_at: no longer live

A follower with the cursor 3 reads the rows above 3, which is b alone. One with a cursor below ``cleared_at`` begins
again from all live rows. Housekeeping removes cleared rows later, chunk by chunk (`storage.upkeep`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from sqlalchemy import (
    BigInteger,
    Connection,
    Executable,
    String,
    Table,
    Update,
    bindparam,
    func,
    insert,
    select,
    update,
)

from penchant.errors import StorageIncompatible, UnknownSource
from penchant.storage import statements
from penchant.storage.bodies import Dictionaries
from penchant.storage.databases.opening import AnyDatabase
from penchant.storage.hashing import source_id
from penchant.storage.parts import tables_of, unknown_source_tables
from penchant.storage.schema import audit

Result = TypeVar("Result")
AnyCommand = TypeVar("AnyCommand", bound="Command[Any]")

MILLISECOND_NS = 1_000_000
MINUTE_MS = 60_000
"""How long equal entries of the audit log are one, from the first on."""
CONTENT_LANE, INTERACTIONS_LANE = "content", "interactions"


class Command(Generic[Result]):
    """A change, carried out by a group's transaction."""

    __slots__ = ()

    lane: ClassVar[str] = CONTENT_LANE
    """Which queue it waits in: what people do must not be held up by a large submission."""
    is_batched: ClassVar[bool] = False
    """Whether those of a source that follow each other are applied together, as many cost hardly more than one."""

    @property
    def order(self) -> int:
        """The number by which all processes go through a group: that of the source that is locked."""
        raise NotImplementedError

    def apply(self, transaction: "WriteTransaction") -> Result:
        """Carry it out, and return what came of it.

        Raises:
            PenchantError: it may not be done; nothing was written for it.
        """
        raise NotImplementedError

    @classmethod
    def apply_together(cls, transaction: "WriteTransaction", commands: Sequence[Self]) -> Sequence[Any]:
        """Carry out commands of one source, of a class that ``is_batched``; return the result of each."""
        return [command.apply(transaction) for command in commands]

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes while it waits; 0 for what is always small."""
        return 0

    @property
    def forgets(self) -> bool:
        """Whether it is to leave nothing of what it removes, in the database's files either."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCommand(Command[Result]):
    """What all changes of a source have: whose source, and which key asked (for the audit log).

    With ``bypasses_review`` no check of what ``steers`` the source is asked (`penchant.storage.parts.StoragePart`).
    """

    steers: ClassVar[bool] = False
    """Whether it changes at once what steers a source."""

    account_id: int
    source: str
    actor: str = ""
    bypasses_review: bool = False

    @property
    def order(self) -> int:
        """The number of the source."""
        return source_id(self.account_id, self.source)


class SourceChange(NamedTuple):
    """What came of a change of a source: its content version afterwards."""

    version: int


class WriteTransaction:
    """The transaction of a group, and all that a command has at hand, one of a plugin as well.

    ``connection`` runs statements; ``database`` knows the dialect (``insert``, and how many rows are stored at once),
    ``dictionaries`` how bodies are compressed; ``now`` is the wall clock in milliseconds. Pieces are written by
    `penchant.storage.piece_writes`, lists and settings by `penchant.storage.curation`.
    """

    def __init__(
        self,
        connection: Connection,
        database: AnyDatabase,
        dictionaries: Dictionaries,
        now: int,
    ) -> None:
        self.connection = connection
        self.database = database
        self.dictionaries = dictionaries
        self.now = now
        self.parts = database.parts

    @property
    def emptied_tables(self) -> list[Table]:
        """The tables of parts from which a source's rows go with it: all but those with rows of its incarnations.

        Those of parts that are not installed, too: a source of the same name is not to find them.
        """
        tables = (*tables_of(self.parts, of_sources=True), *unknown_source_tables(self.connection, self.parts))
        return [table for table in tables if "incarnation" not in table.c]

    def run(self, statement: Executable, **values: Any) -> Sequence[Any]:
        """Run a statement that lives as long as the process, and return its rows."""
        return self.database.run(self.connection, statement, values)

    def apply(self, commands: Sequence[Command[Any]]) -> Sequence[Any]:
        """Carry out one command, or several of one source and of a class that is batched; return their results.

        Raises:
            PenchantError: as the commands, or a check of a part, say; nothing was written for them.
        """
        for command in commands:
            if isinstance(command, SourceCommand) and command.steers and not command.bypasses_review:
                for part in self.parts:
                    if part.check is not None:
                        part.check(self, command)
        return commands[0].apply_together(self, commands)

    def lock_source(self, command: SourceCommand[Any], *kinds: int) -> Any:
        """Return the source's row with its counters of these kinds locked, or ``None``.

        The lock is what makes versions a feed: who holds it gives the next versions and keeps it until the commit, so
        that a smaller version never becomes visible after a greater one, and a follower misses nothing by asking for
        what is above its cursor. The row is read after the lock, since the transaction before may have raised them.
        (SQLite has the same from the file lock, which lets one writer in at a time.)
        """
        number = source_id(command.account_id, command.source)
        if self.database.locks_rows:
            self.run(statements.LOCK_COUNTERS, source=number, kinds=list(kinds))
        row = next(iter(self.run(statements.HEAD, source_id=number)), None)
        if row is not None and (row.account_id, row.name) != (command.account_id, command.source):
            raise StorageIncompatible("This name cannot be told apart from another source's; choose another.")
        return row

    def require_source(self, command: SourceCommand[Any], *kinds: int) -> Any:
        """Return the row as `lock_source` does, of a source that exists.

        Raises:
            UnknownSource: there is none, or it is deleted.
        """
        row = self.lock_source(command, *kinds)
        if row is None or row.deleted:
            raise UnknownSource("The account has no source of this name; the first submission makes it.")
        return row

    def note(self, command: SourceCommand[Any], action: str, name: str = "", changes: str | None = None) -> None:
        """Write into the audit log what was done, to the source or to what is called so in it."""
        source = command.source
        note(self.connection, command.account_id, command.actor, action, source=source, name=name, changes=changes)

    def moment(self, row: Any) -> int:
        """Return the present by the source's own clock, which never goes back."""
        return max(self.now, int(row.changed_at))

    def raise_version(self, row: Any, rows: int = 1, *, live: int | None = None, clear: bool = False) -> int:
        """Raise the content counter past the versions of ``rows`` rows, and return where it stands.

        A change without rows, such as one of the settings, takes one version as well: followers see only by it that
        there is something new. ``clear`` makes everything up to the new version no longer live.
        """
        now = self.moment(row)
        version = int(row.version) + max(1, rows)
        # What is kept is as the row has it: its counter is locked.
        left, cleared = row.live if live is None else live, version if clear else row.cleared_at
        self.run(statements.RAISE_CONTENT, source=row.source_id, raised=version, moment=now, left=left, cleared=cleared)
        self.run(statements.NOTE_CHANGE, source=row.source_id, moment=now)
        return version


def note(  # noqa: PLR0913  # what an entry has
    connection: Connection,
    account_id: int,
    actor: str,
    action: str,
    *,
    source: str | None = None,
    name: str = "",
    changes: str | None = None,
) -> None:
    """Write into the audit log what was done to a source, or to what is called ``name``, in it or in the account.

    An equal entry of the same minute becomes this one, which counts it: so repeats take no rows, and the newest entry
    is always what was done last, with its ``changes`` (JSON). Where two equal ones are noted at once on PostgreSQL both
    may be written.
    """
    moment = time.time_ns()
    entry: dict[str, Any] = {"account_id": account_id, "actor": actor, "action": action}
    entry["subject"] = "/".join(each for each in (source, name) if each)
    entry |= {"audit_id": moment, "recorded_at": moment // MILLISECOND_NS, "changes": changes}
    if connection.execute(_REPEAT, {f"new_{key}": value for key, value in entry.items()}).rowcount == 0:
        number = None if source is None else source_id(account_id, source)
        connection.execute(insert(audit), entry | {"of_source": number})


def _repeat() -> Update:
    """Return the statement that makes the latest equal entry of the minute another one, ``new_…``, and counts it."""
    moment, now = bindparam("new_audit_id", type_=BigInteger), bindparam("new_recorded_at", type_=BigInteger)
    began_at = func.coalesce(audit.c.first_at, audit.c.recorded_at)
    latest = select(func.max(audit.c.audit_id)).where(
        *(audit.c[name] == bindparam(f"new_{name}") for name in ("account_id", "actor", "action", "subject")),
        audit.c.audit_id > moment - MINUTE_MS * MILLISECOND_NS,
        # The second bound is for a clock that was set back: what lies ahead of it is not of this minute.
        began_at.between(now - MINUTE_MS, now + MINUTE_MS),
    )
    return (
        update(audit)
        .where(audit.c.audit_id == latest.scalar_subquery())
        .values(
            audit_id=moment,
            recorded_at=now,
            times=func.coalesce(audit.c.times, 1) + 1,
            first_at=began_at,
            changes=bindparam("new_changes", type_=String),
        )
    )


_REPEAT = _repeat()
