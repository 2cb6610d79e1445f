"""``penchant simulate``: how lists fare under their own feedback, with people whose tastes are known."""

import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from penchant.cli.numbers import NumberRange
from penchant.cli.options import figures_option, new_file, write_figures
from penchant.cli.output import output_file
from penchant.cli.progress import progress
from penchant_import.commands.importing import SuggestingChoice
from penchant_lab import closed_loop, contest
from penchant_lab.closed_loop import CONDITIONS, LoopFigures, LoopRequest, Simulation
from penchant_lab.commands.histories import history_options, kernels_for, origin_of
from penchant_lab.line_plots import LinePanel, draw_panels

WIDTH = 140
PANELS = {
    "shown": "chance that people open what they are shown",
    "two_likes": "the same of lists from two likes",
    "niche": "the same of rare tastes, from many likes",
    "coverage": "coverage",
    "gini": "Gini",
    "overlap": "overlap of two lists",
    "kappa": "κ",
    "content_share": "the content's share",
}


@click.command()
@history_options
@click.option(
    "--condition",
    type=SuggestingChoice(tuple(CONDITIONS)),
    default="real",
    help="Who comes: real (with three likes), cold (three quarters without), n50 (real, half of the people are noise), "
    "cold30 (cold, and 30 % noise), clicks30 (real, 30 % noise, opens are all that is reported).",
)
@click.option("--noise", type=NumberRange(0, 0.9), help="Share of people who open by chance, instead of that.")
@click.option("--known", type=click.Choice(("real", "cold")), help="Whether newcomers have likes, instead of that.")
@click.option(
    "--rotation",
    type=NumberRange(0, 1),
    default=0.0,
    help="What is taken off a piece each time that it was shown and passed over, as in a placement.",
)
@click.option("--people", type=click.IntRange(10, closed_loop.MAX_PEOPLE), default=closed_loop.PEOPLE)
@click.option("--days", type=click.IntRange(2, closed_loop.MAX_DAYS), default=closed_loop.DAYS)
@click.option(
    "--most-pieces",
    "most_pieces",
    type=click.IntRange(1, closed_loop.MAX_PIECES),
    default=closed_loop.PIECES,
    help="Pieces at most: those that most people have met.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=SuggestingChoice(closed_loop.METHODS),
    help="Only this method; repeat it (default all).",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of all draws.")
@click.option("--plot", type=new_file, help="File for a plot of all figures by day, as SVG.")
@figures_option
def simulate(
    *,
    condition: str,
    noise: float | None,
    known: str | None,
    most_pieces: int,
    methods: tuple[str, ...],
    plot: Path | None,
    json_file: Path | None,
    **options: Any,
) -> None:
    """Let made-up people with true tastes look at lists for days, and judge these by the tastes.

    Tastes are made from what people did in a source (--source, with --data or --database), or in files (--folder, or
    --pieces and --interactions). The lists are those of a service, beside content alone, popularity alone, and an
    oracle. Nothing is changed; the same seed gives the same figures.
    """
    numbers = {name: options.pop(name) for name in ("rotation", "people", "days", "seed")}
    chosen = CONDITIONS[condition]
    if noise is not None:
        chosen = chosen._replace(noise=noise)
    if known is not None:
        chosen = chosen._replace(is_cold=known == "cold")
    request = LoopRequest(condition=chosen, pieces=most_pieces, methods=methods or closed_loop.METHODS, **numbers)
    origin = origin_of(**options)
    history = origin.read()
    with kernels_for(history, origin.settings) as kernels, progress() as tell:
        kernels.use()
        began = time.monotonic()
        simulated = closed_loop.simulate(history, request, tell)
        took_s = time.monotonic() - began
    write_figures(json_file, contest.as_json(simulated), lambda: _show(simulated, took_s))
    if plot is not None:
        with output_file(plot) as file:
            file.write(_plot(simulated))


def _show(simulated: Simulation, took_s: float) -> None:
    console = Console(width=WIDTH)
    console.print(f"{_title(simulated)}; {took_s:.0f} s", highlight=False, soft_wrap=True)
    table = Table("method", "shown", "two likes", "niche", "coverage", "Gini", "overlap", "κ", "content", "opened")
    for each in simulated.methods:
        last = each.days[-1]
        means = (f"{value:.3f}" for value in (each.shown, each.two_likes, each.niche))
        lists = (f"{last.coverage:.1%}", f"{last.gini:.2f}", f"{last.overlap:.2f}")
        kappa = "" if last.kappa is None else f"{last.kappa:.2f}"
        content = "" if last.content_share is None else f"{last.content_share:.2f}"
        table.add_row(each.name, *means, *lists, kappa, content, f"{each.opened:,}")
    console.print(table)
    console.print(
        "Shown, two likes and niche: how likely people open what they are shown. From coverage on: on the last day."
    )


def _title(simulated: Simulation) -> str:
    newcomers = "most newcomers without likes" if simulated.cold else "newcomers with likes"
    reports = ", opens are all that is reported" if simulated.clicks_only else ""
    return (
        f"{simulated.name}: {simulated.pieces:,} pieces, {simulated.people:,} people, {simulated.days:,} days, "
        f"{simulated.noise:.0%} noise, {newcomers}{reports}, rotation {simulated.rotation:g}, seed {simulated.seed}"
    )


def _plot(simulated: Simulation) -> bytes:
    def line(method: LoopFigures, name: str) -> list[float | None]:
        return [getattr(day, name) for day in method.days]

    panels = [
        LinePanel(title, {each.name: line(each, name) for each in simulated.methods}) for name, title in PANELS.items()
    ]
    return draw_panels(_title(simulated), panels)
