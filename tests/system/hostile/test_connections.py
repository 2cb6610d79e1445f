"""Connections that say nothing, too little or nonsense end, and others are served meanwhile."""

import json
import socket
import time
from collections.abc import Callable

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server

Connect = Callable[[], socket.socket]
METRICS_LIFE_S = 1.1
"""After this, metrics are read anew."""


def received(connection: socket.socket) -> bytes:
    """Return everything until the server closes; fails after the socket's minute."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("sent", (b"", b"PR", b"GET /-/health/live HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
def test_a_connection_that_never_asks_is_closed(connect: Connect, sent: bytes) -> None:
    connection = connect()
    connection.sendall(sent)

    assert b"HTTP/1.1 200" not in received(connection)


def test_an_idle_connection_is_closed_after_its_answer(connect: Connect) -> None:
    connection = connect()
    connection.sendall(b"GET /-/health/live HTTP/1.1\r\nHost: x\r\n\r\n")

    assert received(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("framing", "body"),
    (
        ("Transfer-Encoding: chunked", b"zz\r\nabc\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked", b"fffffffffffffffff\r\nabc"),
        ("Content-Length: 100", b'[{"id": "a"'),
    ),
)
def test_a_body_with_broken_framing_is_a_counted_problem(
    server: Server, connect: Connect, framing: str, body: bytes
) -> None:
    before = syntax_problems(server)
    connection = connect()
    head = f"POST /s/content HTTP/1.1\r\nHost: x\r\nx-api-key: {server.key}\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}{framing}\r\n\r\n".encode() + body)
    connection.shutdown(socket.SHUT_WR)

    head_received, _, problem = received(connection).partition(b"\r\n\r\n")

    assert head_received.startswith(b"HTTP/1.1 400")
    assert b"application/problem+json" in head_received
    assert json.loads(problem)["code"] == "invalid-syntax"
    wait_until(lambda: syntax_problems(server) == before + 1)


@pytest.mark.parametrize("hosts", ("", "Host:\r\n", "Host: a\r\nHost: b\r\n", "Host: a\r\nHost: a\r\n"))
def test_a_request_names_its_host_once(connect: Connect, hosts: str) -> None:
    connection = connect()
    connection.sendall(f"GET /-/health/live HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())

    head_received, _, problem = received(connection).partition(b"\r\n\r\n")

    assert head_received.startswith(b"HTTP/1.1 400")
    assert json.loads(problem)["code"] == "malformed-request"


def test_the_older_protocol_needs_no_host(connect: Connect) -> None:
    connection = connect()
    connection.sendall(b"GET /-/health/live HTTP/1.0\r\n\r\n")

    assert b" 200" in received(connection).partition(b"\r\n")[0]


def syntax_problems(server: Server) -> float:
    time.sleep(METRICS_LIFE_S)
    lines = server.client.get("/-/metrics").text.splitlines()
    name = 'penchant_problems_total{code="invalid-syntax"}'
    return next((float(line.split()[-1]) for line in lines if line.startswith(name)), 0.0)
