"""``penchant import`` of lines of JSON; the package penchant-import brings a command in its place that reads more."""

import sys
import time
from pathlib import Path

import click

from penchant.cli.locations import DataLocation, data_options
from penchant.cli.options import COMMAND_LINE, account_of, keyed_account_option
from penchant.cli.output import amount
from penchant.errors import Refused
from penchant.importing import BodyChecks, LineImport, StoredTarget, newest_moment, numbered_lines
from penchant.storage import Storage
from penchant.wire.text import source_problem

LINES = (".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz")
STANDARD_INPUT = Path("-")


def _read_source(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    problem = source_problem(text)
    if problem:
        raise click.BadParameter(problem)
    return text


@click.command(name="import", context_settings={"ignore_unknown_options": False})
@data_options
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True), metavar="FILE|-...")
@keyed_account_option
@click.option("--source", required=True, callback=_read_source, help="Source to import into; made if missing.")
def import_files(*, location: DataLocation, paths: tuple[Path, ...], account: str | None, source: str) -> None:
    """Import lines of JSON, as `penchant export` writes them, into a source, also while a server runs on the same data.

    pip install penchant-import reads files of other systems, too, checks all before it stores any, and reports.
    """
    for path in paths:
        if path != STANDARD_INPUT and not path.name.lower().endswith(LINES):
            raise Refused(f"{path}: files of other systems than lines of JSON are read by: pip install penchant-import")
    with location.opened(make=True) as (settings, storage):
        target = StoredTarget(storage, account=account_of(storage, account), source=source, actor=COMMAND_LINE)
        work = LineImport(target, BodyChecks(settings.piece_limits))
        for path in paths:
            file = sys.stdin.buffer if path == STANDARD_INPUT else path
            work.run("standard input" if path == STANDARD_INPUT else str(path), numbered_lines(file))
    for kind, count in work.counts.items():
        click.echo(f"{source}: {amount(count, f'lines of {kind}')} stored", err=True)
    if work.unknown_settings:
        names = ", ".join(sorted(work.unknown_settings))
        click.echo(f"{source}: settings that no installed package knows, kept as they are: {names}", err=True)


def load_ndjson(storage: Storage, account: str, source: str, *, pieces: Path, interactions: Path) -> None:
    """Load files of the project's own shape, times moved so that the newest interaction is now."""
    newest = newest_moment(numbered_lines(interactions))
    shift_ms = 0 if newest is None else time.time_ns() // 1_000_000 - newest
    target = StoredTarget(storage, account=account, source=source, actor=COMMAND_LINE)
    work = LineImport(target, BodyChecks(), shift_ms)
    for path in (pieces, interactions):
        work.run(path.name, numbered_lines(path))
    loaded = (amount(work.counts[kind], f"{kind}s") for kind in ("piece", "interaction"))
    click.echo(f"{source}: {' and '.join(loaded)} loaded", err=True)
