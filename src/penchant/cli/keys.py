"""``penchant keys``: make, list and revoke API keys, also while a server runs on the same data."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from penchant.bootstrap import storage_of
from penchant.cli.options import COMMAND_LINE, DEFAULT_ACCOUNT, database_options, read_settings
from penchant.model import FULL_PLAN
from penchant.service.access import new_key
from penchant.settings import Settings
from penchant.storage import KeyRecord, Storage
from penchant.wire import encode, format_timestamp


@click.group()
def keys() -> None:
    """Make, list and revoke API keys."""


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
@click.option("--expires-in-days", type=click.IntRange(min=1), help="Days until the key stops working.")
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
        if settings.plan(plan) is None:
            raise click.BadParameter(f"no plan is called {plan!r}; known are {', '.join(settings.plan_names())}.")
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
    now = datetime.now(UTC)
    key_id, key, secret_hash = new_key()
    record = KeyRecord(
        key_id=key_id,
        account_id=storage.account_id(account),
        account=account,
        plan=plan,
        admin=admin,
        secret_hash=secret_hash,
        created_at=int(now.timestamp() * 1000),
        expires_at=None if days is None else int((now + timedelta(days=days)).timestamp() * 1000),
    )
    storage.create_key(record, actor=COMMAND_LINE)
    return record, key


@keys.command(name="list")
@database_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_keys(*, data: str | None, database: str | None, settings_file: Path | None, as_json: bool) -> None:
    """List every key by its id, with its state; revoked ones stay listed."""
    with _opened(data, database, settings_file) as (_, storage):
        for record in storage.list_keys():
            fields = {
                "keyId": record.key_id,
                "account": record.account,
                "plan": record.plan,
                "role": "admin" if record.admin else "tenant",
                "state": _state(record),
                "createdAt": format_timestamp(record.created_at),
            }
            click.echo(encode(fields).decode() if as_json else "\t".join(fields.values()))


def _state(record: KeyRecord) -> str:
    if record.revoked_at is not None:
        return "revoked"
    expired = record.expires_at is not None and record.expires_at <= datetime.now(UTC).timestamp() * 1000
    return "expired" if expired else "active"


@keys.command()
@database_options
@click.argument("key_id", metavar="KEYID")
def revoke(data: str | None, database: str | None, settings_file: Path | None, key_id: str) -> None:
    """Revoke a key; it stops working within a second on every process."""
    with _opened(data, database, settings_file) as (_, storage):
        if storage.find_key(key_id) is None:
            click.echo(f"penchant: no key has the id {key_id!r}; see `penchant keys list`.", err=True)
            sys.exit(1)
        was_active = storage.revoke_key(key_id, actor=COMMAND_LINE)
    click.echo(f"Key {key_id} is revoked." if was_active else f"Key {key_id} was revoked already.", err=True)
