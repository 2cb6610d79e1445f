"""The clients for pages, built once from clean copies, and windows of the system's browsers to try them in."""

import base64
import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Error as PlaywrightError

from acceptance.browsers import TIMEOUT_MS, chromium
from acceptance.firefox import MarionetteError, firefox
from acceptance.servers import free_port

CLIENTS = Path(__file__).parents[3] / "clients"
CLIENT = CLIENTS / "typescript"
BROWSERS = ("chromium", pytest.param("firefox", marks=pytest.mark.stress))
_OFTEN_S = 0.05


def run(folder: Path, *words: str, **environment: str) -> str:
    """Run a command in a folder and return what it printed."""
    found = subprocess.run(
        words, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="session")
def built_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's folder with its development packages, built."""
    copy = tmp_path_factory.mktemp("clients") / "typescript"
    shutil.copytree(CLIENT, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run(copy, "npm", "ci", "--no-audit", "--no-fund")
    run(copy, "npm", "run", "build")
    return copy


@pytest.fixture(scope="session")
def built_elements(built_client: Path) -> Path:
    """The elements' folder beside that of the client, with its development packages, built."""
    copy = built_client.parent / "elements"
    shutil.copytree(CLIENTS / "elements", copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run(copy, "npm", "ci", "--no-audit", "--no-fund")
    run(copy, "npm", "run", "build")
    return copy


@contextmanager
def static_origin(folder: Path) -> Iterator[str]:
    """Serve the files of a folder, which is made, at an origin of their own."""
    folder.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    """Where the page is served from: the folder ``page``."""
    with static_origin(tmp_path / "page") as address:
        yield address


class Window(Protocol):
    """A window of a browser."""

    def open(self, address: str) -> None:
        """Go to an address, and wait until it is loaded."""

    def run(self, script: str) -> Any:
        """Run the body of an async function in the page, and return what it returns."""

    def press(self, key: str) -> None:
        """Press a key and let it go."""

    def resize(self, width: int, height: int) -> None:
        """Show pages in so large a part of the screen."""

    def picture(self) -> str:
        """Return a picture of the window, as base64 of a PNG."""


class ChromiumWindow:
    """A window of Chromium; ``complaints`` are the errors and warnings of its console."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(text)

    def open(self, address: str) -> None:
        """Go to an address, and wait until it is loaded."""
        self._page.goto(address)

    def run(self, script: str) -> Any:
        """Run the body of an async function in the page, and return what it returns."""
        return self._page.evaluate(f"async () => {{{script}}}")

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        self._page.keyboard.press(key)

    def resize(self, width: int, height: int) -> None:
        """Show pages in so large a part of the screen."""
        self._page.set_viewport_size({"width": width, "height": height})

    def picture(self) -> str:
        """Return a picture of the window, as base64 of a PNG."""
        return base64.b64encode(self._page.screenshot()).decode()


class WindowOpening(Protocol):
    """Opens windows of a browser that know nothing of each other, one after the other."""

    def __call__(self, *, is_dark: bool = False) -> AbstractContextManager[Window]:
        """Open a window."""


@pytest.fixture(scope="module", params=BROWSERS)
def opening(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WindowOpening]:
    """Each browser, started once for a file; skip where it is not installed."""
    if request.param == "firefox":
        with firefox(tmp_path_factory.mktemp("firefox") / "profile") as window:

            def begun(*, is_dark: bool = False) -> AbstractContextManager[Window]:
                window.begin(is_dark=is_dark)
                return nullcontext(window)

            yield begun
    else:
        with chromium() as browser:

            @contextmanager
            def opened(*, is_dark: bool = False) -> Iterator[Window]:
                with browser.new_context(color_scheme="dark" if is_dark else "light") as context:
                    context.set_default_timeout(TIMEOUT_MS)
                    page = context.new_page()
                    yield ChromiumWindow(page)
                    # Closed while a page is on its way, Chromium may never answer.
                    page.goto("about:blank")

            yield opened


@pytest.fixture
def window(opening: WindowOpening) -> Iterator[Window]:
    """A window of each browser."""
    with opening() as opened:
        yield opened


def wait_in(window: Window, condition: str) -> None:
    """Wait until an expression is true in a page, whichever page it is by then."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        with contextlib.suppress(MarionetteError, PlaywrightError):
            if window.run(f"try {{ return Boolean({condition}); }} catch {{ return false; }}"):
                return
        assert time.monotonic() < deadline, f"never in this page: {condition}"
        time.sleep(_OFTEN_S)
