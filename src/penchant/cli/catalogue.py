"""``penchant import`` and ``export``: catalogues in and out of a source."""

import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

import click
from rich.console import Console

from penchant.bootstrap import storage_of
from penchant.cli.loading import Loader, newest_time
from penchant.cli.options import DEFAULT_ACCOUNT, database_options, read_settings
from penchant.storage import Storage

_existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(name="import")
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account of the source.")
@click.option("--source", required=True, help="Source to load into; made if missing.")
@click.option("--pieces", type=_existing_file, help="NDJSON file of pieces, also gzip.")
@click.option("--interactions", type=_existing_file, help="NDJSON file of interactions, also gzip.")
@click.option("--shift-times", is_flag=True, help="Move all times so that the newest interaction is now.")
def import_files(
    *,
    data: str | None,
    database: str | None,
    settings_file: Path | None,
    account: str,
    source: str,
    pieces: Path | None,
    interactions: Path | None,
    shift_times: bool,
) -> None:
    """Load pieces and interactions from files into a source, also while a server runs on the same data."""
    if pieces is None and interactions is None:
        raise click.UsageError("Name a file with --pieces, --interactions or both.")
    settings = read_settings(settings_file, data=data, database=database)
    with closing(storage_of(settings)) as storage:
        load(storage, account, source, pieces=pieces, interactions=interactions, shift_times=shift_times)


def load(
    storage: Storage,
    account: str,
    source: str,
    *,
    pieces: Path | None,
    interactions: Path | None,
    shift_times: bool,
) -> None:
    """Load files into a source, and say what was loaded."""
    console = Console(stderr=True)
    loader = Loader(storage, account, source, console)
    if pieces is not None:
        console.print(f"{source}: {loader.load_pieces(pieces)} pieces", highlight=False)
    if interactions is not None:
        newest = newest_time(interactions) if shift_times else None
        shift_ms = 0 if newest is None else time.time_ns() // 1_000_000 - newest
        count = loader.load_interactions(interactions, shift_ms=shift_ms)
        console.print(f"{source}: {count} interactions", highlight=False)


@click.command(name="export")
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account of the source.")
@click.option("--source", required=True, help="Source to export.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="File; default standard output.")
def export_source(
    *,
    data: str | None,
    database: str | None,
    settings_file: Path | None,
    account: str,
    source: str,
    output: Path | None,
) -> None:
    """Write the pieces of a source as NDJSON, ascending by id; importing them back gives the same pieces."""
    settings = read_settings(settings_file, data=data, database=database)
    with ExitStack() as stack:
        storage = stack.enter_context(closing(storage_of(settings)))
        file = sys.stdout.buffer if output is None else stack.enter_context(output.open("wb"))
        listing = stack.enter_context(storage.open_listing(storage.account_id(account), source))
        for batch in listing.batches:
            file.writelines(piece.body + b"\n" for piece in batch)


def has_source(storage: Storage, account: str, source: str) -> bool:
    """Return whether an account has a source."""
    return storage.head(storage.account_id(account), source) is not None
