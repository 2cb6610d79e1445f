"""Service figures: how fast the service is through HTTP, as a process of its own, and what it costs when idle.

People figures: what people's lists cost, usually and right after an interaction of their own.
"""

import statistics
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np

from penchant.live.builder import LEAST_CHANGES, SMALLEST_FILE
from penchant.live.segment_files import SegmentFiles
from penchant_engine.compiling import are_compiled
from penchant_lab.bench.catalogue import ids_of
from penchant_lab.bench.load import LoadPlan, LoadResult, request, run
from penchant_lab.bench.plain import interactions_a_second, seconds_of_pieces
from penchant_lab.bench.report import BenchReport
from penchant_lab.bench.server import BenchFailed, BenchTarget, Server, running

PEOPLE = 1_000
"""People whose lists are asked for."""
EACH = 100
"""Interactions of a made person, on average."""
BATCH = 10_000
DAYS = 60
"""Made interactions are spread over so many days."""
SLOPE = 0.9
"""How steeply the popularity of pieces falls with their rank."""
NEIGHBOURHOODS = 50
"""Half of what a made person does is within one in so many of the pieces: without, nobody would like alike."""
WEIGHING_S = 3_600.0
"""Weights that take longer are given up."""


def measure_people(report: BenchReport, server: Server, ids: Sequence[str], source: str, seconds: float) -> None:
    """Record interactions of people and ask for recommendations; add the figures of both."""
    random = np.random.default_rng(SEED)
    who, what = random.integers(0, PEOPLE, QUERIES).tolist(), random.integers(0, len(ids), QUERIES).tolist()
    likes = [_like(server, source, n, ids[place]) for n, place in zip(who, what, strict=True)]
    stored = run_load(LoadPlan(port=server.port, requests=likes, duration_s=seconds))
    bare = interactions_a_second(seconds, server.served.folder.parent, server.served.database)
    against = ("one connection, 32 rows a commit", bare)
    report.add(
        "interactions, one a request, 32 connections", stored.per_second, "1/s", p99=stored.p99_ms, against=against
    )
    requests = [_list(server, source, n) for n in range(PEOPLE)]
    run_load(LoadPlan(port=server.port, requests=requests, connections=1, duration_s=max(1.0, seconds / 2)))
    busy = run_load(LoadPlan(port=server.port, requests=requests, duration_s=seconds))
    report.add("recommendation, 32 connections", busy.per_second, "req/s", p99=busy.p99_ms)
    report.add("recommendation, 32 connections, time", busy.p50_ms, "ms", p99=busy.p99_ms)
    # Side by side, so that both meet the same machine: a change sends interactions to be committed and weighed.
    pairs = [sent for n, like in zip(who, likes, strict=True) for sent in (like, _list(server, source, n))]
    usual = run_load(LoadPlan(port=server.port, requests=requests, connections=1, duration_s=seconds))
    after = run_load(LoadPlan(port=server.port, requests=pairs, connections=1, duration_s=seconds, pairs=True))
    report.add("recommendation, one connection", usual.p50_ms, "ms", p99=usual.p99_ms)
    against = ("otherwise", usual.p50_ms)
    report.add("recommendation, right after an own interaction", after.p50_ms, "ms", p99=after.p99_ms, against=against)


def load_interactions(report: BenchReport, server: Server, ids: Sequence[str], source: str, interactions: int) -> None:
    """Record so many made interactions, and wait until lists have an audience part of all of them."""
    took = 0.0
    for batch in made_interactions(interactions, len(ids)):
        lines = b"\n".join(_line(n, ids[place], at, kind) for n, place, at, kind in batch)
        began = time.perf_counter()
        server.ask("POST", f"/{source}/interactions", lines, {"content-type": "application/x-ndjson"})
        took += time.perf_counter() - began
    report.add("interactions, 10,000 a request", interactions / took, "1/s")
    began = time.perf_counter()
    path = f"/{source}/users/person-0/recommendation"
    _wait_for(lambda: _answers(server, path), "the first list", within_s=WEIGHING_S)
    report.add("last interaction to first list", time.perf_counter() - began, "s")
    reached = {"x-penchant-min-audience-version": str(interactions)}
    _wait_for(lambda: _answers(server, path, reached), "the weights", within_s=WEIGHING_S)
    report.add("audience part of all, after the last interaction", time.perf_counter() - began, "s")
    report.add("memory, all processes, with interactions", server.memory_bytes() / 2**20, "MiB")


