"""Service figures: how fast the service is through HTTP, as a process of its own, and what it costs when idle."""

import statistics
import sysconfig
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from penchant.bench import people
from penchant.bench.catalogue import ids_of
from penchant.bench.load import LoadPlan, request, run
from penchant.bench.plain import seconds_of_pieces
from penchant.bench.report import BenchReport
from penchant.bench.server import BenchFailed, BenchTarget, Server, running
from penchant.live.builder import LEAST_CHANGES, SMALLEST_FILE
from penchant.live.compiling import are_compiled
from penchant.live.segment_files import SegmentFiles

SOURCE = "bench"
SENDERS = 2
"""Submissions under way at once: one is checked while another is committed."""
SENT_TOGETHER = 8
MEASURED_BATCHES = 24
"""Submissions whose time counts; the rest of a large catalogue is only loaded."""
QUERIES = 5_000
FRESH_RATE = 200.0
INDEXING_S = 600.0
COMPILING_S = 300.0
SETTLING_S = 6.0
"""For the workers to load the kernels, and to go over to the newest file."""
IDLE_SHARE = 0.1
"""Of a core: an idle service takes a tenth of it."""
SEED = 11
IDLE_S = 20.0
"""How long an idle service is looked at, after half of that for its pauses to become as long as they do."""


def measure(
    report: BenchReport, batches: Iterable[list[bytes]], served: BenchTarget, *, seconds: float, interactions: int = 0
) -> None:
    """Add the figures of the service, with so many made interactions; the data stays where it was served from."""
    workers = served.workers
    began = time.perf_counter()
    with running(served) as server:
        report.add("first start to ready", time.perf_counter() - began, "s")
        _wait_for_kernels(server)
        report.add("first start to compiled kernels", time.perf_counter() - began, "s")
        # After the kernels are loaded, so that pieces are not charged with them.
        empty = server.memory_bytes()
        live = run(LoadPlan(port=server.port, requests=[request("GET", "/-/health/live")], seconds=seconds))
        report.add("ceiling of the client: health, 32 connections", live.per_second, "req/s", p99=live.p99_ms)
        ids = _ingest(report, server, batches)
        report.pieces = len(ids)
        _wait_for_index(report, server, ids, workers)
        _similar(report, server, ids, seconds)
        report.add("memory a piece, all processes", (server.memory_bytes() - empty) / len(ids), "B")
        report.add("memory without any piece, all processes", empty / 2**20, "MiB")
        _fresh(report, server, seconds)
        if interactions:
            people.load(report, server, ids, SOURCE, interactions)
        people.measure(report, server, ids, SOURCE, seconds)
        key = server.key
    _restart(report, replace(served, key=key), ids[-1], seconds)


def _wait_for_kernels(server: Server) -> None:
    ended = time.perf_counter() + COMPILING_S
    # What has compiled and is still ending has its memory: beside other work that may take long.
    while not are_compiled(server.served.kernels) or server.is_compiling():
        _require(time.perf_counter() < ended, "kernels")
        time.sleep(0.1)
    time.sleep(SETTLING_S)
    while server.cpu_share(1.0) > IDLE_SHARE:
        _require(time.perf_counter() < ended, "an idle service")


def _ingest(report: BenchReport, server: Server, batches: Iterable[list[bytes]]) -> list[str]:
    """Submit the catalogue and return its ids."""
    ids: list[str] = []
    sent: list[bytes] = []
    seconds, counted, waiting = 0.0, 0, []
    with ThreadPoolExecutor(SENDERS) as pool:
        for batch in _then_none(batches):
            if batch is not None:
                ids += ids_of(batch)
                waiting.append(b"[" + b",".join(batch) + b"]")
            if len(waiting) < SENT_TOGETHER and batch is not None:
                continue
            began = time.perf_counter()
            list(pool.map(lambda body: server.ask("POST", f"/{SOURCE}/content", body), waiting))
            if len(sent) < MEASURED_BATCHES:
                seconds += time.perf_counter() - began
                # Kept for the baseline, which stores the same bodies: only of these batches, to save memory.
                sent += waiting
                counted = len(ids)
            waiting = []
    home, database = server.served.folder.parent, server.served.database
    plain = statistics.median(seconds_of_pieces(sent, home, database) for _ in range(3))
    against = ("decode, compress and insert in one process", counted / plain)
    report.add("ingest, 2,000 pieces a request", counted / seconds, "pieces/s", against=against)
    return ids


def _then_none(batches: Iterable[list[bytes]]) -> Iterable[list[bytes] | None]:
    yield from batches
    yield None


