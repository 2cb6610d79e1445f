"""The limit of connections by address, on sockets of this process."""

import contextlib
import socket
from collections.abc import Iterator

import pytest

from penchant.live.connections import ConnectionLimiter
from penchant.telemetry import Metrics

LIMIT = 200
"""More than this process has other descriptors."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=2 * LIMIT) as server:
        yield server


@pytest.fixture
def opened() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def connections(
    listener: socket.socket, opened: contextlib.ExitStack, count: int, source: str = "127.0.0.2"
) -> list[socket.socket]:
    """Open connections and return the server's ends, oldest first."""
    accepted = []
    for _ in range(count):
        opened.enter_context(socket.create_connection(listener.getsockname(), source_address=(source, 0)))
        accepted.append(opened.enter_context(listener.accept()[0]))
    return accepted


def is_open(connection: socket.socket) -> bool:
    try:
        connection.send(b"x")
    except OSError:
        return False
    return True


def limiter(listener: socket.socket, limit: int = LIMIT, proxies: tuple[str, ...] = ()) -> ConnectionLimiter:
    return ConnectionLimiter(listener.getsockname()[1], limit, proxies, Metrics())


def test_the_newest_connections_beyond_the_limit_are_closed(
    listener: socket.socket, opened: contextlib.ExitStack
) -> None:
    limited = limiter(listener)
    accepted = connections(listener, opened, LIMIT)
    assert limited.sweep() == 0
    accepted += connections(listener, opened, 30)

    assert limited.sweep() == 30
    assert [is_open(connection) for connection in accepted] == [True] * LIMIT + [False] * 30
    assert limited.sweep() == 0


def test_another_address_keeps_its_connections(listener: socket.socket, opened: contextlib.ExitStack) -> None:
    connections(listener, opened, LIMIT + 10)
    others = connections(listener, opened, 20, source="127.0.0.3")

    assert limiter(listener).sweep() == 10
    assert all(is_open(connection) for connection in others)


@pytest.mark.parametrize(("limit", "proxies"), ((0, ()), (LIMIT, ("127.0.0.2",)), (LIMIT, ("127.0.0.0/8",))))
def test_without_a_limit_and_from_proxies_all_stay(
    listener: socket.socket, opened: contextlib.ExitStack, limit: int, proxies: tuple[str, ...]
) -> None:
    accepted = connections(listener, opened, LIMIT + 10)

    assert limiter(listener, limit, proxies).sweep() == 0
    assert all(is_open(connection) for connection in accepted)


def test_connections_of_other_ports_do_not_count(listener: socket.socket, opened: contextlib.ExitStack) -> None:
    connections(listener, opened, LIMIT + 10)
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert limiter(other).sweep() == 0
