"""Pulls as they are stored: what is read for which source, when next, by whom just now, and what came of it.

    waiting    next_at is to come, or the lease is over     --claim-->   under way, by one holder
    under way  the holder renews its lease before it stores anything   --finish-->   waiting
    no more    nobody renews: after lease_until another one may claim it and begin again

One statement claims and one renews, so that of several nodes one alone pulls, and a pull that was removed stores
nothing more. All moments are the database's, whatever clock a node has (D235 of docs/decisions.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from penchant.errors import Refused
from penchant.storage.accounts import note
from penchant.storage.databases.opening import Transactions
from penchant.storage.schema import accounts, pull_runs, pulls

MOST_PULLS = 1_000
"""Pulls of a database: each takes its turn in one process."""
KEPT_RUNS = 20
"""Runs of a pull that are kept, the newest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRecord:
    """A pull: whose source it is for, what is read and how (``body``), and when next (ms since 1970 UTC).

    ``state`` is what the last run left for the next one; ``failures`` counts those in a row, ``lease_until`` is the
    moment up to which somebody is at it. The turn of a new one is at once, whatever ``next_at`` says.
    """

    name: str
    account_id: int
    account: str
    source: str
    body: bytes
    state: bytes = b""
    next_at: int = 0
    failures: int = 0
    lease_until: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PullResult:
    """What came of a run that began at a moment: its line of the log, and what it leaves for the next one.

    ``pause_ms`` is how long after its end that is to begin.
    """

    begun_at: int
    run: bytes
    has_failed: bool
    state: bytes
    pause_ms: int


class PullStore:
    """The pulls of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._now = transactions.now_ms

    def add(self, record: PullRecord, *, actor: str) -> None:
        """Store a new pull.

        Raises:
            Refused: there is one of this name, or there are too many.
        """
        with self._transactions.write() as connection:
            names = set(connection.execute(select(pulls.c.name)).scalars())
            if record.name in names:
                raise Refused(f"There is a pull of the name {record.name!r}; remove it first, or take another name.")
            if len(names) >= MOST_PULLS:
                raise Refused(f"There are {MOST_PULLS} pulls, and may be no more.")
            values = {"name": record.name, "account_id": record.account_id, "source": record.source}
            values |= {"body": record.body, "state": record.state, "next_at": self._now}
            values |= {"failures": 0, "lease": "", "lease_until": 0}
            connection.execute(insert(pulls).values(values))
            note(connection, record.account_id, actor, "pull.add", source=record.source, name=record.name)

    def remove(self, name: str, *, actor: str) -> bool:
        """Remove a pull and its log, also while it is under way; return whether there was one."""
        with self._transactions.write() as connection:
            row = connection.execute(select(pulls.c.account_id, pulls.c.source).where(pulls.c.name == name)).first()
            if row is None:
                return False
            for table in (pulls, pull_runs):
                connection.execute(delete(table).where(table.c.name == name))
            note(connection, row.account_id, actor, "pull.remove", source=row.source, name=name)
        return True

    def list_all(self) -> list[PullRecord]:
        """Return all pulls without their states, ascending by name."""
        with self._transactions.read() as connection:
            return _records(connection)

    def find(self, name: str) -> PullRecord | None:
        """Return a pull with its state; ``None`` where there is none of this name."""
        with self._transactions.read() as connection:
            return next(iter(_records(connection, pulls.c.name == name, with_states=True)), None)

    def list_of(self, account_id: int, source: str) -> list[PullRecord]:
        """Return the pulls into a source with their states, ascending by name."""
        own = and_(pulls.c.account_id == account_id, pulls.c.source == source)
        with self._transactions.read() as connection:
            return _records(connection, own, with_states=True)

    def list_due(self) -> list[str]:
        """Return the names of the pulls whose turn it is and that nobody is at, the longest waiting first."""
        due = select(pulls.c.name).where(pulls.c.next_at <= self._now, pulls.c.lease_until <= self._now)
        with self._transactions.read() as connection:
            return list(connection.execute(due.order_by(pulls.c.next_at, pulls.c.name)).scalars())

    def count_failing(self) -> int:
        """Return how many pulls have failed the last time."""
        with self._transactions.read() as connection:
            statement = select(func.count()).select_from(pulls).where(pulls.c.failures > 0)
            return connection.execute(statement).scalar_one()

    def claim(self, name: str, holder: str, *, lease_ms: int, due: bool) -> bool:
        """Take the lease of a pull that nobody is at (``due``: and whose turn it is); return whether it is ours."""
        free = and_(pulls.c.name == name, pulls.c.lease_until <= self._now)
        if due:
            free = and_(free, pulls.c.next_at <= self._now)
        with self._transactions.write() as connection:
            statement = update(pulls).where(free).values(lease=holder, lease_until=self._now + lease_ms)
            return connection.execute(statement).rowcount == 1

    def renew(self, name: str, holder: str, *, lease_ms: int) -> bool:
        """Keep the lease from now on; ``False`` where it is another one's by now, or the pull was removed."""
        with self._transactions.write() as connection:
            statement = update(pulls).where(_held(name, holder)).values(lease_until=self._now + lease_ms)
            return connection.execute(statement).rowcount == 1

    def release(self, name: str, holder: str) -> None:
        """Give the lease up, if it is still ours, as if nothing had been begun."""
        with self._transactions.write() as connection:
            connection.execute(update(pulls).where(_held(name, holder)).values(lease="", lease_until=0))

    def finish(self, name: str, holder: str, result: PullResult) -> bool:
        """Store what came of a run, and give the lease up; ``False`` and nothing where it is no longer ours."""
        values = {
            "state": result.state,
            "next_at": self._now + result.pause_ms,
            "failures": pulls.c.failures + 1 if result.has_failed else 0,
            "lease": "",
            "lease_until": 0,
        }
        with self._transactions.write() as connection:
            if not connection.execute(update(pulls).where(_held(name, holder)).values(values)).rowcount:
                return False
            own = pull_runs.c.name == name
            # Two runs within a millisecond: the later one tells more.
            connection.execute(delete(pull_runs).where(own, pull_runs.c.begun_at >= result.begun_at))
            connection.execute(insert(pull_runs), {"name": name, "begun_at": result.begun_at, "body": result.run})
            kept = select(pull_runs.c.begun_at).where(own).order_by(pull_runs.c.begun_at.desc()).offset(KEPT_RUNS)
            surplus = connection.execute(kept.limit(1)).scalar_one_or_none()
            if surplus is not None:
                connection.execute(delete(pull_runs).where(own, pull_runs.c.begun_at <= surplus))
        return True

    def list_runs(self, name: str) -> Sequence[bytes]:
        """Return what came of the last runs of a pull, the newest first."""
        statement = select(pull_runs.c.body).where(pull_runs.c.name == name).order_by(pull_runs.c.begun_at.desc())
        with self._transactions.read() as connection:
            return [bytes(body) for body in connection.execute(statement).scalars()]


def _held(name: str, holder: str) -> ColumnElement[bool]:
    return and_(pulls.c.name == name, pulls.c.lease == holder)


def _records(connection: Connection, *conditions: ColumnElement[bool], with_states: bool = False) -> list[PullRecord]:
    left_out = {pulls.c.lease} if with_states else {pulls.c.lease, pulls.c.state}
    statement = select(*(each for each in pulls.c if each not in left_out), accounts.c.name.label("account")).join(
        accounts, accounts.c.account_id == pulls.c.account_id
    )
    rows = connection.execute(statement.where(*conditions).order_by(pulls.c.name))
    return [PullRecord(**row._asdict()) for row in rows]
