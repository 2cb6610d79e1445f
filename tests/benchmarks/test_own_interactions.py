"""What does a list cost right after an interaction of the person's own? Prints figures (``pytest -s``).

Of movielens-small in ``PENCHANT_DATASETS``, one connection: usual lists and pairs of an interaction and a list take
turns. ``PENCHANT_OTHER_PYTHON`` names the Python of another installation (of 0.1.0, say), which then runs beside this
one, block by block in turn; ``PENCHANT_BENCHMARK_FOLDER`` a folder that keeps both for the next time.
"""

import gzip
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np
import pytest

from penchant_lab.bench.load import LoadPlan, request, run
from penchant_lab.bench.server import BenchTarget, Server, running

pytestmark = pytest.mark.slow

SOURCE = "movielens"
PEOPLE = 610
ROUNDS = int(os.environ.get("PENCHANT_BENCHMARK_ROUNDS", "8"))
SECONDS = 1.0
WARMING_S = 10.0
"""For kernels to be loaded and weights to be made."""


def lists(server: Server) -> list[bytes]:
    return [request("GET", f"/{SOURCE}/users/{n + 1}/recommendation", server.key) for n in range(PEOPLE)]


def pairs(server: Server, ids: list[str], seed: int) -> list[bytes]:
    random = np.random.default_rng(seed)
    sent = []
    for n, place in enumerate(random.integers(0, len(ids), PEOPLE).tolist()):
        user = f"/{SOURCE}/users/{n + 1}"
        sent.append(request("POST", f"{user}/interactions/Watch/content/{ids[place]}", server.key))
        sent.append(request("GET", f"{user}/recommendation", server.key))
    return sent


def measured(server: Server, sent: list[bytes], seconds: float, *, are_pairs: bool = False) -> tuple[float, float]:
    """Return the median time of a list in ms, and what a request or pair takes of a core."""
    used = server.cpu_s()
    result = run(LoadPlan(port=server.port, requests=sent, connections=1, duration_s=seconds, pairs=are_pairs))
    assert not result.errors
    return result.p50_ms, (server.cpu_s() - used) / result.count * 1000


@pytest.mark.timeout(900)
def test_lists_right_after_an_own_interaction(tmp_path: Path) -> None:
    home = Path(os.environ.get("PENCHANT_BENCHMARK_FOLDER", tmp_path))
    datasets = os.environ.get("PENCHANT_DATASETS")
    if datasets is None:
        pytest.skip("PENCHANT_DATASETS does not say where the data sets are")
    films = Path(datasets) / "movielens-small"
    with gzip.open(films / "pieces.ndjson.gz") as file:
        ids = [msgspec.json.decode(line)["id"] for line in file]
    files = ("--pieces", str(films / "pieces.ndjson.gz"), "--interactions", str(films / "interactions.ndjson.gz"))
    pythons = {"this": sys.executable}
    if other := os.environ.get("PENCHANT_OTHER_PYTHON"):
        pythons["other"] = other
    figures: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name, python in pythons.items():
            folder = home / name / "data"
            words = ["import", "--data", str(folder), "--source", SOURCE, *files, "--shift-times"]
            if not folder.exists():
                subprocess.run([python, "-m", "penchant", *words], check=True, capture_output=True, timeout=600)
            server = servers[name] = stack.enter_context(running(BenchTarget(folder=folder, workers=1, python=python)))
            measured(server, lists(server), WARMING_S)
        for number in range(ROUNDS):
            for name, server in servers.items():
                usual = measured(server, lists(server), SECONDS)
                own = measured(server, pairs(server, ids, number), SECONDS, are_pairs=True)
                figures.setdefault((name, "usual"), []).append(usual)
                figures.setdefault((name, "own"), []).append(own)
    for (name, kind), each in figures.items():
        time_ms, cpu_ms = (statistics.median(column) for column in zip(*each, strict=True))
        print(f"{name:6} {kind:6} {time_ms:7.2f} ms, {cpu_ms:6.2f} ms of a core for each", end="")
        ratios = [own[0] / usual[0] for own, usual in zip(each, figures[name, "usual"], strict=True)]
        print(f", {statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})")
