"""Over TLS, connections that never finish their handshake end, and others are served meanwhile."""

import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from acceptance.servers import Server
from hostile.test_connections import received

pytestmark = pytest.mark.slow

Connect = Callable[[], socket.socket]
SILENT = 300
"""More handshakes than servers commonly have under way at once."""
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
NAME = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    made = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem"), "-days", "2")
    subprocess.run(["openssl", "req", "-x509", *CURVE, *made, *NAME], check=True, capture_output=True)
    return folder / "certificate.pem"


@pytest.fixture(scope="module")
def server(certificate: Path) -> Iterator[Server]:
    key = certificate.with_name("key.pem")
    settings = f'header-timeout-s = 2\ntls-certificate = "{certificate}"\ntls-key = "{key}"\n'
    with Server(certificate.with_name("data"), settings=settings, certificate=certificate) as running:
        yield running


@pytest.fixture(scope="module")
def trusted(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


@pytest.fixture(scope="module")
def hello(trusted: ssl.SSLContext) -> bytes:
    """What a client says first."""
    said = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        trusted.wrap_bio(ssl.MemoryBIO(), said, server_hostname="127.0.0.1").do_handshake()
    return said.read()


def test_a_handshake_that_stops_is_closed(connect: Connect, hello: bytes) -> None:
    stopped = {share: connect() for share in (0, 0.5, 1)}
    for share, connection in stopped.items():
        connection.sendall(hello[: int(len(hello) * share)])

    # A whole greeting is answered, and then nothing comes; `received` fails where the socket stays open.
    answered = {share: bool(received(connection)) for share, connection in stopped.items()}
    assert answered == {0: False, 0.5: False, 1: True}


def test_who_asks_nothing_after_the_handshake_is_closed(connect: Connect, trusted: ssl.SSLContext) -> None:
    with trusted.wrap_socket(connect(), server_hostname="127.0.0.1") as connection:
        assert received(connection) == b""


def test_handshakes_that_never_end_do_not_lock_others_out(
    server: Server, connect: Connect, trusted: ssl.SSLContext, hello: bytes
) -> None:
    opened = [connect() for _ in range(SILENT)]
    for connection in opened[::2]:
        connection.sendall(hello[:100])

    with httpx.Client(base_url=server.url, verify=trusted) as newcomer:
        assert newcomer.get("/-/health/live").status_code == 200
