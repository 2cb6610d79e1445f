"""Parts that plugins bring: their tables come, are cleared and forgotten with all others, and outlast the plugin."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    delete,
    func,
    insert,
    inspect,
    select,
)

from penchant.errors import InvalidSettings
from penchant.storage import DeleteSource, Storage, StoragePart, open_storage
from penchant.storage.parts import load_parts, owed_erasures, tables_of
from penchant.storage.schema import FEED_TABLES, INTERACTIONS, SMALL_TABLES, taken_back
from penchant.storage.statements import HEAD
from penchant.storage.transaction import SourceCommand, WriteTransaction
from storage.commands import done, erasing, head, submitting
from storage.conftest import Opening

NOTES = Table(
    "notes",
    MetaData(),
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("user_id", Text, primary_key=True),
    Column("text", Text, nullable=False),
)
REVISION = """
from alembic import op
from sqlalchemy import Column, Text

from penchant.storage.migrations.revisions import add_missing
from storage.test_parts import NOTES

revision = "0001"
down_revision = None


def upgrade():
    add_missing(NOTES, Column("colour", Text))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteNote(SourceCommand[int]):
    """Keep a text about a person, and say how many there are."""

    user_id: str

    def apply(self, transaction: WriteTransaction) -> int:
        row = transaction.require_source(self, INTERACTIONS)
        note = {"source_id": row.source_id, "user_id": self.user_id, "text": "kind"}
        transaction.connection.execute(insert(NOTES), note)
        return count_notes(transaction.connection, row.source_id)


def forget(transaction: WriteTransaction, row: Any, user_id: str) -> bool:
    own = (NOTES.c.source_id == row.source_id) & (NOTES.c.user_id == user_id)
    return bool(transaction.connection.execute(delete(NOTES).where(own)).rowcount)


def count_notes(connection: Connection, source: int) -> int:
    own = select(func.count()).select_from(NOTES).where(NOTES.c.source_id == source)
    return int(connection.execute(own).scalar_one())


PART = StoragePart(name="notes", tables=(NOTES,), erase=forget, follow=count_notes)


def open_with(opening: Opening, *parts: StoragePart) -> Storage:
    return open_storage(folder=opening.folder, database_url=opening.url, parts=(*load_parts(), *parts))


def noting(account: int, user: str) -> WriteNote:
    return WriteNote(account_id=account, source="s", user_id=user)


def noted(opening: Opening) -> list[str]:
    with opening.beside() as connection:
        return sorted(connection.execute(select(NOTES.c.user_id)).scalars())


def owed(opening: Opening) -> list[bytes]:
    with opening.beside() as connection:
        return sorted(connection.execute(select(owed_erasures.c.hidden)).scalars())


def test_a_plugin_s_command_writes_its_table_and_an_erasure_reaches_it(opening: Opening) -> None:
    storage = open_with(opening, PART)
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a"))

    assert [done(storage, noting(account, user)) for user in ("kim", "lee")] == [1, 2]
    done(storage, erasing(account, "kim"))

    assert noted(opening) == ["lee"]
    _, curation = storage.sources.read_curation(account, "s")
    assert curation.parts["notes"] == 1
    storage.close()


def test_what_a_plugin_kept_that_is_taken_out_stays_and_is_named(opening: Opening) -> None:
    storage = open_with(opening, PART)
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a"))
    done(storage, noting(account, "kim"))
    storage.close()

    without = opening()
    done(without, submitting(account, "b"))
    assert without.upkeep.unknown_tables() == ["notes"]
    without.close()

    again = open_with(opening, PART)
    assert (noted(opening), again.upkeep.unknown_tables()) == (["kim"], [])
    again.close()


def test_an_erasure_reaches_a_plugin_that_is_taken_out_once_it_is_back(opening: Opening) -> None:
    storage = open_with(opening, PART)
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a"))
    for user in ("kim", "lee", "ida"):
        done(storage, noting(account, user))
    storage.close()

    without = opening()
    assert done(without, erasing(account, "kim")).unreached == ["notes"]
    done(without, erasing(account, "kim"))
    done(without, erasing(account, "lee"))
    assert len(owed(opening)) == 2
    assert b"kim" not in b"".join(owed(opening))
    without.close()
    opening().close()
    assert noted(opening) == ["ida", "kim", "lee"]

    open_with(opening, PART).close()
    assert (noted(opening), owed(opening)) == (["ida"], [])


