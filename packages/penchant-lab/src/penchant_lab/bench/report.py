"""Reports of benchmarks: figures with their baselines, as a table for people and as JSON for machines."""

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from penchant import __version__


class BenchFigure(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One figure: lower is better for times and bytes, higher for rates. ``ratio`` is figure / baseline."""

    name: str
    value: float
    unit: str
    p99: float | None = None
    baseline: str | None = None
    baseline_value: float | None = None
    ratio: float | None = None


class BenchReport(msgspec.Struct, kw_only=True, rename="camel"):
    """All figures of a run, and where it ran."""

    catalogue: str
    pieces: int
    workers: int
    machine: Mapping[str, Any]
    figures: list[BenchFigure] = []

    def add(
        self, name: str, value: float, unit: str, *, p99: float | None = None, against: tuple[str, float] | None = None
    ) -> None:
        """Add a figure, with the baseline measured beside it."""
        baseline, baseline_value = against or (None, None)
        self.figures.append(
            BenchFigure(
                name=name,
                value=round(value, 4),
                unit=unit,
                p99=None if p99 is None else round(p99, 4),
                baseline=baseline,
                baseline_value=None if baseline_value is None else round(baseline_value, 4),
                ratio=round(value / baseline_value, 3) if baseline_value else None,
            )
        )


def machine() -> dict[str, Any]:
    """Return the machine that figures depend on: processor, cores and memory."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memoryGib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "python": platform.python_version(),
        "penchant": __version__,
    }


def alternated(
    contenders: Mapping[str, Callable[[int], object]], rounds: int, queries: int, seconds: float
) -> dict[str, list[float]]:
    """Return the times in milliseconds of each contender, who take turns, query by query the same.

    A contender stops after its share of ``seconds``, but not before its first five queries.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        # Whatever slows the machine for a while then falls on all of them, since each has several rounds.
        for name, ask in contenders.items():
            share = time.perf_counter() + seconds / rounds / len(contenders)
            for query in range(queries):
                if query >= 5 and time.perf_counter() > share:
                    break
                began = time.perf_counter()
                ask(query)
                times[name].append((time.perf_counter() - began) * 1000)
    return times


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return float(np.percentile(np.asarray(values), 99))


def show(report: BenchReport) -> None:
    """Print a report for people."""
    console = Console(width=130)
    where = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    console.print(f"{report.catalogue}: {report.pieces:,} pieces, {report.workers} worker(s)\n{where}", highlight=False)
    table = Table("what", "figure", "p99", "unit", "baseline", "its figure", "ratio")
    for each in report.figures:
        numbers = (each.value, each.p99, each.baseline_value, each.ratio)
        value, late, other, ratio = ("" if number is None else f"{number:,.4g}" for number in numbers)
        table.add_row(each.name, value, late, each.unit, each.baseline or "", other, ratio)
    console.print(table)


def _processor() -> str:
    with Path("/proc/cpuinfo").open() as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown")
