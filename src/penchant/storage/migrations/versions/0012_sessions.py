"""The table of sessions at the dashboard, instead of the one of those that were ended before their time."""

from alembic import op

from penchant.storage.schema import ended_sessions, sessions

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the table, unless it was made with the others, and remove the other one."""
    connection = op.get_bind()
    sessions.create(connection, checkfirst=True)
    ended_sessions.drop(connection, checkfirst=True)
