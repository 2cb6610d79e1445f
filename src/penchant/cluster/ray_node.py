"""Ray node: this machine's part of a Ray cluster, started and ended by Ray's own command.

    penchant cluster start | join
      node.lock  locked, then inherited by `ray start --block`: locked for as long as that lives; holds its process id
      node.log   what it says
    penchant cluster stop: SIGTERM to that process, which ends all that it has started

Ray's own `ray stop` would end the nodes of everybody on the machine.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from penchant.errors import Refused

HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000",
    "RAY_health_check_failure_threshold": "3",
}
"""A node that is gone is noticed after two seconds, by default after twelve."""
DEFAULTS = {"RAY_worker_niceness": "0"}
"""How a node runs where its environment says nothing else. Ray itself adds 15 to the niceness of workers: on a machine
that is busy otherwise they get next to nothing."""
SINGLE_PORTS = (
    "node-manager",
    "object-manager",
    "dashboard-agent-listen",
    "dashboard-agent-grpc",
    "runtime-env-agent",
    "metrics-export",
)
WORKER_PORTS = 100
"""Ports of a node's workers: one for each CPU, and for commands that use the cluster from there."""
NODE_PORTS = len(SINGLE_PORTS) + WORKER_PORTS
LOCK, LOG = "node.lock", "node.log"
STARTED = b"Ray runtime started"
"""Said by `ray start` once a node has joined."""
STARTING_S, STATUS_S, STEP_S = 90.0, 30.0, 0.1
ENDING_S = 40.0
"""Ray lets a node that is to end finish its tasks for 30 seconds."""
LAST_LINES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """How a node is started: the head at a ``port``, or one that joins the head at an ``address`` (host:port).

    ``host`` is by what others reach this machine, ``first_port`` the first of `NODE_PORTS` in a row.
    """

    first_port: int
    host: str | None = None
    port: int | None = None
    address: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    folder: str | None = None

    def words(self) -> list[str]:
        """Return the command that runs the node until it is ended."""
        words = [*_ray("start"), "--block", "--disable-usage-stats"]
        words += [f"--{name}-port={self.first_port + place}" for place, name in enumerate(SINGLE_PORTS)]
        first_worker = self.first_port + len(SINGLE_PORTS)
        words += [f"--min-worker-port={first_worker}", f"--max-worker-port={first_worker + WORKER_PORTS - 1}"]
        if self.address is None:
            words += ["--head", f"--port={self.port}", "--include-dashboard=false"]
        else:
            words.append(f"--address={self.address}")
        options = {
            "node-ip-address": self.host,
            "num-cpus": self.cpus,
            "object-store-memory": self.memory_bytes,
            "temp-dir": self.folder,
        }
        return words + [f"--{name}={value}" for name, value in options.items() if value is not None]


class RayNode:
    """The node of a folder, of which there is one at a time; ``environment`` is what Ray goes by."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment

    def start(self, spec: NodeSpec) -> None:
        """Start the node and return once it is part of its cluster.

        Raises:
            Refused: Ray is not installed, a node of this folder runs, or this one has ended at once.
        """
        lock = self._take_lock()
        log = self._folder / LOG
        with log.open("wb") as file, os.fdopen(lock, "wb", closefd=True) as locked:
            process = subprocess.Popen(  # noqa: S603  # its own words
                spec.words(),
                env=dict(self._environment),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[lock],
            )
            locked.write(b"%d" % process.pid)
        deadline = time.monotonic() + STARTING_S
        while STARTED not in (said := log.read_bytes()):
            if process.poll() is None and time.monotonic() < deadline:
                time.sleep(STEP_S)
                continue
            process.kill()
            process.wait()
            raise Refused(
                f"The node has not started; {log} ends with:\n{_last(said.decode(errors='replace'), LAST_LINES)}"
            )

    def become(self, spec: NodeSpec) -> NoReturn:
        """Run the node in the place of this process.

        Raises:
            Refused: Ray is not installed, or a node of this folder runs.
        """
        lock = self._take_lock()
        os.write(lock, b"%d" % os.getpid())
        os.set_inheritable(lock, True)
        words = spec.words()
        os.execve(words[0], words, dict(self._environment))  # noqa: S606  # its own words, and no shell

    def stop(self) -> bool:
        """End the node; return whether there was one."""
        path = self._folder / LOCK
        if not path.exists():
            return False
        deadline = time.monotonic() + ENDING_S
        asked = False
        with path.open("rb") as file:
            while not _locks(file.fileno()):
                number = path.read_bytes()
                # Written just after it is locked.
                if number and (not asked or time.monotonic() > deadline):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(number), signal.SIGKILL if asked else signal.SIGTERM)
                    asked = True
                time.sleep(STEP_S)
        return asked

    def _take_lock(self) -> int:
        require_ray()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if not _locks(lock):
            os.close(lock)
            raise Refused(f"A node of {self._folder} runs already: penchant cluster stop ends it.")
        os.truncate(lock, 0)
        return lock


def require_ray() -> None:
    """Raise `Refused` where Ray is not installed; it is not imported."""
    if find_spec("ray") is None:
        raise Refused("A cluster needs Ray: pip install 'penchant[ray]', or leave the setting `cluster` out.")


def cluster_status(address: str, environment: Mapping[str, str]) -> str:
    """Return what Ray says of the nodes of a cluster, and of what they have left.

    Raises:
        Refused: it says nothing.
    """
    words = [*_ray("status"), f"--address={address}"]
    try:
        done = subprocess.run(  # noqa: S603  # its own words
            words, env=dict(environment), capture_output=True, text=True, timeout=STATUS_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"The cluster at {address} has not answered in {STATUS_S:.0f} s.") from None
    if done.returncode:
        raise Refused(f"The cluster at {address} does not answer:\n{_last(done.stderr or done.stdout, 1)}")
    return done.stdout


def _ray(command: str) -> list[str]:
    return [sys.executable, "-m", "ray.scripts.scripts", command]


def _locks(file: int) -> bool:
    """Return whether a file was free, and lock it for as long as it is open."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _last(said: str, lines: int) -> str:
    return "\n".join(said.strip().splitlines()[-lines:])
