"""Bodies that once stopped a worker cost it little CPU and memory, and leave the service as it was."""

import gzip
from collections.abc import Iterator

import httpx
import pytest

from acceptance.processes import workers_of
from acceptance.servers import Server
from hostile import attacks
from hostile.attacks import GZIPPED, MIB, cpu_s, resident_bytes, wrong_shape

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("bodies") / "data") as running:
        pieces = [attacks.long_piece(name, 3) for name in "ab"]
        assert running.client.post("/s/content", json=pieces).status_code == 202
        yield running
        assert running.client.get("/s/content/a/similar").status_code == 200


class Cost:
    """CPU seconds and bytes that the workers of a service take from its making on."""

    def __init__(self, node: Server) -> None:
        self._workers = workers_of(node.process.pid)
        self._cpu = self._cpu_now()
        self._bytes = self._bytes_now()

    def _cpu_now(self) -> float:
        return sum(map(cpu_s, self._workers))

    def _bytes_now(self) -> int:
        return sum(map(resident_bytes, self._workers))

    def cpu_s(self) -> float:
        return self._cpu_now() - self._cpu

    def grown_bytes(self) -> int:
        return self._bytes_now() - self._bytes


def send(node: Server, path: str, body: bytes, method: str = "POST") -> httpx.Response:
    return node.client.request(method, path, content=gzip.compress(body), headers=GZIPPED)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    (
        ("POST", "/s/content", 422),
        ("POST", "/s/interactions", 413),
        ("POST", "/s/similar", 413),
        ("POST", "/s/preview/settings", 413),
        ("PUT", "/s/settings", 413),
    ),
)
def test_thirty_kilobytes_of_gzip_cost_no_more_than_their_unpacking(
    node: Server, method: str, path: str, expected: int
) -> None:
    cost = Cost(node)

    answer = send(node, path, wrong_shape(31 * MIB), method)

    assert answer.status_code == expected
    assert cost.cpu_s() < 1
    assert cost.grown_bytes() < 256 * MIB


@pytest.mark.parametrize(
    ("method", "path"),
    (
        ("PUT", "/s/whitelist"),
        ("POST", "/s/similar"),
        ("POST", "/s/preview/similar"),
        ("POST", "/s/preview/recommendation"),
        ("POST", "/s/preview/settings"),
        ("DELETE", "/s/content"),
    ),
)
def test_the_largest_wrong_body_of_a_small_route_costs_less_than_a_second(node: Server, method: str, path: str) -> None:
    cost = Cost(node)

    for body in (wrong_shape(2 * MIB - 500), b"[" + b"[]," * 690_000 + b"0]", b"[" + b'"",' * 690_000 + b'"\\ud800"]'):
        assert send(node, path, body, method).status_code in {413, 422}

    assert cost.cpu_s() < 3
    assert cost.grown_bytes() < 256 * MIB


def test_empty_gzip_members_are_refused_at_the_seventeenth(node: Server) -> None:
    cost = Cost(node)

    answer = node.client.post("/s/content", content=attacks.empty_members(20 * MIB), headers=GZIPPED)

    assert answer.status_code == 400
    assert cost.cpu_s() < 0.5


def test_pieces_of_many_keywords_are_explained_within_a_second(node: Server) -> None:
    many = [attacks.long_piece(f"long-{number}", 10_000) for number in range(12)]
    assert node.client.post("/long/content", json=many).status_code == 202
    node.client.get("/long/content/long-0/similar")
    cost = Cost(node)

    answer = node.client.get("/long/content/long-0/similar?explain=true")

    assert answer.json()["content"][0]["why"]["rest"]["count"] == 9_000
    assert len(answer.content) < 2 * MIB
    assert cost.cpu_s() < 1
    refused = node.client.post("/long/content", json=[attacks.long_piece("more", 10_001)])
    assert refused.status_code == 422
    assert "10000" in refused.json()["detail"]


def test_public_pages_cost_no_more_than_a_share(node: Server) -> None:
    cost = Cost(node)

    for _ in range(100):
        assert httpx.get(f"{node.url}/-/metrics").status_code == 200

    assert cost.cpu_s() < 1


def test_long_headers_are_not_remembered(node: Server) -> None:
    def send_many(first: int, last: int) -> None:
        for number in range(first, last):
            coding = f"gzip, {number}-{'x' * 60_000}"
            answer = node.client.get("/-/health/live", headers={"accept-encoding": coding})
            assert answer.status_code == 200

    # What the first ones take is taken once.
    send_many(0, 100)
    cost = Cost(node)

    send_many(100, 700)

    assert cost.grown_bytes() < 16 * MIB


def test_the_log_tells_of_no_failure(node: Server) -> None:
    assert "Traceback" not in node.log()


def test_the_attacks_are_refused_or_answered(node: Server) -> None:
    target = attacks.Target(node.url, node.key)
    attacks.prepare(target)

    for attack in (attacks.json_bomb, attacks.content_bomb, attacks.gzip_members, attacks.previews, attacks.sources):
        attack(target)

    metrics = httpx.get(f"{node.url}/-/metrics").text
    assert 'status="500"' not in metrics
