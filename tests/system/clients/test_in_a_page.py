"""The page of docs/how-to/browser.md in a real Chromium, with a browser key, from an origin of its own."""

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.browsers import TIMEOUT_MS, chromium
from acceptance.processes import wait_until
from acceptance.servers import Server, command
from penchant_client import sign_user

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "browser.md"
WORKS = Path(__file__).parents[3] / "packages" / "penchant" / "src" / "penchant" / "demo" / "works" / "pieces.ndjson"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("npm") is None, reason="Node and npm are not installed"),
]


@pytest.fixture
def server(tmp_path: Path, origin: str) -> Iterator[Server]:
    (tmp_path / "penchant.toml").write_text(f'cors-origins = ["{origin}"]\n')
    running = Server(tmp_path / "data", "--settings", str(tmp_path / "penchant.toml"))
    imported = command("import", str(WORKS), "--source", "works", "--data", str(tmp_path / "data"))
    assert imported.returncode == 0, imported.stderr
    yield running
    assert running.stop() == 0


@pytest.fixture
def _page(tmp_path: Path, built_client: Path, origin: str, server: Server) -> None:
    """The page of the document, with a key for its origin and a signed person."""
    data = ("--data", str(tmp_path / "data"))
    key = command("keys", "create", *data, "--browser", "--origin", origin).stdout.strip()
    secret = command("keys", "secret", *data).stdout.strip()
    signed = sign_user("kim", secret, int(time.time()) + 600)
    blocks = re.findall(r"```html\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    page = next(block for block in blocks if "similarContent" in block)
    for told, real in (
        ("http://127.0.0.1:8080", server.url),
        ("pk_browser_key", key),
        ("kim.1900000000.signature", signed),
    ):
        assert told in page
        page = page.replace(told, real)
    (tmp_path / "page" / "index.html").write_text(page)
    shutil.copytree(built_client / "dist", tmp_path / "page" / "penchant")


@pytest.mark.usefixtures("_page")
def test_a_page_lists_similar_pieces_and_records_the_click_that_leaves_it(origin: str, server: Server) -> None:
    with chromium() as browser:
        window = browser.new_page()
        window.set_default_timeout(TIMEOUT_MS)
        window.goto(origin)
        window.wait_for_selector("li:nth-child(5) a")
        shown = window.locator("li a").all_inner_texts()
        window.locator("li a").first.click()
        window.wait_for_url("**/?piece=*")

    similar = server.client.get("/works/content/jane-eyre/similar?take=5", headers={"x-api-key": server.key}).json()
    assert len(shown) == 5
    assert wait_for_click(server) == similar["content"][0]["id"]


@pytest.mark.usefixtures("_page")
def test_a_page_of_another_origin_is_told_once_which_origin_is_missing(origin: str, server: Server) -> None:
    # The same page, but to a browser not the same origin.
    other = origin.replace("127.0.0.1", "localhost")

    with chromium() as browser:
        window = browser.new_page()
        window.set_default_timeout(TIMEOUT_MS)
        requests: list[str] = []
        window.on("request", lambda request: requests.append(f"{request.method} {request.url}"))
        window.goto(other)
        told = window.locator("text=The list cannot be shown").inner_text()

    assert f"may not answer pages of {other}: name this origin" in told
    # Once, and once more to see whether the service is there: another preflight would end as the first.
    assert [each for each in requests if each.startswith(f"GET {server.url}/works")] == [
        f"GET {server.url}/works/content/jane-eyre/similar?take=5"
    ]


def wait_for_click(server: Server) -> str:
    """Return the piece that was clicked: the browser sends it when it likes to."""

    def clicks() -> Any:
        return server.client.get("/works/users/kim/interactions", headers={"x-api-key": server.key}).json()

    wait_until(lambda: bool(clicks()))
    return str(clicks()[0]["contentId"])
