"""Starts the service as a process of its own, on loopback, and ends it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

STARTING_S = 30
KERNELS = Path(tempfile.gettempdir()) / f"penchant-kernels-{os.getuid()}"
"""Kernels that all servers under test share, so that they are compiled once."""


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(*words: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """Run ``penchant`` and return what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "penchant", *words], capture_output=True, text=True, timeout=timeout_s, check=False
    )


class Server:
    """``penchant serve`` on a data folder."""

    def __init__(
        self,
        data: Path,
        *options: str,
        database: str | None = None,
        kernels: Path = KERNELS,
        port: int | None = None,
    ) -> None:
        self.data = data
        self.database = database
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        where = ["--data", str(data), *(["--database", database] if database else [])]
        self._log_path = data.parent / f"server-{self.port}.log"
        self._log = self._log_path.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penchant", "serve", *where, "--port", str(self.port), *options],
            stderr=self._log,
            env=os.environ | {"PYTHONUNBUFFERED": "1", "PENCHANT_KERNEL_FOLDER": str(kernels)},
        )
        self.key = ""
        self.client = httpx.Client(base_url=self.url, timeout=60)
        try:
            created = command("keys", "create", *where)
            assert created.returncode == 0, created.stderr
            self.key = created.stdout.strip()
            self.client.headers["x-api-key"] = self.key
            self._wait()
        except BaseException:
            self.kill()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + STARTING_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log()
            try:
                if self.client.get("/-/health/ready").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError(f"not ready in time: {self.log()}")

    def log(self) -> str:
        """Return what the server has logged."""
        return self._log_path.read_text()

    def stop(self) -> int:
        """End it as a service manager does; return its exit code."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self._log.close()
        return code

    def kill(self) -> None:
        """End it without warning."""
        self.client.close()
        self.process.kill()
        self.process.wait()
        self._log.close()
