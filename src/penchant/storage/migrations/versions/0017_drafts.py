"""The table of drafts, and the column of placements' versions that names the draft one was published with."""

from alembic import op
from sqlalchemy import Column

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import BY_CODE_POINT, drafts, placement_versions

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Make the table and the column, unless they were made with the others."""
    add_missing(placement_versions, Column(placement_versions.c.draft.name, BY_CODE_POINT))
    drafts.create(op.get_bind(), checkfirst=True)
