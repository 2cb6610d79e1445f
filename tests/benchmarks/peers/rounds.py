"""Rounds: what several libraries do in turn in one process, and what it costs; printed, never asserted."""

import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """Seconds of CPU, of this process and its children, and by the wall."""

    cpu: float
    wall: float


def measure(work: Callable[[], object]) -> Cost:
    """Return what work costs once."""
    cpu, wall = _cpu(), time.perf_counter()
    work()
    return Cost(_cpu() - cpu, time.perf_counter() - wall)


def alternate(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Cost]:
    """Return the medians of what contenders cost, each in every round, so that other load meets all of them alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            costs[name].append(measure(work))
    return {
        name: Cost(statistics.median(each.cpu for each in found), statistics.median(each.wall for each in found))
        for name, found in costs.items()
    }


def print_costs(what: str, costs: Mapping[str, Cost], count: int = 1, notes: Mapping[str, str] | None = None) -> None:
    """Print costs for each of ``count`` in ms, beside the first contender's."""
    first = next(iter(costs.values()))
    print(f"{what}; threads of numpy's libraries: {os.environ.get('OMP_NUM_THREADS', 'all')}")
    for name, cost in costs.items():
        cpu, wall = (1000 * each / count for each in cost)
        told = (notes or {}).get(name, "")
        print(
            f"  {name:40} {cpu:12.3f} ms CPU {wall:12.3f} ms"
            f"  {cost.cpu / first.cpu:8.2f} x {cost.wall / first.wall:8.2f} x  {told}",
            flush=True,
        )


def print_versions(*packages: str) -> None:
    """Print which releases are measured."""
    print(", ".join(f"{name} {metadata.version(name)}" for name in packages), flush=True)


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
