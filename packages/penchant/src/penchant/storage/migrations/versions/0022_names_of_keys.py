"""Keys may have the name of who has them; nodes of before make keys without one."""

from sqlalchemy import Column, Text

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import keys

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the column, unless the table was made with it."""
    add_missing(keys, Column("name", Text))
