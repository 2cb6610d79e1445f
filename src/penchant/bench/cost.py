"""Cost figures: what a service takes that nobody asks anything of, and what its installation takes on the disk."""

import sysconfig
import time
from pathlib import Path

from penchant.bench.report import BenchReport
from penchant.bench.server import Server

IDLE_S = 20.0
"""How long an idle service is looked at, after half of that for its pauses to become as long as they do."""


def measure(report: BenchReport, server: Server, *, seconds: float) -> None:
    """Add the cost of a server that has answered something and is then left alone for some seconds and a half more."""
    time.sleep(seconds / 2)
    report.add("cost, CPU of an idle service", 100 * server.cpu_share(seconds), "%")
    report.add("cost, memory of an idle service, all processes", server.memory_bytes() / 2**20, "MiB")
    report.add("cost, installed packages", _installed_bytes() / 2**20, "MiB")


def _installed_bytes() -> int:
    """Return what the folder of this Python's packages takes, in blocks of the disk."""
    files = Path(sysconfig.get_path("purelib")).rglob("*")
    return sum(file.lstat().st_blocks * 512 for file in files)
