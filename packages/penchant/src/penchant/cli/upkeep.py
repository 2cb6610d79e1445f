"""Commands on what is stored: ``backup``, ``restore``, ``move``, ``check``, ``reindex``, ``export`` of one source."""

import contextlib
import gzip
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.console import Console

from penchant.bootstrap import (
    HOUSEKEEPING_LOCK,
    METRICS_FOLDER,
    METRICS_LOCK,
    builders_of,
    index_folder,
    server_options,
)
from penchant.cli.locations import DataLocation, data_options, existing_file
from penchant.cli.options import account_option, head_of, json_option, new_file
from penchant.cli.output import amount, output_file
from penchant.errors import Refused, StorageUnavailable
from penchant.importing import export_lines, export_parts
from penchant.live.builder import LOCK as BUILDER_LOCK
from penchant.live.builder import SMALLEST_FILE, FileBuilder
from penchant.live.checking import index_problems
from penchant.live.counting import SMALLEST_LIKES
from penchant.live.election import Election
from penchant.settings import NodeSettings
from penchant.storage import BackupContents, MoveSide, TableComparison, back_up, compare_sides
from penchant.storage import move as move_data
from penchant.storage import restore as restore_data
from penchant.telemetry import Metrics
from penchant.wire import encode


@click.command(name="export")
@data_options
@account_option
@click.option("--source", required=True, help="Source to export.")
@click.option(
    "--with", "parts", multiple=True, type=click.Choice((*export_parts(), "all")), help="Also these; repeatable."
)
@click.option("--output", type=new_file, help="File, also .gz; default stdout.")
def export_source(
    *, location: DataLocation, account: str, source: str, parts: tuple[str, ...], output: Path | None
) -> None:
    """Write a source as NDJSON: its pieces by id, and what --with names; importing it gives the same back.

    A file is written beside and renamed: where that fails, the former one stays.
    Also while a server runs on the same data: what is written is the source as it is at one moment.
    """
    exported = export_parts() if "all" in parts else parts
    with ExitStack() as stack:
        _, storage = stack.enter_context(location.opened())
        account_id = head_of(storage, account, source).account_id
        export = stack.enter_context(storage.sources.open_export(account_id, source))
        file: BinaryIO = sys.stdout.buffer
        if output is not None:
            file = stack.enter_context(output_file(output))
            if output.suffix == ".gz":
                # Without name and time, so that equal sources give equal files.
                file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))  # type: ignore[assignment]
        file.writelines(export_lines(export, exported, time.time_ns() // 1_000_000))


MIB = 1024 * 1024


@click.command()
@data_options
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.argument("file", type=new_file)
def backup(*, location: DataLocation, force: bool, file: Path) -> None:
    """Write the database into FILE, also while a server runs on the same data."""
    settings = location.settings()
    _require_sqlite(settings, "pg_dump")
    contents = back_up(Path(settings.data), file, replace=force)
    click.echo(f"Wrote and checked {file} ({contents.size_bytes / MIB:.1f} MiB):")
    _show(contents)


@click.command()
@data_options
@click.option("--force", is_flag=True, help="Replace the database that is there.")
@click.argument("file", type=existing_file)
def restore(*, location: DataLocation, force: bool, file: Path) -> None:
    """Make FILE, which `penchant backup` wrote, the database; no server may run on the same data."""
    settings = location.settings()
    _require_sqlite(settings, "pg_restore")
    folder = Path(settings.data)
    if is_served(folder):
        raise Refused(f"A server runs on {folder}. Stop it, and run this again.")
    contents = restore_data(file, folder, replace=force)
    click.echo(f"Restored {folder} from {file}:")
    _show(contents)


@click.command()
@data_options
@click.option("--to", "target", required=True, metavar="TARGET", help="Where to: postgresql://…, or a folder.")
@click.option("--compare", "only_compare", is_flag=True, help="Copy nothing; only compare both sides.")
def move(*, location: DataLocation, target: str, only_compare: bool) -> None:
    """Copy everything into another database, from SQLite to PostgreSQL or back, and compare both.

    The server of the old side may run meanwhile, but has to be stopped for the last run. A run that was ended goes
    on where it was. Exit code 1 while the two sides differ.
    """
    settings = location.settings()
    folder = Path(settings.data)
    old, new = _side(folder, settings.database, settings), _target_side(target, settings)
    if only_compare:
        compared = compare_sides(old, new)
    else:
        if new.url is None and is_served(new.folder):
            raise Refused(f"A server runs on {new.folder}. Stop it, and run this again.")
        console = Console(stderr=True)
        compared = move_data(
            old, new, served=is_served(folder), tell=lambda line: console.print(line, highlight=False, markup=False)
        )
    _show_compared(compared)
    if any(each.differs for each in compared):
        hint = (
            "." if only_compare else ", the move is not finished. Stop what writes to the old side, and run this again."
        )
        click.echo(f"penchant: The two sides differ{hint}", err=True)
        sys.exit(1)
    click.echo("Both sides hold the same." if only_compare else "Moved: both sides hold the same.")


@click.command()
@data_options
@json_option
def check(*, location: DataLocation, as_json: bool) -> None:
    """Check that what is stored agrees with itself, and the index with it; exit code 1 where it does not."""
    with location.opened() as (settings, storage):
        # Only one of the two: an index that agrees with rows that are wrong would say nothing.
        problems = storage.upkeep.check() or list(index_problems(storage, index_folder(settings)))
    if as_json:
        click.echo(encode({"problems": problems}).decode())
    else:
        click.echo("\n".join(problems) or "All is well.")
    if problems:
        sys.exit(1)


@click.command()
@data_options
@account_option
@click.option("--source", help="Source whose index is made anew; default all of all accounts.")
def reindex(*, location: DataLocation, account: str, source: str | None) -> None:
    """Make the index anew from the database alone, also while a server runs on the same data."""
    with location.opened() as (settings, storage):
        source_id = None if source is None else head_of(storage, account, source).source_id
        try:
            built = _build_anew(builders_of(storage, settings, Metrics()).values(), source_id)
        except OSError as error:
            raise StorageUnavailable(f"The index cannot be written ({error.strerror}).") from error
    click.echo(
        f"Made the index of {amount(built, 'sources')} anew; those of fewer than {SMALLEST_FILE} pieces"
        f" and {SMALLEST_LIKES} interactions need none."
    )


def is_served(folder: Path) -> bool:
    """Return whether a server runs on a data folder: it holds locks there, which the kernel frees when it ends."""
    locks = [folder / BUILDER_LOCK, folder / HOUSEKEEPING_LOCK, *(folder / METRICS_FOLDER).glob(f"*/{METRICS_LOCK}")]
    return any(_is_locked(lock) for lock in locks)


def _is_locked(lock: Path) -> bool:
    if not lock.exists():
        return False
    # A server that ends just now removes its folder.
    with contextlib.suppress(FileNotFoundError):
        return Election(lock).is_won_by_anyone()
    return False


def _require_sqlite(settings: NodeSettings, tool: str) -> None:
    if settings.database is not None:
        raise Refused(
            f"The data is in PostgreSQL, which has its own tool for this, {tool}: docs/how-to/operations.md says how. "
            "`penchant move` copies it into an SQLite folder."
        )


def _side(folder: Path, url: str | None, settings: NodeSettings) -> MoveSide:
    return MoveSide(folder=folder, url=url, options=server_options(settings))


def _target_side(target: str, settings: NodeSettings) -> MoveSide:
    if "://" in target:
        return _side(Path(), target, settings)
    return _side(Path(target), None, settings)


def _show(contents: BackupContents) -> None:
    for source in contents.sources:
        held = f"{amount(source.pieces, 'pieces')}, {amount(source.interactions, 'interactions')}"
        click.echo(f"  {source.account}/{source.name}: {held}")
    click.echo(f"  {amount(len(contents.sources), 'sources')}, {amount(contents.keys, 'keys')}")
    if contents.unknown_tables:
        click.echo(f"  kept of packages that are not installed: {', '.join(contents.unknown_tables)}")


def _show_compared(compared: Iterable[TableComparison]) -> None:
    """Print a line for each table that holds anything on either side: its rows and checksum, both where they differ."""
    name = ""
    for each in compared:
        if not each.old.rows and not each.new.rows:
            continue
        if each.name != name:
            click.echo(each.name)
            name = each.name
        line = f"  {each.table:<12} {each.old.rows:>10} {each.old.checksum}"
        if each.differs:
            line += f"  differs: {each.new.rows} {each.new.checksum}"
        click.echo(line)


def _build_anew(builders: Iterable[FileBuilder[Any]], source_id: int | None) -> int:
    built = set()
    for builder in builders:
        with builder.writing():
            for head in builder.sources():
                if source_id in {None, head.source_id}:
                    builder.build(head, None)
                    built.add(head.source_id)
    return len(built)
