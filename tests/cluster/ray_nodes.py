"""Nodes of a Ray cluster for tests: on loopback addresses of their own, with pinned ports and a token."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from penchant.cluster.ray_node import DEFAULTS, HEALTH, NODE_PORTS, STARTED, NodeSpec

PATIENCE_S = 240.0
MEMORY_BYTES = 100_000_000
TESTS = Path(__file__).parent.parent


class RayNodes:
    """A head and other nodes, started one after the other; each is a process that its own processes hang below."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        # The head's own, and behind it those of its node: drawn apart they might overlap.
        self.port = free_ports(1 + NODE_PORTS)
        self.environment = {
            **DEFAULTS,
            **HEALTH,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            # What tests have done lies beside them.
            "PYTHONPATH": str(TESTS),
        }

    @property
    def address(self) -> str:
        """What the setting `cluster` says."""
        return f"127.0.0.2:{self.port}"

    def start(self, cpus: int) -> int:
        """Start one more node, the head first; return its number."""
        number = len(self._nodes)
        self._start(number, cpus)
        return number

    def start_head(self) -> None:
        """Start the head again, which has ended; it has no work."""
        self._start(0, 0)

    def _start(self, number: int, cpus: int) -> None:
        """Start a node, and wait until it has joined."""
        spec = NodeSpec(
            first_port=free_ports(NODE_PORTS) if number else self.port + 1,
            host=f"127.0.0.{2 + number}",
            cpus=cpus,
            memory_bytes=MEMORY_BYTES,
            port=self.port,
            address=self.address if number else None,
            folder=None if number else str(self._folder),
        )
        log = (self._folder.parent / f"ray-{number}.log").open("wb")
        with log:
            node = self._nodes[number] = subprocess.Popen(
                spec.words(), env=os.environ | self.environment, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + PATIENCE_S
        # It says so once it has joined; two that join at once were seen to get into each other's way.
        while STARTED not in (said := Path(log.name).read_bytes()):
            assert node.poll() is None, said.decode()
            assert time.monotonic() < deadline, said.decode()
            time.sleep(0.1)

    def processes(self, number: int) -> list[int]:
        """Return the processes of a node, itself the last; none where it has ended."""
        node = self._nodes[number]
        return [*descendants(node.pid), node.pid] if node.poll() is None else []

    def kill(self, number: int) -> None:
        """Kill all processes of a node at once."""
        self.signal(number, signal.SIGKILL)
        self._nodes[number].wait()

    def signal(self, number: int, name: signal.Signals) -> None:
        """Send a signal to all processes of a node."""
        for process in self.processes(number):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, name)

    def close(self) -> None:
        """End all nodes, the head last."""
        for number in reversed(self._nodes):
            self.kill(number)


def descendants(process: int) -> Iterator[int]:
    """Yield the processes below one, the deepest first."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield from descendants(child)
                yield child


def free_ports(count: int) -> int:
    """Return the first of so many ports in a row that nobody listens on."""
    while True:
        first = 20_000 + secrets.randbelow(10_000)
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.socket()).bind(("0.0.0.0", port))  # noqa: S104  # Ray listens on all
            except OSError:
                continue
            return first
