"""Nodes of a Ray cluster for tests: on loopback addresses of their own, with pinned ports and a token."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from acceptance.processes import children_of
from acceptance.servers import free_ports

PATIENCE_S = 240.0
MEMORY_BYTES = 100_000_000
TESTS = Path(__file__).parent.parent
RAY = Path(sys.executable).with_name("ray")
STARTED = b"Ray runtime started"
"""Said by `ray start` once a node has joined."""
PORTS = 60
"""Ports of a node's workers, those of the head behind its own."""
ANY_HOST = "0.0.0.0"  # noqa: S104  # Ray listens on all
ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    # One for all clusters of a process: Ray reads it once.
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
    # On a busy machine workers of Ray's own niceness hardly begin.
    "RAY_worker_niceness": "0",
    # What tests have done lies beside them.
    "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}",
}


class RayNodes:
    """A head and other nodes, started one after the other; each is a process that its own processes hang below."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self.port = free_ports(1 + PORTS, ANY_HOST)

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
        first = free_ports(PORTS, ANY_HOST) if number else self.port + 1
        place = (f"--address={self.address}",) if number else ("--head", f"--port={self.port}")
        words = [
            *(str(RAY), "start", "--block", *place, f"--node-ip-address=127.0.0.{2 + number}", f"--num-cpus={cpus}"),
            *(f"--min-worker-port={first}", f"--max-worker-port={first + PORTS - 1}"),
            f"--object-store-memory={MEMORY_BYTES}",
            *(() if number else ("--include-dashboard=false", f"--temp-dir={self._folder}")),
        ]
        log = (self._folder.parent / f"ray-{number}.log").open("wb")
        with log:
            node = self._nodes[number] = subprocess.Popen(
                words, env=os.environ | ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT
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
        for child in children_of(process):
            yield from descendants(child)
            yield child
