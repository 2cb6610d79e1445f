"""The command line: every command has a module, or shares one with its kin."""

import sys
from collections.abc import Mapping
from importlib import import_module

import click

from penchant import __version__
from penchant.errors import PenchantError

COMMANDS: Mapping[str, str] = {
    "serve": "serve.serve",
    "demo": "demo.demo",
    "keys": "keys.keys",
    "keywords": "keywords.keywords",
    "import": "importing.import_files",
    "export": "upkeep.export_source",
    "backup": "upkeep.backup",
    "restore": "upkeep.restore",
    "move": "upkeep.move",
    "check": "upkeep.check",
    "reindex": "upkeep.reindex",
    "recommend": "recommend.recommend",
    "replay": "replay.replay_draft",
    "usage": "keys.usage",
    "audit": "keys.audit",
    "bench": "bench.bench",
    "evaluate": "evaluate.evaluate",
    "tune": "tune.tune",
}
"""Where each command is defined, below this package."""


class LateGroup(click.Group):
    """The commands, each imported when it is run or described: those of a server need nothing of an evaluation."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of all commands, ascending."""
        return sorted(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, ``None`` where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].rpartition(".")
        command: click.Command = getattr(import_module(f"penchant.cli.{module}"), name)
        return command


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="penchant")
def commands() -> None:
    """A content recommendation service that you run yourself."""


def main() -> None:
    """Run the command line: exit code 0 when done, 1 when it failed, 2 for wrong usage."""
    try:
        commands()
    except PenchantError as error:
        click.echo(f"penchant: {error.detail}", err=True)
        for fault in error.faults:
            click.echo(f"  {fault.pointer or fault.parameter}: {fault.detail}", err=True)
        sys.exit(1)
