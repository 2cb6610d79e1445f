"""Reports: what an import stored, what each field became, and what was left out and why."""

from collections.abc import Iterator
from typing import Any

import msgspec

from penchant.importing.checking import InvalidRow
from penchant.importing.checkpoint import ImportTally
from penchant.importing.notes import MappedField, Notes, OmittedField


class ImportReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The report of an import, as ``--json`` prints it.

    ``rows`` counts what was read and became something or has a fault; ``expired`` interactions are older than the
    source keeps them: they count for nothing, and go within a day. ``examples`` are the first pieces and interactions
    of a dry run, as they would be stored.
    """

    format: str
    source: str
    dry_run: bool
    resumed_at_row: int
    rows: int
    pieces: int
    created: int
    replaced: int
    superseded: int
    interactions: int
    duplicates: int
    expired: int
    lists: int
    settings: int
    placements: int
    preferences: int
    invalid_rows: int
    invalid: list[InvalidRow]
    mapped: list[MappedField]
    left_out: list[OmittedField]
    seconds: float
    examples: list[msgspec.Raw] = []

    @classmethod
    def of(cls, tally: ImportTally, notes: Notes, **others: Any) -> "ImportReport":
        """Return the report of what was counted; ``others`` are the members that no count tells."""
        counted: dict[str, Any] = {name: getattr(tally, name) for name in tally.__struct_fields__}
        return cls(mapped=notes.all_mapped(), left_out=notes.all_left_out(), **counted, **others)


def to_text(report: ImportReport) -> Iterator[str]:
    """Yield the lines of a report for people."""
    verb = "would be stored" if report.dry_run else "stored"
    if report.pieces:
        news = "" if report.dry_run else f", {report.created} new, {report.replaced} replaced"
        twice = f", {report.superseded} overridden by a later one" if report.superseded else ""
        yield f"{report.source}: {report.pieces} pieces {verb}{news}{twice}"
    if report.interactions:
        known = f", {report.duplicates} of them known already" if report.duplicates else ""
        yield f"{report.source}: {report.interactions} interactions {verb}{known}"
    if report.expired:
        yield (
            f"{report.source}: {report.expired} interactions are older than the source's retentionDays: they count "
            "for nothing and go within a day (--shift-times moves them)"
        )
    if report.lists or report.settings:
        yield f"{report.source}: {report.lists} lists and {report.settings} settings {verb}"
    if report.placements or report.preferences:
        yield f"{report.source}: {report.placements} placements and preferences of {report.preferences} people {verb}"
    if report.examples:
        yield "The first of them, as they would be stored:"
        yield from (f"  {bytes(each).decode()}" for each in report.examples)
    if report.mapped:
        yield "Mapped:"
        yield from (f"  {each.file}: {each.field} -> {each.to} ({each.count})" for each in report.mapped)
    if report.left_out:
        yield "Left out:"
        yield from (
            f"  {each.file}: {each.field}: {each.reason} ({each.count}, first in line {each.line})"
            for each in report.left_out
        )
    if report.invalid_rows:
        yield f"Invalid, left out: {report.invalid_rows} rows"
        yield from (
            f"  {each.file}, line {each.line}: {each.pointer or '(row)'}: {each.detail}" for each in report.invalid
        )
    rate = f", {report.rows / report.seconds:.0f} rows/s" if report.seconds > 0 and not report.resumed_at_row else ""
    yield f"{report.rows} rows in {report.seconds:.1f} s{rate}"
