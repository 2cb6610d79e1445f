"""What balancers do with requests, seen by nodes that answer badly on purpose."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from acceptance.balancers import Balancer, program

pytestmark = pytest.mark.slow

PATIENCE_S = 120
RETRIED_BY = {"nginx": {"GET", "HEAD", "PUT", "DELETE"}, "haproxy": {"GET", "HEAD"}}


class Upstream(ThreadingHTTPServer):
    """A healthy node that cuts every connection, but streams listings in two parts."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received: list[tuple[str, dict[str, str]]] = []
        self.may_go_on = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    """One connection to an `Upstream`."""

    protocol_version = "HTTP/1.1"
    server: Upstream

    def answer(self) -> None:
        """Take a request as its path says."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.close_connection = True
        if self.path == "/-/health/ready":
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.server.received.append((self.command, {name.lower(): value for name, value in self.headers.items()}))
        if self.path.partition("?")[0].endswith(("/content", "/ids")):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"first")
            self.server.may_go_on.wait(PATIENCE_S)
            self.wfile.write(b"second")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815  # http.server's names

    def log_message(self, *_words: object) -> None:
        """Log nothing."""


@pytest.fixture
def upstreams() -> Iterator[list[Upstream]]:
    running = [Upstream(), Upstream()]
    yield running
    for upstream in running:
        upstream.shutdown()
        upstream.server_close()


@pytest.fixture(params=("nginx", "haproxy"))
def name(request: pytest.FixtureRequest) -> str:
    program(request.param)
    return str(request.param)


@pytest.fixture
def client(name: str, upstreams: list[Upstream], tmp_path: Path) -> Iterator[httpx.Client]:
    balancer = Balancer(name, tmp_path / "balancer", [upstream.port for upstream in upstreams])
    with httpx.Client(base_url=balancer.url, timeout=PATIENCE_S) as asking:
        yield asking
    balancer.stop()


@pytest.mark.parametrize("method", ("POST", "PUT", "DELETE", "GET", "HEAD"))
def test_what_was_delivered_is_sent_again_only_where_that_is_harmless(
    client: httpx.Client, upstreams: list[Upstream], name: str, method: str
) -> None:
    answer = client.request(method, "/s/content/a", content=b"{}" if method in {"POST", "PUT"} else None)

    delivered = [len(upstream.received) for upstream in upstreams]
    assert answer.status_code == 502
    if method in RETRIED_BY[name]:
        assert sum(delivered) >= 2
    else:
        assert sorted(delivered) == [0, 1]


@pytest.mark.parametrize("path", ("/s/content", "/a%2Fb/content?skip=5", "/s/ids"))
def test_listings_are_passed_on_as_they_come(client: httpx.Client, upstreams: list[Upstream], path: str) -> None:
    with client.stream("GET", path) as answer:
        parts = answer.iter_raw()
        assert next(parts) == b"first"
        for upstream in upstreams:
            upstream.may_go_on.set()
        assert b"".join(parts) == b"second"


def test_nodes_are_told_who_asks_and_under_which_id(client: httpx.Client, upstreams: list[Upstream]) -> None:
    for upstream in upstreams:
        upstream.may_go_on.set()
    for headers in ({"x-request-id": "mine"}, {}):
        assert client.get("/s/ids", headers=headers).status_code == 200

    given, made = (headers for upstream in upstreams for _, headers in upstream.received)
    assert given["host"] == made["host"] == f"127.0.0.1:{client.base_url.port}"
    assert given["x-forwarded-for"] == "127.0.0.1"
    assert given["x-forwarded-proto"] == "http"
    assert given["x-forwarded-host"] == given["host"]
    assert given["x-request-id"] == "mine"
    assert len(made["x-request-id"]) >= 32


NAMED = ["Remote-User", "remote-groups", "X-Auth-Request-Email", "X-Auth-Request-Groups", "X-Forwarded-User"]
NAMED += ["X-authentik-username", "X-authentik-groups"]


def test_strangers_name_nobody(client: httpx.Client, upstreams: list[Upstream]) -> None:
    for upstream in upstreams:
        upstream.may_go_on.set()
    headers = [(name, "kim") for name in (*NAMED, "Remote-User")]

    assert client.get("/s/ids", headers=[*headers, ("x-api-key", "k")]).status_code == 200

    [arrived] = (headers for upstream in upstreams for _, headers in upstream.received)
    assert arrived["x-api-key"] == "k"
    assert "kim" not in arrived.values()


@pytest.mark.parametrize(
    "path", ("/-/metrics", "/-/admin", "/-/admin/keys", "/-/%61dmin/keys", "/%2D/metrics", "/-/admin/s/ids")
)
def test_figures_and_the_administration_are_kept_in(client: httpx.Client, upstreams: list[Upstream], path: str) -> None:
    assert client.get(path, headers={"x-api-key": "k"}).status_code == 404

    assert [upstream.received for upstream in upstreams] == [[], []]
