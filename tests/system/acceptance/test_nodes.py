"""Two nodes on one PostgreSQL behind each balancer answer as one, and one of them may go at any time."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from acceptance.balancers import Balancer, program
from acceptance.processes import wait_until
from acceptance.servers import WITHOUT_TLS, Server, command
from databases import new_database
from factories import piece
from penchant.service.measuring import TEXT_LIFE_S

pytestmark = pytest.mark.slow

SOURCES = 8
CLIENTS = 8
"""Clients under load, half of which write; each has one request in flight at the most."""
PATIENCE_S = 120


@dataclass
class Cluster:
    """Two nodes, and what stands before them."""

    nodes: list[Server]
    balancer: Balancer
    client: httpx.Client

    @property
    def key(self) -> str:
        return self.nodes[0].key

    def restart(self, number: int) -> None:
        """Start a node that has ended again, on its folder and port."""
        old = self.nodes[number]
        self.nodes[number] = Server(old.data, "--workers", "2", database=old.database, port=old.port)


@dataclass
class Load:
    """What clients saw while they wrote and read without pause."""

    cluster: Cluster
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    ended: threading.Event = field(default_factory=threading.Event)

    def failures(self) -> int:
        """Return how many requests had no answer of a node."""
        return sum(count for name, count in self.statuses.items() if name.startswith(("balancer", "connection")))

    def run(self, number: int) -> None:
        """Ask until the end, each source by one writer and one reader."""
        writes = number < CLIENTS // 2
        with httpx.Client(
            base_url=self.cluster.balancer.url, headers={"x-api-key": self.cluster.key}, timeout=300
        ) as client:
            for turn in range(1_000_000):
                if self.ended.is_set():
                    return
                source, name = f"s{(number + turn) % SOURCES}", f"p{number}-{turn}"
                try:
                    if writes:
                        answer = client.post(f"/{source}/content", json=[piece(name, "x")])
                    else:
                        answer = client.get(f"/{source}/content/a/similar")
                except httpx.TransportError as error:
                    self.statuses[f"connection {type(error).__name__}"] += 1
                    continue
                if writes and answer.status_code == 202:
                    self.acknowledged.append((source, name))
                self.statuses[seen(answer)] += 1


def seen(answer: httpx.Response) -> str:
    """Return a status, and whose it is: nodes tell every error as a problem, balancers as a page."""
    if answer.status_code < 400:
        return str(answer.status_code)
    whose = "node" if answer.headers.get("content-type") == "application/problem+json" else "balancer"
    return f"{whose} {answer.status_code}"


@contextmanager
def started(balancer_name: str, postgresql: str, folder: Path) -> Iterator[Cluster]:
    """Start two nodes with two workers and a folder each, and eight sources with two pieces."""
    program(balancer_name)
    database = new_database(postgresql)
    nodes: list[Server] = []
    balancer = None
    try:
        for number in (1, 2):
            (folder / f"node{number}").mkdir()
            nodes.append(Server(folder / f"node{number}" / "data", "--workers", "2", database=database))
        balancer = Balancer(balancer_name, folder / "balancer", [node.port for node in nodes])
        with httpx.Client(base_url=balancer.url, headers={"x-api-key": nodes[0].key}, timeout=120) as client:
            wait_until(lambda: client.get("/-/health/ready").status_code == 200)
            for number in range(SOURCES):
                assert client.post(f"/s{number}/content", json=[piece("a", "x"), piece("b", "x")]).status_code == 202
            yield Cluster(nodes, balancer, client)
    finally:
        if balancer is not None:
            balancer.stop()
        for node in nodes:
            if node.process.poll() is None:
                node.kill()


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    """Clients, nodes, database and balancer share the machine: a node that runs late is not what is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENCHANT_LONGEST_DELAY_S", "0")
        yield


