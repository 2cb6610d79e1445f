"""Two nodes on one database, of which one is an hour behind or ahead: both answer alike, and no time goes back."""

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

RUNNING_S = 60.0 if is_full() else 3.0
SHIFT = """
import time
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + SECONDS
time.time_ns = lambda: _time_ns() + SECONDS * 1_000_000_000
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = new_cluster()
    yield made
    made.remove()


@pytest.mark.parametrize(("seconds", "where"), ((-3_600, "behind"), (3_600, "ahead")))
def test_a_clock_that_is_wrong_hides_and_turns_back_nothing(
    cluster: Cluster, tmp_path: Path, seconds: int, where: str
) -> None:
    shift = tmp_path / "shift"
    shift.mkdir()
    (shift / "sitecustomize.py").write_text(SHIFT.replace("SECONDS", str(seconds)))
    right = Node(tmp_path / "right" / "data", database=cluster.url)
    wrong = Node(
        tmp_path / "wrong" / "data", database=cluster.url, key=right.key, environment={"PYTHONPATH": str(shift)}
    )
    row = Row(f"a node whose clock is an hour {where}")
    target = Target([right.port, wrong.port], right.key)
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
        assert (right.stop(), wrong.stop()) == (0, 0)
    finally:
        right.kill()
        wrong.kill()
