"""What rows add to the storage: placements, what they showed, and drafts."""

from penchant.storage.drafts import require_review
from penchant.storage.impression_ledger import attribute, forget_impressions
from penchant.storage.schema import drafts, placement_versions, placements
from penchant.storage.transaction import StoragePart

ROWS = StoragePart(
    name="rows",
    tables=(placements, placement_versions, drafts),
    check=require_review,
    record=attribute,
    erase=forget_impressions,
)
