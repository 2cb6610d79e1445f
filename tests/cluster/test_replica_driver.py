"""What is told of replicas that cannot be placed; test_placed_shards.py has them on a cluster."""

from types import SimpleNamespace
from typing import Any

from clocks import SetClock
from penchant.cluster.replica_driver import ReplicaPlacer
from penchant.cluster.replicas import ReplicaPlan, Reports
from penchant.settings import NodeSettings

PLAN = ReplicaPlan("never:started", NodeSettings(), "service", 1, 2)


class SlowCluster:
    """Stands in for Ray: nodes of one CPU, on which nothing has started yet."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.util = SimpleNamespace(
            list_named_actors=list,
            scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=lambda **_: None),
        )

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": str(number), "Alive": True, "Resources": {"CPU": 1.0}, "NodeManagerAddress": f"10.0.0.{number}"}
            for number in range(self.count)
        ]

    def remote(self, _: object) -> Any:
        actor = SimpleNamespace(serve=SimpleNamespace(remote=lambda *_: None))
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: actor))

    def wait(self, asked: list[object], **_: float) -> tuple[list[object], list[object]]:
        return [], asked

    def kill(self, *_: object, **__: bool) -> None:
        pass


def faults(reports: Reports) -> list[str | None]:
    return [each.fault for replicas in reports for each in replicas]


def test_a_lack_of_room_is_told_before_what_takes_long_to_start() -> None:
    clock = SetClock()
    placer = ReplicaPlacer(SlowCluster(1), PLAN, monotonic=clock)

    assert faults(placer.step()) == [None, None]
    clock.now = 5.0
    assert faults(placer.step()) == [None, "none of the 1 nodes of the cluster has a CPU left for a replica"]
    clock.now = 9.0
    assert [fault is not None for fault in faults(placer.step())] == [True, True]


def test_a_replica_whose_node_is_lost_is_told_of_when_there_is_no_other() -> None:
    clock = SetClock()
    cluster = SlowCluster(2)
    placer = ReplicaPlacer(cluster, PLAN, monotonic=clock)
    assert faults(placer.step()) == [None, None]

    cluster.count = 0
    clock.now = 5.0
    assert faults(placer.step()) == ["none of the 0 nodes of the cluster has a CPU left for a replica"] * 2
