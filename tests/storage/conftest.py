"""Both databases, real: a SQLite file, and a PostgreSQL that the development dependencies bring along."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection

from databases import connection_beside, new_database
from penchant.storage import MoveSide, Storage, open_storage


@dataclass(frozen=True, slots=True)
class Opening:
    """Opens the same database each time that it is called."""

    folder: Path
    url: str | None

    def __call__(self) -> Storage:
        return open_storage(folder=self.folder, database_url=self.url)

    def beside(self) -> AbstractContextManager[Connection]:
        """Return a connection to the database beside those of what is under test."""
        return connection_beside(self.folder, self.url)


@pytest.fixture(params=("sqlite", "postgresql", pytest.param("system_postgresql", marks=pytest.mark.slow)))
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """What opens a fresh database; the older PostgreSQL where slow tests are run."""
    url = None if request.param == "sqlite" else new_database(request.getfixturevalue(request.param))
    return Opening(tmp_path / "data", url)


@pytest.fixture
def storage(opening: Opening) -> Iterator[Storage]:
    """An open database without anything in it."""
    opened = opening()
    yield opened
    opened.close()


@pytest.fixture
def account(storage: Storage) -> int:
    return storage.accounts.ensure("one")


@pytest.fixture(params=("to PostgreSQL", "to SQLite"))
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[MoveSide, MoveSide]:
    """An old and a new side, of different kinds."""
    file = MoveSide(folder=tmp_path / "file")
    server = MoveSide(folder=tmp_path, url=new_database(request.getfixturevalue("postgresql")))
    return (file, server) if request.param == "to PostgreSQL" else (server, file)
