"""All that can fail of shards that a Ray cluster places, again and again under load, and a table of what came of it.

`sh scripts/ray --times 10 -k placed_faults -s` makes each fail ten times; without `--times` these tests are left out.
"""

import os
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import msgspec
import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, new_key
from cluster.placed_load import SourceLoad, window
from cluster.ray_nodes import RayNodes, descendants
from cluster.test_ray import TIMES
from faults.campaign import say
from faults.proxy import Proxy
from kernel_cache import KERNELS
from penchant.live.builder import SMALLEST_FILE
from penchant.live.shard_placement import ShardPlacement, read_placement, write_placement
from serving import served_alone

pytest.importorskip("ray", reason="Ray is not installed: sh scripts/ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not TIMES, reason="takes minutes: sh scripts/ray --times 1 -k placed_faults -s"),
]

SHARDS, REPLICAS, NODES = 4, 2, 3
CPUS = SHARDS
"""Of each node: two nodes are enough for all replicas, and one is not."""
BESIDE_COUNT = 300
"""Pieces of the source beside it, which no shard process searches."""
BEFORE_S, AFTER_S = 4.0, 2.0
FROZEN_S, AWAY_S, CUT_S = 20.0, 5.0, 6.0
SEEN_S = 1.2
"""Until no report is from before a fault: they are kept for a second."""
PATIENCE_S = 400.0
HEADINGS = (
    *("fault under load", "times", "asked", "wrong", "partial", "refused or unanswered", "longest, ms"),
    *(
        "full service, s: median, most",
        "asked beside",
        "not right",
        "requests/s before, during",
        "p99 before, during, ms",
    ),
)


@dataclass(slots=True)
class Span:
    """From when to when something was amiss; seconds until all replicas served again, and until operators were told."""

    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    service_s: float = 0.0
    told_s: float = 0.0


