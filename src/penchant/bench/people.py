"""People figures: what people's lists cost, usually and right after an interaction of their own."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from penchant.bench.load import LoadPlan, LoadResult, request, run
from penchant.bench.plain import interactions_a_second
from penchant.bench.report import BenchReport
from penchant.bench.server import BenchFailed, Server

QUERIES = 5_000
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
SEED = 11


def measure(report: BenchReport, server: Server, ids: Sequence[str], source: str, seconds: float) -> None:
    """Record interactions of people and ask for recommendations; add the figures of both."""
    random = np.random.default_rng(SEED)
    who, what = random.integers(0, PEOPLE, QUERIES).tolist(), random.integers(0, len(ids), QUERIES).tolist()
    likes = [_like(server, source, n, ids[place]) for n, place in zip(who, what, strict=True)]
    stored = _run(LoadPlan(port=server.port, requests=likes, seconds=seconds))
    bare = interactions_a_second(seconds, server.served.folder.parent, server.served.database)
    against = ("one connection, 32 rows a commit", bare)
    report.add(
        "interactions, one a request, 32 connections", stored.per_second, "1/s", p99=stored.p99_ms, against=against
    )
    requests = [_list(server, source, n) for n in range(PEOPLE)]
    _run(LoadPlan(port=server.port, requests=requests, connections=1, seconds=max(1.0, seconds / 2)))
    busy = _run(LoadPlan(port=server.port, requests=requests, seconds=seconds))
    report.add("recommendation, 32 connections", busy.per_second, "req/s", p99=busy.p99_ms)
    report.add("recommendation, 32 connections, time", busy.p50_ms, "ms", p99=busy.p99_ms)
    # Side by side, so that both meet the same machine: a change sends interactions to be committed and weighed.
    pairs = [sent for n, like in zip(who, likes, strict=True) for sent in (like, _list(server, source, n))]
    usual = _run(LoadPlan(port=server.port, requests=requests, connections=1, seconds=seconds))
    after = _run(LoadPlan(port=server.port, requests=pairs, connections=1, seconds=seconds, pairs=True))
    report.add("recommendation, one connection", usual.p50_ms, "ms", p99=usual.p99_ms)
    against = ("otherwise", usual.p50_ms)
    report.add("recommendation, right after an own interaction", after.p50_ms, "ms", p99=after.p99_ms, against=against)


def load(report: BenchReport, server: Server, ids: Sequence[str], source: str, interactions: int) -> None:
    """Record so many made interactions, and wait until lists have an audience part of all of them."""
    began = time.perf_counter()
    for batch in made(interactions, len(ids)):
        lines = b"\n".join(_line(n, ids[place], at, kind) for n, place, at, kind in batch)
        server.ask("POST", f"/{source}/interactions", lines, {"content-type": "application/x-ndjson"})
    took = time.perf_counter() - began
    report.add("interactions, 10,000 a request", interactions / took, "1/s")
    began = time.perf_counter()
    _wait_for(lambda: _reached(server, source, 0), "the first list")
    report.add("last interaction to first list", time.perf_counter() - began, "s")
    _wait_for(lambda: _reached(server, source, interactions), "the weights")
    report.add("audience part of all, after the last interaction", time.perf_counter() - began, "s")
    report.add("memory, all processes, with interactions", server.memory_bytes() / 2**20, "MiB")


def made(interactions: int, pieces: int) -> Iterator[list[tuple[int, int, str, str]]]:
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


def _run(load: LoadPlan) -> LoadResult:
    """Put the server under load.

    Raises:
        BenchFailed: an answer is no success.
    """
    result = run(load)
    if result.errors:
        raise BenchFailed(f"{result.errors} requests about people failed.")
    return result


def _reached(server: Server, source: str, version: int) -> bool:
    """Return whether a list has an audience part of all interactions up to a version."""
    headers = {"x-penchant-min-audience-version": str(version)}
    try:
        server.ask("GET", f"/{source}/users/person-0/recommendation", headers=headers)
    except BenchFailed:
        return False
    return True


def _wait_for(is_done: Callable[[], bool], what: str) -> None:
    ended = time.perf_counter() + WEIGHING_S
    while not is_done():
        if time.perf_counter() > ended:
            raise BenchFailed(f"It took too long: {what}.")
        time.sleep(0.1)
