"""``penchant keys``, ``usage`` and ``audit``: API keys, what accounts have used, and who changed what."""

import sys
import time
from typing import Any

import click
import msgspec

from penchant.cli import SentenceGroup
from penchant.cli.locations import DataLocation, data_options
from penchant.cli.options import COMMAND_LINE, DEFAULT_ACCOUNT, json_lines_option, print_rows
from penchant.errors import InvalidInput
from penchant.model import FULL_PLAN, Scope
from penchant.service import administration
from penchant.service.access import DEFAULT_ADDRESS_RATE
from penchant.service.administration import MAX_AUDIT_ENTRIES, AuditQuery, current_month, read_audit, usage_answers
from penchant.settings import NodeSettings
from penchant.storage import KeyRecord, Storage
from penchant.wire import encode, id_problem, sign_user
from penchant.wire.administration import (
    MAX_ADDRESS_RATE,
    MAX_BROWSER_QUOTA,
    MAX_KEY_DAYS,
    KeyWish,
    decode_key_wish,
    parse_audit_moment,
    parse_month,
)
from penchant.wire.signing import MAX_SIGNED_S

DEFAULT_ENTRIES = 100


def _read_month(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str:
    try:
        return current_month() if text is None else parse_month(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _read_before(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else parse_audit_moment(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@data_options
@click.option("--account", help="Only this account; default all.")
@click.option("--month", callback=_read_month, metavar="YYYY-MM", help="UTC month; default the present one.")
@json_lines_option
def usage(*, location: DataLocation, account: str | None, month: str, as_json: bool) -> None:
    """Tell the recommendation answers of a month by account, and the sources and pieces that it has now."""
    with location.opened() as (_, storage):
        answers = usage_answers(storage.accounts.list_usage(month, account_id=_account_id(storage, account)))
    rows = ({"month": month} | _members(row) for row in answers)
    print_rows(("month", "account", "answers", "sources", "pieces", "browserAnswers"), rows, as_json=as_json)


@click.command()
@data_options
@click.option("--account", help="Only changes of this account; default all.")
@click.option("--actor", help="Only what this key, by its id, person, or command-line did.")
@click.option(
    "--before",
    callback=_read_before,
    metavar="TIME",
    help="Only what was done before: RFC 3339, or what the page before ended with.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_AUDIT_ENTRIES),
    default=DEFAULT_ENTRIES,
    help="How many entries, newest first.",
)
@json_lines_option
def audit(*, location: DataLocation, account: str | None, as_json: bool, **query: Any) -> None:
    """Tell who changed what, newest first: keys by their id, and the command line; equal changes of a minute as one."""
    with location.opened() as (_, storage):
        page = read_audit(storage, AuditQuery(**query), account_id=_account_id(storage, account))
    columns = ("recordedAt", "account", "actor", "action", "subject", "count")
    print_rows(columns, map(_members, page.answer().entries), as_json=as_json)
    if page.next is not None:
        click.echo(f"There are older ones: --before {page.next}", err=True)


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


@click.group(cls=SentenceGroup)
def keys() -> None:
    """Make, list, change and revoke API keys."""


@keys.command()
@data_options
@click.option("--account", default=DEFAULT_ACCOUNT, help="Account; made if missing.")
@click.option("--plan", default=FULL_PLAN.name, help="Plan of the key.")
@click.option("--name", help="Who has the key, as pages and the audit log are to say it.")
@click.option("--admin", is_flag=True, help="A key that manages accounts and has no sources.")
@click.option("--expires-in-days", type=click.IntRange(1, MAX_KEY_DAYS), help="Days until the key stops working.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="What the key is limited to; repeat it. Without it, everything.",
)
@click.option("--browser", is_flag=True, help="A key for pages of the origins given, and for people who are signed.")
@click.option("--origin", "origins", multiple=True, help="Origin of pages that use a browser key; repeat it.")
@click.option(
    "--requests-per-second",
    type=click.IntRange(1, MAX_ADDRESS_RATE),
    help=f"What a browser key allows one address. Default {DEFAULT_ADDRESS_RATE}.",
)
@click.option(
    "--requests-per-month",
    type=click.IntRange(1, MAX_BROWSER_QUOTA),
    help="Answers that a browser key allows all pages. Default a tenth of the plan's.",
)
def create(*, location: DataLocation, account: str, plan: str, browser: bool, **limits: Any) -> None:
    """Make a key and print it, alone, on standard output. It cannot be shown again."""
    if browser != bool(limits["origins"]):
        raise click.UsageError("--browser and --origin belong together: name the origins of the pages.")
    with location.opened(make=True) as (settings, storage):
        _require_plan(settings, plan)
        try:
            record, key = make_key(storage, account=account, plan=plan, **limits)
        except InvalidInput as error:
            raise click.UsageError(error.detail) from error
    click.echo(
        f"Key {record.key_id} of account {account!r}, plan {plan!r}. Keep it: only its hash is stored.",
        err=True,
    )
    click.echo(key)


def make_key(storage: Storage, **members: Any) -> tuple[KeyRecord, str]:
    """Store a new key, which has the members of a `KeyWish`, and return its record with the key itself.

    Raises:
        InvalidInput: the limits contradict each other, or an origin is none.
    """
    # Decoded as if it had come over HTTP, so that the rules of a key are written once.
    return administration.make_key(storage, decode_key_wish(encode(KeyWish(**members))), actor=COMMAND_LINE)


@keys.command()
@data_options
@click.option("--account", default=DEFAULT_ACCOUNT, help="Account; made if missing.")
@click.option("--roll", is_flag=True, help="Replace the secret that the account has.")
def secret(*, location: DataLocation, account: str, roll: bool) -> None:
    """Make the secret with which an account signs people, and print it, alone, on standard output."""
    with location.opened(make=True) as (_, storage):
        if storage.accounts.signing_secret(account) is not None and not roll:
            click.echo(
                f"penchant: the account {account!r} has a signing secret. --roll replaces it; what the old one has "
                "signed ends within a second.",
                err=True,
            )
            sys.exit(1)
        rolled = administration.roll_secret(storage, account, actor=COMMAND_LINE)
    click.echo(f"The signing secret of account {account!r}. Keep it on your server: it signs for all people.", err=True)
    click.echo(rolled.secret)


@keys.command()
@data_options
@click.option("--account", default=DEFAULT_ACCOUNT, help="Account whose secret signs.")
@click.option("--user", required=True, help="Id of the person.")
@click.option(
    "--minutes",
    type=click.IntRange(1, MAX_SIGNED_S // 60),
    default=60,
    help="How long it holds.",
)
def sign(*, location: DataLocation, account: str, user: str, minutes: int) -> None:
    """Sign a person, to try a browser key with, and print it, alone, on standard output: the header x-penchant-user."""
    problem = id_problem(user)
    if problem:
        raise click.BadParameter(problem, param_hint="--user")
    with location.opened() as (_, storage):
        secret = storage.accounts.signing_secret(account)
    if secret is None:
        click.echo(
            f"penchant: the account {account!r} has no signing secret; `penchant keys secret --account` makes one.",
            err=True,
        )
        sys.exit(1)
    click.echo(f"{user!r} is signed for {minutes} min. In your service, your server signs.", err=True)
    click.echo(sign_user(user, secret.decode(), int(time.time()) + minutes * 60))


@keys.command(name="list")
@data_options
@json_lines_option
def list_keys(*, location: DataLocation, as_json: bool) -> None:
    """List every key by its id, with its state; revoked ones stay listed."""
    with location.opened() as (_, storage):
        listed = [_members(administration.key_answer(record)) for record in storage.keys.list_all()]
    columns = ("keyId", "account", "plan", "role", "state", "createdAt", "scopes", "origins", "name")
    print_rows(columns, listed, as_json=as_json)


def _require_plan(settings: NodeSettings, plan: str) -> None:
    if settings.plan(plan) is None:
        raise click.BadParameter(f"no plan is called {plan!r}; known are {', '.join(settings.plan_names())}.")


@keys.command(name="plan")
@data_options
@click.argument("key_id", metavar="KEYID")
@click.argument("plan", metavar="PLAN")
def set_plan(*, location: DataLocation, key_id: str, plan: str) -> None:
    """Put a key into another plan; it holds within a second on every process."""
    with location.opened() as (settings, storage):
        _require_plan(settings, plan)
        _require_key(storage, key_id)
        was_other = storage.keys.set_plan(key_id, plan, actor=COMMAND_LINE)
    click.echo(f"Key {key_id} is in the plan {plan!r}{'' if was_other else ', as it was'}.", err=True)


def _require_key(storage: Storage, key_id: str) -> None:
    if storage.keys.find(key_id) is None:
        click.echo(f"penchant: no key has the id {key_id!r}; see `penchant keys list`.", err=True)
        sys.exit(1)


@keys.command()
@data_options
@click.argument("key_id", metavar="KEYID")
def revoke(*, location: DataLocation, key_id: str) -> None:
    """Revoke a key; it stops working within a second on every process."""
    with location.opened() as (_, storage):
        _require_key(storage, key_id)
        was_active = storage.keys.revoke(key_id, actor=COMMAND_LINE)
    click.echo(f"Key {key_id} is revoked." if was_active else f"Key {key_id} was revoked already.", err=True)
