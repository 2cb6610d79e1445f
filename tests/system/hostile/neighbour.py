"""The neighbour: what a tenant notices while another one attacks, one attack at a time and all of them at once.

``python -m hostile.neighbour`` (from ``tests``) starts a service and prints a row for each attack. Quiet rounds
alternate with attacked ones, so that what else the machine does falls on both. Who attacks is a process of its own:
its work is not taken for the service's.

A wait is told twice: as it was, and as processor time that the tenant's worker used meanwhile, whatever for, which
says what it waited for inside the service and not what for since other programs ran. `hostile.watched` tells how long
one request held the event loop.
"""

import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from acceptance.processes import workers_of
from acceptance.servers import Server, new_key
from hostile import attacks
from hostile.attacks import ATTACKS, Target

ALL = "all at once"
NAMES = tuple(attack.__name__ for attack in ATTACKS)
SINGLE = (attacks.plain_reads.__name__, *NAMES)
"""What can be made by itself: for comparison what is no attack, too."""
PATHS = ("/own/users/u/recommendation", "/own/content/a/similar")
PATIENCE_S = 120.0
"""How long a tenant waits for an answer."""
RAMP_S = 0.5
"""How long an attack goes on before it is measured, and how long its last requests have to end before quiet is."""
PAUSE_S = 0.005
HOLDS = "holds"
"""How the files begin that `hostile.watched` writes."""
LONG_MS = 3.0
_ESTABLISHED = "01"
"""The state of a connection, as /proc/net/tcp has it."""
_LOOPBACK = "0100007F"
"""127.0.0.1, as it has addresses."""
WARMING_S = 10.0
"""How long kernels may take to be loaded, which keeps a process busy once."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a tenant waited for its answers, in ms, as processor time of its worker, and how many were refused."""

    ms: Sequence[float]
    cpu_ms: Sequence[float]
    refused: int

    def percentile(self, percent: int, *, cpu: bool = False) -> float:
        """Return the wait that so many percent of all were not longer than."""
        found = sorted(self.cpu_ms if cpu else self.ms)
        return found[min(len(found) - 1, len(found) * percent // 100)]


def waits(server: Server, key: str, seconds: float) -> Waits:
    """Read what a tenant reads, one request after the other, for so long."""
    ms, cpu_ms = list[float](), list[float]()
    refused = 0
    with httpx.Client(base_url=server.url, headers={"x-api-key": key}, timeout=PATIENCE_S) as client:
        clock = _processor_clock(server, client)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for path in PATHS:
                began, used = time.perf_counter(), time.clock_gettime(clock)
                try:
                    refused += client.get(path).status_code != 200
                except httpx.TimeoutException:
                    refused += 1
                    # The next one goes to whichever worker takes its connection.
                    clock = _processor_clock(server, client)
                ms.append((time.perf_counter() - began) * 1000)
                cpu_ms.append((time.clock_gettime(clock) - used) * 1000)
            time.sleep(PAUSE_S)
    return Waits(ms, cpu_ms, refused)


def _processor_clock(server: Server, client: httpx.Client) -> int:
    """Return the clock of the processor time of the worker that answers a client."""
    port = client.get(PATHS[0]).extensions["network_stream"].get_extra_info("client_addr")[1]
    ends = f"{_LOOPBACK}:{server.port:04X}", f"{_LOOPBACK}:{port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    # A connection that has ended, with the same ports as one before, may stand there for a minute; and one may stand
    # there twice, where others come and go while this is read.
    (inode,) = {line[9] for line in lines if (line[1], line[2], line[3]) == (*ends, _ESTABLISHED)}
    for worker in workers_of(server.process.pid):
        for file in Path(f"/proc/{worker}/fd").iterdir():
            with contextlib.suppress(OSError):
                if str(file.readlink()) == f"socket:[{inode}]":
                    # As clock_getcpuclockid(3) makes it.
                    return (~worker << 3) | 2
    raise AssertionError("no worker has the connection")


@dataclass(frozen=True, slots=True)
class Hold:
    """A time for which the event loop did one thing: its own processor time, and what was asked for."""

    at: float
    own_ms: float
    asked: str


def holds(folder: Path, kind: str, began: float, ended: float) -> list[Hold]:
    """Return what `hostile.watched` has written down of a time, the longest first."""
    found = []
    for file in folder.glob(f"{HOLDS}-*"):
        for line in file.read_text().splitlines():
            word, at, own_ms, _, asked = line.split(maxsplit=4)
            if word == kind and began <= float(at) <= ended:
                found.append(Hold(float(at), float(own_ms), asked))
    return sorted(found, key=lambda hold: -hold.own_ms)


@contextlib.contextmanager
def under(target: Target, names: Sequence[str]) -> Iterator[None]:
    """Have these attacks made meanwhile, by a process of its own."""
    words = [sys.executable, "-m", "hostile.attacks", target.url, target.key, *names]
    folder = Path(__file__).parents[1]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as attacker:
        try:
            assert attacker.stdout is not None
            attacker.stdout.readline()
            time.sleep(2 * RAMP_S)
            yield
        finally:
            assert attacker.stdin is not None
            attacker.stdin.close()
            attacker.wait(timeout=300)
            time.sleep(RAMP_S)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rounds of a tenant's waits, quiet and attacked in turn, and what held the event loop meanwhile."""

    name: str
    rounds: Sequence[tuple[Waits, Waits]]
    steps: Sequence[Hold] = ()
    turns: Sequence[Hold] = ()
    collections: Sequence[Hold] = ()

    def __str__(self) -> str:
        """Return a row of a table: medians over the rounds, and what held the loop longest."""
        figures = []
        for cpu in (False, True):
            for percent in (50, 99):
                pairs = [[side.percentile(percent, cpu=cpu) for side in each] for each in self.rounds]
                quiet, attacked = (statistics.median(each) for each in zip(*pairs, strict=True))
                ratio = statistics.median(after / before for before, after in pairs)
                figures.append(f"{quiet:.1f} → {attacked:.1f} ({ratio:.1f})")
        asked = sum(len(attacked.ms) for _, attacked in self.rounds)
        refused = sum(attacked.refused for _, attacked in self.rounds)
        longest = ", ".join(f"{hold.own_ms:.1f} {hold.asked[:60]}" for hold in self.steps[:1])
        turn, collection = (f"{each[0].own_ms:.1f}" if each else "" for each in (self.turns, self.collections))
        return f"| {' | '.join([self.name, *figures, longest, turn, collection, f'{refused} of {asked}'])} |"


class Neighbour:
    """A tenant of a service, and another one that attacks."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._key = new_key(server.data, account="neighbour")
        self._target = Target(server.url, new_key(server.data, account="stranger"))
        attacks.prepare(self._target)
        own = httpx.Client(base_url=server.url, headers={"x-api-key": self._key})
        pieces = [attacks.long_piece(f"{number}-{name}", 5) for number in range(50) for name in "abcdef"]
        pieces[0]["id"] = "a"
        assert own.post("/own/content", json=pieces).status_code == 202
        done = [{"userId": "u", "type": "Watch", "contentId": piece["id"]} for piece in pieces[:20]]
        assert own.post("/own/interactions", json=done).status_code == 200
        own.close()
        self.warm(RAMP_S)

    def warm(self, seconds: float) -> None:
        """Read for so long what is not measured."""
        waits(self._server, self._key, seconds)

    def compare(self, name: str, *, rounds: int, seconds: float) -> Comparison:
        """Measure under the attack of this name, or under all of them."""
        names = NAMES if name == ALL else (name,)
        found = []
        held: dict[str, list[Hold]] = {"step": [], "turn": [], "collection": []}
        for _ in range(rounds):
            quiet = waits(self._server, self._key, seconds)
            with under(self._target, names):
                began = time.monotonic()
                found.append((quiet, waits(self._server, self._key, seconds)))
                times = self._server.data.parent, began, time.monotonic()
            for kind, longest in held.items():
                longest.extend(holds(times[0], kind, *times[1:]))
        return Comparison(name, found, *(sorted(each, key=lambda hold: -hold.own_ms) for each in held.values()))


def main() -> None:
    """Print a row for each attack."""
    parser = argparse.ArgumentParser(description="Measure what a tenant notices of another one's attacks.")
    parser.add_argument("names", nargs="*", default=[*SINGLE, ALL], help="attacks; by default each, then all at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="how long a quiet or attacked round is")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--holders", action="store_true", help="print what held the event loop for more than 5 ms")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - {*SINGLE, ALL}
    if unknown:
        parser.error(f"no attack has the name {', '.join(sorted(unknown))}; there are {', '.join((*SINGLE, ALL))}")
    with tempfile.TemporaryDirectory() as folder:
        watched = str(Path(__file__).parent / "watched")
        os.environ |= {"PYTHONPATH": watched, "HOLDS": str(Path(folder) / HOLDS)}
        with Server(Path(folder) / "data", "--workers", str(chosen.workers)) as server:
            neighbour = Neighbour(server)
            neighbour.warm(WARMING_S)
            for name in chosen.names:
                comparison = neighbour.compare(name, rounds=chosen.rounds, seconds=chosen.seconds)
                sys.stdout.write(f"{comparison}\n")
                if chosen.holders:
                    for asked, own_ms in _longest_by_route(comparison.steps):
                        sys.stdout.write(f"    {own_ms:8.1f} ms {asked}\n")
                sys.stdout.flush()


def _longest_by_route(steps: Sequence[Hold]) -> list[tuple[str, float]]:
    """Return the longest hold of each address but for numbers in it, the longest first."""
    longest: dict[str, float] = {}
    for hold in steps:
        if hold.own_ms >= LONG_MS:
            longest.setdefault(re.sub(r"\d+", "N", hold.asked), hold.own_ms)
    return list(longest.items())


if __name__ == "__main__":
    main()
