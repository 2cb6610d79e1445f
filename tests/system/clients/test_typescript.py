"""The TypeScript client, built from a clean copy and asked against a real service in Node."""

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.servers import Server
from clients.conftest import run

MOST_BYTES = 8 * 1024
"""The client's weight in a page, its modules in gzip."""
OF_SERVERS = {"administration", "service"}
"""What neither a page nor a program that uses lists asks for."""
UNDER_ANOTHER_NAME = {f"{verb}{name}": f"{verb}List" for verb in ("get", "put") for name in ("Whitelist", "Blacklist")}
UNDER_ANOTHER_NAME |= {
    f"{verb}{name}Entry": f"{verb}ListEntry" for verb in ("put", "delete") for name in ("Whitelist", "Blacklist")
}
UNDER_ANOTHER_NAME |= {
    f"{verb}{name}Entries": f"{verb}ListEntries" for verb in ("add", "remove") for name in ("Whitelist", "Blacklist")
}
REPLACED = {"deleteWhitelist", "deleteBlacklist", "usage", "audit"}
"""An empty list put in its place does it; the last two are for administrators."""

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


def test_types_say_what_entries_carry_and_every_request_takes_a_signal(built_client: Path) -> None:
    run(built_client, "npx", "tsc", "--project", "test/tsconfig.json")


def test_every_operation_of_programs_and_pages_has_a_method(built_client: Path, server: Server) -> None:
    paths = server.client.get("/-/openapi.json").json()["paths"]
    operations = {
        operation["operationId"]
        for methods in paths.values()
        for operation in methods.values()
        if not OF_SERVERS & set(operation["tags"])
    }
    client = (built_client / "src" / "client.ts").read_text()
    methods = set(re.findall(r"^  (?:async )?\*?(\w+)[(<]", client, re.MULTILINE))

    assert {UNDER_ANOTHER_NAME.get(each, each) for each in operations - REPLACED} <= methods


def test_the_client_weighs_little_in_a_page(built_client: Path) -> None:
    modules = b"".join(path.read_bytes() for path in sorted((built_client / "dist").glob("*.js")))

    weight = len(gzip.compress(modules))
    print(f"The client weighs {weight:,} bytes, gzipped.")  # noqa: T201  # with -s: how much room is left
    assert weight <= MOST_BYTES