def made_interactions(interactions: int, pieces: int) -> Iterator[list[tuple[int, int, str, str]]]:
    """Yield made interactions in batches: number of the person, place of the piece, moment and type of each."""
    random = np.random.default_rng(SEED)
    people = max(PEOPLE, interactions // EACH)
    chances = np.cumsum((np.arange(pieces) + 1.0) ** -SLOPE)
    share = max(1, pieces // NEIGHBOURHOODS)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [(today - timedelta(days=age)).strftime("%Y-%m-%dT%H:%M:%SZ") for age in range(DAYS)]
    for begin in range(0, interactions, BATCH):
        count = min(BATCH, interactions - begin)
        who = random.integers(0, people, count)
        anywhere = np.minimum(np.searchsorted(chances, random.random(count) * chances[-1]), pieces - 1)
        near = (who % NEIGHBOURHOODS) * share + (random.random(count) ** 2 * share).astype(np.int64)
        places = np.where(random.random(count) < 0.5, anywhere, np.minimum(near, pieces - 1))
        ages = random.integers(0, DAYS, count)
        likes = random.random(count) < 0.4
        yield [
            (n, place, days[age], "RateLike" if like else "Watch")
            for n, place, age, like in zip(who.tolist(), places.tolist(), ages.tolist(), likes.tolist(), strict=True)
        ]


def _line(person: int, piece_id: str, at: str, kind: str) -> bytes:
    return f'{{"userId":"person-{person}","contentId":"{piece_id}","type":"{kind}","timestamp":"{at}"}}'.encode()


def _like(server: Server, source: str, person: int, piece_id: str) -> bytes:
    path = f"/{source}/users/person-{person}/interactions/RateLike/content/{piece_id}"
    return request("POST", path, server.key)


def _list(server: Server, source: str, person: int) -> bytes:
    return request("GET", f"/{source}/users/person-{person}/recommendation", server.key)


def run_load(load: LoadPlan) -> LoadResult:
    """Put the server under load.

    Raises:
        BenchFailed: an answer is no success.
    """
    result = run(load)
    if result.errors:
        raise BenchFailed(f"{result.errors} of the measured requests failed.")
    return result


def _answers(server: Server, path: str, headers: Mapping[str, str] | None = None) -> bool:
    try:
        server.ask("GET", path, headers=headers)
    except BenchFailed:
        return False
    return True


def _wait_for(is_done: Callable[[], bool], what: str, *, within_s: float) -> None:
    """Wait until something is done.

    Raises:
        BenchFailed: it took longer.
    """
    ended = time.perf_counter() + within_s
    while not is_done():
        if time.perf_counter() > ended:
            raise BenchFailed(f"It took too long: {what}.")
        time.sleep(0.1)


SOURCE = "bench"
SENDERS = 2
"""Submissions under way at once: one is checked while another is committed."""
SENT_TOGETHER = 8
MEASURED_BATCHES = 24
"""Submissions whose time counts; the rest of a large catalogue is only loaded."""
QUERIES = 5_000
FRESH_RATE = 200.0
INDEXING_S = 600.0
COMPILING_S = 900.0
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
        wait_for_kernels(server)
        report.add("first start to compiled kernels", time.perf_counter() - began, "s")
        # After the kernels are loaded, so that pieces are not charged with them.
        empty = server.memory_bytes()
        live = run(LoadPlan(port=server.port, requests=[request("GET", "/-/health/live")], duration_s=seconds))
        report.add("ceiling of the client: health, 32 connections", live.per_second, "req/s", p99=live.p99_ms)
        ids = ingest(report, server, batches)
        report.pieces = len(ids)
        wait_for_index(report, server, ids, workers)
        _similar(report, server, ids, seconds)
        report.add("memory a piece, all processes", (server.memory_bytes() - empty) / len(ids), "B")
        report.add("memory without any piece, all processes", empty / 2**20, "MiB")
        _fresh(report, server, seconds)
        if interactions:
            load_interactions(report, server, ids, SOURCE, interactions)
        measure_people(report, server, ids, SOURCE, seconds)
        key = server.key
    _restart(report, replace(served, key=key), ids[-1], seconds)


def wait_for_kernels(server: Server) -> None:
    """Wait until the kernels are compiled, and the service is idle."""
    # What has compiled and is still ending has its memory: beside other work that may take long.
    kernels = server.served.kernels
    _wait_for(lambda: are_compiled(kernels) and not server.is_compiling(), "kernels", within_s=COMPILING_S)
    time.sleep(SETTLING_S)
    _wait_for(lambda: server.cpu_share(1.0) <= IDLE_SHARE, "an idle service", within_s=COMPILING_S)


def ingest(report: BenchReport, server: Server, batches: Iterable[list[bytes]]) -> list[str]:
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


def wait_for_index(report: BenchReport, server: Server, ids: Sequence[str], workers: int) -> None:
    """Ask until every worker answers, and wait for the segment file."""
    began = time.perf_counter()
    # Each connection may go to another worker, and none says which: several answers make it likely that all have one.
    for _ in range(4 * workers):
        _wait_for(lambda: _answers(server, f"/{SOURCE}/content/{ids[0]}/similar"), "the index", within_s=INDEXING_S)
    report.add("last submission to first answer of every worker", time.perf_counter() - began, "s")
    if len(ids) >= SMALLEST_FILE:
        newest = len(ids) - LEAST_CHANGES
        _wait_for(lambda: _built(server.served.folder) >= newest, "the segment file", within_s=INDEXING_S)
    time.sleep(SETTLING_S)


def _built(folder: Path) -> int:
    files = SegmentFiles(folder / "index")
    stamps = [published.stamp for source_id in files.sources() for published in files.published(source_id)]
    return max((stamp.version for stamp in stamps), default=0)


def _similar(report: BenchReport, server: Server, ids: Sequence[str], seconds: float) -> None:
    random = np.random.default_rng(SEED)
    chosen = [ids[place] for place in random.permutation(len(ids))[:QUERIES]]
    for algorithm in ("jaccard", "cosine"):
        paths = [f"/{SOURCE}/content/{each}/similar?algo={algorithm}" for each in chosen]
        requests = [request("GET", path, server.key) for path in paths]
        # Warmed up for a second, which does not count.
        run(LoadPlan(port=server.port, requests=requests, duration_s=1.0))
        busy = run_load(LoadPlan(port=server.port, requests=requests, duration_s=seconds))
        alone = run_load(LoadPlan(port=server.port, requests=requests, connections=1, duration_s=seconds))
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
    seen = run_load(LoadPlan(port=server.port, requests=pairs, duration_s=seconds, rate=FRESH_RATE, pairs=True))
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
