"""``penchant check`` and ``reindex``: compare the index with what is stored, and make it anew."""

import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from penchant.bootstrap import builders_of, index_folder, storage_of
from penchant.cli.options import DEFAULT_ACCOUNT, database_options, read_settings
from penchant.errors import StorageUnavailable, UnknownSource
from penchant.live.builder import SMALLEST_FILE, FileBuilder
from penchant.live.checking import index_problems
from penchant.live.counting import SMALLEST_LIKES
from penchant.storage import Storage
from penchant.telemetry import Metrics


@click.command()
@database_options
def check(*, data: str | None, database: str | None, settings_file: Path | None) -> None:
    """Check that what is stored agrees with itself, and the index with it; exit code 1 where it does not."""
    settings = read_settings(settings_file, data=data, database=database)
    with closing(storage_of(settings)) as storage:
        # Only one of the two: an index that agrees with rows that are wrong would say nothing.
        problems = storage.upkeep.check() or list(index_problems(storage, index_folder(settings)))
    for problem in problems:
        click.echo(problem)
    if problems:
        sys.exit(1)
    click.echo("All is well.")


@click.command()
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account of the source.")
@click.option("--source", help="Source whose index is made anew; default all of all accounts.")
def reindex(
    *, data: str | None, database: str | None, settings_file: Path | None, account: str, source: str | None
) -> None:
    """Make the index anew from the database alone, also while a server runs on the same data."""
    settings = read_settings(settings_file, data=data, database=database)
    with closing(storage_of(settings)) as storage:
        chosen = None if source is None else _number(storage, account, source)
        try:
            made = _make_anew(builders_of(storage, settings, Metrics()).values(), chosen)
        except OSError as error:
            raise StorageUnavailable(f"The index cannot be written ({error.strerror}).") from error
    click.echo(
        f"Made the index of {made} sources anew; those of fewer than {SMALLEST_FILE} pieces"
        f" and {SMALLEST_LIKES} interactions need none."
    )


def _make_anew(builders: Iterable[FileBuilder[Any]], chosen: int | None) -> int:
    """Build the files of all sources, or of one; return how many sources have any."""
    made = set()
    for builder in builders:
        with builder.writing():
            for head in builder.sources():
                if chosen in {None, head.source_id}:
                    builder.build(head, None)
                    made.add(head.source_id)
    return len(made)


def _number(storage: Storage, account: str, source: str) -> int:
    head = storage.sources.read_head(storage.accounts.ensure(account), source)
    if head is None:
        raise UnknownSource("The account has no source of this name.")
    return head.source_id
