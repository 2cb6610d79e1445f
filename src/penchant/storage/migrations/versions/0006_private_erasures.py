"""What erasures and deleted sources may leave: a secret, event ids to export, floors of versions, an index to purge by.

Only added to: the columns may be null, so that nodes of an earlier release go on writing rows without them.
"""

from alembic import op
from sqlalchemy import Column, Table, inspect

from penchant.storage.schema import accounts, erasures_by_age, interactions, secrets

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns, the table and the index, unless the tables were made with them."""
    _add(accounts, accounts.c.version_floor)
    _add(interactions, interactions.c.event_id)
    secrets.create(op.get_bind(), checkfirst=True)
    erasures_by_age.create(op.get_bind(), checkfirst=True)


def _add(table: Table, column: Column[object]) -> None:
    present = {each["name"] for each in inspect(op.get_bind()).get_columns(table.name)}
    if column.name not in present:
        op.add_column(table.name, Column(column.name, column.type, nullable=True))
