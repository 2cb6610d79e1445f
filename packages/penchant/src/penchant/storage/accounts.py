"""Accounts as they are stored: their names, what they use, what was changed of theirs, and their API keys.

Keys are stored by their hashes; each is in a plan. So are sessions at the dashboard, each of a key.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import ClassVar, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, Update, delete, func, insert, select, update

from penchant.storage import statements
from penchant.storage.databases.opening import Transactions, now_ms
from penchant.storage.hashing import account_id as account_number
from penchant.storage.hashing import key_counter, source_id
from penchant.storage.records import AccountUsage, AuditEntry, KeyRecord
from penchant.storage.schema import CONTENT, accounts, audit, counters, keys, sessions, sources, usage
from penchant.storage.transaction import INTERACTIONS_LANE, Command, WriteTransaction, note

MOST_OF_KEY = 100
"""Sessions that a key has open; of more the oldest end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddUsage(Command[None]):
    """Count recommendation answers of an account in a month (``YYYY-MM``)."""

    lane: ClassVar[str] = INTERACTIONS_LANE

    account_id: int
    month: str
    answers: int

    @property
    def order(self) -> int:
        """Before all sources: its row is the account's, and comes first in every process."""
        return -1

    def apply(self, transaction: WriteTransaction) -> None:
        """Add to the row of the month."""
        transaction.connection.execute(statements.add_usage(transaction.database.insert), asdict(self))


