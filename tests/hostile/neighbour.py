"""The neighbour: what a tenant notices while another one attacks, one attack at a time and all of them at once.

``python -m hostile.neighbour`` (from ``tests``) starts a service and prints a row for each attack. Quiet rounds
alternate with attacked ones, so that what else the machine does falls on both. Who attacks is a process of its own:
its work is not taken for the service's.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from acceptance.servers import Server, new_key
from hostile import attacks
from hostile.attacks import ATTACKS, Target

ALL = "all at once"
NAMES = tuple(attack.__name__ for attack in ATTACKS)
SINGLE = (attacks.plain_reads.__name__, *NAMES)
"""What can be made by itself: for comparison what is no attack, too."""
PATHS = ("/own/content/a/similar", "/own/content/a", "/own/ids")
PATIENCE_S = 20.0
"""How long a tenant waits for an answer."""
RAMP_S = 0.5
"""How long an attack goes on before it is measured, and how long its last requests have to end before quiet is."""
PAUSE_S = 0.005
WARMING_S = 10.0
"""How long kernels may take to be loaded, which keeps a process busy once."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a tenant waited for its answers, ascending, in ms, and how many of them were refused."""

    ms: Sequence[float]
    refused: int

    def percentile(self, percent: int) -> float:
        """Return the wait that so many percent of all were not longer than."""
        return self.ms[min(len(self.ms) - 1, len(self.ms) * percent // 100)]


def waits(server: Server, key: str, seconds: float) -> Waits:
    """Read what a tenant reads, one request after the other, for so long."""
    found: list[float] = []
    refused = 0
    with httpx.Client(base_url=server.url, headers={"x-api-key": key}, timeout=PATIENCE_S) as client:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for path in PATHS:
                began = time.perf_counter()
                try:
                    refused += client.get(path).status_code != 200
                except httpx.TimeoutException:
                    refused += 1
                found.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_S)
    return Waits(sorted(found), refused)


@contextlib.contextmanager
def under(target: Target, names: Sequence[str]) -> Iterator[None]:
    """Have these attacks made meanwhile, by a process of its own."""
    words = [sys.executable, "-m", "hostile.attacks", target.url, target.key, *names]
    attacker = subprocess.Popen(words, stdin=subprocess.PIPE, cwd=Path(__file__).parents[1])
    try:
        time.sleep(2 * RAMP_S)
        yield
    finally:
        assert attacker.stdin is not None
        attacker.stdin.close()
        attacker.wait(timeout=60)
        time.sleep(RAMP_S)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rounds of a tenant's waits, quiet and attacked in turn."""

    name: str
    rounds: Sequence[tuple[Waits, Waits]]

    def ratios(self, percent: int) -> list[float]:
        """Return of each round how many times as long it waited, ascending."""
        return sorted(attacked.percentile(percent) / quiet.percentile(percent) for quiet, attacked in self.rounds)

    def __str__(self) -> str:
        """Return a row of a table: medians over the rounds, and the greatest ratio."""
        figures = []
        for percent in (50, 99):
            quiet, attacked = (
                statistics.median(each[side].percentile(percent) for each in self.rounds) for side in (0, 1)
            )
            figures.append(f"{quiet:.1f} → {attacked:.1f} ms")
        ratios = self.ratios(99)
        asked = sum(len(attacked.ms) for _, attacked in self.rounds)
        refused = sum(attacked.refused for _, attacked in self.rounds)
        shown = [self.name, *figures, f"{statistics.median(ratios):.1f}", f"{ratios[-1]:.1f}", f"{refused} of {asked}"]
        return f"| {' | '.join(shown)} |"


class Neighbour:
    """A tenant of a service, and another one that attacks."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._key = new_key(server.data, account="neighbour")
        self._target = Target(server.url, new_key(server.data, account="stranger"))
        attacks.prepare(self._target)
        pieces = [attacks.long_piece(name, 5) for name in "abcdef"]
        stored = httpx.post(f"{server.url}/own/content", json=pieces, headers={"x-api-key": self._key})
        assert stored.status_code == 202
        self.warm(RAMP_S)

    def warm(self, seconds: float) -> None:
        """Read for so long what is not measured."""
        waits(self._server, self._key, seconds)

    def compare(self, name: str, *, rounds: int, seconds: float) -> Comparison:
        """Measure under the attack of this name, or under all of them."""
        names = NAMES if name == ALL else (name,)
        found = []
        for _ in range(rounds):
            quiet = waits(self._server, self._key, seconds)
            with under(self._target, names):
                found.append((quiet, waits(self._server, self._key, seconds)))
        return Comparison(name, found)


def main() -> None:
    """Print a row for each attack: p50 and p99 from quiet to attacked, their ratio's median and worst, refusals."""
    parser = argparse.ArgumentParser(description="Measure what a tenant notices of another one's attacks.")
    parser.add_argument("names", nargs="*", default=[*SINGLE, ALL], help="attacks; by default each, then all at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="how long a quiet or attacked round is")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - {*SINGLE, ALL}
    if unknown:
        parser.error(f"no attack has the name {', '.join(sorted(unknown))}; there are {', '.join((*SINGLE, ALL))}")
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "data") as server:
        neighbour = Neighbour(server)
        neighbour.warm(WARMING_S)
        for name in chosen.names:
            sys.stdout.write(f"{neighbour.compare(name, rounds=chosen.rounds, seconds=chosen.seconds)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
