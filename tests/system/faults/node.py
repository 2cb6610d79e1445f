"""``penchant serve`` as a group of processes that can be killed one by one or together, and started again."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from acceptance.processes import holders_of, workers_of
from acceptance.servers import command, free_port, new_key
from faults.client import Client, Unanswered
from kernel_cache import KERNELS

STARTING_S = 240.0
STOPPING_S = 120.0
WORKERS = 2


class Node:
    """A service on a data folder; it keeps its port and key when it is started again."""

    def __init__(
        self,
        data: Path,
        *,
        database: str | None = None,
        environment: Mapping[str, str] | None = None,
        key: str = "",
        workers: int = WORKERS,
    ) -> None:
        self.data = data
        self.port = free_port()
        self.where = ["--data", str(data), *(["--database", database] if database else [])]
        self._environment = {"PENCHANT_KERNEL_FOLDER": str(KERNELS), "PYTHONUNBUFFERED": "1"} | dict(environment or {})
        self._workers = workers
        data.parent.mkdir(parents=True, exist_ok=True)
        self._log_path = data.parent / f"node-{self.port}.log"
        self.process: subprocess.Popen[bytes] | None = None
        if not key:
            key = new_key(data, database)
        self.key = key
        self.start()

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self.launch()
        deadline = time.monotonic() + STARTING_S
        while not self.is_ready():
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def launch(self) -> None:
        """Start it, in a process group of its own."""
        with self._log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "penchant", "serve", *self.where),
                    *("--port", str(self.port), "--workers", str(self._workers)),
                ],
                stderr=log,
                env=os.environ | self._environment,
                start_new_session=True,
            )

    def is_ready(self) -> bool:
        """Return whether it answers and reaches its database."""
        client = Client([self.port], self.key, timeout_s=5)
        try:
            return client.ask("GET", "/-/health/ready").status == 200
        except Unanswered:
            return False
        finally:
            client.close()

    def log(self) -> str:
        """Return what it has logged."""
        return self._log_path.read_text(errors="replace")

    def workers(self) -> list[int]:
        """Return the processes that answer requests."""
        assert self.process is not None
        return workers_of(self.process.pid)

    def builder(self) -> int | None:
        """Return the process that holds the builder's lock."""
        return next(iter(holders_of(self.data / "builder.lock")), None)

    def kill_worker(self) -> None:
        """End one worker without warning."""
        os.kill(self.workers()[0], signal.SIGKILL)

    def kill_builder(self) -> None:
        """End the builder without warning."""
        deadline = time.monotonic() + STARTING_S
        while (builder := self.builder()) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(builder, signal.SIGKILL)

    def kill(self) -> None:
        """End all its processes without warning, at once."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def kill_and_start(self) -> None:
        """End all its processes without warning, and start it again on the same folder."""
        self.kill()
        self.start()

    def wait_for_workers(self) -> None:
        """Wait until those that were killed are replaced, and for so long that another kill is no crash loop."""
        deadline = time.monotonic() + STARTING_S
        while len(self.workers()) < self._workers:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def memory_bytes(self) -> int:
        """Return the memory of all its processes, what they share counted once."""
        assert self.process is not None
        total = 0
        for status in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, IndexError):
                fields = status.read_text().rpartition(")")[2].split()
                if int(fields[2]) == self.process.pid:
                    rollup = (status.parent / "smaps_rollup").read_text()
                    total += int(re.findall(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[0]) * 1024
        return total

    def check(self) -> None:
        """What is stored agrees with itself, and the segment files with it."""
        checked = command("check", *self.where)
        assert checked.returncode == 0, checked.stdout + checked.stderr

    def stop(self) -> int:
        """End it as a service manager does; return its exit code, -9 where it had to be killed."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(STOPPING_S)
        self.kill()
        return -signal.SIGKILL
