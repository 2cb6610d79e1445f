"""The tables of placements and of their versions."""

from alembic import op

from penchant.storage.schema import placement_versions, placements

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the tables, unless they were made with the others."""
    for table in (placements, placement_versions):
        table.create(op.get_bind(), checkfirst=True)
