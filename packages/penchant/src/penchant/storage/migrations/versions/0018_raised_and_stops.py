"""What quotas raised, and when variants were stopped: columns that may be null, so that nodes of before go on."""

from sqlalchemy import Boolean, Column, LargeBinary

from penchant.storage.migrations.revisions import add_to_part

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the columns, unless the tables were made with them."""
    add_to_part("impressions", Column("raised", Boolean))
    add_to_part("placement_versions", Column("stops", LargeBinary))
