"""What a test that fails leaves behind goes with it: a server that still ran would fail others by what it holds.

Windows of a browser at the server of a file.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from acceptance.browsers import Window, chromium
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
    with chromium() as started:
        yield started


@pytest.fixture
def opening(browser: Browser, server: Server) -> Iterator[Callable[..., Window]]:
    """Opens windows that are signed in, unless ``key`` is none."""
    windows: list[Window] = []

    def open_window(*, key: str | None = server.key, **options: Any) -> Window:
        windows.append(Window(browser, server, **options))
        if key is not None:
            windows[-1].sign_in(key)
        return windows[-1]

    yield open_window
    for window in windows:
        window.close()
