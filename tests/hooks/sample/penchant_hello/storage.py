"""A table of who was greeted, how one is written into it, and what happens to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, delete, func, insert, select

from penchant.importing import LineKind
from penchant.storage import StoragePart
from penchant.storage.databases.opening import Transactions
from penchant.storage.schema import INTERACTIONS
from penchant.storage.transaction import SourceChange, SourceCommand, WriteTransaction
from penchant.wire.syntax import decode, encode

GREETED = Table(
    "hello_people",
    MetaData(),
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("user_id", Text, primary_key=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greet(SourceCommand[SourceChange]):
    """Keep that a person was greeted."""

    user_id: str

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        row = transaction.require_source(self, INTERACTIONS)
        _erase(transaction, row, self.user_id)
        transaction.connection.execute(insert(GREETED), {"source_id": row.source_id, "user_id": self.user_id})
        return SourceChange(version=transaction.raise_version(row))


def _erase(transaction: WriteTransaction, row: Any, user_id: str) -> bool:
    own = (GREETED.c.source_id == row.source_id) & (GREETED.c.user_id == user_id)
    return bool(transaction.connection.execute(delete(GREETED).where(own)).rowcount)


def _count(connection: Connection, source: int) -> int:
    return int(connection.execute(select(func.count()).where(GREETED.c.source_id == source)).scalar_one())


def _names(connection: Connection, source: int) -> Iterator[bytes]:
    named = select(GREETED.c.user_id).where(GREETED.c.source_id == source).order_by(GREETED.c.user_id)
    yield from map(encode, connection.execute(named).scalars())


class GreetingStore:
    """Who was greeted, in all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def is_greeted(self, source: int, user_id: str) -> bool:
        own = select(GREETED).where(GREETED.c.source_id == source, GREETED.c.user_id == user_id)
        with self._transactions.read() as connection:
            return connection.execute(own).first() is not None


PART = StoragePart(name="hello", tables=(GREETED,), erase=_erase, follow=_count)
LINES = (
    LineKind(
        name="greeted",
        part="greetings",
        values=_names,
        read=decode,
        command=lambda _storage, whose, user_id: Greet(**whose, user_id=user_id),
    ),
)
