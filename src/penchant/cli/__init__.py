"""The command line: every command has a module, or shares one with its kin."""

import sys

import click

from penchant import __version__
from penchant.cli.bench import bench
from penchant.cli.demo import demo
from penchant.cli.evaluate import evaluate
from penchant.cli.exporting import export_source
from penchant.cli.importing import import_files
from penchant.cli.keys import keys
from penchant.cli.moving import backup, move, restore
from penchant.cli.reports import audit, usage
from penchant.cli.serve import serve
from penchant.cli.tune import tune
from penchant.cli.upkeep import check, reindex
from penchant.errors import PenchantError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="penchant")
def commands() -> None:
    """A content recommendation service that you run yourself."""


COMMANDS = (
    serve,
    demo,
    keys,
    import_files,
    export_source,
    backup,
    restore,
    move,
    check,
    reindex,
    usage,
    audit,
    bench,
    evaluate,
    tune,
)
for command in COMMANDS:
    commands.add_command(command)


def main() -> None:
    """Run the command line: exit code 0 when done, 1 when it failed, 2 for wrong usage."""
    try:
        commands()
    except PenchantError as error:
        click.echo(f"penchant: {error.detail}", err=True)
        for fault in error.faults:
            click.echo(f"  {fault.pointer or fault.parameter}: {fault.detail}", err=True)
        sys.exit(1)