class AccountStore:
    """The accounts."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def ensure(self, name: str) -> int:
        """Return the number of an account, which is made if it is missing."""
        with self._transactions.write() as connection:
            return ensure_account(connection, self._transactions.insert, name)

    def find(self, name: str) -> int | None:
        """Return the number of an account; ``None`` for one that was never made."""
        with self._transactions.read() as connection:
            return connection.execute(select(accounts.c.account_id).where(accounts.c.name == name)).scalar_one_or_none()

    def name_of(self, account_id: int) -> str:
        """Return the name of an account that there is."""
        with self._transactions.read() as connection:
            statement = select(accounts.c.name).where(accounts.c.account_id == account_id)
            return str(connection.execute(statement).scalar_one())

    def signing_secret(self, name: str) -> bytes | None:
        """Return the secret with which an account signs people; ``None`` where it has none."""
        with self._transactions.read() as connection:
            secret = connection.execute(
                select(accounts.c.signing_secret).where(accounts.c.name == name)
            ).scalar_one_or_none()
        return None if secret is None else bytes(secret)

    def set_signing_secret(self, name: str, secret: bytes, *, actor: str) -> None:
        """Give an account, made if it is missing, another secret with which it signs people."""
        with self._transactions.write() as connection:
            number = ensure_account(connection, self._transactions.insert, name)
            connection.execute(update(accounts).where(accounts.c.account_id == number).values(signing_secret=secret))
            note(connection, number, actor, "account.secret", name=name)

    def count_answers(self, account_id: int, month: str) -> int:
        """Return the recommendation answers that are answered for an account in a month (``YYYY-MM``)."""
        with self._transactions.read() as connection:
            statement = select(usage.c.answers).where(usage.c.account_id == account_id, usage.c.month == month)
            return connection.execute(statement).scalar_one_or_none() or 0

    def list_usage(self, month: str, *, account_id: int | None = None) -> list[AccountUsage]:
        """Return what accounts have and their answers of a month (``YYYY-MM``), ascending by name."""
        # Sources and answers are summed up apart: joined to an account together, each would multiply the other.
        contents = (
            select(
                sources.c.account_id,
                func.count().label("sources"),
                func.sum(counters.c.live).label("pieces"),
            )
            .join(counters, (counters.c.source_id == sources.c.source_id) & (counters.c.kind == CONTENT))
            .where(sources.c.deleted.is_(False))
            .group_by(sources.c.account_id)
            .subquery()
        )
        answered = select(usage).where(usage.c.month == month).subquery()
        statement = (
            select(accounts.c.account_id, accounts.c.name, answered.c.answers, contents.c.sources, contents.c.pieces)
            .outerjoin(contents, contents.c.account_id == accounts.c.account_id)
            .outerjoin(answered, answered.c.account_id == accounts.c.account_id)
            .order_by(accounts.c.name)
        )
        if account_id is not None:
            statement = statement.where(accounts.c.account_id == account_id)
        with self._transactions.read() as connection:
            in_browsers = _browser_answers(connection, month)
            return [
                AccountUsage(
                    account_id=row.account_id,
                    account=row.name,
                    answers=row.answers or 0,
                    browser_answers=in_browsers[row.account_id],
                    sources=row.sources or 0,
                    pieces=int(row.pieces or 0),
                )
                for row in connection.execute(statement)
            ]

    def list_audit(  # noqa: PLR0913  # what entries are found by
        self,
        *,
        account_id: int | None = None,
        source: str | None = None,
        subject: str | None = None,
        action: str | None = None,
        actor: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[AuditEntry]:
        """Return the newest entries of the audit log, newest first: of an account, of a source of it, of an actor.

        ``subject`` and ``action`` are what was changed and what was done, ``before`` is a moment in nanoseconds since
        1970 UTC. Whatever is asked for is found by an index.
        """
        conditions = []
        if subject is not None:
            conditions += [audit.c.account_id == account_id, audit.c.subject == subject]
        elif source is not None and account_id is not None:
            conditions.append(audit.c.of_source == source_id(account_id, source))
        elif account_id is not None:
            conditions.append(audit.c.account_id == account_id)
        if action is not None:
            conditions.append(audit.c.action == action)
        if actor is not None:
            conditions.append(audit.c.actor == actor)
        if before is not None:
            conditions.append(audit.c.audit_id < before)
        return self._entries(*conditions, limit=limit)

    def _entries(self, *conditions: ColumnElement[bool], limit: int) -> list[AuditEntry]:
        statement = (
            select(audit, accounts.c.name, keys.c.name.label("actor_name"))
            .outerjoin(accounts, accounts.c.account_id == audit.c.account_id)
            .outerjoin(keys, keys.c.key_id == audit.c.actor)
            .where(*conditions)
            .order_by(audit.c.audit_id.desc())
            .limit(limit)
        )
        with self._transactions.read() as connection:
            return [
                AuditEntry(
                    moment=row.audit_id,
                    recorded_at=row.recorded_at,
                    first_at=row.recorded_at if row.first_at is None else row.first_at,
                    count=row.times or 1,
                    account_id=row.account_id,
                    account=row.name or "",
                    actor=row.actor,
                    actor_name=row.actor_name,
                    action=row.action,
                    subject=row.subject,
                    changes=msgspec.json.decode(row.changes) if row.changes else (),
                )
                for row in connection.execute(statement)
            ]


def ensure_account(connection: Connection, insert_into: statements.Insert, name: str) -> int:
    """Return the number of an account, which is made if it is missing."""
    number = account_number(name)
    connection.execute(statements.insert_missing(insert_into, accounts), {"account_id": number, "name": name})
    return number


def _browser_answers(connection: Connection, month: str) -> Counter[int]:
    """Return the answers that browser keys had in a month, by account; each is answered under a number of its own."""
    statement = select(keys.c.key_id, keys.c.account_id).where(keys.c.origins != "")
    owners = {key_counter(row.key_id): row.account_id for row in connection.execute(statement)}
    answered = select(usage.c.account_id, usage.c.answers).where(usage.c.month == month, usage.c.account_id < 0)
    answers: Counter[int] = Counter()
    for counter, count in connection.execute(answered):
        # Of a key that housekeeping has removed nobody can say any more whose it was.
        if counter in owners:
            answers[owners[counter]] += count
    return answers


_KEY = select(*keys.c, accounts.c.name.label("account"), accounts.c.signing_secret).join(
    accounts, accounts.c.account_id == keys.c.account_id
)


class KeyStore:
    """The keys of all accounts."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def create(self, record: KeyRecord, *, actor: str) -> None:
        """Store a key, making its account if it is missing."""
        with self._transactions.write() as connection:
            ensure_account(connection, self._transactions.insert, record.account)
            fields = {column.name: getattr(record, column.name) for column in keys.columns}
            connection.execute(insert(keys), fields)
            note(connection, record.account_id, actor, "key.create", name=record.key_id)

    def revoke(self, key_id: str, *, actor: str) -> bool:
        """Revoke a key; tell whether it was in force."""
        statement = update(keys).where(keys.c.key_id == key_id, keys.c.revoked_at.is_(None))
        return self._change(key_id, statement.values(revoked_at=now_ms()), actor, "key.revoke")

    def set_plan(self, key_id: str, plan: str, *, actor: str) -> bool:
        """Put a key into a plan; tell whether it was in another one."""
        statement = update(keys).where(keys.c.key_id == key_id, keys.c.plan != plan)
        return self._change(key_id, statement.values(plan=plan), actor, "key.plan")

    def find(self, key_id: str) -> KeyRecord | None:
        """Return a key by its id, revoked or not."""
        with self._transactions.read() as connection:
            return _find(connection, key_id)

    def list_all(self) -> list[KeyRecord]:
        """Return every key, oldest first; revoked ones stay listed until housekeeping removes them."""
        with self._transactions.read() as connection:
            return [
                KeyRecord(**row._asdict())
                for row in connection.execute(_KEY.order_by(keys.c.created_at, keys.c.key_id))
            ]

    def names_of(self, account_id: int) -> dict[str, str]:
        """Return who has the keys of an account, by their ids, for those of which that was said."""
        statement = select(keys.c.key_id, keys.c.name).where(keys.c.account_id == account_id, keys.c.name.is_not(None))
        with self._transactions.read() as connection:
            return {row.key_id: row.name for row in connection.execute(statement.order_by(keys.c.key_id))}

    def _change(self, key_id: str, statement: Update, actor: str, action: str) -> bool:
        """Change a key where there is something to change, with an entry in the audit log."""
        with self._transactions.write() as connection:
            record = _find(connection, key_id)
            # A key that is in that state already is no change, and leaves no entry in the audit log.
            if record is None or connection.execute(statement).rowcount != 1:
                return False
            note(connection, record.account_id, actor, action, name=key_id)
            return True


