"""The schema can be distributed by source over several databases (docs/scaling.md), with the same tables."""

import re
from pathlib import Path

import pytest
from sqlalchemy import (
    ForeignKeyConstraint,
    PrimaryKeyConstraint,
    Sequence,
    Table,
    UniqueConstraint,
    create_engine,
    text,
)

from databases import new_database
from penchant.storage import open_storage
from penchant.storage.schema import SHARED_TABLES, metadata

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
DISTRIBUTED = [table for table in metadata.sorted_tables if table.name not in SHARED_TABLES]
OWN_TABLES = ("alembic_version", "lineage")
"""What each database keeps of itself."""
LOOKED_FOR = {
    "sequences": "SELECT sequencename FROM pg_sequences",
    "identity columns": "SELECT attrelid::regclass::text FROM pg_attribute WHERE attidentity <> ''",
    "defaults": "SELECT adrelid::regclass::text FROM pg_attrdef",
    "triggers": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
}


@pytest.mark.parametrize("table", DISTRIBUTED, ids=str)
def test_every_key_of_a_source_s_table_holds_the_source(table: Table) -> None:
    kinds = (PrimaryKeyConstraint, UniqueConstraint, ForeignKeyConstraint)
    keys = [each.columns.keys() for each in table.constraints if isinstance(each, kinds)]
    keys += [index.columns.keys() for index in table.indexes if index.unique]

    assert table.primary_key.columns.keys()[0] == "source_id"
    for key in keys:
        assert "source_id" in key


@pytest.mark.parametrize("table", DISTRIBUTED, ids=str)
def test_rows_of_a_source_point_to_nothing_of_another_source(table: Table) -> None:
    for key in table.foreign_key_constraints:
        own = {element.parent.name: element.column.name for element in key.elements}
        assert key.referred_table.name in SHARED_TABLES or own.get("source_id") == "source_id"


def test_shared_tables_are_those_without_a_source() -> None:
    assert {table.name for table in metadata.sorted_tables if "source_id" not in table.columns} == SHARED_TABLES
    assert len(DISTRIBUTED) == len(metadata.tables) - len(SHARED_TABLES)


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=str)
def test_no_number_is_given_by_the_server(table: Table) -> None:
    assert table.autoincrement_column is None
    for column in table.columns:
        assert column.identity is None
        assert column.server_default is None
        assert not isinstance(column.default, Sequence)


def test_a_new_database_has_no_sequence_and_no_trigger(postgresql: str, tmp_path: Path) -> None:
    database = new_database(postgresql)
    open_storage(folder=tmp_path, database_url=database).close()
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://", 1))

    with engine.connect() as connection:
        found = {name: connection.execute(text(query)).scalars().all() for name, query in LOOKED_FOR.items()}
        tables = connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).scalar_one()
    engine.dispose()

    assert tables == len(metadata.tables) + len(OWN_TABLES)
    assert found == {name: [] for name in LOOKED_FOR}


def test_the_page_distributes_every_table_as_it_should_be() -> None:
    page = PAGE.read_text(encoding="utf-8")
    distributed = re.findall(r"create_distributed_table\('(\w+)', 'source_id'(?:, colocate_with => 'sources')?\)", page)
    reference = re.findall(r"create_reference_table\('(\w+)'\)", page)

    assert sorted(distributed) == sorted(table.name for table in DISTRIBUTED)
    assert distributed[0] == "sources"
    assert page.count("colocate_with => 'sources'") == len(DISTRIBUTED) - 1
    assert sorted(reference) == sorted(SHARED_TABLES)