def _wait_for_index(report: BenchReport, server: Server, ids: Sequence[str], workers: int) -> None:
    """Ask until every worker answers, and wait for the segment file."""
    began = time.perf_counter()
    # Each connection may go to another worker, and none says which: several answers make it likely that all have one.
    for _ in range(4 * workers):
        while not _answers(server, ids[0]):
            _require(time.perf_counter() - began < INDEXING_S, "the index")
            time.sleep(0.1)
    report.add("last submission to first answer of every worker", time.perf_counter() - began, "s")
    while len(ids) >= SMALLEST_FILE and _built(server.served.folder) < len(ids) - LEAST_CHANGES:
        _require(time.perf_counter() - began < INDEXING_S, "the segment file")
        time.sleep(0.1)
    time.sleep(SETTLING_S)


def _built(folder: Path) -> int:
    """Return up to which version the segment file reaches."""
    files = SegmentFiles(folder / "index")
    stamps = [published.stamp for source_id in files.sources() for published in files.published(source_id)]
    return max((stamp.version for stamp in stamps), default=0)


def _answers(server: Server, piece_id: str) -> bool:
    try:
        server.ask("GET", f"/{SOURCE}/content/{piece_id}/similar")
    except BenchFailed:
        return False
    return True


def _similar(report: BenchReport, server: Server, ids: Sequence[str], seconds: float) -> None:
    """Add the figures of similar pieces: throughput with 32 connections, latency with one."""
    random = np.random.default_rng(SEED)
    chosen = [ids[place] for place in random.permutation(len(ids))[:QUERIES]]
    for algorithm in ("jaccard", "cosine"):
        paths = [f"/{SOURCE}/content/{each}/similar?algo={algorithm}" for each in chosen]
        requests = [request("GET", path, server.key) for path in paths]
        # Warmed up for a second, which does not count.
        run(LoadPlan(port=server.port, requests=requests, seconds=1.0))
        busy = run(LoadPlan(port=server.port, requests=requests, seconds=seconds))
        alone = run(LoadPlan(port=server.port, requests=requests, connections=1, seconds=seconds))
        _require(busy.errors + alone.errors == 0, "similar content")
        report.add(f"similar, {algorithm}, 32 connections", busy.per_second, "req/s", p99=busy.p99_ms)
        report.add(f"similar, {algorithm}, time a request", busy.us_per_request, "us")
        report.add(f"similar, {algorithm}, one connection", alone.p50_ms, "ms", p99=alone.p99_ms)


def _fresh(report: BenchReport, server: Server, seconds: float) -> None:
    """Submit one piece after the other, and ask for it in the next request over the same connection."""
    pairs = []
    for number in range(int(FRESH_RATE * seconds) + 32):
        piece = {"id": f"fresh-{number}", "categories": {"genre": ["genre 1", "genre 2"], "mood": ["mood 3"]}}
        pairs.append(request("POST", f"/{SOURCE}/content", server.key, msgspec.json.encode([piece])))
        pairs.append(request("GET", f"/{SOURCE}/content/fresh-{number}/similar?take=1", server.key))
    seen = run(LoadPlan(port=server.port, requests=pairs, seconds=seconds, rate=FRESH_RATE, pairs=True))
    _require(seen.errors == 0, "what was submitted")
    report.add("202 to visible, under 200 submissions/s", seen.p50_ms, "ms", p99=seen.p99_ms)
    report.add("submissions of one piece during that", seen.per_second, "1/s")


def _restart(report: BenchReport, served: BenchTarget, piece_id: str, seconds: float) -> None:
    began = time.perf_counter()
    with running(served) as server:
        server.ask("GET", f"/{SOURCE}/content/{piece_id}/similar")
        report.add("restart to first answer", time.perf_counter() - began, "s")
        _measure_idle(report, server, seconds=min(IDLE_S, 7 * seconds))


def _measure_idle(report: BenchReport, server: Server, *, seconds: float) -> None:
    """Add the cost of a server that has answered something and is then left alone for some seconds and a half more."""
    time.sleep(seconds / 2)
    report.add("cost, CPU of an idle service", 100 * server.cpu_share(seconds), "%")
    report.add("cost, memory of an idle service, all processes", server.memory_bytes() / 2**20, "MiB")
    report.add("cost, installed packages", _installed_bytes() / 2**20, "MiB")


def _installed_bytes() -> int:
    """Return what the folder of this Python's packages takes, in blocks of the disk."""
    files = Path(sysconfig.get_path("purelib")).rglob("*")
    return sum(file.lstat().st_blocks * 512 for file in files)


def _require(fine: bool, what: str) -> None:  # noqa: FBT001  # a condition
    if not fine:
        raise BenchFailed(f"Some of what was measured failed: {what}.")
