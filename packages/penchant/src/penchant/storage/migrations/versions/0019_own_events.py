"""Which sources have no event ids under keys of 0.1.0: those without any, in SQLite, where no node of 0.1.0 goes on."""

from alembic import op
from sqlalchemy import Boolean, Column, exists, update

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import event_ids, sources

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the column, unless the table was made with it, and mark these sources."""
    connection = op.get_bind()
    add_missing(sources, Column(sources.c.own_events.name, Boolean))
    if connection.dialect.name == "sqlite":
        has_events = exists().where(event_ids.c.source_id == sources.c.source_id)
        connection.execute(update(sources).where(~has_events).values(own_events=True))
