"""Both databases, real: a SQLite file, and a PostgreSQL that the development dependencies bring along."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from databases import new_database
from penchant.storage import Storage, open_storage

Opening = Callable[[], Storage]


@pytest.fixture(params=("sqlite", "postgresql", "system_postgresql"))
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """A function that opens the same database each time."""
    folder = tmp_path / "data"
    if request.param == "sqlite":
        return lambda: open_storage(folder=folder)
    url = new_database(request.getfixturevalue(request.param))
    return lambda: open_storage(folder=folder, database_url=url)


@pytest.fixture
def storage(opening: Opening) -> Iterator[Storage]:
    """An open database without anything in it."""
    opened = opening()
    yield opened
    opened.close()
