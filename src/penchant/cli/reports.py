"""``penchant usage`` and ``audit``: what accounts have used, and who changed what."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from penchant.cli.options import DataLocation, data_options
from penchant.service.administration import MAX_AUDIT_ENTRIES, audit_answers, current_month, usage_answers
from penchant.storage import Storage
from penchant.wire import encode, parse_month

DEFAULT_ENTRIES = 100


def _read_month(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str:
    try:
        return current_month() if text is None else parse_month(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@data_options
@click.option("--account", help="Only this account; default all.")
@click.option("--month", callback=_read_month, metavar="YYYY-MM", help="UTC month; default the present one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def usage(*, location: DataLocation, account: str | None, month: str, as_json: bool) -> None:
    """Tell the recommendation answers of a month by account, and the sources and pieces that it has now."""
    with location.opened() as (_, storage):
        answers = usage_answers(storage.accounts.list_usage(month, account_id=_account_id(storage, account)))
    rows = ({"month": month} | _members(row) for row in answers)
    _print(("month", "account", "answers", "sources", "pieces", "browserAnswers"), rows, as_json=as_json)


@click.command()
@data_options
@click.option("--account", help="Only changes of this account; default all.")
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_AUDIT_ENTRIES),
    default=DEFAULT_ENTRIES,
    show_default=True,
    help="How many entries, newest first.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def audit(*, location: DataLocation, account: str | None, limit: int, as_json: bool) -> None:
    """Tell who changed what, newest first: keys by their id, and the command line."""
    with location.opened() as (_, storage):
        answers = audit_answers(storage.accounts.list_audit(account_id=_account_id(storage, account), limit=limit))
    _print(("recordedAt", "account", "actor", "action", "subject"), map(_members, answers), as_json=as_json)


def _members(record: msgspec.Struct) -> dict[str, Any]:
    return dict(msgspec.to_builtins(record))


def _account_id(storage: Storage, name: str | None) -> int | None:
    if name is None:
        return None
    account_id = storage.accounts.find(name)
    if account_id is None:
        click.echo(f"penchant: no account is called {name!r}; see `penchant usage`.", err=True)
        sys.exit(1)
    return account_id


def _print(columns: Sequence[str], rows: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    """Print rows to be read by a program, or with a heading for people."""
    if not as_json:
        click.echo("\t".join(columns))
    for row in rows:
        click.echo(encode(row).decode() if as_json else "\t".join(str(row[name]) for name in columns))
