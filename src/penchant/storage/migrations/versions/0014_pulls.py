"""The tables of pulls: addresses that are read again and again, and what came of it."""

from alembic import op

from penchant.storage.schema import pull_runs, pulls

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Make the tables, unless they were made with the others."""
    for table in (pulls, pull_runs):
        table.create(op.get_bind(), checkfirst=True)
