"""Load: a client of raw sockets in a process of its own, which asks a server as fast as it answers.

Requests are prepared bytes and answers are only looked at for their status and length, so that the client's own
ceiling, which is measured first, lies far above what is measured.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import uvloop

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What to send: prepared requests, in turn, over so many connections, for so many seconds.

    With ``pairs`` two requests at a time belong together, a change and the read that shall see it, and latencies
    are those of the second. ``rate`` bounds how many requests (or pairs) begin in a second. With ``once`` no request is
    sent again: it ends early when each was sent.
    """

    port: int
    requests: Sequence[bytes]
    connections: int = 32
    duration_s: float = 3.0
    rate: float | None = None
    pairs: bool = False
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What came back. Times in milliseconds; ``errors`` counts answers other than 2xx."""

    per_second: float
    p50_ms: float
    p99_ms: float
    errors: int
    count: int

    @property
    def us_per_request(self) -> float:
        """How long a request takes where requests are answered one after the other."""
        return 1e6 / self.per_second if self.per_second else 0.0


def run(load: LoadPlan) -> LoadResult:
    """Put a server under load from a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, (load,))


def request(method: str, path: str, key: str = "", body: bytes = b"") -> bytes:
    """Return a request as it goes over the wire."""
    head = [f"{method} {path} HTTP/1.1", "host: localhost"]
    if key:
        head.append(f"x-api-key: {key}")
    if body or method == "POST":
        head += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join(head).encode() + _HEAD_END + body


def _run(load: LoadPlan) -> LoadResult:
    return uvloop.run(_drive(load))


async def _drive(load: LoadPlan) -> LoadResult:
    state = _State(load)
    began = time.perf_counter()
    await asyncio.gather(*(state.talk() for _ in range(load.connections)))
    seconds = time.perf_counter() - began
    times = np.asarray(state.times or [0.0]) * 1000
    return LoadResult(
        per_second=len(state.times) / seconds,
        p50_ms=float(np.percentile(times, 50)),
        p99_ms=float(np.percentile(times, 99)),
        errors=state.errors,
        count=len(state.times),
    )


class _State:
    """What the connections share: which request is next, and how long answers took."""

    def __init__(self, load: LoadPlan) -> None:
        self._load = load
        self._next = 0
        self._began = time.perf_counter()
        self.times: list[float] = []
        self.errors = 0

    async def talk(self) -> None:
        """Send requests over one connection until the time is up."""
        load = self._load
        _, connection = await asyncio.get_running_loop().create_connection(_Connection, "127.0.0.1", load.port)
        step = 2 if load.pairs else 1
        while (now := time.perf_counter()) - self._began < load.duration_s:
            # No lock: all connections are tasks of one event loop, and nothing is awaited in between.
            place, self._next = self._next, self._next + step
            if load.once and place >= len(load.requests):
                break
            if load.rate is not None:
                await asyncio.sleep(max(0.0, self._began + place / step / load.rate - now))
            # Of a pair the time of the second counts: the clock starts anew for each.
            started = time.perf_counter()
            for offset in range(step):
                started = time.perf_counter()
                status = await connection.ask(load.requests[(place + offset) % len(load.requests)])
                self.errors += not 200 <= status < 300
            self.times.append(time.perf_counter() - started)
        connection.close()


class _Connection(asyncio.Protocol):
    """A kept-alive connection with one request under way."""

    def __init__(self) -> None:
        self._buffer = b""
        self._waiting: asyncio.Future[int] | None = None
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the protocol's
        """Tell the task that waits that nothing will come."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(0)

    def ask(self, sent: bytes) -> "asyncio.Future[int]":
        """Send a request; the future is done with its status, 0 where the connection broke."""
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(sent)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        """Tell the task that waits, once the answer is complete."""
        buffer = self._buffer = self._buffer + data
        end = buffer.find(_HEAD_END)
        if end < 0:
            return
        at = buffer.lower().find(_LENGTH, 0, end)
        # Answers that are measured name their length; one that does not is taken for an empty one.
        length = int(buffer[at + len(_LENGTH) : buffer.find(b"\r", at)]) if at >= 0 else 0
        if len(buffer) >= end + len(_HEAD_END) + length and self._waiting is not None:
            self._buffer = buffer[end + len(_HEAD_END) + length :]
            self._waiting.set_result(int(buffer[9:12]))

    def close(self) -> None:
        self._transport.close()
