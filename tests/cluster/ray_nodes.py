"""Nodes of a Ray cluster for tests: on loopback addresses of their own, with pinned ports and a token."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""A node that is gone is noticed after two seconds."""
PATIENCE_S = 90.0
PORTS = (
    "node-manager",
    "object-manager",
    "dashboard-agent-listen",
    "dashboard-agent-grpc",
    "runtime-env-agent",
    "metrics-export",
)
WORKER_PORTS = 30
TESTS = Path(__file__).parent.parent


class RayNodes:
    """A head and other nodes, started one after the other; each is a process that its own processes hang below."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: list[subprocess.Popen[bytes]] = []
        self.port = _free_ports(1)
        self.environment = HEALTH | {
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
        first = _free_ports(len(PORTS) + WORKER_PORTS)
        ports = [f"--{name}-port={first + place}" for place, name in enumerate(PORTS)]
        ports += [
            f"--min-worker-port={first + len(PORTS)}",
            f"--max-worker-port={first + len(PORTS) + WORKER_PORTS - 1}",
        ]
        where = [f"--port={self.port}", "--head", "--include-dashboard=false", f"--temp-dir={self._folder}"]
        where = where if number == 0 else [f"--address={self.address}"]
        log = (self._folder.parent / f"ray-{number}.log").open("wb")
        with log:
            node = subprocess.Popen(
                [
                    *(str(Path(sys.executable).parent / "ray"), "start", "--block", "--disable-usage-stats"),
                    *(f"--node-ip-address=127.0.0.{2 + number}", f"--num-cpus={cpus}"),
                    *("--object-store-memory=100000000", *where, *ports),
                ],
                env=os.environ | self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._nodes.append(node)
        deadline = time.monotonic() + PATIENCE_S
        # It says so once it has joined; two that join at once were seen to get into each other's way.
        while b"Ray runtime started" not in (said := Path(log.name).read_bytes()):
            assert node.poll() is None, said.decode()
            assert time.monotonic() < deadline, said.decode()
            time.sleep(0.1)
        return number

    def kill(self, number: int) -> None:
        """Kill all processes of a node at once."""
        self.signal(number, signal.SIGKILL)
        self._nodes[number].wait()

    def signal(self, number: int, name: signal.Signals) -> None:
        """Send a signal to all processes of a node."""
        for process in [*descendants(self._nodes[number].pid), self._nodes[number].pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, name)

    def close(self) -> None:
        """End all nodes, the head last."""
        for number in reversed(range(len(self._nodes))):
            if self._nodes[number].poll() is None:
                self.kill(number)


def descendants(process: int) -> Iterator[int]:
    """Yield the processes below one, the deepest first."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield from descendants(child)
                yield child


def _free_ports(count: int) -> int:
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
