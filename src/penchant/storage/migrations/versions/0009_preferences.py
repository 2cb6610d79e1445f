"""The table of what people have said of themselves."""

from alembic import op

from penchant.storage.schema import preferences

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the table, unless it was made with the others."""
    preferences.create(op.get_bind(), checkfirst=True)
