"""The documents as pages: mkdocs builds them strictly, a service serves them, and a browser loads nothing else."""

import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from acceptance.browsers import chromium
from penchant.bootstrap import web_application
from penchant.settings import NodeSettings
from penchant.web import documents
from penchant.web.routes import interface_operations

OPERATIONS = interface_operations()

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `sh scripts/docs` builds it: a link that leads nowhere, or a page left out, fails."""
    folder = tmp_path_factory.mktemp("site")
    words = ("-m", "mkdocs", "build", "--strict", "--site-dir", str(folder))
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def served(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A service below a path that has the site installed."""
    monkeypatch.setattr(documents, "SITE", site)
    settings = NodeSettings(data=str(tmp_path / "data"), base_path="/under/here")
    with TestClient(web_application(settings), follow_redirects=False) as client:
        yield client


def test_the_reference_has_all_operations(site: Path) -> None:
    reference = "".join(path.read_text() for path in (site / "reference" / "operations").glob("*.html"))

    for operation in OPERATIONS:
        assert f"{operation.method} {operation.path}: parameters" in reference, operation.name


def test_pages_are_served_with_what_keeps_a_browser_from_elsewhere(served: TestClient) -> None:
    led = served.get("/under/here/-/docs")
    page = served.get("/under/here/-/docs/")
    again = served.get("/under/here/-/docs/index.html", headers={"if-none-match": page.headers["etag"]})

    assert (led.status_code, led.headers["location"]) == (307, "/under/here/-/docs/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["x-request-id"]
    assert (again.status_code, again.content) == (304, b"")
    assert served.head("/under/here/-/docs/reference/settings.html").status_code == 200


@pytest.mark.parametrize(
    "name", ("nothing.html", "reference", "..%2F..%2F__init__.py", "%2Fetc%2Fpasswd", "reference/")
)
def test_what_is_no_page_is_not_found(served: TestClient, name: str) -> None:
    answer = served.get(f"/under/here/-/docs/{name}")

    assert answer.status_code == 404
    assert answer.json()["code"] == "unknown-route"


def test_pages_take_no_other_method(served: TestClient) -> None:
    assert served.post("/under/here/-/docs/").status_code == 405


def test_a_service_without_them_says_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SITE", tmp_path / "none")
    with TestClient(web_application(NodeSettings(data=str(tmp_path / "data")))) as client:
        answer = client.get("/-/docs")

    assert answer.status_code == 404
    assert "`sh scripts/docs`" in answer.json()["detail"]


class _UnderPolicy(SimpleHTTPRequestHandler):
    """Serves the files of a folder with the headers that a service sends with them."""

    def end_headers(self) -> None:
        for name, value in documents.HEADERS:
            self.send_header(name.decode(), value.decode())
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_UnderPolicy, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_browser_searches_them_and_loads_nothing_of_elsewhere(address: str) -> None:
    complaints: list[str] = []
    asked: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/index.html")
        page.get_by_role("textbox", name="Search").fill("half-life")
        first = page.locator(".md-search-result__link").first
        expect(first).to_be_visible()
        first.click()
        page.wait_for_url(re.compile(r"\?h="))

        expect(page.locator("h1")).to_be_visible()
        page.context.close()
    assert complaints == []
    assert [each for each in asked if not each.startswith((address, "data:"))] == []
