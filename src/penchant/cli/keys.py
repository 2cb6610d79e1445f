"""``penchant keys``: make, list, change and revoke API keys, also while a server runs on the same data."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from penchant.bootstrap import storage_of
from penchant.cli.options import COMMAND_LINE, DEFAULT_ACCOUNT, database_options, read_settings
from penchant.model import FULL_PLAN
from penchant.service import administration
from penchant.settings import Settings
from penchant.storage import KeyRecord, Storage
from penchant.wire import MAX_KEY_DAYS, KeyWish, encode


@click.group()
def keys() -> None:
    """Make, list, change and revoke API keys."""


@contextmanager
def _opened(data: str | None, database: str | None, settings_file: Path | None) -> Iterator[tuple[Settings, Storage]]:
    settings = read_settings(settings_file, data=data, database=database)
    with closing(storage_of(settings)) as storage:
        yield settings, storage


@keys.command()
@database_options
@click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account; made if missing.")
@click.option("--plan", default=FULL_PLAN.name, show_default=True, help="Plan of the key.")
@click.option("--admin", is_flag=True, help="A key that manages accounts and has no sources.")
@click.option("--expires-in-days", type=click.IntRange(1, MAX_KEY_DAYS), help="Days until the key stops working.")
def create(
    *,
    data: str | None,
    database: str | None,
    settings_file: Path | None,
    account: str,
    plan: str,
    admin: bool,
    expires_in_days: int | None,
) -> None:
    """Make a key and print it, alone, on standard output. It cannot be shown again."""
    with _opened(data, database, settings_file) as (settings, storage):
        _require_plan(settings, plan)
        record, key = make_key(storage, account=account, plan=plan, admin=admin, days=expires_in_days)
    click.echo(
        f"Key {record.key_id} of account {account!r}, plan {plan!r}. Keep it: only its hash is stored.",
        err=True,
    )
    click.echo(key)


def make_key(
    storage: Storage, *, account: str, plan: str, admin: bool = False, days: int | None = None
) -> tuple[KeyRecord, str]:
    """Store a new key and return its record with the key itself."""
    wish = KeyWish(account=account, plan=plan, admin=admin, expires_in_days=days)
    return administration.make_key(storage, wish, actor=COMMAND_LINE)


@keys.command(name="list")
@database_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_keys(*, data: str | None, database: str | None, settings_file: Path | None, as_json: bool) -> None:
    """List every key by its id, with its state; revoked ones stay listed."""
    with _opened(data, database, settings_file) as (_, storage):
        for record in storage.list_keys():
            told = administration.key_answer(record)
            columns = (told.key_id, told.account, told.plan, told.role, told.state, told.created_at)
            click.echo(encode(told).decode() if as_json else "\t".join(columns))


def _require_plan(settings: Settings, plan: str) -> None:
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
        was_other = storage.set_plan(key_id, plan, actor=COMMAND_LINE)
    click.echo(f"Key {key_id} is in the plan {plan!r}{'' if was_other else ', as it was'}.", err=True)


def _require_key(storage: Storage, key_id: str) -> None:
    if storage.find_key(key_id) is None:
        click.echo(f"penchant: no key has the id {key_id!r}; see `penchant keys list`.", err=True)
        sys.exit(1)


@keys.command()
@database_options
@click.argument("key_id", metavar="KEYID")
def revoke(data: str | None, database: str | None, settings_file: Path | None, key_id: str) -> None:
    """Revoke a key; it stops working within a second on every process."""
    with _opened(data, database, settings_file) as (_, storage):
        _require_key(storage, key_id)
        was_active = storage.revoke_key(key_id, actor=COMMAND_LINE)
    click.echo(f"Key {key_id} is revoked." if was_active else f"Key {key_id} was revoked already.", err=True)
