"""The part that each person has in what placements showed, and by what impressions are counted."""

from alembic import op
from sqlalchemy import Boolean, Column, Integer, SmallInteger, false

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import impressions, placement_people

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make the table and add the columns, unless they were made with the others."""
    placement_people.create(op.get_bind(), checkfirst=True)
    # The defaults stay: nodes of before go on recording, and what is stored counts as it was counted.
    add_missing(
        impressions,
        Column(impressions.c.stage.name, SmallInteger, nullable=False, server_default="0"),
        Column(impressions.c.by_page.name, Integer, nullable=False, server_default="0"),
        Column(impressions.c.repeated.name, Boolean, nullable=False, server_default=false()),
    )
