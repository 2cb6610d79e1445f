"""Reports: what an import stored, what each field became, and what was left out and why.

Fields are noted while files are read, what is stored is counted batch by batch, and a report is made of both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

NO_PLACE = "has no place in a piece or an interaction"
"""Why most fields are left out."""
MAX_ENTRIES = 1_000
"""Fields that are counted one by one: a file may call its fields by any number of names."""
_OTHERS = "(other fields)"


class InvalidRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that may not be stored: where, and what is accepted."""

    file: str
    line: int
    pointer: str
    detail: str


class ImportTally(msgspec.Struct, kw_only=True):
    """What an import has done so far, of all its runs; ``rows`` counts drafts, in the order they are read."""

    rows: int = 0
    pieces: int = 0
    created: int = 0
    replaced: int = 0
    superseded: int = 0
    interactions: int = 0
    duplicates: int = 0
    expired: int = 0
    lists: int = 0
    settings: int = 0
    placements: int = 0
    preferences: int = 0
    invalid_rows: int = 0
    invalid: list[InvalidRow] = []


@dataclass(frozen=True, slots=True)
class MappedField:
    """A field that was taken over, and into what."""

    file: str
    field: str
    to: str
    count: int


@dataclass(frozen=True, slots=True)
class OmittedField:
    """A field or value that was not taken over, why, and a line where it is."""

    file: str
    field: str
    reason: str
    count: int
    line: int


class Notes:
    """Counts what was mapped and what was left out."""

    def __init__(self) -> None:
        self._mapped: dict[tuple[str, str, str], int] = {}
        self._left_out: dict[tuple[str, str, str], list[int]] = {}

    def mapped(self, file: str, field: str, to: str, count: int = 1) -> None:
        """Note that a field was taken over in a row."""
        key = file, field, to
        if key not in self._mapped and len(self._mapped) >= MAX_ENTRIES:
            key = file, _OTHERS, ""
        self._mapped[key] = self._mapped.get(key, 0) + count

    def left_out(self, file: str, field: str, reason: str, line: int) -> None:
        """Note that a field or value was not taken over in a row."""
        key = file, field, reason
        counted = self._left_out.get(key)
        if counted is None and len(self._left_out) >= MAX_ENTRIES:
            key = file, _OTHERS, "further fields were left out"
            counted = self._left_out.get(key)
        if counted is None:
            self._left_out[key] = [1, line]
        else:
            counted[0] += 1

    def unmapped(self, file: str, field: str, action: Any, line: int) -> None:
        """Note that what a person did is no type of interaction."""
        self.left_out(file, field, f"the type {action!r} is not mapped; say --type {action}=Click", line)

    def members(self, file: str, line: int, members: Mapping[str, Any], taken: Mapping[str, str]) -> None:
        """Note each member of an interaction: of ``taken`` ones what it becomes, of others that it is left out."""
        for member, value in members.items():
            if member in taken:
                self.mapped(file, member, taken[member])
            elif value:
                self.left_out(file, member, NO_PLACE, line)

    def all_mapped(self) -> list[MappedField]:
        """Return the mapped fields, by file, in the order of first sight."""
        return [MappedField(*key, count) for key, count in self._mapped.items()]

    def all_left_out(self) -> list[OmittedField]:
        """Return the fields left out, by file, in the order of first sight."""
        return [OmittedField(*key, count, line) for key, (count, line) in self._left_out.items()]


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
