"""Two nodes on one database, of which one is an hour behind: both answer alike, and no time goes back."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.campaign import Row, is_full, require_clean, try_fault, under_load
from faults.client import Client
from faults.cluster import Cluster, new_cluster
from faults.load import Target
from faults.node import Node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7_200)]

BEHIND_S = 3_600
RUNNING_S = 60.0 if is_full() else 3.0
SHIFT = f"""
import time
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() - {BEHIND_S}
time.time_ns = lambda: _time_ns() - {BEHIND_S} * 1_000_000_000
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = new_cluster()
    yield made
    made.remove()


def test_a_clock_that_is_behind_hides_and_turns_back_nothing(cluster: Cluster, tmp_path: Path) -> None:
    shift = tmp_path / "shift"
    shift.mkdir()
    (shift / "sitecustomize.py").write_text(SHIFT)
    right = Node(tmp_path / "right" / "data", database=cluster.url)
    behind = Node(
        tmp_path / "behind" / "data", database=cluster.url, key=right.key, environment={"PYTHONPATH": str(shift)}
    )
    row = Row("a node whose clock is an hour behind")
    target = Target([right.port, behind.port], right.key)
    changed = []

    def run() -> None:
        client = Client(target.ports, target.key)
        ending = time.monotonic() + RUNNING_S
        while time.monotonic() < ending:
            changed.append(client.ask("GET", "/s0").json()["updatedAt"])
            time.sleep(0.01)
        client.close()

    try:
        with under_load(target) as load:
            try_fault(load, row, run, lambda: None)
            row.tell(load)
            require_clean(load)
        assert changed == sorted(changed)
        assert (right.stop(), behind.stop()) == (0, 0)
    finally:
        right.kill()
        behind.kill()
