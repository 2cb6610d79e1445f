"""The server under test: ``penchant serve`` as a process of its own, on a temporary folder and a free port."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from penchant.bootstrap.processes import BUILDER_NICENESS
from penchant.errors import PenchantError
from penchant.settings import environment_without_settings

STARTING_S = 60.0
STOPPING_S = 15.0


class BenchFailed(PenchantError):
    """A part of a benchmark failed."""

    code = "bench-failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTarget:
    """What is served: a data folder, with a PostgreSQL database where one is named; a key once there is one.

    ``python`` is that of the installation to measure. Without a ``kernel_folder`` the first start compiles the kernels.
    """

    folder: Path
    workers: int
    database: str | None = None
    key: str = ""
    kernel_folder: Path | None = None
    python: str = sys.executable

    @property
    def kernels(self) -> Path:
        """Where its kernels are."""
        return self.kernel_folder or self.folder / "kernels"


class Server:
    """A running server, with a key to ask it."""

    def __init__(self, served: BenchTarget) -> None:
        self.served = served
        self.port = free_port()
        command = [served.python, "-m", "penchant"]
        where = ["--data", str(served.folder), *(["--database", served.database] if served.database else [])]
        options = [*where, "--port", str(self.port), "--workers", str(served.workers)]
        self._log = (served.folder.parent / "bench-server.log").open("ab")
        # Whatever is set for another service must not lead here, least of all its database.
        environment = environment_without_settings() | {"PENCHANT_KERNEL_FOLDER": str(served.kernels)}
        self.process = subprocess.Popen([*command, "serve", *options], stderr=self._log, env=environment)  # noqa: S603  # our own
        self._wait()
        self.key = served.key or self._new_key([*command, "keys", "create", *where], environment)

    @staticmethod
    def _new_key(command: list[str], environment: dict[str, str]) -> str:
        created = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)  # noqa: S603  # our own
        return created.stdout.strip()

    def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """Return the answer of one request over a connection of its own; a body is JSON unless headers say otherwise.

        Raises:
            BenchFailed: the answer is no success.
        """
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            sent = {"x-api-key": self.key, "content-type": "application/json"} | dict(headers or {})
            connection.request(method, path, body or None, sent)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                raise BenchFailed(f"{method} {path} was answered with {answer.status}: {content[:300]!r}")
            return content

    def processes(self) -> list[int]:
        """Return the numbers of the server's processes."""
        # Workers and the builder are children, and children of threads: each thread lists those that it has started.
        numbers, pending = [], [self.process.pid]
        while pending:
            number = pending.pop()
            numbers.append(number)
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{number}/task").iterdir():
                    pending += map(int, (task / "children").read_text().split())
        return numbers

    def is_compiling(self) -> bool:
        """Return whether one of its processes compiles, which takes more memory than a small catalogue."""
        own = os.getpriority(os.PRIO_PROCESS, self.process.pid)
        for number in self.processes():
            with contextlib.suppress(OSError):
                # Nothing else is behind the builder.
                if os.getpriority(os.PRIO_PROCESS, number) > own + BUILDER_NICENESS:
                    return True
        return False

    def cpu_s(self) -> float:
        """Return the CPU time that all its threads have used, which the kernel tells to the nanosecond."""
        used_ns = 0
        for number in self.processes():
            with contextlib.suppress(OSError):
                for statistics in Path(f"/proc/{number}/task").glob("*/schedstat"):
                    used_ns += int(statistics.read_text().split()[0])
        return used_ns / 1e9

    def cpu_share(self, seconds: float) -> float:
        """Return how much of one core it uses over so many seconds, for which this waits."""
        used, began = self.cpu_s(), time.perf_counter()
        time.sleep(seconds)
        return (self.cpu_s() - used) / (time.perf_counter() - began)

    def memory_bytes(self) -> int:
        """Return the memory of all its processes, what they share counted once."""
        total = 0
        for number in self.processes():
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{number}/smaps_rollup").read_text().splitlines():
                    # A page that n processes share counts as an n-th of it in each.
                    if line.startswith("Pss:"):
                        total += int(line.split()[1]) * 1024
        return total

    def stop(self) -> None:
        """Stop it and wait for its end."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOPPING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()

    def _wait(self) -> None:
        """Wait until the server is ready.

        Raises:
            BenchFailed: it ended, or was not ready in time.
        """
        deadline = time.monotonic() + STARTING_S
        while time.monotonic() < deadline:
            if is_answering(self.port, "/-/health/ready"):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise BenchFailed("The server did not start; see bench-server.log.")


@contextlib.contextmanager
def running(served: BenchTarget) -> Iterator[Server]:
    """Run a server while the block lasts."""
    os.umask(0o077)
    server = Server(served)
    try:
        yield server
    finally:
        server.stop()


def is_answering(port: int, path: str) -> bool:
    """Return whether a path is answered with success."""
    with (
        contextlib.suppress(OSError),
        contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as connection,
    ):
        connection.request("GET", path)
        return connection.getresponse().status < 300
    return False


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
