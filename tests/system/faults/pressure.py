"""Sends more than a service can take, from a process of its own, and tells what came of each kind of answer."""

import asyncio
import multiprocessing
import random
import time
from dataclasses import dataclass, field

from penchant_lab.bench.load import request

PATIENCE_S = 240.0


@dataclass(slots=True)
class Pressure:
    """How many connections ask without a pause, and for how long."""

    port: int
    key: str
    connections: int
    seconds: float


@dataclass(slots=True)
class Outcome:
    """Seconds by status, and how many refusals had no Retry-After; status 0 is no answer."""

    seconds: dict[int, list[float]] = field(default_factory=dict)
    without_retry_after: int = 0

    def count(self, *statuses: int) -> int:
        """Return how many answers had one of these statuses."""
        return sum(len(self.seconds.get(status, ())) for status in statuses)

    def p99_ms(self, *statuses: int) -> float:
        """Return the time that one in a hundred answers of these statuses took longer than."""
        times = sorted(each for status in statuses for each in self.seconds.get(status, ()))
        return times[len(times) * 99 // 100] * 1000 if times else 0.0


def press(pressure: Pressure) -> Outcome:
    """Put a service under pressure."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_press, (pressure,))


def _press(pressure: Pressure) -> Outcome:
    return asyncio.run(_drive(pressure))


async def _drive(pressure: Pressure) -> Outcome:
    outcome = Outcome()
    ending = time.monotonic() + pressure.seconds
    await asyncio.gather(*(_talk(pressure, outcome, ending) for _ in range(pressure.connections)))
    return outcome


async def _talk(pressure: Pressure, outcome: Outcome, ending: float) -> None:
    """Ask over one connection, which is made anew when it breaks: four reads for each change."""
    stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    while (began := time.monotonic()) < ending:
        number = random.randrange(1_000)
        asked = request("GET", f"/s0/content/still-{number}/similar", pressure.key)
        if number % 5 == 0:
            path = f"/s0/users/u{number}/interactions/Click/content/still-{number}"
            asked = request("POST", path, pressure.key)
        try:
            async with asyncio.timeout(PATIENCE_S):
                stream = stream or await asyncio.open_connection("127.0.0.1", pressure.port)
                stream[1].write(asked)
                head = (await stream[0].readuntil(b"\r\n\r\n")).lower()
                await stream[0].readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            status = int(head[9:12])
            outcome.without_retry_after += status in {429, 503} and b"retry-after" not in head
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            status = 0
            if stream is not None:
                stream[1].close()
                stream = None
            await asyncio.sleep(0.1)
        outcome.seconds.setdefault(status, []).append(time.monotonic() - began)
    if stream is not None:
        stream[1].close()
