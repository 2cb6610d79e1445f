"""The columns that limit browser keys: requests from one address, and answers a month."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, inspect

from penchant.storage.schema import keys

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns, unless the table was made with them."""
    existing = {column["name"] for column in inspect(op.get_bind()).get_columns(keys.name)}
    for name, kind in ((keys.c.requests_per_second.name, Integer()), (keys.c.requests_per_month.name, BigInteger())):
        if name not in existing:
            op.add_column(keys.name, Column(name, kind))
