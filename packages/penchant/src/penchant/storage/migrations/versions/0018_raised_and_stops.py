"""What quotas raised, and when variants were stopped: columns that may be null, so that nodes of before go on."""

from sqlalchemy import Boolean, Column, LargeBinary

from penchant.storage.migrations.revisions import add_missing
from penchant.storage.schema import impressions, placement_versions

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the columns, unless the tables were made with them."""
    add_missing(impressions, Column(impressions.c.raised.name, Boolean))
    add_missing(placement_versions, Column(placement_versions.c.stops.name, LargeBinary))
