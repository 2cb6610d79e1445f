"""Options that several commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from penchant.settings import MAX_WORKERS, NodeSettings, load_settings

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_ACCOUNT = "default"
COMMAND_LINE = "command-line"
"""The actor of the command line in the audit log."""


def database_options(function: Command) -> Command:
    """Add ``--data``, ``--database`` and ``--settings`` to a command."""
    option = click.option("--database", help="Address of a PostgreSQL database (postgresql://…).")
    return folder_options(option(function))


def folder_options(function: Command) -> Command:
    """Add ``--data`` and ``--settings`` to a command."""
    function = click.option(
        "--settings",
        "settings_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Settings file (default: penchant.toml where there is one).",
    )(function)
    return click.option("--data", help="Folder of the data; made if missing.", metavar="DIR")(function)


def listening_options(function: Command) -> Command:
    """Add ``--host``, ``--port`` and ``--workers`` to a command that serves."""
    function = click.option(
        "--workers",
        type=click.IntRange(1, MAX_WORKERS),
        help="Processes that answer requests, about one for each core (default 1).",
    )(function)
    function = click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on (default 8080).")(function)
    return click.option("--host", help="Address to listen on (default 127.0.0.1).")(function)


def read_settings(settings_file: Path | None, **overrides: Any) -> NodeSettings:
    """Return the settings of a command, and make files that it writes readable by their owner only."""
    os.umask(0o077)
    return load_settings(overrides, file=settings_file)
