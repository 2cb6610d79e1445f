"""The first schema: every table, as `penchant.storage.schema` had them then."""

from alembic import op

from penchant.storage.schema import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables and indexes."""
    metadata.create_all(op.get_bind())
