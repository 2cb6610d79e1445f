"""The column that tells at which version a person was erased last."""

from alembic import op
from sqlalchemy import BigInteger, Column

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import counters

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column, unless the tables were made with it."""
    column = Column(counters.c.erased_at.name, BigInteger, nullable=False, server_default="0")
    if add_missing(counters, column) and op.get_bind().dialect.name == "postgresql":
        op.alter_column(counters.name, column.name, server_default=None)
