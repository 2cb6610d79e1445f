"""Which data a command works on and where it listens: what is known before anything that takes long to import."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
import msgspec

from penchant.settings import MAX_WORKERS, NodeSettings, load_settings

if TYPE_CHECKING:
    from penchant.storage import Storage

Command = TypeVar("Command", bound=Callable[..., Any])
existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)


class DataLocation(msgspec.Struct, frozen=True, kw_only=True):
    """Which data a command works on, as `data_options` say it."""

    data: str | None
    database: str | None
    settings_file: Path | None

    def settings(self, **overrides: Any) -> NodeSettings:
        """Return the settings of a command, and make files that it writes readable by their owner only."""
        os.umask(0o077)
        own = {"data": self.data, "database": self.database}
        return load_settings(own | overrides, file=self.settings_file)

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator[tuple[NodeSettings, "Storage"]]:
        """Give the settings and the open database.

        Raises:
            Refused: there is none, and it is not to be made.
        """
        from penchant.bootstrap import storage_of  # noqa: PLC0415  # what a server is asked for comes before it

        settings = self.settings()
        with closing(storage_of(settings, make=make)) as storage:
            yield settings, storage


def data_options(function: Command) -> Command:
    """Add ``--data``, ``--database`` and ``--settings`` to a command, which takes them as its ``location``."""

    @functools.wraps(function)
    def command(*, data: str | None, database: str | None, settings_file: Path | None, **others: Any) -> Any:
        return function(location=DataLocation(data=data, database=database, settings_file=settings_file), **others)

    for option in (
        click.option(
            "--settings",
            "settings_file",
            type=existing_file,
            help="Settings file (default: penchant.toml where there is one).",
        ),
        click.option("--database", help="Address of a PostgreSQL database (postgresql://…)."),
        click.option("--data", help="Folder of the data; made if missing.", metavar="DIR"),
    ):
        command = option(command)
    return cast(Command, command)


def listening_options(function: Command) -> Command:
    """Add ``--host``, ``--port`` and ``--workers`` to a command that serves."""
    function = click.option(
        "--workers",
        type=click.IntRange(1, MAX_WORKERS),
        help="Processes that answer requests, about one for each core (default 1).",
    )(function)
    function = click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on (default 8080).")(function)
    return click.option("--host", help="Address to listen on (default 127.0.0.1).")(function)
