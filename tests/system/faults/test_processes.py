"""kill -9 of a worker, of the builder, and of everything at once, under load, on either database."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.campaign import Row, require_clean, times, try_fault, under_load
from faults.cluster import Cluster, new_cluster
from faults.load import Target, preload
from faults.node import Node
from penchant.live.builder import SMALLEST_FILE

pytestmark = [
    pytest.mark.stress,
    pytest.mark.timeout(7_200),
    pytest.mark.skipif(not Path("/proc/locks").exists(), reason="processes are found through /proc"),
]

CRASH_LOOP_S = 6.0
"""The server ends where the same worker dies twice within 5.5 seconds."""


@pytest.fixture(params=("sqlite", "postgresql"))
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster | None]:
    if request.param == "sqlite":
        yield None
        return
    made = new_cluster()
    yield made
    made.remove()


def test_killed_processes_lose_and_tear_nothing(cluster: Cluster | None, tmp_path: Path) -> None:
    node = Node(tmp_path / "data", database=None if cluster is None else cluster.url)
    try:
        target = Target([node.port], node.key)
        preload(target, target.sources[0], SMALLEST_FILE + 500)
        where = "SQLite" if cluster is None else "PostgreSQL"
        kills = {"a worker": node.kill_worker, "the builder": node.kill_builder, "all processes": node.kill_and_start}
        for name, kill in kills.items():
            row = Row(f"kill -9 of {name}, {where}")
            with under_load(target) as load:
                for _ in range(times()):
                    try_fault(load, row, kill)
                    node.wait_for_workers()
                    time.sleep(CRASH_LOOP_S if times() > 1 and kill == node.kill_worker else 0)
                row.tell(load)
                require_clean(load)
        node.check()
        assert node.stop() == 0
    finally:
        node.kill()
