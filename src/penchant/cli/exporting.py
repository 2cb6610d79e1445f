"""``penchant export``: a source as lines of JSON that an import gives back."""

import gzip
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import click

from penchant.cli.options import DataLocation, account_option, data_options, new_file
from penchant.importing import ExportParts, export_lines

PARTS = ("interactions", "lists", "settings", "placements", "preferences")


@click.command(name="export")
@data_options
@account_option
@click.option("--source", required=True, help="Source to export.")
@click.option("--with", "parts", multiple=True, type=click.Choice((*PARTS, "all")), help="Also these; repeatable.")
@click.option("--output", type=new_file, help="File, also .gz; default stdout.")
def export_source(
    *, location: DataLocation, account: str, source: str, parts: tuple[str, ...], output: Path | None
) -> None:
    """Write a source as NDJSON: its pieces by id, and what --with names; importing it gives the same back.

    Also while a server runs on the same data: what is written is the source as it is at one moment.
    """
    exported = ExportParts(**{part: part in parts or "all" in parts for part in PARTS})
    with ExitStack() as stack:
        _, storage = stack.enter_context(location.opened())
        export = stack.enter_context(storage.sources.open_export(storage.accounts.ensure(account), source))
        file: BinaryIO = sys.stdout.buffer
        if output is not None:
            file = stack.enter_context(output.open("wb"))
            if output.suffix == ".gz":
                # Without name and time, so that equal sources give equal files.
                file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))  # type: ignore[assignment]
        file.writelines(export_lines(export, exported, time.time_ns() // 1_000_000))
