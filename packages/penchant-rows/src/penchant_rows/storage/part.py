"""What rows add to the storage."""

from penchant.storage.parts import StoragePart
from penchant_rows.storage.drafts import require_review
from penchant_rows.storage.impression_ledger import attribute, forget_impressions, purge_impressions
from penchant_rows.storage.placements import placements_in_force
from penchant_rows.storage.tables import metadata

ROWS = StoragePart(
    name="rows",
    tables=tuple(metadata.sorted_tables),
    check=require_review,
    record=attribute,
    erase=forget_impressions,
    follow=placements_in_force,
    follows_people=False,
    purge=purge_impressions,
)
