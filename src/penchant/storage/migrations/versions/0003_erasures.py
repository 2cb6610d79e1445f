"""The column that tells at which version a person was erased last."""

from alembic import op
from sqlalchemy import BigInteger, Column, inspect

from penchant.storage.schema import counters

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column, unless the tables were made with it."""
    connection, name = op.get_bind(), counters.c.erased_at.name
    if name in {column["name"] for column in inspect(connection).get_columns(counters.name)}:
        return
    op.add_column(counters.name, Column(name, BigInteger, nullable=False, server_default="0"))
    if connection.dialect.name == "postgresql":
        op.alter_column(counters.name, name, server_default=None)
