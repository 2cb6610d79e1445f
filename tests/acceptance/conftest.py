"""What a test that fails leaves behind goes with it: a server that still ran would fail others by what it holds."""

from collections.abc import Iterator

import pytest

from acceptance.servers import RUNNING


@pytest.fixture(autouse=True)
def ends_servers() -> Iterator[None]:
    """End the servers that a test has started and not ended; those of fixtures of a module run on."""
    before = set(RUNNING)
    yield
    for server in RUNNING - before:
        server.kill()
