"""``penchant cluster``: a head and a node that are started, used and ended by the command line."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from acceptance.servers import command
from cluster.ray_nodes import MEMORY_BYTES, PATIENCE_S, TESTS, free_ports
from cluster.working import NICENESS, PLAN, TEXT, folder_with
from penchant.cluster.ray_driver import ray_crew
from penchant.cluster.ray_node import NODE_PORTS, STARTED

pytest.importorskip("ray", reason="Ray is not installed: sh scripts/ray")
pytestmark = pytest.mark.slow


@pytest.fixture
def ending() -> Iterator[ExitStack]:
    """What is to be done at the end, whatever becomes of the test."""
    with ExitStack() as ending:
        yield ending


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, ending: ExitStack) -> Path:
    """A folder for two nodes with a short path, since sockets lie in it; a head that still runs there is ended."""
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True)))
    ending.callback(command, "cluster", "stop", "--data", str(folder / "head"))
    return folder


def test_nodes_are_started_used_and_stopped(folder: Path, ending: ExitStack) -> None:
    port, memory = free_ports(1), f"--memory-bytes={MEMORY_BYTES}"
    address, head, node = f"127.0.0.2:{port}", folder / "head", folder / "node"

    started = command(
        *("cluster", "start", "--data", str(head), "--host", "127.0.0.2", "--port", str(port), "--cpus", "0"),
        *("--ports", str(free_ports(NODE_PORTS)), "--temp-dir", str(folder / "r"), memory),
    )
    assert started.returncode == 0, started.stderr
    token = head / "cluster-token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600

    again = command("cluster", "start", "--data", str(head), "--host", "127.0.0.2")
    assert (again.returncode, "runs already" in again.stderr) == (1, True)

    node.mkdir()
    (node / "cluster-token").write_text("0" * 64)
    strange = command("cluster", "status", "--data", str(node), address)
    assert (strange.returncode, "token" in strange.stderr) == (1, True)

    (node / "cluster-token").write_text(token.read_text())
    words = ("join", "--data", str(node), "--host", "127.0.0.3", "--cpus", "1", "--block", memory)
    log = folder / "log"
    with log.open("wb") as file:
        joined = subprocess.Popen(
            [*(sys.executable, "-m", "penchant", "cluster"), *words, "--ports", str(free_ports(NODE_PORTS)), address],
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    ending.callback(joined.wait)
    ending.callback(command, "cluster", "stop", "--data", str(node))
    deadline = time.monotonic() + PATIENCE_S
    while STARTED not in (said := log.read_bytes()):
        assert joined.poll() is None, said.decode()
        assert time.monotonic() < deadline, said.decode()
        time.sleep(0.1)

    parts = {
        part.number: part.content
        for part in ray_crew(PLAN, folder_with(folder / "work"), address, token).run(range(PLAN.range_count))
    }
    assert b"".join(parts[number] for number in sorted(parts)) == TEXT
    (told,) = ray_crew(NICENESS, folder / "work", address, token).run(range(1))
    # That of the command which has started the node, where Ray would add 15.
    assert int(told.content) == os.nice(0)
    # Ray tells what was so some seconds ago.
    deadline = time.monotonic() + PATIENCE_S
    while "0.0/1.0 CPU" not in (shown := command("cluster", "status", "--data", str(head), address)).stdout:
        assert (shown.returncode, time.monotonic() < deadline) == (0, True), shown

    joined.send_signal(signal.SIGTERM)
    joined.wait(PATIENCE_S)
    ended = command("cluster", "stop", "--data", str(head))
    assert (ended.returncode, ended.stdout) == (0, "The node has ended.\n")
    left = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and belongs(entry, folder)]
    assert left == []


def belongs(process: Path, folder: Path) -> bool:
    """Return whether the words of a process name a folder."""
    try:
        return os.fsencode(folder) in (process / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
