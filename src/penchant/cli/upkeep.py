"""``penchant check`` and ``reindex``: is all well with what is stored, and can the index be made anew?"""

import sys
from contextlib import closing
from pathlib import Path

import click

from penchant.bootstrap import segment_files, storage_of
from penchant.cli.options import DEFAULT_ACCOUNT, database_options, read_settings
from penchant.errors import StorageUnavailable, UnknownSource
from penchant.live.builder import SMALLEST_FILE, Builder
from penchant.live.checking import index_problems
from penchant.storage import SourceHead, Storage
from penchant.telemetry import Metrics


@click.command()
@database_options
def check(*, data: str | None, database: str | None, settings_file: Path | None) -> None:
    """Check that what is stored agrees with itself, and the index with it; exit code 1 where it does not."""
    settings = read_settings(settings_file, data=data, database=database)
    with closing(storage_of(settings)) as storage:
        problems = storage.check() or list(index_problems(storage, segment_files(settings)))
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
    files = segment_files(settings)
    with closing(storage_of(settings)) as storage:
        heads = _chosen(storage, account, source)
        builder = Builder(storage, files, Metrics())
        try:
            with files.writing():
                for head in heads:
                    builder.build(head, None)
        except OSError as error:
            raise StorageUnavailable(f"The index cannot be written ({error.strerror}).") from error
    click.echo(f"Made the index of {len(heads)} sources anew; those of fewer than {SMALLEST_FILE} pieces need none.")


def _chosen(storage: Storage, account: str, source: str | None) -> list[SourceHead]:
    heads = list(storage.large_sources(SMALLEST_FILE))
    if source is None:
        return heads
    head = storage.head(storage.account_id(account), source)
    if head is None:
        raise UnknownSource("The account has no source of this name.")
    return [each for each in heads if each.source_id == head.source_id]
