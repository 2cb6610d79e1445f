"""``penchant backup``, ``restore`` and ``move``: the data into a file, out of one, and into another database."""

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console

from penchant.bootstrap import HOUSEKEEPING_LOCK, METRICS_FOLDER, METRICS_LOCK, server_options
from penchant.cli.options import database_options, read_settings
from penchant.errors import Refused
from penchant.live.builder import LOCK as BUILDER_LOCK
from penchant.live.election import Election
from penchant.settings import NodeSettings
from penchant.storage import BackupContents, MoveSide, TableComparison, back_up, compare_sides
from penchant.storage import move as move_data
from penchant.storage import restore as restore_data

MIB = 1024 * 1024


@click.command()
@database_options
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(*, data: str | None, database: str | None, settings_file: Path | None, force: bool, file: Path) -> None:
    """Write the database into FILE, also while a server runs on the same data."""
    settings = read_settings(settings_file, data=data, database=database)
    _require_sqlite(settings, "pg_dump")
    contents = back_up(Path(settings.data), file, replace=force)
    click.echo(f"Wrote and checked {file} ({contents.size_bytes / MIB:.1f} MiB):")
    _show(contents)


@click.command()
@database_options
@click.option("--force", is_flag=True, help="Replace the database that is there.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(*, data: str | None, database: str | None, settings_file: Path | None, force: bool, file: Path) -> None:
    """Make FILE, which `penchant backup` wrote, the database; no server may run on the same data."""
    settings = read_settings(settings_file, data=data, database=database)
    _require_sqlite(settings, "pg_restore")
    folder = Path(settings.data)
    if is_served(folder):
        raise Refused(f"A server runs on {folder}. Stop it, and run this again.")
    contents = restore_data(file, folder, replace=force)
    click.echo(f"Restored {folder} from {file}:")
    _show(contents)


@click.command()
@database_options
@click.option("--to", "target", required=True, metavar="TARGET", help="Where to: postgresql://…, or a folder.")
@click.option("--compare", "only_compare", is_flag=True, help="Copy nothing; only compare both sides.")
def move(
    *, data: str | None, database: str | None, settings_file: Path | None, target: str, only_compare: bool
) -> None:
    """Copy everything into another database, from SQLite to PostgreSQL or back, and compare both.

    The server of the old side may run meanwhile, but has to be stopped for the last run. A run that was ended goes
    on where it was. Exit code 1 while the two sides differ.
    """
    settings = read_settings(settings_file, data=data, database=database)
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


def is_served(folder: Path) -> bool:
    """Return whether a server runs on a data folder: it holds locks there, which the kernel frees when it ends."""
    places = [folder / BUILDER_LOCK, folder / HOUSEKEEPING_LOCK, *(folder / METRICS_FOLDER).glob(f"*/{METRICS_LOCK}")]
    return any(_is_locked(place) for place in places)


def _is_locked(place: Path) -> bool:
    if not place.exists():
        return False
    # A server that ends just now removes its folder.
    with contextlib.suppress(FileNotFoundError):
        return Election(place).is_won_by_anyone()
    return False


def _require_sqlite(settings: NodeSettings, tool: str) -> None:
    if settings.database is not None:
        raise Refused(
            f"The data is in PostgreSQL, which has its own tool for this, {tool}: docs/operations.md says how. "
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
        click.echo(f"  {source.account}/{source.name}: {source.pieces} pieces, {source.interactions} interactions")
    click.echo(f"  {len(contents.sources)} sources, {contents.keys} keys")


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
