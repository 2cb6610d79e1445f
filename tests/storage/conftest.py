"""Both databases, real: a SQLite file, and a PostgreSQL that the development dependencies bring along."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection

from databases import connection_beside, prepare_file, prepared_database
from penchant.storage import MoveSide, Storage, open_storage
from storage.sides import Sides, filled_database, filled_file


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


@pytest.fixture(params=("sqlite", "postgresql", pytest.param("system_postgresql", marks=pytest.mark.stress)))
def server(request: pytest.FixtureRequest) -> str | None:
    """The PostgreSQL server of a database, the older one where stress is run; None for a SQLite file."""
    found: str | None = None if request.param == "sqlite" else request.getfixturevalue(request.param)
    return found


@pytest.fixture
def opening(server: str | None, tmp_path: Path) -> Opening:
    """What opens a fresh database that has the schema already."""
    if server is None:
        prepare_file(tmp_path / "data")
    return Opening(tmp_path / "data", None if server is None else prepared_database(server))


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
def sides(request: pytest.FixtureRequest, tmp_path: Path, postgresql: str) -> Sides:
    """An old and a new side, of different kinds, without anything in them."""
    return _sides(tmp_path, postgresql, request.param)


@pytest.fixture(params=("to PostgreSQL", "to SQLite"))
def filled_sides(request: pytest.FixtureRequest, tmp_path: Path, postgresql: str) -> Sides:
    """An old and a new side, of different kinds; the old one has something of every kind."""
    return _sides(tmp_path, postgresql, request.param, filled=True)


def _sides(folder: Path, postgresql: str, direction: str, *, filled: bool = False) -> Sides:
    is_from_file = direction == "to PostgreSQL"
    file = filled_file if filled and is_from_file else prepare_file
    database = filled_database if filled and not is_from_file else prepared_database
    file(folder / "file")
    sides = MoveSide(folder=folder / "file"), MoveSide(folder=folder, url=database(postgresql))
    return sides if is_from_file else (sides[1], sides[0])
