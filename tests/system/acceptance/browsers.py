"""A real Chromium at the dashboard of a real server, by mouse, by keyboard, narrow, dark, and without scripts."""

import os
import re
import shutil
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlencode

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserType, Dialog, Page, ViewportSize, sync_playwright

from acceptance.servers import Server
from visitors import HOME, Visitor

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SCREENSHOTS = os.environ.get("PENCHANT_SCREENSHOTS")
"""A folder for pictures of the pages, for whoever wants to look; nothing is compared with them."""
IMPACTS = frozenset({"minor", "moderate", "serious", "critical"})
"""How much a violation may matter, as axe has it."""
Pages = dict[str, tuple[str, dict[str, str]]]
"""By name the path of a page, and its query."""
DESKTOP: ViewportSize = {"width": 1280, "height": 720}
PHONE_WIDTHS = (320, 390)
MAX_TABS = 80
TIMEOUT_MS = 120_000
# All that Playwright sets by this switch, of which only the last one counts, and that no picture is loaded.
_NO_PICTURES = (
    "--blink-settings=imagesEnabled=false,primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,"
    "availablePointerTypes=4"
)
_VIOLATIONS = """async (options) => (await axe.run(options)).violations.map(
  (each) => [each.id, each.impact, each.nodes.slice(0, 3).map((node) => node.html)])"""


@contextmanager
def chromium(*, pictures: bool = True) -> Iterator[Browser]:
    """Start the system's Chromium; skip where there is none."""
    with sync_playwright() as driver, launched(driver.chromium, pictures=pictures) as browser:
        yield browser


@contextmanager
def launched(kind: BrowserType, *, pictures: bool) -> Iterator[Browser]:
    """Start one more of a driver's browsers; pictures take a third of the time of most pages."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    options += [] if pictures else [_NO_PICTURES]
    browser = kind.launch(executable_path=CHROMIUM, args=options)
    yield browser
    browser.close()


def axe_options(*, colours_alone: bool) -> dict[str, list[str]]:
    """Return what axe is to look for: everything, or what depends on colours; the rest is the same in every scheme."""
    rules = {"runOnly": ["color-contrast", "link-in-text-block"]} if colours_alone else {}
    return {"resultTypes": ["violations"]} | rules


def violations(
    page: Page, impacts: Collection[str] = IMPACTS, *, colours_alone: bool = False
) -> list[tuple[str, list[str]]]:
    """Return what axe finds wrong on a page: the rule, and the first elements that break it."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        # What is opened in this window from now on begins with it, which takes a tenth of the time.
        page.add_init_script(AXE_SCRIPT)
    found = page.evaluate(_VIOLATIONS, axe_options(colours_alone=colours_alone))
    return [(rule, elements) for rule, impact, elements in found if impact in impacts]


def look_at(window: "Window", pages: Pages) -> None:
    """Open pages: axe finds nothing in light and dark, and none is wider than a phone."""
    for name, (page, query) in pages.items():
        window.open(page, **query)
        for scheme in SCHEMES:
            window.page.emulate_media(color_scheme=scheme)
            window.photograph(f"{name}-{scheme}")
            assert violations(window.page, colours_alone=scheme == "dark") == [], (name, scheme)
        for width in PHONE_WIDTHS:
            window.page.set_viewport_size({"width": width, "height": 700})
            window.photograph(f"{name}-{width}")
            assert window.page.evaluate("() => document.documentElement.scrollWidth") <= width, (name, width)
        window.page.set_viewport_size(DESKTOP)


def photograph(page: Page, name: str, *, whole: bool = False) -> None:
    """Keep a picture of what a window shows, or of the whole page, where pictures are asked for."""
    if SCREENSHOTS is not None:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=whole)


class PictureHost:
    """A host of pictures on loopback, which notes the paths that it was asked for and by which page's address."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None]] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append((self.path, self.headers.get("referer")))
                self.send_response(200)
                self.send_header("content-type", "image/svg+xml")
                self.end_headers()
                self.wfile.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="120"/>')

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.name = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.name}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Window:
    """A window of a browser at the dashboard, which notes what a page did that it may not."""

    def __init__(self, browser: Browser, server: Server, **options: Any) -> None:
        self.server = server
        self.context = browser.new_context(**options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT_MS)
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self._complain(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)

    def _complain(self, kind: str, text: str) -> None:
        # A page that tells of a 4xx is one, too, which the browser notes as an error.
        if kind in {"error", "warning"} and "the server responded with a status of 4" not in text:
            self.complaints.append(text)

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def address(self, page: str = "", **query: str) -> str:
        """Return the address of a page."""
        path = f"{HOME}/{page}" if page else HOME
        return f"{self.server.url}{path}" + (f"?{urlencode(query)}" if query else "")

    def open(self, page: str = "", **query: str) -> Page:
        """Go to a page by its address; one that is still being made is waited for, as people do."""
        self.page.goto(self.address(page, **query))
        self.page.get_by_text("looks again by itself").wait_for(state="detached", timeout=60_000)
        return self.page

    def fetched(self, address: str) -> bytes:
        """Return what is at an address for who is signed in here, uncompressed."""
        answer = self.context.request.get(address)
        return answer.body()

    def sign_in(self, key: str) -> None:
        """Sign in with a key, by mouse."""
        self.open("sign-in")
        self.page.get_by_label("API key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(re.compile(rf"{HOME}(/keys|/desk\?.*)?$"))

    def be_signed_in(self, key: str) -> None:
        """Take the cookies of somebody who has signed in with a key, which spares three pages."""
        for name, value in Visitor(self.server, key).cookies.items():
            self.context.add_cookies([{"name": name, "value": value, "domain": "127.0.0.1", "path": HOME}])

    def tab_to(self, name: str) -> None:
        """Press Tab until what has the focus is called so."""
        for _ in range(MAX_TABS):
            self.page.keyboard.press("Tab")
            if self.focused() == name:
                return
        raise AssertionError(f"no {name} within {MAX_TABS} tabs")

    def enter(self, name: str, text: str) -> None:
        """Go to a field with Tab, and type in the place of what it holds; in a choice this chooses."""
        self.tab_to(name)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def press(self, name: str) -> None:
        """Go to a link or button with Tab, press Enter, and wait for the page that it leads to."""
        self.tab_to(name)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def focused(self) -> str:
        """Return what the element that has the focus is called."""
        found = self.page.evaluate(
            "() => { const e = document.activeElement; return e.getAttribute('aria-label')"
            " || (e.labels && e.labels[0] && e.labels[0].innerText) || e.innerText || e.tagName; }"
        )
        return str(found).strip()

    def photograph(self, name: str) -> None:
        """Keep a picture of the whole page, where pictures are asked for."""
        photograph(self.page, name, whole=True)

    def close(self) -> None:
        """Close the window; fail if a page did what it may not."""
        self.context.close()
        assert not self.complaints, self.complaints
