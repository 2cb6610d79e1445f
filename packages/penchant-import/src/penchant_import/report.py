"""Reports: what an import stored, what each field became, what was left out and why, and what is wrong with rows.

Fields are noted while files are read, what is stored is counted batch by batch, and a report is made of both.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penchant_import.advice import ImportVerdict, verdict_lines
from penchant_import.files import amount
from penchant_import.rules import MAX_NAME_LENGTH, piece_id_of
from penchant_import.texts import Boilerplate

NO_PLACE = "has no place in a piece or an interaction"
"""Why most fields are left out."""
MAX_ENTRIES = 1_000
"""Fields that are counted one by one: a file may call its fields by any number of names."""
MAX_FAULT_KINDS = 50
"""Kinds of faults that are told apart: the rest are counted together."""
MAX_LISTED_PLACES = 3
"""Places of a fault that a report names."""
_JOINTS = " -_.'\u2019"
_VARYING = re.compile(r"'(?:[^'\\]|\\.)*'…?|\"(?:[^\"\\]|\\.)*\"…?|\d+")
"""What differs between faults of one kind: quoted values, and numbers."""
_REMEDIES = {
    "id": "--id-column COLUMN takes ids from another column",
    "contentId": "--id-column COLUMN takes the pieces' ids from another column",
    "userId": "--user-column COLUMN takes people from another column, --user NAME says that all rows are of one",
    "timestamp": "--time-column COLUMN takes times from another column, --time-format says how they are written",
}
"""What helps where a member is not accepted, of formats that go by columns."""


class InvalidRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that may not be stored: where, and what is accepted."""

    file: str
    line: int
    pointer: str
    detail: str


class RowPlace(msgspec.Struct, frozen=True):
    """Where a row is."""

    file: str
    line: int


class RowFaults(msgspec.Struct, kw_only=True):
    """Faults of one kind, ``count`` of them: the first one's pointer and detail, the first places, and what helps."""

    pointer: str
    detail: str
    remedy: str = ""
    count: int = 0
    first: list[RowPlace] = []

    @property
    def kind(self) -> tuple[str, str]:
        """What faults of one kind have in common."""
        return _VARYING.sub("…", self.pointer), _VARYING.sub("…", self.detail)

    @property
    def where(self) -> str:
        """How many rows it is, where the first are, and what of them."""
        rows = f"{self.count} rows, first " if self.count > 1 else ""
        return f"{rows}{places_text(self.first)}: {self.pointer or '(row)'}"

    @property
    def message(self) -> str:
        """What is accepted, and what helps."""
        return f"{self.detail} {self.remedy}." if self.remedy else self.detail


def places_text(places: Sequence[RowPlace]) -> str:
    """Return in words where rows are; their file is named once where it is the same."""
    by_file: dict[str, list[str]] = {}
    for place in places:
        by_file.setdefault(place.file, []).append(str(place.line))
    return "; ".join(
        f"{file}, line {lines[0]}" if len(lines) == 1 else f"{file}, lines {', '.join(lines)}"
        for file, lines in by_file.items()
    )


def group_faults(known: list[RowFaults], faults: Iterable[InvalidRow], *, by_columns: bool) -> None:
    """Add faults to those of their kind; ``by_columns`` says that the format has options that name columns."""
    kinds = {item.kind: item for item in known}
    for fault in faults:
        remedy = _REMEDIES.get(fault.pointer.partition("/")[2], "") if by_columns and "--" not in fault.detail else ""
        new = RowFaults(pointer=fault.pointer, detail=fault.detail, remedy=remedy)
        group = kinds.get(new.kind)
        if group is None and len(known) >= MAX_FAULT_KINDS:
            new = RowFaults(pointer="", detail="Further faults.")
            group = kinds.get(new.kind)
        if group is None:
            group = kinds[new.kind] = new
            known.append(new)
        group.count += 1
        if len(group.first) < MAX_LISTED_PLACES:
            group.first = [*group.first, RowPlace(fault.file, fault.line)]


