"""The TypeScript client, built from a clean copy and asked against a real service in Node."""

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.servers import Server
from clients.conftest import run

MOST_BYTES = 10 * 1024
"""The client's weight in a page, its modules in gzip."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="Node and npm are not installed"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("typescript") / "data")
    yield running
    assert running.stop() == 0


def test_the_client_does_in_node_what_its_tests_say(built_client: Path, server: Server) -> None:
    printed = run(built_client, "node", "--test", "test/", PENCHANT_URL=server.url, PENCHANT_KEY=server.key)

    assert "# fail 0" in printed
    assert "# pass 0" not in printed


def test_types_are_those_of_the_openapi_document(built_client: Path, server: Server) -> None:
    stored = (built_client / "src" / "openapi.ts").read_text()

    run(built_client, "npm", "run", "types", PENCHANT_URL=server.url)

    assert (built_client / "src" / "openapi.ts").read_text() == stored


def test_the_client_weighs_little_in_a_page(built_client: Path) -> None:
    modules = b"".join(path.read_bytes() for path in sorted((built_client / "dist").glob("*.js")))

    assert len(gzip.compress(modules)) <= MOST_BYTES