def test_a_source_takes_along_what_a_plugin_kept_of_it_that_is_taken_out(opening: Opening) -> None:
    storage = open_with(opening, PART)
    accounts = [storage.accounts.ensure(name) for name in ("one", "two")]
    for account, user in zip(accounts, ("kim", "lee"), strict=True):
        done(storage, submitting(account, "a"))
        done(storage, noting(account, user))
    storage.close()

    without = opening()
    done(without, erasing(accounts[0], "kim"))
    done(without, DeleteSource(account_id=accounts[0], source="s"))
    done(without, submitting(accounts[0], "a"))
    without.close()
    open_with(opening, PART).close()

    assert (noted(opening), owed(opening)) == (["lee"], [])


def test_an_erasure_is_owed_to_no_table_without_rows_of_the_source_nor_to_one_that_is_gone(opening: Opening) -> None:
    storage = open_with(opening, PART)
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a"))
    storage.close()

    without = opening()
    assert done(without, erasing(account, "kim")).unreached == []
    without.close()
    open_with(opening, PART).close()
    storage = open_with(opening, PART)
    done(storage, noting(account, "kim"))
    storage.close()
    without = opening()
    done(without, erasing(account, "kim"))
    without.close()
    with opening.beside() as connection:
        NOTES.drop(connection)
        connection.commit()
    opening().close()
    assert owed(opening) == []


def test_an_erasure_raises_the_version_where_views_carry_what_a_plugin_keeps_of_people(opening: Opening) -> None:
    for follows_people in (True, False):
        part = replace(PART, follows_people=follows_people)
        storage = open_with(opening, part)
        account = storage.accounts.ensure("one")
        before = done(storage, submitting(account, "a")).version
        done(storage, noting(account, "kim"))

        assert done(storage, erasing(account, "kim")).version - before == follows_people
        assert done(storage, erasing(account, "kim")).version - before == follows_people
        storage.close()


def test_a_plugin_s_revisions_are_a_history_of_their_own(opening: Opening, tmp_path: Path) -> None:
    open_with(opening, PART).close()
    (tmp_path / "0001_colour.py").write_text(REVISION)
    newer = StoragePart(name="notes", tables=(NOTES,), erase=forget, revisions=tmp_path, revision="0001")

    open_with(opening, newer).close()
    open_with(opening, newer).close()
    opening().close()

    with opening.beside() as connection:
        assert "colour" in {column["name"] for column in inspect(connection).get_columns("notes")}
        assert "alembic_version_notes" in inspect(connection).get_table_names()


def test_a_table_that_names_people_and_has_no_erase_stops_the_start(opening: Opening) -> None:
    hashed = Table("seen", MetaData(), Column("viewer", LargeBinary, primary_key=True, info={"person": True}))
    for table in NOTES, hashed:
        with pytest.raises(InvalidSettings, match=f"keeps people in the table {table.name}"):
            open_with(opening, StoragePart(name="notes", tables=(table,)))


def test_a_source_made_again_has_nothing_of_the_old_one_in_any_table(opening: Opening) -> None:
    storage = open_with(opening, PART)
    account = storage.accounts.ensure("one")
    done(storage, submitting(account))
    tables = (*FEED_TABLES, *SMALL_TABLES, *tables_of((*load_parts(), PART), of_sources=True))
    source = head(storage, account)
    with opening.beside() as connection:
        for table in tables:
            connection.execute(insert(table), some_row(table, source.source_id, source.incarnation))
        connection.commit()

    done(storage, DeleteSource(account_id=account, source="s"))
    done(storage, submitting(account))

    with opening.beside() as connection:
        row = connection.execute(HEAD, {"source_id": source.source_id}).one()
        left = {table.name: connection.execute(select(table)).all() for table in tables}
    by_version = {*FEED_TABLES, taken_back}
    for table in tables:
        for each in left[table.name]:
            if table in by_version:
                assert each.version <= min(row.cleared_at, row.interactions_cleared_at)
            else:
                assert each.incarnation < row.incarnation, table.name
    storage.close()


def some_row(table: Table, source: int, incarnation: int) -> dict[str, Any]:
    """Return a row of a table, the first version of its source."""
    values: dict[str, Any] = {"source_id": source, "incarnation": incarnation}
    some = {bool: False, int: 1, str: "x", bytes: b"x"}
    return {column.name: values.get(column.name, some[column.type.python_type]) for column in table.c}