class ImportTally(msgspec.Struct, kw_only=True):
    """What an import has done so far, of all its runs; ``rows`` counts drafts, in the order they are read.

    ``newest`` and ``newest_expired`` are times of interactions, in ms since 1970 UTC.
    """

    rows: int = 0
    pieces: int = 0
    created: int = 0
    replaced: int = 0
    superseded: int = 0
    interactions: int = 0
    duplicates: int = 0
    unstored: int = 0
    expired: int = 0
    shift_helps: bool = False
    newest: int = 0
    newest_expired: int = 0
    lists: int = 0
    settings: int = 0
    placements: int = 0
    drafts: int = 0
    preferences: int = 0
    lines: int = 0
    invalid_rows: int = 0
    invalid: list[InvalidRow] = []
    faults: list[RowFaults] = []


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


_Key = tuple[str, str, str]
"""A file, a field of it, and what became of it."""


@dataclass(frozen=True, slots=True)
class JoinedCategory:
    """A category that is written in another way elsewhere in the files, and the one that it counts as."""

    category: str
    into: str
    count: int


class Notes:
    """Counts what was mapped, joined and left out; ``boilerplate`` is what stands in most texts of the files.

    ``is_partial`` tells that a file says of itself that there is more of it elsewhere. ``chosen`` are the columns of
    options that were met, as the options were written; ``named`` those that became keywords by their names alone, as
    category, column and separator. ``is_storable`` says whether the service takes a piece, as far as that is known,
    ``word_rule`` by which rule it makes words.
    """

    is_storable: Callable[[bytes], bool]
    word_rule: Any

    def __init__(self, boilerplate: Boilerplate | None = None) -> None:
        self.boilerplate = boilerplate or Boilerplate()
        self.is_partial = False
        self.is_storable = lambda body: piece_id_of(body) is not None
        self.word_rule = None
        self.chosen: set[str] = set()
        self.named: set[tuple[str, str, str]] = set()
        self._mapped: dict[tuple[str, str, str], int] = {}
        self._left_out: dict[tuple[str, str, str], list[int]] = {}
        self._seen: set[tuple[str, str]] = set()
        self._categories: dict[str, str] = {}
        self._first_names: set[str] = set()
        self._joined: dict[tuple[str, str], int] = {}

    def canonical_category(self, name: str) -> str:
        """Return a category as it was first written: case, plural and blanks make no other one."""
        if name in self._first_names:
            return name
        form = _form_of(name)
        if form not in self._categories:
            # Past the bound names stay as they are written.
            if len(self._categories) >= MAX_ENTRIES:
                return name
            self._categories[form] = name
            self._first_names.add(name)
        first = self._categories[form]
        if first != name and ((name, first) in self._joined or len(self._joined) < MAX_ENTRIES):
            self._joined[name, first] = self._joined.get((name, first), 0) + 1
        return first

    def mapped(self, file: str, field: str, to: str, count: int = 1) -> None:
        """Note that a field was taken over in a row."""
        key = file, field, to
        # Called for each value of each row, and nearly all are known.
        try:
            self._mapped[key] += count
        except KeyError:
            key = self._bounded_key(self._mapped, key, "")
            self._mapped[key] = self._mapped.get(key, 0) + count

    def left_out(self, file: str, field: str, reason: str, line: int, count: int = 1) -> None:
        """Note that a field or value was not taken over in a row, or in several."""
        key = file, field, reason
        if key not in self._left_out:
            key = self._bounded_key(self._left_out, key, "further fields were left out")
        counted = self._left_out.get(key)
        if counted is None:
            self._left_out[key] = [count, line]
        else:
            counted[0] += count

    def _bounded_key(self, known: Mapping[_Key, Any], key: _Key, otherwise: str) -> _Key:
        """Return under which key something new is counted: its own, or past the bound one for further files or fields.

        Called once for each key, not for each field of each row.
        """
        if len(known) < MAX_ENTRIES:
            self._seen.add(key[1:])
            return key
        # Of many files alike a field is counted for all further ones together.
        return ("(further files)", *key[1:]) if key[1:] in self._seen else (key[0], "(other fields)", otherwise)

    def note_further_pages(self, file: str, field: str, line: int) -> None:
        """Note that a file says of itself that it is one page of several: what is not in it may be on another."""
        self.is_partial = True
        self.left_out(file, field, "this is one page of several; import the others, too", line)

    def note_unmapped(self, file: str, field: str, action: Any, line: int) -> None:
        """Note that what a person did is no type of interaction."""
        self.left_out(file, field, f"the type {action!r} is not mapped; say --type {action}=Click", line)

    def note_members(self, file: str, line: int, members: Mapping[str, Any], taken: Mapping[str, str]) -> None:
        """Note each member of an interaction: of ``taken`` ones what it becomes, of others that it is left out."""
        for member, value in members.items():
            if member in taken:
                self.mapped(file, member, taken[member])
            elif value:
                self.left_out(file, member, NO_PLACE, line)

    def all_joined(self) -> list[JoinedCategory]:
        """Return the categories that count as others, in the order of first sight."""
        return [JoinedCategory(*key, count) for key, count in self._joined.items()]

    def all_mapped(self) -> list[MappedField]:
        """Return the mapped fields, by file, in the order of first sight."""
        return [MappedField(*key, count) for key, count in self._mapped.items()]

    def all_left_out(self) -> list[OmittedField]:
        """Return the fields left out, by file, in the order of first sight."""
        return [OmittedField(*key, count, line) for key, (count, line) in self._left_out.items()]


