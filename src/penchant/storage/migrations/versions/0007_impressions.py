"""The tables of what was shown and what came of it."""

from alembic import op

from penchant.storage.schema import impressions, placement_counts, placement_pieces

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the tables, unless they were made with the others."""
    for table in (impressions, placement_counts, placement_pieces):
        table.create(op.get_bind(), checkfirst=True)
