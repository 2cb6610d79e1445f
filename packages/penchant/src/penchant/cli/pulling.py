"""``penchant pull``: addresses that a service reads again and again into its sources."""

import re
from typing import Any

import click

from penchant.cli import SentenceGroup
from penchant.cli.importing import format_options, read_options, require_used
from penchant.cli.locations import DataLocation, data_options
from penchant.cli.options import (
    COMMAND_LINE,
    NearChoice,
    account_of,
    json_lines_option,
    keyed_account_option,
    print_rows,
)
from penchant.errors import Refused
from penchant.importing import FORMATS, printable, shown_address, to_text
from penchant.service.pulling import Puller, PullOutcome, PullRun, PullSpec, list_runs, read_spec, require_pull
from penchant.storage import PullRecord, Storage
from penchant.wire import encode, format_timestamp

_COLUMNS = (
    "name",
    "account",
    "source",
    "format",
    "address",
    "everySeconds",
    "deletesMissing",
    "last",
    "failures",
    "nextAt",
)


def _read_interval(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)
    if match is None:
        raise click.BadParameter("write a number with its unit, such as 15m, 6h or 1d.")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3_600, "d": 86_400}[match[2]]


name_argument = click.argument("name")


@click.group(cls=SentenceGroup)
def pull() -> None:
    """Read addresses again and again into sources, while the service runs."""


@pull.command()
@name_argument
@click.argument("address")
@data_options
@click.option("--from", "format_name", type=NearChoice(tuple(FORMATS)), required=True, help="Format.")
@keyed_account_option
@click.option("--source", required=True, help="Source to bring it into; made if missing.")
@click.option("--every", default="15m", callback=_read_interval, metavar="15m|6h|1d", help="How often.")
@click.option("--skip-invalid", is_flag=True, help="Leave out rows that may not be stored, instead of storing nothing.")
@click.option("--delete-missing", is_flag=True, help="Delete what is no longer there: ADDRESS is a complete listing.")
@format_options
def add(*, location: DataLocation, name: str, address: str, **options: Any) -> None:
    """Have the service pull ADDRESS from now on, under a NAME of its own; its first turn is at once."""
    spec = PullSpec(
        format=options["format_name"],
        address=address,
        every_s=options["every"],
        options=require_used(options["format_name"], read_options(options)),
        skip_invalid=options["skip_invalid"],
        delete_missing=options["delete_missing"],
    )
    with location.opened(make=True) as (settings, storage):
        account = account_of(storage, options["account"])
        Puller(storage, settings).add(name, spec, account=account, source=options["source"], actor=COMMAND_LINE)
    into = f"the source {options['source']} of the account {account}"
    click.echo(f"{name}: {shown_address(address)} is pulled into {into}, while `penchant serve` runs.", err=True)


@pull.command(name="list")
@data_options
@json_lines_option
def list_pulls(*, location: DataLocation, as_json: bool) -> None:
    """List all pulls, with what came of the last run of each; of addresses without what may be secret."""
    with location.opened() as (_, storage):
        rows = [_row(storage, record) for record in storage.pulls.list_all()]
    print_rows(_COLUMNS, rows, as_json=as_json)


def _row(storage: Storage, record: PullRecord) -> dict[str, Any]:
    spec = read_spec(record)
    last = next(iter(list_runs(storage, record.name)), None)
    return {
        "name": record.name,
        "account": record.account,
        "source": record.source,
        "format": spec.format,
        "address": shown_address(spec.address),
        "everySeconds": spec.every_s,
        "deletesMissing": spec.deletes,
        "last": "none yet" if last is None else last.outcome.value,
        "failures": record.failures,
        "nextAt": format_timestamp(record.next_at),
    }


@pull.command()
@name_argument
@data_options
@click.option("--force", is_flag=True, help="Delete all pieces that are due, even over a tenth of the source.")
@click.option("--anew", is_flag=True, help="Submit what has not changed, too: where pieces were changed in the source.")
def run(*, location: DataLocation, name: str, force: bool, anew: bool) -> None:
    """Pull NAME now, in this process, and tell what came of it; exit code 1 where it failed."""
    with location.opened() as (settings, storage):
        done = Puller(storage, settings).run(name, force=force, anew=anew)
    _tell(done)
    if done.outcome is PullOutcome.FAILED:
        raise click.exceptions.Exit(1)


@pull.command()
@name_argument
@data_options
@json_lines_option
@click.option("--report", "shows_report", is_flag=True, help="Show the last report of an import, with its verdict.")
def log(*, location: DataLocation, name: str, as_json: bool, shows_report: bool) -> None:
    """Tell what came of the last runs of NAME, newest first."""
    with location.opened() as (_, storage):
        require_pull(storage, name)
        runs = list_runs(storage, name)
    if shows_report:
        _tell_report(runs)
        return
    if not as_json:
        click.echo("begunAt\toutcome\tdetail")
    for each in runs:
        click.echo(encode(each).decode() if as_json else _line(each))


@pull.command()
@name_argument
@data_options
def remove(*, location: DataLocation, name: str) -> None:
    """Pull NAME no more; one that is under way stores nothing further. What it has brought stays."""
    with location.opened() as (_, storage):
        if not storage.pulls.remove(name, actor=COMMAND_LINE):
            raise Refused(f"There is no pull of the name {name!r}; see `penchant pull list`.")
    click.echo(f"{name} is removed; its pieces stay.", err=True)


def _tell(done: PullRun) -> None:
    click.echo(_line(done))
    if done.report is not None:
        _tell_report([done])


def _tell_report(runs: list[PullRun]) -> None:
    for each in runs:
        if each.report is not None:
            for line in to_text(each.report):
                click.echo(printable(line))
            return


def _line(done: PullRun) -> str:
    """Return a run in a line: when, what came of it, how many pieces, and why."""
    counts = {"new": done.created, "replaced": done.replaced, "deleted": done.deleted, "away": done.away}
    numbers = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    parts = (numbers, printable(done.detail), f"{done.bytes} bytes in {done.seconds:.1f} s")
    return f"{done.begun_at}\t{done.outcome.value}\t" + "; ".join(part for part in parts if part)