def _form_of(category: str) -> str:
    """Return what ways to write a category have in common: case, accents, blanks, hyphens and an English plural go."""
    if len(category) > MAX_NAME_LENGTH:
        return category
    decomposed = unicodedata.normalize("NFKD", category.casefold())
    form = "".join(item for item in decomposed if not unicodedata.combining(item) and item not in _JOINTS)
    if len(form) > 4 and form.endswith("ies"):
        return form[:-3] + "y"
    return form[:-1] if len(form) > 3 and form.endswith("s") and not form.endswith("ss") else form or category


class ImportReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The report of an import, as ``--json`` prints it.

    ``rows`` counts what was read and became something or has a fault; ``expired`` interactions are older than the
    source keeps them: they count for nothing, and go within a day; ``shift_helps`` says that ``--shift-times`` would
    make some count. ``invalid`` are the first faults, ``faults`` all of
    them by kind, ``joined`` categories that count as others, ``boilerplate`` sentences that most texts have and that
    were taken out of descriptions. ``examples`` are the first pieces and interactions of a dry run, as they would be
    stored. ``verdict`` tells what lists will come of it; an import that stops has none.
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
    unstored: int
    expired: int
    shift_helps: bool
    lists: int
    settings: int
    placements: int
    drafts: int
    preferences: int
    lines: int
    invalid_rows: int
    invalid: list[InvalidRow]
    faults: list[RowFaults]
    mapped: list[MappedField]
    joined: list[JoinedCategory]
    left_out: list[OmittedField]
    boilerplate: list[str]
    seconds: float
    examples: list[msgspec.Raw] = []
    verdict: ImportVerdict | None = None

    @classmethod
    def of(cls, tally: ImportTally, notes: Notes, **others: Any) -> "ImportReport":
        """Return the report of what was counted; ``others`` are the members that no count tells."""
        stated = set(cls.__struct_fields__)
        counted: dict[str, Any] = {name: getattr(tally, name) for name in tally.__struct_fields__ if name in stated}
        return cls(
            mapped=notes.all_mapped(),
            joined=notes.all_joined(),
            left_out=notes.all_left_out(),
            boilerplate=list(notes.boilerplate.removed),
            **counted,
            **others,
        )


