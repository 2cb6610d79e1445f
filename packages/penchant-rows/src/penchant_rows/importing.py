"""Lines of rows: placements in force, and drafts that wait."""

from collections.abc import Iterator, Mapping
from typing import Any

from penchant.importing.kinds import LineKind
from penchant.storage import Storage, source_id
from penchant.wire import encode
from penchant_rows.storage.drafts import DraftStore, SaveDraft, open_drafts
from penchant_rows.storage.placements import PlacementStore, PutPlacement, read_placements
from penchant_rows.wire.edits import (
    MAX_DRAFTS,
    ExportedDraft,
    decode_exported_draft,
    encode_edits,
    encode_exported_draft,
)
from penchant_rows.wire.lines import ExportedPlacement, decode_exported_placement, encode_exported_placement
from penchant_rows.wire.placements import MAX_PLACEMENT_VERSIONS, MAX_PLACEMENTS, encode_placement


def _placements(connection: Any, source: int) -> Iterator[bytes]:
    for row in read_placements(connection, source):
        yield encode_exported_placement(row.name, row.body, row.assignment)


def _put_placement(storage: Storage, whose: Mapping[str, Any], placement: ExportedPlacement) -> PutPlacement | None:
    """Put it in force as the next version of its name; people see the variants that they saw."""
    number = source_id(whose["account_id"], whose["source"])
    body, assignment = encode_placement(placement.spec), encode(placement.buckets)
    row = storage.store(PlacementStore).read_in_force(number, placement.name)
    if row is not None and (row.body, row.assignment) == (body, assignment):
        return None
    return PutPlacement(
        **whose,
        name=placement.name,
        body=body,
        assignment=assignment,
        after=0 if row is None else row.version,
        max_versions=MAX_PLACEMENT_VERSIONS,
        max_placements=MAX_PLACEMENTS,
    )


def _drafts(connection: Any, source: int) -> Iterator[bytes]:
    for name, body in open_drafts(connection, source):
        yield encode_exported_draft(name, body)


def _save_draft(storage: Storage, whose: Mapping[str, Any], draft: ExportedDraft) -> SaveDraft | None:
    """Store it over what there is now, as written by who imports."""
    body = encode_edits(draft.edits)
    row = storage.store(DraftStore).read(source_id(whose["account_id"], whose["source"]), draft.name)
    if row is not None and row.body == body:
        return None
    return SaveDraft(
        **whose,
        name=draft.name,
        title=draft.edits.title or "",
        body=body,
        subjects=draft.edits.subjects,
        max_drafts=MAX_DRAFTS,
    )


LINES = (
    LineKind(
        name="placement",
        part="placements",
        values=_placements,
        read=decode_exported_placement,
        command=_put_placement,
    ),
    LineKind(name="draft", part="drafts", values=_drafts, read=decode_exported_draft, command=_save_draft),
)
