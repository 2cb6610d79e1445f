"""What people may decide: the column of who is switched off, with its index, and the table of what was taken back."""

from alembic import op
from sqlalchemy import Column, LargeBinary

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import people_off, preferences, taken_back

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column with its index and the table, unless they were made with the others."""
    if add_missing(preferences, Column(preferences.c.off_person.name, LargeBinary)):
        people_off.create(op.get_bind())
    taken_back.create(op.get_bind(), checkfirst=True)
