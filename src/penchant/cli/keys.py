"""``penchant keys``: make, list, change and revoke API keys, also while a server runs on the same data."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from penchant.bootstrap import storage_of
from penchant.cli.options import COMMAND_LINE, DEFAULT_ACCOUNT, database_options, read_settings
from penchant.errors import InvalidInput
from penchant.model import FULL_PLAN, Scope
from penchant.service import administration
from penchant.service.access import DEFAULT_ADDRESS_RATE
from penchant.settings import NodeSettings
from penchant.storage import KeyRecord, Storage
from penchant.wire import (
    MAX_ADDRESS_RATE,
    MAX_BROWSER_QUOTA,
    MAX_KEY_DAYS,
    MAX_SIGNED_S,
    KeyWish,
    decode_key_wish,
    encode,
    id_problem,
    sign_user,
)


@click.group()
def keys() -> None:
    """Make, list, change and revoke API keys."""


@contextmanager
def _opened(
    data: str | None, database: str | None, settings_file: Path | None
) -> Iterator[tuple[NodeSettings, Storage]]:
    settings = read_settings(settings_file, data=data, database=database)
    with closing(storage_of(settings)) as storage:
        yield settings, storage


@keys.command()
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account; made if missing.")
@click.option("--plan", default=FULL_PLAN.name, show_default=True, help="Plan of the key.")
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
def create(  # one for each option
    *,
    data: str | None,
    database: str | None,
    settings_file: Path | None,
    account: str,
    plan: str,
    admin: bool,
    expires_in_days: int | None,
    scopes: tuple[str, ...],
    browser: bool,
    origins: tuple[str, ...],
    requests_per_second: int | None,
    requests_per_month: int | None,
) -> None:
    """Make a key and print it, alone, on standard output. It cannot be shown again."""
    if browser != bool(origins):
        raise click.UsageError("--browser and --origin belong together: name the origins of the pages.")
    with _opened(data, database, settings_file) as (settings, storage):
        _require_plan(settings, plan)
        limits = KeyLimits(
            scopes=scopes,
            origins=origins,
            requests_per_second=requests_per_second,
            requests_per_month=requests_per_month,
        )
        try:
            record, key = make_key(
                storage, account=account, plan=plan, admin=admin, days=expires_in_days, limits=limits
            )
        except InvalidInput as error:
            raise click.UsageError(error.detail) from error
    click.echo(
        f"Key {record.key_id} of account {account!r}, plan {plan!r}. Keep it: only its hash is stored.",
        err=True,
    )
    click.echo(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """What a key is limited to: scopes, none for all, and of a browser key its origins, rate and quota."""

    scopes: Sequence[str] = ()
    origins: Sequence[str] = ()
    requests_per_second: int | None = None
    requests_per_month: int | None = None


def make_key(
    storage: Storage,
    *,
    account: str,
    plan: str,
    admin: bool = False,
    days: int | None = None,
    limits: KeyLimits = KeyLimits(),
) -> tuple[KeyRecord, str]:
    """Store a new key and return its record with the key itself.

    Raises:
        InvalidInput: the limits contradict each other, or an origin is none.
    """
    request = KeyWish(
        account=account,
        plan=plan,
        admin=admin,
        expires_in_days=days,
        scopes=tuple(map(Scope, limits.scopes)),
        origins=limits.origins,
        requests_per_second=limits.requests_per_second,
        requests_per_month=limits.requests_per_month,
    )
    # Decoded as if it had come over HTTP, so that the rules of a key are written once.
    return administration.make_key(storage, decode_key_wish(encode(request)), actor=COMMAND_LINE)


@keys.command()
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account; made if missing.")
@click.option("--roll", is_flag=True, help="Replace the secret that the account has.")
def secret(*, data: str | None, database: str | None, settings_file: Path | None, account: str, roll: bool) -> None:
    """Make the secret with which an account signs people, and print it, alone, on standard output."""
    with _opened(data, database, settings_file) as (_, storage):
        if storage.accounts.signing_secret(account) is not None and not roll:
            click.echo(
                f"penchant: the account {account!r} has a signing secret. --roll replaces it; what the old one has "
                "signed ends within a second.",
                err=True,
            )
            sys.exit(1)
        made = administration.roll_secret(storage, account, actor=COMMAND_LINE)
    click.echo(f"The signing secret of account {account!r}. Keep it on your server: it signs for all people.", err=True)
    click.echo(made.secret)


@keys.command()
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account whose secret signs.")
@click.option("--user", required=True, help="Id of the person.")
@click.option(
    "--minutes",
    type=click.IntRange(1, MAX_SIGNED_S // 60),
    default=60,
    show_default=True,
    help="How long it holds.",
)
def sign(
    *, data: str | None, database: str | None, settings_file: Path | None, account: str, user: str, minutes: int
) -> None:
    """Sign a person, to try a browser key with, and print it, alone, on standard output: the header x-penchant-user."""
    problem = id_problem(user)
    if problem:
        raise click.BadParameter(problem, param_hint="--user")
    with _opened(data, database, settings_file) as (_, storage):
        secret = storage.accounts.signing_secret(account)
    if secret is None:
        click.echo(
            f"penchant: the account {account!r} has no signing secret; `penchant keys secret --account` makes one.",
            err=True,
        )
        sys.exit(1)
    click.echo(f"{user!r} is signed for {minutes} minutes. In your service, your server signs.", err=True)
    click.echo(sign_user(user, secret.decode(), int(time.time()) + minutes * 60))


@keys.command(name="list")
@database_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_keys(*, data: str | None, database: str | None, settings_file: Path | None, as_json: bool) -> None:
    """List every key by its id, with its state; revoked ones stay listed."""
    with _opened(data, database, settings_file) as (_, storage):
        for record in storage.keys.list_all():
            told = administration.key_answer(record)
            limits = (",".join(told.scopes), *told.origins)
            columns = (told.key_id, told.account, told.plan, told.role, told.state, told.created_at, *limits)
            click.echo(encode(told).decode() if as_json else "\t".join(columns))


def _require_plan(settings: NodeSettings, plan: str) -> None:
    if settings.plan(plan) is None:
        raise click.BadParameter(f"no plan is called {plan!r}; known are {', '.join(settings.plan_names())}.")


@keys.command(name="plan")
@database_options
@click.argument("key_id", metavar="KEYID")
@click.argument("plan", metavar="PLAN")
def set_plan(*, data: str | None, database: str | None, settings_file: Path | None, key_id: str, plan: str) -> None:
    """Put a key into another plan; it holds within a second on every process."""
    with _opened(data, database, settings_file) as (settings, storage):
        _require_plan(settings, plan)
        _require_key(storage, key_id)
        was_other = storage.keys.set_plan(key_id, plan, actor=COMMAND_LINE)
    click.echo(f"Key {key_id} is in the plan {plan!r}{'' if was_other else ', as it was'}.", err=True)


def _require_key(storage: Storage, key_id: str) -> None:
    if storage.keys.find(key_id) is None:
        click.echo(f"penchant: no key has the id {key_id!r}; see `penchant keys list`.", err=True)
        sys.exit(1)


@keys.command()
@database_options
@click.argument("key_id", metavar="KEYID")
def revoke(data: str | None, database: str | None, settings_file: Path | None, key_id: str) -> None:
    """Revoke a key; it stops working within a second on every process."""
    with _opened(data, database, settings_file) as (_, storage):
        _require_key(storage, key_id)
        was_active = storage.keys.revoke(key_id, actor=COMMAND_LINE)
    click.echo(f"Key {key_id} is revoked." if was_active else f"Key {key_id} was revoked already.", err=True)