def _find(connection: Connection, key_id: str) -> KeyRecord | None:
    row = connection.execute(_KEY.where(keys.c.key_id == key_id)).one_or_none()
    return None if row is None else KeyRecord(**row._asdict())


class SessionRecord(NamedTuple):
    """A session: whose key it is of, when it was seen last, and when it ends whatever is done, in milliseconds."""

    session_hash: bytes
    key_id: str
    seen_at: int
    ends_at: int


class SessionStore:
    """The sessions of all keys."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def begin(self, record: SessionRecord) -> None:
        """Store a session, and end the oldest ones where the key has too many."""
        with self._transactions.write() as connection:
            connection.execute(insert(sessions), record._asdict())
            own = select(sessions.c.session_hash).where(sessions.c.key_id == record.key_id)
            newest = own.order_by(sessions.c.ends_at.desc(), sessions.c.session_hash).offset(MOST_OF_KEY)
            surplus = connection.execute(newest).scalars().all()
            if surplus:
                connection.execute(delete(sessions).where(sessions.c.session_hash.in_(surplus)))

    def find(self, session_hash: bytes) -> SessionRecord | None:
        """Return a session; ``None`` where it was ended, or there was none."""
        with self._transactions.read() as connection:
            columns = (sessions.c.key_id, sessions.c.seen_at, sessions.c.ends_at)
            row = connection.execute(select(*columns).where(sessions.c.session_hash == session_hash)).one_or_none()
            return None if row is None else SessionRecord(session_hash, *row)

    def see(self, session_hash: bytes, seen_at: int) -> None:
        """Note when a session was seen, unless it was ended meanwhile."""
        with self._transactions.write() as connection:
            statement = update(sessions).where(sessions.c.session_hash == session_hash)
            connection.execute(statement.values(seen_at=seen_at))

    def end(self, session_hash: bytes) -> None:
        """End a session; again is no error."""
        with self._transactions.write() as connection:
            connection.execute(delete(sessions).where(sessions.c.session_hash == session_hash))


def purge_sessions(connection: Connection, *, now: int, chunk: int) -> int:
    """Remove sessions that are over, ``chunk`` at most; return how many went."""
    over = select(sessions.c.session_hash).where(sessions.c.ends_at < now).limit(chunk)
    return connection.execute(delete(sessions).where(sessions.c.session_hash.in_(over))).rowcount
