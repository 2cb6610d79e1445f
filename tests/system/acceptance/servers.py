"""Starts the service as a process of its own, on loopback, and ends it."""

import os
import re
import secrets
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Self

import httpx

from acceptance.commands import carried_out, started
from kernel_cache import KERNELS
from penchant.bootstrap import storage_of
from penchant.cli.keys import make_key
from penchant.settings import NodeSettings

STARTING_S = 300
"""Patience, not a promise: machines that run tests are busy."""
OWN_FOLDER = tempfile.gettempdir()
"""Whatever a test has commands take for it: some look at what is left in theirs."""
WITHOUT_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""What a client of plain HTTP verifies by: to read the authorities of the system takes each one 20 ms."""
RUNNING: set["Server"] = set()
"""What was started and has not been ended."""


def free_port() -> int:
    """Return a port that nothing listens on, and that no connection takes while its server is ended and begun anew."""
    return free_ports(1)


def free_ports(count: int, host: str = "127.0.0.1") -> int:
    """Return the first of so many such ports in a row."""
    while True:
        # The system gives connections those from 32,768 on.
        first = 10_000 + secrets.randbelow(22_000 - count)
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.socket()).bind((host, port))
            except OSError:
                continue
            return first


def command(*words: str, timeout_s: float = 1_000) -> subprocess.CompletedProcess[str]:
    """Run ``penchant`` in a process of its own and return what it printed."""
    with tempfile.TemporaryDirectory(prefix="printed-", dir=OWN_FOLDER) as folder:
        code, out, err = carried_out(words, Path(folder), timeout_s)
    if code is None:
        raise subprocess.TimeoutExpired(words, timeout_s, out, err)
    return subprocess.CompletedProcess(words, code, out, err)


def new_key(
    data: Path,
    database: str | None = None,
    *,
    account: str = "default",
    plan: str = "full",
    admin: bool = False,
    **limits: Any,
) -> str:
    """Make a key as the command line does, also while a server runs on the same data; it spares a process."""
    with closing(storage_of(NodeSettings(data=str(data), database=database))) as storage:
        return make_key(storage, account=account, plan=plan, admin=admin, **limits)[1]


class Server:
    """``penchant serve``, or another command that serves, on a data folder, until its block ends.

    With a certificate that its settings name it is over TLS.

    ``settings`` are written to ``settings_file``, beside the data folder.
    """

    def __init__(
        self,
        data: Path,
        *options: str,
        settings: str = "",
        database: str | None = None,
        kernels: Path = KERNELS,
        port: int | None = None,
        certificate: Path | None = None,
        subcommand: str = "serve",
        base: str = "",
    ) -> None:
        self.data = data
        self.database = database
        self.settings_file = data.parent / "settings.toml"
        if settings:
            self.settings_file.write_text(settings)
            options = (*options, "--settings", str(self.settings_file))
        self.port = port or free_port()
        self.url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{self.port}{base}"
        where = ["--data", str(data), *(["--database", database] if database else [])]
        self._log_path = data.parent / f"server-{self.port}.log"
        words = [subcommand, *where, "--port", str(self.port), *options]
        self.process = started(words, self._log_path, os.environ | {"PENCHANT_KERNEL_FOLDER": str(kernels)})
        RUNNING.add(self)
        self.key = ""
        trusted = WITHOUT_TLS if certificate is None else ssl.create_default_context(cafile=certificate)
        self.client = httpx.Client(base_url=self.url, timeout=300, verify=trusted)
        try:
            self.key = new_key(data, database)
            self.client.headers["x-api-key"] = self.key
            self._wait()
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self.kill()
        elif self.process.poll() is None:
            assert self.stop() == 0

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

    def metric(self, name: str) -> float:
        """Return a figure of the metrics; 0 where there is none yet."""
        # Over a connection of its own, so that any worker may answer.
        page = httpx.get(f"{self.url}/-/metrics", headers=self.client.headers, timeout=120, verify=WITHOUT_TLS).text
        found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def stop(self) -> int:
        """End it as a service manager does; return its exit code."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120)
        RUNNING.discard(self)
        return code

    def kill(self) -> None:
        """End it without warning."""
        self.client.close()
        self.process.kill()
        self.process.wait()
        RUNNING.discard(self)


def hide_package(folder: Path, *hidden: str) -> None:
    """Write what a process reads as it starts with the folder in its path, for which packages are not there."""
    (folder / "sitecustomize.py").write_text(
        f"""
import sys
from importlib import metadata
every = metadata.entry_points
metadata.entry_points = lambda **wanted: tuple(
    each for each in every(**wanted) if not each.value.startswith({hidden})
)
sys.modules |= dict.fromkeys({hidden})
"""
    )
