"""What part of a piece an interaction was of: a column that may be null, so that nodes of before go on without it."""

from sqlalchemy import Column, SmallInteger

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import interactions

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column, unless the table was made with it."""
    add_missing(interactions, Column(interactions.c.portion.name, SmallInteger))
