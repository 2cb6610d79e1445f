"""The audit log says what of settings and lists was changed; nodes of before write entries without it."""

from sqlalchemy import Column, String

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import audit

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the column, unless the table was made with it."""
    add_missing(audit, Column("changes", String))
