"""Versions of settings and lists: a table that nodes of before neither read nor write."""

from alembic import op

from penchant.storage.schema import steering_versions

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Make the table, unless it is there."""
    steering_versions.create(op.get_bind(), checkfirst=True)
