"""The table that tells from which history a PostgreSQL database's rows are."""

from alembic import op

from penchant.storage.schema import lineage

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    lineage.create(op.get_bind(), checkfirst=True)
