"""PostgreSQL stopped at once and cut off while the service runs."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.campaign import Row, is_full, require_clean, say, times, try_fault, under_load
from faults.client import Client
from faults.cluster import new_cluster
from faults.ledger import Thing
from faults.load import Load, Target
from faults.node import Node
from faults.proxy import Proxy

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7_200)]

CUT_S = 12.0 if is_full() else 5.0
"""How long the network is cut: longer than a request may wait."""
AWAY_S = 2.0
ANSWERED_S = 12.0 if is_full() else 60.0
"""How long any request may take while the database is cut off; a short run may share its machine."""


class Setting:
    """A service that reaches its database through a proxy."""

    def __init__(self, folder: Path) -> None:
        self.cluster = new_cluster()
        self.proxy = Proxy(self.cluster.socket)
        address = f"postgresql://postgres@127.0.0.1:{self.proxy.port}/postgres"
        self.node = Node(folder / "data", database=address)
        self.target = Target([self.node.port], self.node.key)

    def close(self) -> None:
        self.node.kill()
        self.proxy.end()
        self.cluster.remove()


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    made = Setting(tmp_path)
    yield made
    made.close()


def watched(load: Load, seconds: float) -> float:
    """Wait, and return how long the slowest of some reads took meanwhile."""
    thing = Thing(load.target.sources[0], "trio", f"{load.name}first")
    client = Client(load.target.ports, load.target.key, timeout_s=seconds + ANSWERED_S)
    users = f"/{thing.source}/users/r0w0-0"
    paths = itertools.cycle(
        (f"/{thing.source}/content/{thing.ids()[0]}/similar", f"{users}/interactions", f"{users}/recommendation")
    )
    slowest = 0.0
    ending = time.monotonic() + seconds
    while (began := time.monotonic()) < ending:
        client.ask("GET", next(paths))
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.1)
    client.close()
    return slowest


def test_a_database_that_stops_at_once_loses_and_tears_nothing(setting: Setting) -> None:
    row = Row("PostgreSQL stopped at once, started again")

    def mend() -> None:
        time.sleep(AWAY_S)
        setting.cluster.start()

    with under_load(setting.target) as load:
        for _ in range(times()):
            try_fault(load, row, setting.cluster.stop, mend)
        row.tell(load)
        require_clean(load)
    assert setting.node.stop() == 0


def test_a_worker_that_dies_while_the_database_is_away_comes_back_with_it(setting: Setting) -> None:
    row = Row("kill -9 of a worker while PostgreSQL is away")

    def fault() -> None:
        setting.cluster.stop()
        setting.node.kill_worker()
        time.sleep(2 * AWAY_S)

    with under_load(setting.target) as load:
        for _ in range(times()):
            try_fault(load, row, fault, setting.cluster.start)
            setting.node.wait_for_workers()
            time.sleep(AWAY_S)
        row.tell(load)
        require_clean(load)
    assert setting.node.stop() == 0


@pytest.mark.parametrize("cut", ("hold", "close"))
def test_a_cut_network_delays_no_answer_and_loses_nothing(setting: Setting, cut: str) -> None:
    row = Row(f"network cut for {CUT_S:g} s, " + ("silently" if cut == "hold" else "connections closed"))
    slowest = []

    def mend() -> None:
        slowest.append(watched(load, CUT_S))
        setting.proxy.tell("pass")

    with under_load(setting.target) as load:
        for _ in range(times()):
            try_fault(load, row, lambda: setting.proxy.tell(cut), mend)
        row.tell(load)
        say(f"the slowest read meanwhile took {max(slowest):.2f} s")
        require_clean(load)
    assert max(slowest) < ANSWERED_S
    assert setting.node.stop() == 0
