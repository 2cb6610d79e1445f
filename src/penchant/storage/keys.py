"""API keys as they are stored: by their hashes, each of an account and in a plan."""

from sqlalchemy import Connection, Update, insert, select, update

from penchant.storage.accounts import ensure_account, note
from penchant.storage.databases.opening import Transactions, now_ms
from penchant.storage.records import KeyRecord
from penchant.storage.schema import accounts, keys

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
            note(connection, record.account_id, actor, "key.create", record.key_id, now=now_ms())

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

    def _change(self, key_id: str, statement: Update, actor: str, action: str) -> bool:
        """Change a key where there is something to change, with an entry in the audit log."""
        with self._transactions.write() as connection:
            record = _find(connection, key_id)
            # A key that is in that state already is no change, and leaves no entry in the audit log.
            if record is None or connection.execute(statement).rowcount != 1:
                return False
            note(connection, record.account_id, actor, action, key_id, now=now_ms())
            return True


def _find(connection: Connection, key_id: str) -> KeyRecord | None:
    row = connection.execute(_KEY.where(keys.c.key_id == key_id)).one_or_none()
    return None if row is None else KeyRecord(**row._asdict())
