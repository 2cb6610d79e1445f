"""Shard processes killed, frozen and cut off under load, and a source cut anew: no list is wrong, none is refused."""

import itertools
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, new_key
from faults.campaign import is_full, say, times
from faults.proxy import Proxy
from penchant.live.builder import SMALLEST_FILE
from serving import served_alone
from shards import ShardProcess

pytestmark = pytest.mark.slow

COUNT = SMALLEST_FILE + 200
SMALL_COUNT = 300
"""Pieces of the source beside it, which no shard process searches."""
FAULT_S = 2.0 if is_full() else 0.8
APART_S = 4.0 if is_full() else 0.0
"""Longer than a process is passed by, so that each try begins with all of them."""


class Asker:
    """A thread that asks for lists of a source, at any node that can be reached, and compares them."""

    def __init__(self, nodes: list[Server], source: str, lists: dict[str, list[Any]], key: str) -> None:
        self.counts: Counter[str] = Counter()
        self.longest_s = 0.0
        self._nodes = nodes
        self._source = source
        self._lists = lists
        self._key = key
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with httpx.Client(headers={"x-api-key": self._key}, timeout=60) as client:
            for number, piece_id in enumerate(itertools.cycle(self._lists)):
                if self._ended.is_set():
                    return
                self._ask(client, number, piece_id)

    def _ask(self, client: httpx.Client, number: int, piece_id: str) -> None:
        # No worker remembers a list without this piece, which is none.
        path = f"/{self._source}/content/{piece_id}/similar?take=30&exclude=none-{id(self)}-{number}"
        began = time.monotonic()
        for node in (self._nodes[number % 2], self._nodes[1 - number % 2]):
            try:
                answer = client.get(f"{node.url}{path}")
            except httpx.TransportError:
                # As a balancer does; only a node that is restarted is not reached.
                continue
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            is_right = answer.status_code == 200 and answer.json()["content"] == self._lists[piece_id]
            self.counts["right" if is_right else "wrong" if answer.status_code == 200 else str(answer.status_code)] += 1
            return
        self.counts["unreached"] += 1

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


