"""What a test that fails leaves behind goes with it: a server that still ran would fail others by what it holds.

Windows of a browser at the server of a file.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from acceptance.browsers import SCREENSHOTS, Window, chromium, launched
from acceptance.servers import RUNNING, Server


@pytest.fixture(autouse=True)
def ends_servers() -> Iterator[None]:
    """End the servers that a test has started and not ended; those of fixtures of a module run on."""
    before = set(RUNNING)
    yield
    for server in RUNNING - before:
        server.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that loads no pictures, unless somebody wants to look."""
    with chromium(pictures=SCREENSHOTS is not None) as started:
        yield started


@pytest.fixture(scope="module")
def browser_with_pictures(browser: Browser) -> Iterator[Browser]:
    with launched(browser.browser_type, pictures=True) as started:
        yield started


@pytest.fixture
def opening(browser: Browser, server: Server, request: pytest.FixtureRequest) -> Iterator[Callable[..., Window]]:
    """Opens windows that are signed in, unless ``key`` is none; with ``pictures`` where these are looked at."""
    windows: list[Window] = []

    def open_window(*, key: str | None = server.key, pictures: bool = False, **options: Any) -> Window:
        chosen = request.getfixturevalue("browser_with_pictures") if pictures else browser
        windows.append(Window(chosen, server, **options))
        if key is not None:
            windows[-1].be_signed_in(key)
        return windows[-1]

    yield open_window
    for window in windows:
        window.close()
