"""The columns that limit keys to scopes and origins, and an account's secret for signing people."""

from alembic import op
from sqlalchemy import Column, LargeBinary, Text, inspect

from penchant.storage.schema import accounts, keys

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns, unless the tables were made with them."""
    connection = op.get_bind()
    existing = {column["name"] for column in inspect(connection).get_columns(keys.name)}
    for name in {keys.c.scopes.name, keys.c.origins.name} - existing:
        # The default stays: nodes of the release before this one make keys without these columns.
        op.add_column(keys.name, Column(name, Text(), nullable=False, server_default=""))
    if accounts.c.signing_secret.name not in {
        column["name"] for column in inspect(connection).get_columns(accounts.name)
    }:
        op.add_column(accounts.name, Column(accounts.c.signing_secret.name, LargeBinary))
