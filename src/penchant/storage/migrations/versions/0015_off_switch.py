"""The column of people who are switched off, and the index by which they are found."""

from alembic import op
from sqlalchemy import Column, LargeBinary

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import people_off, preferences

revision = "0015"
down_revision = "0013"


def upgrade() -> None:
    """Add the column with its index, unless the table was made with them."""
    if add_missing(preferences, Column(preferences.c.off_person.name, LargeBinary)):
        people_off.create(op.get_bind())
