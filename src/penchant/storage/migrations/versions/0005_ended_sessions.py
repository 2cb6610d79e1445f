"""The table of sessions at the dashboard that were ended before their time."""

from alembic import op

from penchant.storage.schema import ended_sessions

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table, unless it was made with the others."""
    ended_sessions.create(op.get_bind(), checkfirst=True)
