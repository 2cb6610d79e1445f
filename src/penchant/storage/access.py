"""Which keys are there, whose are they, and who changed what? Small tables that belong to no source."""

from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from penchant.storage import statements
from penchant.storage.hashing import account_id as account_number
from penchant.storage.records import AccountUsage, AuditEntry, KeyRecord
from penchant.storage.schema import CONTENT, accounts, audit, counters, keys, sources, usage

_KEY = select(
    keys.c.key_id,
    keys.c.account_id,
    accounts.c.name.label("account"),
    keys.c.plan,
    keys.c.admin,
    keys.c.secret_hash,
    keys.c.created_at,
    keys.c.expires_at,
    keys.c.revoked_at,
).join(accounts, accounts.c.account_id == keys.c.account_id)


def ensure_account(connection: Connection, insert_into: statements.Insert, name: str) -> int:
    """Return the number of an account, which is made if it is missing."""
    number = account_number(name)
    connection.execute(statements.insert_missing(insert_into, accounts), {"account_id": number, "name": name})
    return number


def find_account(connection: Connection, name: str) -> int | None:
    """Return the number of an account; ``None`` for one that was never made."""
    return connection.execute(select(accounts.c.account_id).where(accounts.c.name == name)).scalar_one_or_none()


def add_key(connection: Connection, record: KeyRecord) -> None:
    """Store a key."""
    fields = {column.name: getattr(record, column.name) for column in keys.columns}
    connection.execute(insert(keys), fields)


def find_key(connection: Connection, key_id: str) -> KeyRecord | None:
    """Return a key by its id, revoked or not."""
    row = connection.execute(_KEY.where(keys.c.key_id == key_id)).one_or_none()
    return None if row is None else _record(row)


def list_keys(connection: Connection) -> list[KeyRecord]:
    """Return every key, oldest first."""
    return [_record(row) for row in connection.execute(_KEY.order_by(keys.c.created_at, keys.c.key_id))]


def revoke_key(connection: Connection, key_id: str, now: int) -> bool:
    """Mark a key as revoked; tell whether it was in force."""
    statement = update(keys).where(keys.c.key_id == key_id, keys.c.revoked_at.is_(None))
    return connection.execute(statement.values(revoked_at=now)).rowcount == 1


def set_plan(connection: Connection, key_id: str, plan: str) -> bool:
    """Put a key into a plan; tell whether it was in another one."""
    statement = update(keys).where(keys.c.key_id == key_id, keys.c.plan != plan)
    return connection.execute(statement.values(plan=plan)).rowcount == 1


def answers(connection: Connection, account_id: int, month: str) -> int:
    """Return how many recommendation answers an account had in a month."""
    statement = select(usage.c.answers).where(usage.c.account_id == account_id, usage.c.month == month)
    return connection.execute(statement).scalar_one_or_none() or 0


def accounts_usage(connection: Connection, month: str, account_id: int | None) -> list[AccountUsage]:
    """Return the usage of every account or of one, ascending by name."""
    held = (
        select(
            sources.c.account_id,
            func.count().label("sources"),
            func.sum(counters.c.live).label("pieces"),
        )
        .join(counters, (counters.c.source_id == sources.c.source_id) & (counters.c.kind == CONTENT))
        .where(sources.c.deleted.is_(False))
        .group_by(sources.c.account_id)
        .subquery()
    )
    counted = select(usage).where(usage.c.month == month).subquery()
    statement = (
        select(accounts.c.account_id, accounts.c.name, counted.c.answers, held.c.sources, held.c.pieces)
        .outerjoin(held, held.c.account_id == accounts.c.account_id)
        .outerjoin(counted, counted.c.account_id == accounts.c.account_id)
        .order_by(accounts.c.name)
    )
    if account_id is not None:
        statement = statement.where(accounts.c.account_id == account_id)
    return [
        AccountUsage(
            account_id=row.account_id,
            account=row.name,
            answers=row.answers or 0,
            sources=row.sources or 0,
            pieces=int(row.pieces or 0),
        )
        for row in connection.execute(statement)
    ]


def audit_entries(connection: Connection, account_id: int | None, limit: int) -> list[AuditEntry]:
    """Return the newest entries of the audit log, newest first, of one account or of all."""
    statement = (
        select(audit, accounts.c.name)
        .outerjoin(accounts, accounts.c.account_id == audit.c.account_id)
        .order_by(audit.c.audit_id.desc())
        .limit(limit)
    )
    if account_id is not None:
        statement = statement.where(audit.c.account_id == account_id)
    return [
        AuditEntry(
            recorded_at=row.recorded_at,
            account_id=row.account_id,
            account=row.name or "",
            actor=row.actor,
            action=row.action,
            subject=row.subject,
        )
        for row in connection.execute(statement)
    ]


def _record(row: Any) -> KeyRecord:
    fields = dict(row._mapping)  # noqa: SLF001  # SQLAlchemy's public name for a row as a mapping
    fields["secret_hash"] = bytes(fields["secret_hash"])
    return KeyRecord(**fields)