class ShardedNodes:
    """Two nodes on one data folder, and a source of four segments, each with two replicas on four processes."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self.data = folder / "data"
        self._running = running
        self._settings = folder / "penchant.toml"
        self.processes: list[ShardProcess] = []
        self._start_processes(4)
        self.proxy = Proxy(self.processes[0].address)
        running.callback(self.proxy.end)
        self._write_settings(4)
        self.nodes = [self._node(), self._node()]
        running.callback(lambda: [node.stop() for node in self.nodes])
        self.key = self.nodes[0].key
        self.admin = new_key(self.data, admin=True)
        self.lists = {"s": self._fill("s", COUNT), "small": self._fill("small", SMALL_COUNT)}

    def _start_processes(self, count: int) -> None:
        for _ in range(count):
            process = ShardProcess(self.data)
            self._running.callback(process.end, signal.SIGKILL)
            self.processes.append(process)

    def _write_settings(self, shards: int) -> None:
        addresses = [f"127.0.0.1:{self.proxy.port}", *(each.address for each in self.processes[1:shards])]
        pairs = zip(addresses, addresses[1:] + addresses[:1], strict=True)
        options = {"shard-pieces": SMALLEST_FILE, "shards": shards, "shard-hosts": ["+".join(pair) for pair in pairs]}
        lines = (f"{name} = {msgspec.json.encode(value).decode()}" for name, value in options.items())
        self._settings.write_text("\n".join(lines))

    def _node(self, port: int | None = None) -> Server:
        return Server(self.data, "--settings", str(self._settings), port=port)

    def _fill(self, source: str, count: int) -> dict[str, list[Any]]:
        """Return lists of some pieces of a new source, as a service makes them without any shard process."""
        client = self.nodes[0].client
        pieces = [
            {"id": f"p{number}", "categories": {"genre": [f"g{number % 7}"], "tag": [f"t{number % 97}"]}}
            for number in range(count)
        ]
        for first in range(0, count, 1_000):
            assert client.post(f"/{source}/content", json=pieces[first : first + 1_000]).status_code == 202
        with served_alone(self.data, self.nodes[0].key) as alone:
            return {
                f"p{number}": alone.get(f"/{source}/content/p{number}/similar?take=30").json()["content"]
                for number in range(20)
            }

    def wait_for_shards(self, count: int) -> None:
        """Wait until both nodes have had so many shards answer."""
        asking = [Asker([node, node], "s", self.lists["s"], self.key) for node in self.nodes]
        try:
            for node in self.nodes:
                wait_until(lambda node=node: has_answered(node, count))  # type: ignore[misc]  # mypy cannot infer it
        finally:
            for each in asking:
                each.end()

    def reload(self, shards: int) -> None:
        """Have both nodes go over to so many shards, without a restart: processes more, or some that are not named."""
        self._start_processes(shards - len(self.processes))
        self._write_settings(shards)
        for node in self.nodes:
            node.process.send_signal(signal.SIGHUP)

    def is_settled(self, shards: int) -> bool:
        """Return whether both nodes ask so many shards, and no others any more."""
        return all(
            len(node.client.get("/-/admin/shards", headers={"x-api-key": self.admin}).json()["shards"]) == shards
            and "penchant_shard_host_sets 1.0" in node.client.get("/-/metrics").text
            for node in self.nodes
        )

    def end_others(self, shards: int) -> None:
        """End the processes of more shards than so many."""
        for process in self.processes[shards:]:
            assert process.end() == 0
        del self.processes[shards:]

    def cut_anew(self) -> None:
        """Go over to six shards: two processes more, and one node after the other."""
        self._start_processes(2)
        self._write_settings(6)
        for number, node in enumerate(self.nodes):
            assert node.stop() == 0
            self.nodes[number] = self._node(node.port)


def has_answered(node: Server, count: int) -> bool:
    """Return whether each of so many shards has answered a node."""
    text = node.client.get("/-/metrics").text
    return all(f'penchant_shard_scans_total{{outcome="answered",shard="{shard}"}}' in text for shard in range(count))


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShardedNodes]:
    with ExitStack() as running:
        sharded = ShardedNodes(tmp_path_factory.mktemp("sharded"), running)
        sharded.wait_for_shards(4)
        yield sharded


def ask_meanwhile(sharded: ShardedNodes, what: str, happen: Callable[[], None]) -> None:
    """Let something happen under requests, and tell what came of these; all of both sources are answered rightly."""
    askers = {name: Asker(sharded.nodes, name, lists, sharded.key) for name, lists in sharded.lists.items()}
    try:
        happen()
    finally:
        for each in askers.values():
            each.end()
    for name, each in askers.items():
        say(f"| {what} | {name} | {dict(each.counts)} | {1000 * each.longest_s:.0f} ms |")
        assert set(each.counts) == {"right"}


@pytest.mark.parametrize("fault", ("killed", "frozen", "a shard killed", "cut off"))
def test_no_list_is_wrong_or_refused(sharded: ShardedNodes, fault: str) -> None:
    if not is_full() and fault != "cut off":
        pytest.skip("its short form is in tests/acceptance/test_shards.py")
    one, other = sharded.processes[1:3]

    def happen() -> None:
        time.sleep(FAULT_S / 4)
        match fault:
            case "killed":
                one.end(signal.SIGKILL)
            case "frozen":
                one.process.send_signal(signal.SIGSTOP)
            case "a shard killed":
                one.end(signal.SIGKILL)
                other.end(signal.SIGKILL)
            case "cut off":
                sharded.proxy.tell("hold")
        time.sleep(FAULT_S)
        one.process.send_signal(signal.SIGCONT)
        sharded.proxy.tell("pass")
        for each in (one, other):
            if each.process.poll() is not None:
                each.start()
        time.sleep(APART_S)

    for _ in range(times()):
        ask_meanwhile(sharded, fault, happen)


def answers_of(node: Server, shard: int) -> float:
    """Return how often a shard has answered a node."""
    wanted = f'penchant_shard_scans_total{{outcome="answered",shard="{shard}"}} '
    lines = node.client.get("/-/metrics").text.splitlines()
    return sum(float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted))


def test_a_source_is_cut_anew_by_a_reload(sharded: ShardedNodes) -> None:
    def change(shards: int) -> Callable[[], None]:
        def happen() -> None:
            # The last shard of six is asked for nothing before; that of four all the time.
            began, before = time.monotonic(), [answers_of(node, shards - 1) for node in sharded.nodes]
            sharded.reload(shards)
            for node, answered in zip(sharded.nodes, before, strict=True):
                wait_until(lambda node=node, answered=answered: answers_of(node, shards - 1) > answered)  # type: ignore[misc]  # as above
            answering_s = time.monotonic() - began
            wait_until(lambda: sharded.is_settled(shards))
            say(f"{shards} shards answer after {answering_s:.1f} s, no others after {time.monotonic() - began:.1f} s")
            sharded.end_others(shards)

        return happen

    for _ in range(times()):
        ask_meanwhile(sharded, "four shards become six by a reload", change(6))
        ask_meanwhile(sharded, "six shards become four by a reload", change(4))


def test_a_source_is_cut_anew_under_requests(sharded: ShardedNodes) -> None:
    began = time.monotonic()

    def happen() -> None:
        sharded.cut_anew()
        sharded.wait_for_shards(6)

    ask_meanwhile(sharded, "four shards become six", happen)
    say(f"six shards after {time.monotonic() - began:.1f} s")
