"""Replicas of shards that a real Ray cluster runs: lists stay the same whatever becomes of it."""

import functools
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acceptance.processes import wait_until
from acceptance.servers import command
from acceptance.test_shards import Scene
from cluster.ray_nodes import RayNodes, descendants
from cluster.test_ray import REPEATED
from kernel_cache import KERNELS
from penchant.live.shard_placement import ShardPlacement, read_placement

pytest.importorskip("ray", reason="Ray is not installed: sh scripts/ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

wait = functools.partial(wait_until, patience_s=400.0)
"""Nodes that start replicas are many processes: on a busy machine that takes minutes."""
THREE_NODES = pytest.mark.parametrize("nodes", ((0, 2, 2, 2),), indirect=True)


class PlacedScene(Scene):
    """A service on a source of two segments, whose replicas a cluster runs: a head without work, and other nodes."""

    def __init__(self, folder: Path, nodes: RayNodes) -> None:
        self.nodes = nodes
        self.folder = folder / "data"
        self.settings = folder / "penchant.toml"
        self.serve(folder, {"cluster": nodes.address})

    def reload(self, **options: int) -> None:
        """Have the service go by these settings besides those that it began with."""
        lines = [f"{name.replace('_', '-')} = {value}" for name, value in options.items()]
        kept = [
            line for line in self.settings.read_text().splitlines() if line.split()[0].replace("-", "_") not in options
        ]
        self.settings.write_text("\n".join(kept + lines))
        self.server.process.send_signal(signal.SIGHUP)

    def is_settled(self, shards: int) -> bool:
        """Return whether so many shards are asked, and no others; asks for a list meanwhile."""
        self.ask()
        report = self.report()
        return (
            len(report["shards"]) == shards
            and [each["segments"] for each in report["sources"]] == [shards]
            and "penchant_shard_host_sets 1.0" in self.server.client.get("/-/metrics").text
        )

    def end(self) -> None:
        self.running.close()
        self.server.kill()

    @property
    def placement(self) -> ShardPlacement:
        """Where replicas are."""
        return read_placement(self.folder)

    def is_placed(self) -> bool:
        """Return whether all replicas run; asks for a list meanwhile."""
        self.ask()
        return (
            bool(self.placement.shards)
            and not self.placement.missing
            and all(len({host for host, _ in hosts}) == 2 for hosts in self.placement.hosts())
        )

    def is_told(self, words: str) -> bool:
        """Return whether the service says that replicas are missing, and why; asks for a list meanwhile."""
        self.ask()
        return any(words in fault for fault in self.placement.faults())

    def is_used(self) -> Callable[[], bool]:
        """Return what tells whether replicas scan from now on, and no node does."""
        before = self.settled("node")

        def used() -> bool:
            nonlocal before
            answered = self.count("answered")
            for _ in range(4):
                self.ask()
            since, before = self.settled("node") - before, self.count("node")
            return since == 0 and self.count("answered") > answered

        return used


@pytest.fixture(params=[(0, 3)])
def nodes(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[RayNodes]:
    """A head without work, and nodes with so many CPUs: by default one, which has room for three replicas."""
    # Sockets lie in the folder, and their paths may have a hundred characters.
    nodes = RayNodes(Path(tempfile.mkdtemp(prefix="ray-")) / "r")
    for name, value in (nodes.environment | {"PENCHANT_KERNEL_FOLDER": str(KERNELS)}).items():
        monkeypatch.setenv(name, value)
    try:
        for cpus in request.param:
            nodes.start(cpus)
        yield nodes
    finally:
        nodes.close()


@pytest.fixture
def scene(tmp_path: Path, nodes: RayNodes) -> Iterator[PlacedScene]:
    played = PlacedScene(tmp_path, nodes)
    try:
        played.fill()
        yield played
    finally:
        played.end()


def driver_of(scene: PlacedScene) -> int:
    """Return the process that talks to the cluster."""
    found = list[int]()

    def is_there() -> bool:
        found[:] = [each for each in descendants(scene.server.process.pid) if holds_ray(each)]
        return bool(found)

    wait(is_there)
    return found[0]


def holds_ray(process: int) -> bool:
    """Return whether a process has loaded Ray."""
    try:
        return "_raylet" in Path(f"/proc/{process}/maps").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_replicas_are_placed_as_room_comes_and_lists_stay_the_same(scene: PlacedScene) -> None:
    wait(lambda: scene.is_told("only nodes that have a replica of the same shard have a CPU left"))
    wait(lambda: "are missing" in scene.server.client.get("/-/health/ready").text)
    wait(lambda: "penchant_shard_replicas_missing 2.0" in scene.server.client.get("/-/metrics").text)

    scene.nodes.start(cpus=2)
    wait(scene.is_placed)
    wait(scene.is_used())
    shown = command("cluster", "status", "--data", str(scene.folder), scene.nodes.address)
    assert all(f"shard {shard}: 127.0.0." in shown.stdout for shard in range(2)), shown
    wait(lambda: scene.server.client.get("/-/health/ready").json() == {"status": "ok"})

    placed = scene.placement
    os.kill(driver_of(scene), signal.SIGKILL)
    for _ in range(10):
        scene.ask()
    # The next one may take longer than the time after which that is told.
    wait(lambda: scene.is_placed() and scene.placement == placed)

    scene.nodes.kill(1)
    wait(lambda: scene.is_told("replicas of shards"))
    wait(scene.is_used())


@REPEATED
@THREE_NODES
@pytest.mark.parametrize("number", (signal.SIGKILL, signal.SIGSTOP))
def test_replicas_of_a_lost_node_come_back_on_another(scene: PlacedScene, number: signal.Signals, time: int) -> None:
    wait(scene.is_placed)
    lost = scene.placement.hosts()[time % 2][0][0]
    scene.nodes.signal(int(lost.rpartition(".")[2]) - 2, number)

    wait(lambda: scene.is_placed() and all(lost != host for hosts in scene.placement.hosts() for host, _ in hosts))
    wait(scene.is_used())


@THREE_NODES
def test_other_numbers_are_placed_beside_those_that_run(scene: PlacedScene) -> None:
    wait(scene.is_placed)
    before = scene.placement
    scene.reload(shards=3)
    wait(lambda: scene.is_placed() and len(scene.placement.shards) == 3)
    wait(lambda: scene.is_settled(3))
    assert scene.placement.shards[:2] == before.shards
    wait(scene.is_used())

    third = scene.placement.hosts()[2]
    scene.reload(shards=2, shard_replicas=1)
    wait(lambda: scene.is_settled(2))
    # They end by themselves, once no list can come from them any more.
    wait(lambda: not any(map(listens, third)))
    assert scene.placement.shards == tuple(places[:1] for places in before.shards)
    wait(scene.is_used())

    # Nodes search by themselves, and have others search again.
    scene.reload(shard_replicas=0)
    wait(lambda: not any(listens(address) for hosts in scene.placement.hosts() for address in hosts))
    scene.reload(shard_replicas=2)
    wait(lambda: scene.is_placed() and scene.is_settled(2))
    wait(scene.is_used())


@REPEATED
@THREE_NODES
def test_without_the_head_replicas_are_asked_where_they_were(scene: PlacedScene, time: int) -> None:
    wait(scene.is_placed)
    known = scene.placement.hosts()
    scene.nodes.kill(0)

    for _ in range(20 + time):
        scene.ask()
    wait(lambda: scene.placement.missing == 4)
    assert scene.placement.hosts() == known


@REPEATED
def test_no_replica_outlives_its_service(scene: PlacedScene, time: int) -> None:
    wait(lambda: sum(map(len, scene.placement.hosts())) >= 2)
    for _ in range(time):
        scene.ask()

    scene.server.process.kill()

    wait(lambda: all(not listens(address) for hosts in scene.placement.hosts() for address in hosts))


def listens(address: tuple[str, int]) -> bool:
    """Return whether somebody listens at an address."""
    try:
        socket.create_connection(address, timeout=5).close()
    except OSError:
        return False
    return True