def to_text(report: ImportReport) -> Iterator[str]:
    """Yield the lines of a report for people."""
    verb = "would be stored" if report.dry_run else "stored"
    if report.pieces:
        news = "" if report.dry_run else f", {report.created} new, {report.replaced} replaced"
        twice = f", {report.superseded} overridden by a later one" if report.superseded else ""
        yield f"{report.source}: {amount(report.pieces, 'pieces')} {verb}{news}{twice}"
    if report.interactions:
        known = f", {report.duplicates} of them known already" if report.duplicates else ""
        off = f", {report.unstored} not: their people are switched off" if report.unstored else ""
        yield f"{report.source}: {amount(report.interactions, 'interactions')} {verb}{known}{off}"
    if report.expired:
        hint = " (--shift-times moves them)" if report.shift_helps else ""
        yield (
            f"{report.source}: {amount(report.expired, 'interactions')} older than the source's retentionDays count "
            f"for nothing and go within a day{hint}"
        )
    yield from _kept_lines(report, verb)
    if report.examples:
        yield "The first of them, as they would be stored:"
        yield from (f"  {bytes(item).decode()}" for item in report.examples)
    yield from _field_lines(report)
    if report.invalid_rows:
        yield f"Invalid, left out: {amount(report.invalid_rows, 'rows')}"
        yield from (f"  {item.where}: {item.message}" for item in report.faults)
    rate = f", {report.rows / report.seconds:.0f} rows/s" if report.seconds > 0 and not report.resumed_at_row else ""
    yield f"{amount(report.rows, 'rows')} in {report.seconds:.1f} s{rate}"
    if report.verdict is not None:
        yield from verdict_lines(report.source, report.verdict, dry_run=report.dry_run)


def _kept_lines(report: ImportReport, verb: str) -> Iterator[str]:
    """Yield the lines of what is neither a piece nor an interaction."""
    if report.lists or report.settings:
        yield f"{report.source}: {amount(report.lists, 'lists')} and {report.settings} settings {verb}"
    if report.drafts:
        yield f"{report.source}: {amount(report.drafts, 'drafts')} {verb}"
    if report.placements or report.preferences:
        preferences = f"preferences of {amount(report.preferences, 'people')}"
        yield f"{report.source}: {amount(report.placements, 'placements')} and {preferences} {verb}"
    if report.lines:
        yield f"{report.source}: {amount(report.lines, 'lines')} of packages {verb}"


def _field_lines(report: ImportReport) -> Iterator[str]:
    """Yield what became of the fields, those of several files in one line."""
    if report.mapped:
        yield "Mapped:"
        taken: dict[tuple[str, str], list[MappedField]] = {}
        for field in report.mapped:
            taken.setdefault((field.field, field.to), []).append(field)
        for (name, to), those in taken.items():
            yield f"  {_files_text(item.file for item in those)}: {name} -> {to} ({sum(item.count for item in those)})"
    if report.joined:
        yield "Categories that differ by case, plural or blanks only are one:"
        yield from (f"  {item.category} -> {item.into} ({item.count})" for item in report.joined)
    if report.boilerplate:
        yield "Sentences that more than half of the texts have, left out of descriptions:"
        yield from (f"  {item}" for item in report.boilerplate)
    if report.left_out:
        yield "Left out:"
        yield from _omitted_lines(report.left_out)


def _omitted_lines(omitted: Sequence[OmittedField]) -> Iterator[str]:
    """Yield what was left out; what has no place is one line."""
    gone: dict[tuple[str, str], list[OmittedField]] = {}
    for item in omitted:
        gone.setdefault((item.field, item.reason), []).append(item)
    placeless: dict[str, int] = {}
    for (name, reason), those in gone.items():
        count, first = sum(item.count for item in those), those[0]
        if reason == NO_PLACE:
            placeless[name] = count
            continue
        where = f"first in line {first.line}" if len(those) == 1 else f"first in {first.file}, line {first.line}"
        yield f"  {_files_text(item.file for item in those)}: {name}: {reason} ({count}, {where})"
    if placeless:
        files = _files_text(item.file for item in omitted if item.reason == NO_PLACE)
        yield f"  {files}: {NO_PLACE}: {', '.join(f'{name} ({count})' for name, count in placeless.items())}"


def _files_text(names: Iterable[str]) -> str:
    """Return files in words: one by its name, several by how many they are."""
    files = list(dict.fromkeys(names))
    return files[0] if len(files) == 1 else f"{len(files)} files"
