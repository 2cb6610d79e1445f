"""Sessions at the dashboard as they are stored: by the hash of the id that the browser has, each of a key."""

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from penchant.storage.databases.opening import Transactions
from penchant.storage.schema import sessions

MOST_OF_KEY = 100
"""Sessions that a key has open; of more the oldest end."""


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
