"""``penchant-mcp``: tools for a program that starts them, by the official client, over standard input and output."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import starlette.testclient  # noqa: F401  # before httpx2 can be found

from acceptance.servers import Server, free_port
from factories import piece

if sys.modules.get("httpx2", ...) is None:
    del sys.modules["httpx2"]

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).with_name("penchant-mcp")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without the setting `mcp`, with a source."""
    with Server(tmp_path_factory.mktemp("stdio") / "data") as server:
        pieces = [piece(each, "x", label=f"{each} title") for each in "ab"]
        assert server.client.post("/s/content", json=pieces).status_code == 202
        yield server


def text_of(result: CallToolResult) -> str:
    """Return the text of a result."""
    (content,) = result.content
    assert content.type == "text"
    return content.text


@pytest.mark.parametrize("mode", ("legacy", "2026-07-28"))
async def test_a_program_calls_tools_by_starting_them(server: Server, mode: str) -> None:
    started = StdioServerParameters(command=str(COMMAND), args=["--url", server.url], env={"PENCHANT_KEY": server.key})
    async with Client(stdio_client(started), mode=mode, read_timeout_seconds=60) as client:
        tools = (await client.list_tools()).tools
        found = await client.call_tool("similar", {"source": "s", "id": "a"})
        unknown = await client.call_tool("similar", {"source": "S", "id": "a"})
        written = [await client.call_tool("draft", {"source": "s", "name": mode, "edits": {}}) for _ in range(2)]

    assert len(tools) == 11
    assert '"label":"b title"' in text_of(found)
    assert '"code":"unknown-source"' in text_of(unknown)
    assert '"nearest":["s"],"sources":["s"]' in text_of(unknown)
    assert [each.is_error for each in (found, unknown, *written)] == [False, True, False, False]


@pytest.mark.parametrize("url", ("http://127.0.0.1:{port}", "service"))
def test_a_service_that_does_not_answer_is_told(url: str) -> None:
    words = [str(COMMAND), "--url", url.format(port=free_port()), "--key", "pk_a_b"]

    ran = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=120)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("Error: No service answers at ")
