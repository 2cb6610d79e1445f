"""Fixtures of tests against strangers: a real process with short limits, and raw sockets to it."""

import contextlib
import socket
from collections.abc import Callable, Iterator

import pytest

from acceptance.servers import Server

STRANGER = "127.0.0.2"
"""Where attacks come from: another address than the one of those who must be served."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("hostile") / "data"
    with Server(data, settings="header-timeout-s = 2\nbody-timeout-s = 5\n") as running:
        yield running


@pytest.fixture
def connect(server: Server) -> Iterator[Callable[[], socket.socket]]:
    """Return a function that opens a connection from a stranger's address."""
    with contextlib.ExitStack() as opened:

        def connection() -> socket.socket:
            made = socket.create_connection(("127.0.0.1", server.port), timeout=300, source_address=(STRANGER, 0))
            return opened.enter_context(made)

        yield connection
