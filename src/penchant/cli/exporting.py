"""``penchant export``: a source as lines of JSON that an import gives back."""

import gzip
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import BinaryIO

import click

from penchant.bootstrap import storage_of
from penchant.cli.options import DEFAULT_ACCOUNT, database_options, read_settings
from penchant.importing import ExportParts, export_lines

PARTS = ("interactions", "lists", "settings", "placements", "preferences")


@click.command(name="export")
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account of the source.")
@click.option("--source", required=True, help="Source to export.")
@click.option("--with", "parts", multiple=True, type=click.Choice((*PARTS, "all")), help="Also these; repeatable.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="File, also .gz; default stdout.")
def export_source(
    *,
    data: str | None,
    database: str | None,
    settings_file: Path | None,
    account: str,
    source: str,
    parts: tuple[str, ...],
    output: Path | None,
) -> None:
    """Write a source as NDJSON: its pieces by id, and what --with names; importing it gives the same back.

    Also while a server runs on the same data: what is written is the source as it is at one moment.
    """
    settings = read_settings(settings_file, data=data, database=database)
    wanted = ExportParts(**{part: part in parts or "all" in parts for part in PARTS})
    with ExitStack() as stack:
        storage = stack.enter_context(closing(storage_of(settings)))
        export = stack.enter_context(storage.sources.open_export(storage.accounts.ensure(account), source))
        file: BinaryIO = sys.stdout.buffer
        if output is not None:
            file = stack.enter_context(output.open("wb"))
            if output.suffix == ".gz":
                # Without name and time, so that equal sources give equal files.
                file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))  # type: ignore[assignment]
        file.writelines(export_lines(export, wanted, time.time_ns() // 1_000_000))
