"""Options that several commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from penchant.settings import Settings, load_settings

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_ACCOUNT = "default"
COMMAND_LINE = "command-line"
"""How the audit log names whoever has the command line."""


def database_options(function: Command) -> Command:
    """Add ``--data``, ``--database`` and ``--settings`` to a command."""
    function = click.option(
        "--settings",
        "settings_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Settings file (default: penchant.toml where there is one).",
    )(function)
    function = click.option("--database", help="Address of a PostgreSQL database (postgresql://…).")(function)
    return click.option("--data", help="Folder of the data; made if missing.", metavar="DIR")(function)


def read_settings(settings_file: Path | None, **overrides: Any) -> Settings:
    """Return the settings of a command, and make files that it writes readable by their owner only."""
    os.umask(0o077)
    return load_settings(overrides, file=settings_file)
