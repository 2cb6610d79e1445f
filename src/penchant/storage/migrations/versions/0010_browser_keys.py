"""The columns that limit browser keys: requests from one address, and answers a month."""

from sqlalchemy import BigInteger, Column, Integer

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import keys

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns, unless the table was made with them."""
    add_missing(
        keys, Column(keys.c.requests_per_second.name, Integer), Column(keys.c.requests_per_month.name, BigInteger)
    )
