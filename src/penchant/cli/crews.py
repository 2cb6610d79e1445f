"""Crews of commands: who does the work of a plan, and the parts that it becomes."""

import os
from collections.abc import Callable
from pathlib import Path

import click

from penchant.bootstrap import cluster_token_file
from penchant.cli.options import Command
from penchant.cluster import Crew, WorkFolder, WorkPlan, process_crew
from penchant.cluster.ray_driver import ray_crew, require_cluster
from penchant.settings import MAX_WORKERS, NodeSettings


def processes_option(function: Command) -> Command:
    """Add ``--processes`` to a command."""
    return click.option(
        "--processes",
        type=click.IntRange(1, MAX_WORKERS),
        help="Processes to work with; default a cluster, or one a core.",
    )(function)


def require_crew(settings: NodeSettings, processes: int | None) -> None:
    """Raise `Refused` where the work would go to a cluster that is not there: before minutes of reading."""
    if settings.cluster is not None and processes is None:
        require_cluster(settings.cluster)


def crew_of(settings: NodeSettings, plan: WorkPlan, folder: Path, processes: int | None) -> Crew:
    """Return who does the work: the cluster of the settings, unless there is none or processes are asked for."""
    if settings.cluster is not None and processes is None:
        token_file = cluster_token_file(settings)
        return ray_crew(plan, folder, settings.cluster, token_file if token_file.exists() else None)
    return process_crew(plan, folder, processes or os.cpu_count() or 1)


def do_parts(work: WorkFolder, plan: WorkPlan, crew: Crew, tell: Callable[[int, int], None]) -> None:
    """Make the parts of a folder that are not there yet; ``tell`` hears how many items of how many are done."""
    finished = work.finished()
    done = sum(end - begin for begin, end in map(plan.bounds, finished))
    for part in crew.run(number for number in range(plan.range_count) if number not in finished):
        work.put(part.number, part.content)
        begin, end = plan.bounds(part.number)
        done += end - begin
        tell(done, plan.count)
