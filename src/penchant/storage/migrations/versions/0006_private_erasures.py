"""What erasures and deleted sources may leave: a secret, event ids to export, floors of versions, an index to purge by.

Only added to: the columns may be null, so that nodes of an earlier release go on writing rows without them.
"""

from alembic import op
from sqlalchemy import Column

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import accounts, erasures_by_age, interactions, secrets

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns, the table and the index, unless the tables were made with them."""
    for column in (accounts.c.version_floor, interactions.c.event_id):
        add_missing(column.table, Column(column.name, column.type))
    secrets.create(op.get_bind(), checkfirst=True)
    erasures_by_age.create(op.get_bind(), checkfirst=True)
