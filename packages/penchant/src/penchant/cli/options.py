"""What commands share: options, the data that they open, and a source of it."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from penchant.cli.locations import Command
from penchant.cli.output import output_file
from penchant.errors import Refused, UnknownSource
from penchant.live.following import Follower, View
from penchant.live.segment_files import SegmentFiles, Segments
from penchant.service.administration import key_answer
from penchant.settings import MAX_WORKERS
from penchant.storage import SourceHead, Storage
from penchant.telemetry import Metrics
from penchant.wire import encode

DEFAULT_ACCOUNT = "default"
COMMAND_LINE = "command-line"
"""The actor of the command line in the audit log."""
DEMO_KEY_FILE = "demo-key.txt"
"""Where the demo's key is kept in the data folder, for its owner only, since the database holds a hash alone."""
new_file = click.Path(dir_okay=False, path_type=Path)
account_option = click.option("--account", default=DEFAULT_ACCOUNT, help="Account of the source.")
keyed_account_option = click.option("--account", help="Account of the source (default: the only one that has keys).")
anew_option = click.option(
    "--anew", is_flag=True, help="Begin anew, also where an interrupted run could be gone on with."
)
figures_option = click.option(
    "--json",
    "json_file",
    type=new_file,
    help="File for the figures as JSON, beside the table; - for standard output instead of it.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
json_lines_option = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


def processes_option(name: str) -> Callable[[Command], Command]:
    """Return the option that says how many processes work over everybody."""
    text = "Processes to work with; default a cluster, or one a core."
    return click.option(name, "processes", type=click.IntRange(1, MAX_WORKERS), help=text)


def account_of(storage: Storage, named: str | None) -> str:
    """Return the account that is named, or else the only one that has keys, by which a new source can be read.

    Raises:
        Refused: several have keys.
    """
    if named is not None:
        return named
    listed = map(key_answer, storage.keys.list_all())
    accounts = sorted({key.account for key in listed if key.state == "active" and key.role != "admin"})
    if len(accounts) > 1:
        raise Refused(f"The accounts {', '.join(accounts)} have keys: say by --account into which one.")
    return accounts[0] if accounts else DEFAULT_ACCOUNT


def head_of(storage: Storage, account: str, source: str) -> SourceHead:
    """Return the head of a source.

    Raises:
        UnknownSource: there is none.
    """
    account_id = storage.accounts.find(account)
    head = None if account_id is None else storage.sources.read_head(account_id, source)
    if head is None:
        others = storage.sources.accounts_with(source)
        hint = "" if not others else f" The account {others[0]} has a source of this name: --account {others[0]}."
        raise UnknownSource(f"The account {account!r} has no source {source!r}.{hint}")
    return head


def view_of(storage: Storage, folder: Path, account: str, source: str) -> View:
    """Return a source as it is now, from its segment file in a folder where there is one.

    Raises:
        UnknownSource: there is none.
    """
    metrics = Metrics()
    return Follower(storage, Segments(metrics, SegmentFiles(folder)), metrics).catch_up(
        None, head_of(storage, account, source)
    )


def print_rows(columns: Sequence[str], rows: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    """Print rows to be read by a program, one JSON object a line, or with a heading for people."""
    if not as_json:
        click.echo("\t".join(columns))
    for row in rows:
        click.echo(encode(row).decode() if as_json else "\t".join(_cell(row.get(name)) for name in columns))


def _cell(value: Any) -> str:
    words = value if isinstance(value, list | tuple) else ["" if value is None else value]
    # A line break or tab within a value would make another row or column.
    return ",".join("".join(mark if mark.isprintable() else " " for mark in str(word)) for word in words)


def write_figures(json_file: Path | None, figures: bytes, show: Callable[[], None]) -> None:
    """Show figures as a table and write them where `figures_option` says; on standard output they stand alone."""
    if str(json_file) == "-":
        sys.stdout.buffer.write(figures)
        return
    show()
    if json_file is not None:
        with output_file(json_file) as file:
            file.write(figures)