class PlacedService:
    """A head without work, three nodes, and a service with a source on them, and one beside it, under load."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        # Sockets lie in the folder, and their paths may have a hundred characters.
        self.nodes = RayNodes(Path(tempfile.mkdtemp(prefix="ray-")) / "r")
        patch = running.enter_context(pytest.MonkeyPatch.context())
        for name, value in (self.nodes.environment | {"PENCHANT_KERNEL_FOLDER": str(KERNELS)}).items():
            patch.setenv(name, value)
        running.callback(self.nodes.close)
        self.nodes.start(0)
        self.working = [self.nodes.start(CPUS) for _ in range(NODES)]
        self.folder = folder / "data"
        self.server = self._serve(folder, running)
        self.admin = {"x-api-key": new_key(self.folder, admin=True)}
        self._running = running
        self._proxies: list[Proxy] = []
        self.sharded = SourceLoad(self.server.port, self.server.key, "s", SMALLEST_FILE + 200)
        self.beside = SourceLoad(self.server.port, self.server.key, "beside", BESIDE_COUNT)
        with served_alone(self.folder, self.server.key) as alone:
            for load in (self.sharded, self.beside):
                load.learn(alone)
        for load in (self.sharded, self.beside):
            load.begin(askers=2)
            running.callback(load.end)

    def _serve(self, folder: Path, running: ExitStack) -> Server:
        options = {
            "cluster": self.nodes.address,
            "shard-pieces": SMALLEST_FILE,
            "shards": SHARDS,
            "shard-replicas": REPLICAS,
        }
        settings = folder / "penchant.toml"
        settings.write_text(
            "\n".join(f"{name} = {msgspec.json.encode(value).decode()}" for name, value in options.items())
        )
        server = Server(self.folder, "--settings", str(settings), "--workers", "2")
        running.callback(server.kill)
        return server

    @property
    def placement(self) -> ShardPlacement:
        """Where replicas are."""
        return read_placement(self.folder)

    def serves(self) -> bool:
        """Return whether all replicas are placed, apart from each other, and each of them answers and has mapped."""
        placement = self.placement
        if placement.missing or [len(set(hosts)) for hosts in placement.hosts()] != [REPLICAS] * SHARDS:
            return False
        known = {f"{host}:{port}" for hosts in placement.hosts() for host, port in hosts}
        # Three times over another connection, so that each worker is asked.
        return all(self._reports(known) for _ in range(3))

    def _reports(self, known: set[str]) -> bool:
        try:
            answer = httpx.get(f"{self.server.url}/-/admin/shards", headers=self.admin, timeout=10)
        except httpx.TransportError:
            return False
        replicas = [each for shard in answer.json()["shards"] for each in shard["replicas"]]
        return {each["address"] for each in replicas} == known and all(
            each["reachable"] and each["segments"] for each in replicas
        )

    def tells_of_no_room(self) -> bool:
        """Return whether operators are told, and alerts, that replicas are missing, and why."""
        told = any("CPU left" in fault for fault in self.placement.faults())
        return (
            told
            and "replicas of shards are missing" in self._get("/-/health/ready")
            and f"penchant_shard_replicas_missing {SHARDS}.0" in self._get("/-/metrics")
        )

    def _get(self, path: str) -> str:
        return httpx.get(f"{self.server.url}{path}", timeout=60).text

    def wait_for_service(self, span: Span, patience_s: float = PATIENCE_S) -> None:
        """Note the seconds from a fault until all replicas serve."""
        wait_until(self.serves, patience_s=patience_s)
        span.service_s = time.monotonic() - span.began

    def replicas(self) -> list[int]:
        """Return the processes of replicas."""
        of_nodes = [process for number in self.working for process in self.nodes.processes(number)]
        return [process for process in of_nodes if b"ReplicaActor" in read(process, "cmdline")]

    def node_of_replica(self, turn: int) -> int:
        """Return a node that has replicas; one that has just joined may have none."""
        hosts = sorted({host for hosts in self.placement.hosts() for host, _ in hosts})
        return int(hosts[turn % len(hosts)].rpartition(".")[2]) - 2

    def driver(self) -> int | None:
        """Return the process that talks to the cluster."""
        below = descendants(self.server.process.pid)
        return next((process for process in below if b"_raylet" in read(process, "maps")), None)

    def replace(self, number: int) -> None:
        """End what is left of a node, and have another one join."""
        self.nodes.kill(number)
        self.working.remove(number)
        self.working.append(self.nodes.start(CPUS))

    @contextmanager
    def through_proxies(self) -> Iterator[list[Proxy]]:
        """Have workers reach each replica by a proxy meanwhile."""
        placement = self.placement
        addresses = [each.address for places in placement.shards for each in places]
        assert all(addresses)
        while len(self._proxies) < len(addresses):
            self._proxies.append(Proxy(str(addresses[0])))
            self._running.callback(self._proxies[-1].end)
        ports = iter(self._proxies)
        for proxy, address in zip(self._proxies, addresses, strict=True):
            proxy.tell(f"to {address}")
        led = [
            tuple(msgspec.structs.replace(each, address=f"127.0.0.1:{next(ports).port}") for each in places)
            for places in placement.shards
        ]
        # Nobody else writes it while replicas stay where they are.
        write_placement(self.folder, ShardPlacement(tuple(led)))
        try:
            wait_until(self.serves)
            yield self._proxies
        finally:
            write_placement(self.folder, placement)
            wait_until(self.serves)


def read(process: int, name: str) -> bytes:
    """Return a file of a process; nothing where it has ended."""
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def kill_replica(service: PlacedService, turn: int) -> Span:
    replicas = service.replicas()
    assert len(replicas) == SHARDS * REPLICAS
    span = Span()
    os.kill(replicas[turn % len(replicas)], signal.SIGKILL)
    time.sleep(SEEN_S)
    service.wait_for_service(span)
    return span


def kill_node(service: PlacedService, turn: int) -> Span:
    number = service.node_of_replica(turn)
    span = Span()
    service.nodes.kill(number)
    time.sleep(SEEN_S)
    service.wait_for_service(span)
    service.replace(number)
    return span


def freeze_node(service: PlacedService, turn: int) -> Span:
    number = service.node_of_replica(turn)
    span = Span()
    service.nodes.signal(number, signal.SIGSTOP)
    time.sleep(SEEN_S)
    service.wait_for_service(span)
    time.sleep(max(0.0, span.began + FROZEN_S - time.monotonic()))
    service.nodes.signal(number, signal.SIGCONT)
    time.sleep(SEEN_S)
    wait_until(service.serves)
    service.replace(number)
    return span


def kill_head(service: PlacedService, _: int) -> Span:
    span = Span()
    service.nodes.kill(0)
    time.sleep(AWAY_S)
    # It will know nothing of them, and Ray starts no head where others on the machine have lost theirs.
    lost = list(service.working)
    for number in lost:
        service.nodes.kill(number)
    service.nodes.start_head()
    for number in lost:
        service.replace(number)
    service.wait_for_service(span)
    return span


def kill_driver(service: PlacedService, _: int) -> Span:
    driver = service.driver()
    assert driver is not None
    span = Span()
    os.kill(driver, signal.SIGKILL)
    wait_until(lambda: service.driver() not in {None, driver})
    service.wait_for_service(span)
    return span


def cut_network(service: PlacedService, turn: int) -> Span:
    with service.through_proxies() as proxies:
        span = Span()
        for each in proxies:
            each.tell("close" if turn % 2 else "hold")
        time.sleep(CUT_S)
        for each in proxies:
            each.tell("pass")
        service.wait_for_service(span)
    return span


def take_room(service: PlacedService, _: int) -> Span:
    lost = service.working[:2]
    span = Span()
    for number in lost:
        service.nodes.kill(number)

    wait_until(service.tells_of_no_room)
    span.told_s = time.monotonic() - span.began
    for number in lost:
        service.replace(number)
    service.wait_for_service(span)
    return span


FAULTS: dict[str, Callable[[PlacedService, int], Span]] = {
    "kill -9 of a replica": kill_replica,
    "kill -9 of a node": kill_node,
    f"a node frozen for {FROZEN_S:.0f} s": freeze_node,
    "kill -9 of the head, started again": kill_head,
    "kill -9 of the driver": kill_driver,
    f"network cut for {CUT_S:.0f} s": cut_network,
    "too few CPUs": take_room,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlacedService]:
    with ExitStack() as running:
        service = PlacedService(tmp_path_factory.mktemp("placed"), running)
        wait_until(service.serves, patience_s=PATIENCE_S)
        say("| " + " | ".join(HEADINGS) + " |")
        yield service


@pytest.mark.parametrize("name", FAULTS)
def test_no_answer_is_wrong_or_partial(service: PlacedService, name: str) -> None:
    spans = []
    before = []
    for turn in range(TIMES):
        began = time.monotonic()
        time.sleep(BEFORE_S)
        before.append((began, time.monotonic()))
        span = FAULTS[name](service, turn)
        time.sleep(AFTER_S)
        span.ended = time.monotonic()
        spans.append(span)
        wait_until(service.serves, patience_s=PATIENCE_S)
        told = f", told after {span.told_s:.1f} s" if span.told_s else ""
        say(f"{name}, {turn + 1}: {span.service_s:.1f} s{told}; load {os.getloadavg()[0]:.0f}")

    during = [(each.began, each.ended) for each in spans]
    sharded, beside = window(service.sharded.samples, during), window(service.beside.samples, during)
    usual = window(service.beside.samples, before)
    served = [each.service_s for each in spans]
    cells = [
        *(name, str(TIMES), f"{len(sharded.times):,}", str(sharded.counts["wrong"]), str(sharded.counts["partial"])),
        str(errors(sharded.counts)),
        f"{sharded.longest_ms:.0f}",
        f"{statistics.median(served):.1f}, {max(served):.1f}",
        f"{len(beside.times):,}",
        str(len(beside.times) - beside.counts["right"]),
        f"{usual.per_second:.0f}, {beside.per_second:.0f}",
        f"{usual.p99_ms:.0f}, {beside.p99_ms:.0f}",
    ]
    say("| " + " | ".join(cells) + " |")
    # Either source fits the memory of the node, which searches where no replica does.
    assert set(sharded.counts) == {"right"}, (sharded.counts, service.sharded.judge.examples)
    assert set(beside.counts) == {"right"}, (beside.counts, service.beside.judge.examples)


def errors(counts: Counter[str]) -> dict[str, int]:
    """Return how often which error was answered, or none at all."""
    return {kind: count for kind, count in counts.items() if kind not in {"right", "wrong", "partial"}}
