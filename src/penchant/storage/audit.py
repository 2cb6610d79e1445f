"""The audit log: who changed what of which account."""

import time

from sqlalchemy import Connection, insert, select

from penchant.storage.records import AuditEntry
from penchant.storage.schema import accounts, audit


def note(connection: Connection, account_id: int, actor: str, action: str, subject: str, *, now: int) -> None:
    """Write an entry of the audit log."""
    entry = {
        "audit_id": time.time_ns(),
        "recorded_at": now,
        "account_id": account_id,
        "actor": actor,
        "action": action,
        "subject": subject,
    }
    connection.execute(insert(audit), entry)


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
