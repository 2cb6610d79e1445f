"""A database that is opened again, or twice, and one of an earlier schema."""

from contextlib import closing
from pathlib import Path

import pytest

from databases import new_database
from storage.commands import done, head, submitting
from storage.conftest import Opening


@pytest.fixture
def opening(server: str | None, tmp_path: Path) -> Opening:
    """What opens a database that is empty, or missing: the first opening gives it the schema."""
    return Opening(tmp_path / "data", None if server is None else new_database(server))


def test_two_openings_see_each_other_s_commits(opening: Opening) -> None:
    first, second = opening(), opening()
    account = first.accounts.ensure("one")
    for number in range(20):
        done((first, second)[number % 2], submitting(account, str(number)))
        assert head((second, first)[number % 2], account).version == number + 1
    first.close()
    second.close()


def test_a_database_of_the_first_schema_is_brought_up_to_date(opening: Opening) -> None:
    first = opening()
    account = first.accounts.ensure("one")
    done(first, submitting(account, "a"))
    with opening.beside() as connection:
        connection.exec_driver_sql("DROP TABLE lineage")
        connection.exec_driver_sql("ALTER TABLE counters DROP COLUMN erased_at")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    first.close()

    for _ in range(2):
        again = opening()
        assert head(again, account).piece_count == 1
        again.close()


def test_a_source_that_was_lost_and_is_made_again_is_another_one(opening: Opening) -> None:
    with closing(opening()) as storage:
        account = storage.accounts.ensure("one")
        done(storage, submitting(account, "p"))
        lost = head(storage, account)
        with opening.beside() as connection:
            for table in ("pieces", "counters", "sources"):
                connection.exec_driver_sql(f"DELETE FROM {table}")

        done(storage, submitting(account, "q"))
        again = head(storage, account)

    assert (again.incarnation, again.version) == (lost.incarnation, lost.version)
    assert again.epoch != lost.epoch
