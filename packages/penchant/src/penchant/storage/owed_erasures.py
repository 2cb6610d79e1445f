"""Erasures that are owed: of people of whom tables of packages that are not installed may still hold something.

Only its package knows how a table forgets a person, by their id. So the id is kept until the package is back, and the
erasure carried out as the storage is opened with it, before anything is served; or until the tables are gone. As with
erasures in the feed it is masked, so that nobody who finds the row alone can read it (`storage.secrets`).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import delete, insert, literal, select, update

from penchant.storage.databases.opening import Transactions
from penchant.storage.hashing import KEY_BYTES, user_key
from penchant.storage.parts import owed_erasures, unknown_source_tables, unknown_tables
from penchant.storage.schema import INTERACTIONS, sources
from penchant.storage.secrets import ERASURES, ensure_secret, read_secret
from penchant.storage.transaction import INTERACTIONS_LANE, SourceCommand, WriteTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleErasure(SourceCommand[None]):
    """Carry out an erasure in the tables that a package has brought back, and forget it once it reached all."""

    lane: ClassVar[str] = INTERACTIONS_LANE

    number: bytes

    @property
    def forgets(self) -> bool:
        """Always."""
        return True

    def apply(self, transaction: WriteTransaction) -> None:
        """Have the parts of these tables erase the person: no other, which may know by now what came later."""
        connection = transaction.connection
        row = transaction.lock_source(self, INTERACTIONS)
        own = (owed_erasures.c.source_id == self.order) & (owed_erasures.c.number == self.number)
        owed = connection.execute(select(owed_erasures).where(own)).one_or_none()
        if row is None or owed is None:
            return
        user_id = _mask(read_secret(connection, ERASURES), self.number, owed.hidden).decode()
        left = [name for name in owed.tables.splitlines() if name in unknown_tables(connection, transaction.parts)]
        for part in transaction.parts:
            if part.erase is not None and not {each.name for each in part.tables}.isdisjoint(owed.tables.splitlines()):
                part.erase(transaction, row, user_id)
        is_left = update(owed_erasures).where(own).values(tables="\n".join(left))
        connection.execute(is_left if left else delete(owed_erasures).where(own))


def owe_erasure(transaction: WriteTransaction, source: int, user_id: str) -> Sequence[str]:
    """Return the tables that the erasure of a person does not reach, and keep that it is owed, where there are any.

    They are those with rows of the source.
    """
    connection = transaction.connection
    tables = [
        table.name
        for table in unknown_source_tables(connection, transaction.parts)
        if connection.execute(select(literal(1)).where(table.c.source_id == source).limit(1)).first() is not None
    ]
    if tables:
        secret = ensure_secret(connection, transaction.database.insert, ERASURES)
        # The same each time: to repeat an erasure takes no other row.
        number = hashlib.blake2b(user_key(source, user_id), digest_size=KEY_BYTES, key=secret, person=b"owed").digest()
        own = (owed_erasures.c.source_id == source) & (owed_erasures.c.number == number)
        connection.execute(delete(owed_erasures).where(own))
        hidden = _mask(secret, number, user_id.encode())
        owed = {"source_id": source, "number": number, "hidden": hidden, "tables": "\n".join(tables)}
        connection.execute(insert(owed_erasures), owed)
    return tables


def settlements(transactions: Transactions) -> list[SettleErasure]:
    """Return what carries out the erasures that are owed to tables that are known by now, or gone."""
    with transactions.read() as connection:
        owed = connection.execute(
            select(owed_erasures, sources.c.account_id, sources.c.name).join_from(
                owed_erasures, sources, owed_erasures.c.source_id == sources.c.source_id
            )
        ).all()
        unknown = set(unknown_tables(connection, transactions.database.parts)) if owed else set()
    return [
        SettleErasure(account_id=each.account_id, source=each.name, number=each.number)
        for each in owed
        if not unknown.issuperset(each.tables.splitlines())
    ]


def _mask(secret: bytes, number: bytes, text: bytes) -> bytes:
    """Return a text masked by a keyed hash of a number; masked again it is what it was."""
    mask = hashlib.shake_256(secret + number).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, mask, strict=True))