@pytest.fixture(scope="module", params=("nginx", "haproxy"))
def calm(
    request: pytest.FixtureRequest, postgresql: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Nodes for all tests that end none of them."""
    with started(request.param, postgresql, tmp_path_factory.mktemp("calm")) as running:
        yield running


@pytest.fixture(params=("nginx", "haproxy"))
def cluster(request: pytest.FixtureRequest, postgresql: str, tmp_path: Path) -> Iterator[Cluster]:
    """Nodes of a test's own, which it may end."""
    with started(request.param, postgresql, tmp_path) as running:
        yield running


def similar_answers(node: Server) -> int:
    """Return how often a node has answered similar content."""
    route = "/{source}/content/{contentID}/similar"
    return round(node.metric(f'penchant_requests_total{{method="GET",route="{route}",status="200"}}'))


def answers_more(node: Server) -> None:
    """Wait until a node has answered more requests than it has now."""
    before = similar_answers(node)
    wait_until(lambda: similar_answers(node) > before)


def answers_since(before: Sequence[int], nodes: Sequence[Server], total: int) -> list[int]:
    """Return how many more answers each node has given, once all are counted: metrics are a second old at most."""
    until = time.monotonic() + PATIENCE_S
    while True:
        grown = [similar_answers(node) - count for node, count in zip(nodes, before, strict=True)]
        if sum(grown) >= total or time.monotonic() > until:
            return grown
        time.sleep(0.1)


@contextmanager
def load(cluster: Cluster) -> Iterator[Load]:
    """Put load on the cluster; print what was seen at the end."""
    running = Load(cluster)
    threads = [threading.Thread(target=running.run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        yield running
        time.sleep(1)
    finally:
        running.ended.set()
        for thread in threads:
            thread.join()
        print(f"{len(running.acknowledged)} acknowledged, {dict(running.statuses)}")  # noqa: T201  # figures


def assert_nothing_is_missing(cluster: Cluster, running: Load) -> None:
    assert len(running.acknowledged) > 50
    for number in range(SOURCES):
        source = f"s{number}"
        stored = set(cluster.client.get(f"/{source}/ids").json()["content"])
        assert {name for where, name in running.acknowledged if where == source} <= stored


def test_what_one_node_has_taken_the_other_and_the_balancer_answer_next(calm: Cluster) -> None:
    for number in range(20):
        writer, reader = calm.nodes if number % 2 else reversed(calm.nodes)
        assert writer.client.post("/s0/content", json=[piece(f"new-{number}", "x")]).status_code == 202
        for client in (reader.client, calm.client):
            assert client.get(f"/s0/content/new-{number}/similar").status_code == 200


def test_paths_bodies_and_answers_pass_the_balancer_as_they_are(calm: Cluster) -> None:
    many = [piece(f"{'long' * 100}-{number}", "x") for number in range(1_000)]
    odd = "a/b %41+ü"
    assert calm.client.post("/s0/content", json=[*many, piece(odd, "x")]).json()["created"] == 1_001
    raw = "/s0/content/a%2Fb%20%2541%2B%C3%BC"

    for path in (raw, f"{raw}/similar", "/s0/content", "/s0/ids?skip=5&limit=5"):
        answers = [client.get(path) for client in (calm.client, *(node.client for node in calm.nodes))]
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
    assert calm.client.get("/s0/content/").json()["code"] == "unknown-route"
    assert calm.client.get("/s0", headers={"x-request-id": "mine"}).headers["x-request-id"] == "mine"
    assert len(calm.client.get("/s0").headers["x-request-id"]) >= 32
    assert calm.client.get("/-/metrics").status_code == 404


@pytest.mark.parametrize(
    ("size", "key", "code"), ((10_000_000, "wrong", "unauthenticated"), (34_000_000, "", "body-too-large"))
)
def test_what_is_refused_before_its_body_has_arrived_is_told_through_the_balancer(
    calm: Cluster, size: int, key: str, code: str
) -> None:
    headers = {"content-type": "application/json", "x-api-key": key or calm.key}
    for _ in range(10):
        with httpx.Client(base_url=calm.balancer.url, headers=headers, timeout=120, verify=WITHOUT_TLS) as client:
            assert client.post("/s0/content", content=b" " * size).json()["code"] == code


def test_a_source_is_asked_of_one_node_and_sources_of_both(calm: Cluster) -> None:
    owners = []
    for number in range(SOURCES):
        time.sleep(TEXT_LIFE_S)  # until no older text is shown
        before = [similar_answers(node) for node in calm.nodes]
        for _ in range(6):
            headers = {"x-api-key": calm.key}
            with httpx.Client(base_url=calm.balancer.url, headers=headers, verify=WITHOUT_TLS) as client:
                assert client.get(f"/s{number}/content/a/similar?n={number}").status_code == 200
        grown = answers_since(before, calm.nodes, 6)
        assert sorted(grown) == [0, 6]
        owners.append(grown.index(6))

    assert set(owners) == {0, 1}


@pytest.mark.stress
@pytest.mark.parametrize("end", ("stop", "kill"))
def test_when_a_node_goes_the_other_takes_over_and_nothing_is_missing(cluster: Cluster, end: str) -> None:
    with load(cluster) as running:
        getattr(cluster.nodes[0], end)()
        for _ in range(3):
            answers_more(cluster.nodes[1])

    # Each client lost the request that it had in flight at the most.
    assert running.failures() <= CLIENTS
    assert not [name for name in running.statuses if name.startswith("node 5")]
    assert_nothing_is_missing(cluster, running)


@pytest.mark.parametrize(("words", "status"), ((("revoke", "KEY"), 401), (("plan", "KEY", "basic"), 403)))
def test_what_one_node_does_to_a_key_soon_holds_on_all(calm: Cluster, words: tuple[str, ...], status: int) -> None:
    first, second = calm.nodes
    where = ("--data", str(first.data), "--database", str(first.database))
    key = command("keys", "create", *where).stdout.strip()
    clients = (calm.client, first.client, second.client)

    def statuses() -> set[int]:
        return {client.get("/s0/blacklist", headers={"x-api-key": key}).status_code for client in clients}

    assert statuses() == {200}
    done = command("keys", *(key.split("_")[1] if word == "KEY" else word for word in words), *where)
    assert done.returncode == 0
    wait_until(lambda: statuses() == {status})

    for _ in range(8):
        assert statuses() == {status}


@pytest.mark.stress
def test_rolling_restarts_lose_nothing(cluster: Cluster) -> None:
    with load(cluster) as running:
        for number in (0, 1):
            assert cluster.nodes[number].stop() == 0
            cluster.restart(number)
            # The balancer gives it requests again: the other one may go.
            answers_more(cluster.nodes[number])

    assert running.failures() <= 2 * CLIENTS
    assert not [name for name in running.statuses if name.startswith("node 5")]
    assert_nothing_is_missing(cluster, running)
