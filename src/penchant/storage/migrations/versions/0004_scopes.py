"""The columns that limit keys to scopes and origins, and an account's secret for signing people."""

from sqlalchemy import Column, LargeBinary, Text

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import accounts, keys

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns, unless the tables were made with them."""
    # The default stays: nodes of the release before this one make keys without these columns.
    limits = (keys.c.scopes.name, keys.c.origins.name)
    add_missing(keys, *(Column(name, Text(), nullable=False, server_default="") for name in limits))
    add_missing(accounts, Column(accounts.c.signing_secret.name, LargeBinary))
