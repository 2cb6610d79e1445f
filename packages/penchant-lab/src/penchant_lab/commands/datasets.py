"""``penchant dataset``: a data set of research as lines of JSON, for an import or an evaluation."""

import sys
from pathlib import Path
from typing import Any

import click

from penchant_import.commands.importing import SuggestingChoice, format_options, read_options, require_used
from penchant_import.drafts import Draft
from penchant_import.files import gather, printable
from penchant_import.lines import problem_text, read_lines
from penchant_lab.datasets import DATASETS, OPTIONS


@click.command()
@click.argument("name", type=SuggestingChoice(tuple(DATASETS)))
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True), metavar="FILE|FOLDER...")
@click.option("--skip-invalid", is_flag=True, help="End well although rows became nothing.")
@format_options
def dataset(name: str, paths: tuple[str, ...], *, skip_invalid: bool, **options: Any) -> None:
    """Write a data set of research as lines of JSON on standard output.

    penchant dataset movielens ml-latest-small | penchant import --source films -
    """
    problems = 0

    def refuse(draft: Draft) -> None:
        nonlocal problems
        problems += 1
        click.echo(printable(problem_text(draft)), err=True)

    chosen = require_used(name, read_options(options), OPTIONS[name])
    for line in read_lines(name, gather([*map(Path, paths)]), chosen, refuse=refuse, reader=DATASETS[name]):
        sys.stdout.buffer.write(line)
    if problems and not skip_invalid:
        raise click.exceptions.Exit(1)
