"""Bytes that no proper client sends: each gets a clear answer or a closed connection, and others are served."""

import contextlib
import re
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("hostile") / "data"
    with Server(data, settings="body-timeout-s = 1\nsend-timeout-s = 2\n") as running:
        assert running.client.post("/s/content", json=[{"id": "kept", "categories": {}}]).status_code == 202
        yield running
        assert running.client.get("/s/ids").json()["content"] == ["kept"]


def exchange(server: Server, request: bytes, *, timeout_s: float = 60) -> bytes:
    """Send bytes and return what comes back: a whole answer, or what came until the connection was closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout_s) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        answer = b""
        try:
            while not is_whole(answer) and (part := connection.recv(65536)):
                answer += part
        except (TimeoutError, ConnectionResetError):
            pass
        return answer


def is_whole(answer: bytes) -> bool:
    """Return whether an answer has come with all of its body; never where its head tells no length."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return length is not None and len(body) >= int(length[1])


def status(answer: bytes) -> int:
    return int(answer.split(b" ")[1]) if answer else 0


def post(server: Server, *headers: str, body: bytes = b"", path: str = "/s/content") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"x-api-key: {server.key}", *headers]
    return exchange(server, "\r\n".join(lines).encode() + b"\r\n\r\n" + body)


@pytest.mark.parametrize(
    ("length", "body", "told", "code"),
    ((100 * 10**9, b"", 413, b"body-too-large"), (100, b"[", 408, b"request-timeout")),
)
def test_a_body_too_large_is_refused_before_it_is_sent_and_one_that_stops_after_a_while(
    server: Server, length: int, body: bytes, told: int, code: bytes
) -> None:
    answer = post(server, "Content-Type: application/json", f"Content-Length: {length}", body=body)

    assert status(answer) == told
    assert code in answer


def test_an_endless_chunked_body_is_cut_at_the_limit(server: Server) -> None:
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    answer = post(server, "Content-Type: application/json", "Transfer-Encoding: chunked", body=chunk * 700)

    assert status(answer) in {0, 413}


@pytest.mark.parametrize(
    ("path", "expected"),
    (
        ("/s/content/\xc3\xa9", 400),
        ("/s/content/a%", 400),
        ("/s/content/%00", 400),
        ("/s/content/%FF", 400),
        ("/s/content/" + "x" * 70_000, 414),
        ("//", 404),
        ("/s/content//similar", 404),
        ("/s/ids?x=%zz", 400),
    ),
)
def test_a_hostile_path_is_refused(server: Server, path: str, expected: int) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nx-api-key: {server.key}\r\n\r\n".encode("latin-1")

    assert status(exchange(server, request)) == expected


def test_huge_headers_are_refused_by_the_server(server: Server) -> None:
    request = b"GET /s/ids HTTP/1.1\r\nHost: x\r\nx-big: " + b"x" * 2_000_000 + b"\r\n\r\n"

    assert status(exchange(server, request)) in {0, 431}


def test_silent_and_half_open_connections_do_not_stop_others(server: Server) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1500)]
    for connection in held[::2]:
        connection.sendall(b"POST /s/content HTTP/1.1\r\nHost: x\r\n")
    try:
        # In the time that the client has patience, which does not suffice to wait until they are cut.
        with httpx.Client(base_url=server.url, headers={"x-api-key": server.key}) as client:
            assert client.get("/s/ids").status_code == 200
    finally:
        for connection in held:
            connection.close()


def test_a_slow_reader_of_a_long_list_is_cut(server: Server) -> None:
    for batch in range(2):
        pieces = [{"id": f"{batch}-{n}", "categories": {}, "extras": {"text": "x" * 8000}} for n in range(2000)]
        assert server.client.post("/long/content", json=pieces).status_code == 202
    request = f"GET /long/content HTTP/1.1\r\nHost: x\r\nx-api-key: {server.key}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(request)
        time.sleep(5)
        received = 0
        connection.settimeout(5)
        try:
            while part := connection.recv(1 << 20):
                received += len(part)
        except (TimeoutError, ConnectionResetError):
            pass
    assert received < 2 * 2000 * 8000
    assert server.client.delete("/long?confirm=long").status_code == 202


def test_a_follower_that_hangs_up_waits_no_longer(server: Server) -> None:
    version = server.client.get("/s").json()["version"]
    request = f"GET /s/changes?since={version}&wait=25 HTTP/1.1\r\nHost: x\r\nx-api-key: {server.key}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(request.encode())
        wait_until(lambda: "penchant_waiting_followers 1.0\n" in metrics(server))

    # One that went on to wait would be answered after its 25 s, by 200.
    left = 'penchant_requests_total{method="GET",route="/{source}/changes",status="499"} 1.0'
    wait_until(lambda: left in metrics(server))
    wait_until(lambda: "penchant_waiting_followers 0.0\n" in metrics(server))


def metrics(server: Server) -> str:
    return server.client.get("/-/metrics").text


def test_the_log_holds_no_key_and_no_traceback(server: Server) -> None:
    log = server.log()

    assert server.key not in log
    assert "Traceback" not in log
