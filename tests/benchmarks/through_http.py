"""Prints what the service does per second through HTTP, beside what SQLite itself does in the same run.

    .venv/bin/python tests/benchmarks/through_http.py [folder with data sets]

Bounded in time; asserts nothing. Medians of alternating rounds.
"""

import gzip
import http.client
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from acceptance.servers import Server

ROUNDS = 5
QUERIES = 1000
SETS = ("movielens-small", "goodbooks")


def lines_of(path: Path) -> list[bytes]:
    with gzip.open(path) as file:
        return file.read().splitlines()


def batches(lines: list[bytes], size: int = 2000) -> Iterator[list[bytes]]:
    for begin in range(0, len(lines) - size + 1, size):
        yield lines[begin : begin + size]


def timed(work: Callable[..., Any], *arguments: Any) -> float:
    began = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began


class Client:
    """A kept connection, as thin as the standard library has it."""

    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port)
        self._headers = {"x-api-key": server.key, "content-type": "application/json"}

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 400:
            raise RuntimeError(content)
        return content

    def ask_all(self, path: str, bodies: list[bytes]) -> None:
        for body in bodies:
            self.ask("POST", path, body)


def bare_sqlite(folder: str, lines: list[bytes]) -> None:
    """Store the same bodies with the driver alone: a transaction for each batch, synced."""
    rows = [(json.loads(line)["id"], line) for line in lines]
    with closing(sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS pieces (id TEXT PRIMARY KEY, body BLOB)")
        for begin in range(0, len(rows) - 1999, 2000):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO pieces VALUES (?, ?)", rows[begin : begin + 2000])
            connection.execute("COMMIT")


def ingest(server: Server, lines: list[bytes]) -> None:
    client = Client(server)
    bodies = [b"[" + b",".join(batch) + b"]" for batch in batches(lines)]
    through_http, bare = [], []
    for number in range(ROUNDS):
        source = f"ingest-{number}"
        seconds = timed(client.ask_all, f"/{source}/content", bodies)
        through_http.append(len(bodies) * 2000 / seconds)
        with tempfile.TemporaryDirectory() as folder:
            bare.append(len(bodies) * 2000 / timed(bare_sqlite, folder, lines))
        client.ask("DELETE", f"/{source}?confirm={source}")
    print(
        f"ingest, 2,000-piece submissions: {statistics.median(through_http):,.0f} pieces/s; "
        f"parsed and stored by SQLite alone {statistics.median(bare):,.0f} pieces/s; "
        f"ratio {statistics.median(through_http) / statistics.median(bare):.2f}"
    )


def latencies(server: Server, source: str, paths: list[str]) -> None:
    client = Client(server)
    client.ask("GET", paths[0])
    for name, suffix in (("jaccard", "/similar?algo=jaccard"), ("cosine", "/similar?algo=cosine")):
        times = sorted(timed(client.ask, "GET", path + suffix) for path in paths)
        print(
            f"similar, {source}, {name}: p50 {times[len(times) // 2] * 1000:.2f} ms, "
            f"p99 {times[len(times) * 99 // 100] * 1000:.2f} ms ({len(times)} distinct queries, one connection)"
        )


def freshness(server: Server, source: str) -> None:
    client = Client(server)
    times = []
    for number in range(200):
        piece = {"id": f"fresh-{number}", "categories": {"genre": ["Drama", "fiction"]}}
        body = json.dumps([piece]).encode()
        began = time.perf_counter()
        client.ask("POST", f"/{source}/content", body)
        client.ask("GET", f"/{source}/content/fresh-{number}/similar?take=1")
        times.append(time.perf_counter() - began)
    times.sort()
    print(
        f"submit one piece and read it in the next request, {source}: "
        f"p50 {times[100] * 1000:.1f} ms, p99 {times[198] * 1000:.1f} ms"
    )


def recommendations(server: Server, source: str, users: list[str]) -> None:
    client = Client(server)
    client.ask("GET", f"/{source}/users/{users[0]}/recommendation")
    times = sorted(timed(client.ask, "GET", f"/{source}/users/{user}/recommendation") for user in users)
    print(
        f"recommendation, {source}: p50 {times[len(times) // 2] * 1000:.2f} ms, "
        f"p99 {times[len(times) * 99 // 100] * 1000:.2f} ms ({len(times)} people)"
    )


def measure(server: Server, folder: Path) -> None:
    """Load a data set and print its figures."""
    source = folder.name
    client = Client(server)
    pieces = lines_of(folder / "pieces.ndjson.gz")
    for begin in range(0, len(pieces), 2000):
        client.ask("POST", f"/{source}/content", b"[" + b",".join(pieces[begin : begin + 2000]) + b"]")
    ids = [json.loads(line)["id"] for line in pieces][:: max(1, len(pieces) // QUERIES)]
    latencies(server, source, [f"/{source}/content/{piece_id}" for piece_id in ids])
    interactions = [json.loads(line) for line in lines_of(folder / "interactions.ndjson.gz")][-50_000:]
    rates = []
    for begin in range(0, len(interactions), 10_000):
        part = interactions[begin : begin + 10_000]
        body = json.dumps([{k: v for k, v in each.items() if k != "timestamp"} for each in part]).encode()
        rates.append(len(part) / timed(client.ask, "POST", f"/{source}/interactions", body))
    print(f"interactions, {source}, 10,000 a request: {statistics.median(rates):,.0f} a second")
    recommendations(server, source, sorted({each["userId"] for each in interactions})[:300])
    freshness(server, source)


def main() -> None:
    """Run all, printing a line each."""
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("PENCHANT_DATASETS")
    folders = [Path(named) / name for name in SETS] if named else [Path(str(files("penchant.demo"))) / "films"]
    with tempfile.TemporaryDirectory() as data:
        server = Server(Path(data) / "data")
        try:
            for folder in folders:
                measure(server, folder)
            ingest(server, lines_of(folders[-1] / "pieces.ndjson.gz"))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
