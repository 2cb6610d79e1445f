"""``penchant-import``: files as lines of JSON on standard output, or sent to a server, without the service itself."""

import sys
from contextlib import ExitStack
from typing import Any

import click

from penchant_engine.errors import PenchantError
from penchant_import import __version__
from penchant_import.commands.importing import format_options, read_arguments, run_import, source_options
from penchant_import.commands.pulling import pull
from penchant_import.drafts import Draft
from penchant_import.files import printable
from penchant_import.hosting import DataPlace
from penchant_import.lines import problem_text, read_lines
from penchant_import.report import Notes


@click.command(name="penchant-import", context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--source", help="Source of the server to import into; made if missing.")
@source_options
@format_options
@click.version_option(__version__, prog_name="penchant-import")
@click.pass_context
def read_files(context: click.Context, /, **options: Any) -> None:
    """Write what files hold as lines of JSON on standard output, for `penchant import -`, or send it to --url.

    penchant-import pull FILE.toml reads an address again and again.
    """
    if options["url"] is None and not options["dry_run"]:
        _write_lines(options)
        return
    if options["source"] is None and not options["dry_run"]:
        raise click.UsageError("--url names a server: say by --source which of its sources.")
    run_import(context, DataPlace(), options | {"source": options["source"] or "source"})


def _write_lines(options: dict[str, Any]) -> None:
    notes, problems = Notes(), 0

    def refuse(draft: Draft) -> None:
        nonlocal problems
        problems += 1
        click.echo(printable(problem_text(draft)), err=True)

    with ExitStack() as stack:
        chosen = read_arguments(None, options | {"source": "lines"}, stack)
        for line in read_lines(chosen.format, chosen.files, chosen.options, notes=notes, refuse=refuse):
            sys.stdout.buffer.write(line)
    for item in notes.all_left_out():
        where = f"{item.file}: {item.field}: {item.reason}"
        click.echo(printable(f"left out: {where} ({item.count}, first in line {item.line})"), err=True)
    if problems and not options["skip_invalid"]:
        raise click.exceptions.Exit(1)


def main() -> None:
    """Run the command: exit code 0 when done, 1 when it failed, 2 for wrong usage."""
    is_pull = sys.argv[1:2] == ["pull"]
    try:
        if is_pull:
            pull(sys.argv[2:], prog_name="penchant-import pull")
        read_files()
    except PenchantError as error:
        click.echo(f"penchant-import: {printable(error.detail)}", err=True)
        for fault in error.faults:
            click.echo(printable(f"  {fault.pointer or fault.parameter}: {fault.detail}"), err=True)
        sys.exit(1)
