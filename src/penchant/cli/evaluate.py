"""``penchant evaluate``: how good recommendations are, judged by what people did afterwards, beside baselines."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from penchant.cli.histories import history_options, kernels_for, origin_of, progress, trial_of, trial_options
from penchant.evaluation import contest, plot, report
from penchant.evaluation.report import Evaluation, GroupFigures, MeanFigure, MethodFigures

WIDTH = 140
METHODS = ("random", "popular", "content", contest.PENCHANT, "item-kNN", "EASE")


@click.command()
@history_options
@trial_options
@click.option(
    "--cold",
    type=click.FloatRange(0, 0.9),
    default=0.0,
    show_default=True,
    help="Share of pieces, and of people, of which everything is held out.",
)
@click.option(
    "--people",
    type=click.IntRange(1, 1_000_000),
    default=contest.PEOPLE,
    show_default=True,
    help="People to ask for at most, drawn by the seed; as many of whom nothing is known.",
)
@click.option(
    "--method", "methods", multiple=True, type=click.Choice(METHODS), help="Only this method; repeat it (default all)."
)
@click.option(
    "--memory",
    type=click.FloatRange(0.01, 1024),
    default=contest.MEMORY_BYTES / 2**30,
    show_default=True,
    help="GiB that EASE and item-kNN may take; they are left out where they need more.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the figures as JSON, beside the table; - for standard output instead of it.",
)
@click.option(
    "--plot", "plot_file", type=click.Path(dir_okay=False, path_type=Path), help="File for a picture of them, as SVG."
)
def evaluate(
    *,
    cold: float,
    people: int,
    methods: tuple[str, ...],
    memory: float,
    json_file: Path | None,
    plot_file: Path | None,
    **options: Any,
) -> None:
    """Hold out a part of what people did, recommend from the rest, and count what they would have been shown.

    Of a source (--source, with --data or --database), or of files in the shape that import takes (--folder, or
    --pieces and --interactions). Everything is ranked that the person does not know yet. Nothing is changed.
    """
    request, origin = trial_of(
        options, people=people, cold=cold, memory_bytes=int(memory * 2**30), methods=methods or None
    )
    found = origin_of(**origin)
    with progress() as tell:
        history = found.read()
        with kernels_for(history, min(people, history.person_count), found.settings):
            evaluated = contest.evaluate(history, request, tell)
    if plot_file is not None:
        plot_file.write_text(plot.svg(evaluated), encoding="utf-8")
    if str(json_file) == "-":
        sys.stdout.buffer.write(report.as_json(evaluated))
        return
    show(evaluated)
    if json_file is not None:
        json_file.write_bytes(report.as_json(evaluated))


def show(evaluated: Evaluation) -> None:
    """Print an evaluation for people."""
    console = Console(width=WIDTH)
    console.print(
        f"{evaluated.name}: {evaluated.pieces:,} pieces ({evaluated.cold_pieces:,} cold), {evaluated.people:,} people, "
        f"{evaluated.interactions:,} interactions, {evaluated.held_out:,} of them held out ({evaluated.split}); "
        f"asked for {evaluated.warm_people_asked:,} people, and {evaluated.cold_people_asked:,} unknown ones",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("method", "NDCG@10", "Recall@20", "penchant minus it", "coverage", "Gini", "novelty")
    for each in evaluated.methods:
        ranks = (
            _interval(each.warm_people.ndcg10),
            _interval(each.warm_people.recall20),
            _interval(each.penchant_minus),
        )
        table.add_row(each.name, *ranks, f"{each.coverage10:.1%}", f"{each.gini10:.3f}", f"{each.novelty10:.1f}")
    console.print(table)
    apart = Table("Recall@20", "warm pieces", "cold pieces", "cold entries", "cold people", "seconds")
    for each in evaluated.methods:
        apart.add_row(each.name, *_apart(each), f"{each.seconds:.1f}")
    console.print(apart)
    for each in evaluated.methods:
        if each.parameters:
            console.print(f"{each.name}: {each.parameters}", highlight=False, soft_wrap=True)
    for note in evaluated.notes:
        console.print(note, highlight=False, soft_wrap=True)


def _apart(method: MethodFigures) -> tuple[str, str, str, str]:
    return (
        _group(method.warm_pieces),
        _group(method.cold_pieces),
        f"{method.cold_shown:.1%}",
        _group(method.cold_people),
    )


def _group(group: GroupFigures) -> str:
    return "no people" if not group.people else f"{_interval(group.recall20)} of {group.people:,}"


def _interval(figure: MeanFigure | None) -> str:
    return "" if figure is None else f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
