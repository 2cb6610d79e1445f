"""The schema can be distributed by source over several databases (docs/how-to/scaling.md), with the same tables."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Table, UniqueConstraint, create_engine, text

from databases import new_database
from penchant.storage import open_storage
from penchant.storage.parts import load_parts, tables_of
from penchant.storage.schema import SHARED_TABLES, metadata

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "scaling.md"
DISTRIBUTED = [table for table in metadata.sorted_tables if table not in SHARED_TABLES]
DISTRIBUTED += tables_of(load_parts(), of_sources=True)
OWN_TABLES = ("alembic_version", "lineage")
"""What each database keeps of itself."""
LOOKED_FOR = {
    "sequences": "SELECT sequencename FROM pg_sequences",
    "identity columns": "SELECT attrelid::regclass::text FROM pg_attribute WHERE attidentity <> ''",
    "defaults": "SELECT adrelid::regclass::text FROM pg_attrdef",
    "triggers": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
}


@pytest.mark.parametrize("table", DISTRIBUTED, ids=str)
def test_every_key_of_a_source_s_table_holds_the_source_and_none_leads_elsewhere(table: Table) -> None:
    keys = [each.columns.keys() for each in table.constraints if isinstance(each, UniqueConstraint)]
    keys += [index.columns.keys() for index in table.indexes if index.unique]

    assert table.primary_key.columns.keys()[0] == "source_id"
    assert all("source_id" in key for key in keys)
    assert not table.foreign_keys


def test_shared_tables_are_those_without_a_source() -> None:
    assert {table for table in metadata.sorted_tables if "source_id" not in table.columns} == set(SHARED_TABLES)
    assert tables_of(load_parts(), of_sources=False) == ()


def test_a_new_database_has_no_sequence_and_no_trigger(postgresql: str, tmp_path: Path) -> None:
    database = new_database(postgresql)
    open_storage(folder=tmp_path, database_url=database).close()
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://", 1))

    with engine.connect() as connection:
        found = {name: connection.execute(text(query)).scalars().all() for name, query in LOOKED_FOR.items()}
        tables = connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).scalar_one()
    engine.dispose()

    assert tables == len(DISTRIBUTED) + len(SHARED_TABLES) + len(OWN_TABLES)
    assert found == {name: [] for name in LOOKED_FOR}


def test_the_page_distributes_every_table_as_it_should_be() -> None:
    page = PAGE.read_text(encoding="utf-8")
    reference, distributed = (re.findall(r"'(\w+)'", names) for names in re.findall(r"ARRAY\[(.*?)\]", page, re.DOTALL))

    assert "create_distributed_table('sources', 'source_id');" in page
    assert sorted(["sources", *distributed]) == sorted(table.name for table in DISTRIBUTED)
    assert sorted(reference) == sorted(table.name for table in SHARED_TABLES)
