"""Limit: how near each kind of request comes to what its server program can do, a fixed answer of the same size.

Both are asked in turn by the same requests, so that whatever slows the machine slows both.
"""

import http.client
import socket
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import msgspec
import numpy as np

from penchant_lab.bench.bare import FixedAnswer, serving
from penchant_lab.bench.load import LoadPlan, LoadResult, request
from penchant_lab.bench.report import BenchReport
from penchant_lab.bench.server import BenchFailed, BenchTarget, Server, running
from penchant_lab.bench.service import (
    PEOPLE,
    SEED,
    SOURCE,
    ingest,
    load_interactions,
    run_load,
    wait_for_index,
    wait_for_kernels,
)

ROUNDS = 3
REMEMBERED = 100
"""Lists that are asked for again and again."""
TAKES = range(21, 31)
"""Lengths of lists, by which those of a piece or a person differ: all of about the usual size."""
FEWEST_INTERACTIONS = 20_000
CHANGES = 20_000
"""Prepared interactions, and prepared pieces."""
ANSWER_S = 30.0


def measure(
    report: BenchReport, batches: Iterable[list[bytes]], served: BenchTarget, *, seconds: float, interactions: int
) -> None:
    """Add the requests a second of each kind, beside those of the fixed answer."""
    with running(served) as server:
        wait_for_kernels(server)
        loading = msgspec.structs.replace(report, figures=[])
        ids = ingest(loading, server, batches)
        wait_for_index(loading, server, ids, served.workers)
        load_interactions(loading, server, ids, SOURCE, max(interactions, FEWEST_INTERACTIONS))
        report.pieces = len(ids)
        for name, requests, is_repeated in _kinds(server, ids):
            _measure(report, server, (name, requests), is_repeated=is_repeated, seconds=seconds)


def _kinds(server: Server, ids: Sequence[str]) -> Iterable[tuple[str, list[bytes], bool]]:
    """Yield each kind: its name, its requests, and whether they are asked again and again; what changes things last."""
    random = np.random.default_rng(SEED)
    lists = {
        "similar": [f"/{SOURCE}/content/{piece_id}/similar" for piece_id in random.permutation(ids).tolist()],
        "recommendation": [f"/{SOURCE}/users/person-{person}/recommendation" for person in range(PEOPLE)],
    }
    for name, paths in lists.items():
        again = [request("GET", path, server.key) for path in paths[:REMEMBERED]]
        yield f"{name}, remembered", again, True
        others = [request("GET", f"{path}?take={take}", server.key) for take in TAKES for path in paths]
        yield f"{name}, each another", others, False
    profiles = [
        request("GET", f"/{SOURCE}/users/person-{person}/recommendation/profile", server.key)
        for person in range(REMEMBERED)
    ]
    yield "profile, remembered", profiles, True
    likes = [
        request("POST", f"/{SOURCE}/users/person-{n % PEOPLE}/interactions/RateLike/content/{piece_id}", server.key)
        for n, piece_id in enumerate(random.choice(ids, CHANGES).tolist())
    ]
    yield "interaction", likes, True
    piece = {"categories": {"genre": ["genre 1", "genre 2"], "mood": ["mood 3"]}}
    bodies = (msgspec.json.encode([{"id": f"fresh-{number}", **piece}]) for number in range(CHANGES))
    yield "submission of a piece", [request("POST", f"/{SOURCE}/content", server.key, body) for body in bodies], True


def _measure(
    report: BenchReport, server: Server, kind: tuple[str, list[bytes]], *, is_repeated: bool, seconds: float
) -> None:
    """Add the figure of a kind of request."""
    name, requests = kind
    if is_repeated:
        run_load(LoadPlan(port=server.port, requests=requests, duration_s=seconds / ROUNDS))
    ours: list[LoadResult] = []
    fixed: list[LoadResult] = []
    with serving(_answer(server.port, requests[-1]), server.served) as port:
        for number in range(ROUNDS):
            part = requests if is_repeated else requests[number::ROUNDS]
            plan = LoadPlan(port=server.port, requests=part, duration_s=seconds / ROUNDS, once=not is_repeated)
            ours.append(run_load(plan))
            fixed.append(run_load(replace(plan, port=port, once=False)))
    rate, limit = (median(each.per_second for each in results) for results in (ours, fixed))
    late = median(each.p99_ms for each in ours)
    report.add(name, rate, "req/s", p99=late, against=("the same answer, fixed", limit))


def _answer(port: int, sent: bytes) -> FixedAnswer:
    """Return the answer to a request.

    Raises:
        BenchFailed: it is no success.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as connection:
        connection.sendall(sent)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        if answer.status >= 300:
            raise BenchFailed(f"{sent[:100]!r} was answered with {answer.status}.")
        return FixedAnswer.of(answer)
