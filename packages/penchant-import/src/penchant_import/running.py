"""Running an import: batch by batch it is read, checked, stored all or nothing, and noted how far it is.

    files --> drafts --> batch --check--> store, committed --> tally --> checkpoint
                           ^                              |                  |
                           +---- the next batch <---------|------------------+
                                                          |
          ended here: the checkpoint is a batch behind, and that batch is stored again by the next run

To store a batch again changes nothing: pieces go by their id, interactions by an event id made of what they say, lists,
settings, placements, drafts and preferences are replaced by the same ones. So no transaction has to hold both the batch
and the checkpoint.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from penchant_engine.errors import Fault, InvalidInput, PenchantError
from penchant_engine.model import DAY_MS
from penchant_import.advice import MAX_SAMPLED_PIECES, ImportSample
from penchant_import.checking import BatchSpool, CheckedBatch, PlainChecks, check
from penchant_import.checkpoint import Checkpoint, CheckpointFile
from penchant_import.drafts import (
    PICTURE_NAMES,
    CheckedInteraction,
    Draft,
    DraftKind,
    interaction_members,
    read_extras,
    stable_event_id,
)
from penchant_import.files import Files, Position, UnreadableFile, printable
from penchant_import.formats import read_drafts
from penchant_import.hosting import BatchResult, RequestChecks, Settings, Target
from penchant_import.measures import normalize_name
from penchant_import.options import ImportOptions
from penchant_import.report import ImportTally, InvalidRow, Notes, group_faults
from penchant_import.rules import DEFAULT_WORDS, MAX_INTERACTIONS, MAX_PIECES, UNREADABLE, encode

BATCH_ROWS = MAX_PIECES
BATCH_BYTES = 8 * 1024 * 1024
"""Where a batch ends that has fewer rows: half of what a request with interactions may hold by default."""
RETENTION_DAYS = 396
"""How many days interactions are kept where settings do not say it."""
MAX_EXAMPLES = 3
"""Pieces, and interactions, that a dry run shows."""
MAX_INVALID = 100
"""Faults that a report lists; all are counted."""
OWN_FORMATS = frozenset({"ndjson", "specification"})
"""Formats that have no columns which an option could name."""
MAX_LISTED_FILES = 3
"""Files of which an error says what was found in them."""
_MOST_ROWS = {
    **dict.fromkeys((DraftKind.WHITELIST, DraftKind.BLACKLIST, DraftKind.SETTINGS), 1),
    DraftKind.INTERACTION: MAX_INTERACTIONS,
}
"""Rows of a batch of other kinds; in more at once interactions are stored in two thirds of the time."""
_COUNTS = {
    DraftKind.PIECE: "pieces",
    DraftKind.INTERACTION: "interactions",
    DraftKind.WHITELIST: "lists",
    DraftKind.BLACKLIST: "lists",
    DraftKind.SETTINGS: "settings",
    DraftKind.PLACEMENT: "placements",
    DraftKind.DRAFT: "drafts",
    DraftKind.PREFERENCES: "preferences",
    DraftKind.LINE: "lines",
}
"""The member of the tally in which the things of each kind are counted."""


class ImportProgress(NamedTuple):
    """Progress of an import: how far files are read, and how many rows of all runs were stored."""

    position: Position
    rows: int


class Import:
    """One import of some files into a target; without target everything is only checked."""

    def __init__(
        self,
        name: str,
        files: Files,
        options: ImportOptions,
        *,
        target: Target | None,
        skip_invalid: bool = False,
        checks: RequestChecks | None = None,
    ) -> None:
        """Prepare an import; `run` reads the files, whose rows are made one batch at a time."""
        self.notes = Notes()
        self.tally = ImportTally()
        self.resumed_at = 0
        self.examples: list[bytes] = []
        self.sample = ImportSample()
        self._name = name
        self._options = options
        self._note_rules(PlainChecks() if checks is None else checks)
        self._drafts = read_drafts(name, files, options, self.notes)
        self._files = files
        self._target = target
        self._skip_invalid = skip_invalid
        self._checks = PlainChecks() if checks is None else checks
        self._checkpoint: tuple[CheckpointFile, str] | None = None
        self._created_at = ""
        self._shift_ms = 0
        self._oldest: int | None = None
        self._kept: BatchSpool | None = None
        self._stored_from: BatchSpool | None = None
        self._position: Position | None = None

    def resume(self, file: CheckpointFile, fingerprint: str) -> int | None:
        """Note from now on how far it is, and go on where an earlier run of the same import was.

        Returns by how much that run moved times, or ``None`` if there was none.
        """
        self._checkpoint = file, fingerprint
        checkpoint = file.load(fingerprint)
        # A source that was deleted and made again holds nothing of what the checkpoint says.
        if checkpoint is None or self._target is None or checkpoint.created_at != self._target.created_at():
            return None
        self.tally, self.resumed_at, self._shift_ms = checkpoint.tally, checkpoint.tally.rows, checkpoint.shift_ms
        return checkpoint.shift_ms

    def shift(self, milliseconds: int) -> None:
        """Move the times of all interactions."""
        self._shift_ms = milliseconds

    def check_all(self, folder: Path | None, report_progress: Callable[[ImportProgress], None]) -> "Import":
        """Read and check everything, and return what that found; `run` then stores it, and reads no file again.

        Checked batches are kept in ``folder`` meanwhile, or where the system keeps passing files. Without room there
        `run` does read again.
        """
        first = Import(self._name, Files(self._files.all), self._options, target=None, checks=self._checks)
        with ExitStack() as stack:
            first._kept = kept = stack.enter_context(closing(BatchSpool(folder)))
            first.run(report_progress)
            if kept.is_complete and not first.tally.invalid_rows:
                self.notes, self._stored_from = first.notes, kept
                self.sample.named = self.notes.named
                stack.pop_all()
        return first

    def run(self, report_progress: Callable[[ImportProgress], None]) -> None:
        """Import everything that is not imported yet.

        Raises:
            InvalidInput: a row may not be stored, and is not to be skipped; batches before its own are stored.
            UnreadableFile: nothing in the files is of the format.
        """
        self._skip(report_progress)
        for checked, position in self._checked_batches():
            self._position = position
            self._take(checked)
            if self._kept is not None:
                self._kept.keep(checked, position)
            report_progress(self._progress())
        if not self.tally.rows:
            raise _nothing_recognised(self._name, self._files)
        if self._checkpoint is not None:
            self._checkpoint[0].remove()

    def _skip(self, report_progress: Callable[[ImportProgress], None]) -> None:
        """Read again, without storing it, what an earlier run has stored, so that the report covers all rows."""
        # Rows come in the same order each time: the fingerprint covers the files, and how they are read.
        left = self.resumed_at
        while left > 0:
            read = sum(1 for _ in islice(self._drafts, min(left, BATCH_ROWS)))
            left -= read
            report_progress(self._progress())
            if not read:
                break

    def _progress(self) -> ImportProgress:
        return ImportProgress(position=self._position or self._files.position, rows=self.tally.rows)

    def _checked_batches(self) -> Iterator[tuple[CheckedBatch, Position]]:
        """Yield what is still to be stored: what was checked first, or what the files hold."""
        if self._stored_from is not None:
            yield from self._stored_from.read()
            return
        for batch in _batches(self._drafts):
            checked = check(batch, time.time_ns() // 1_000_000, self.notes, self._checks)
            yield checked, self._files.position

    def _take(self, checked: CheckedBatch) -> None:
        now = time.time_ns() // 1_000_000
        self._note_invalid(checked)
        if checked.invalid_rows and not self._skip_invalid and self._target is not None:
            raise _stopped(checked.invalid[0], checked.invalid_rows)
        if checked.kind is DraftKind.PIECE and not self.tally.rows:
            self._set_up(checked.items)
        self._store(checked, now)
        self.tally.rows += checked.rows
        self._save()

    def _note_rules(self, checks: RequestChecks) -> None:
        """Let readers know what the service takes, and by which rule it makes words."""
        self.sample.named = self.notes.named
        self.notes.word_rule = checks.word_rule

        def is_storable(body: bytes) -> bool:
            try:
                checks.read(DraftKind.PIECE.value, b"[" + body + b"]", 0)
            except (PenchantError, *UNREADABLE):
                return False
            return True

        self.notes.is_storable = is_storable

    def source_settings(self) -> Settings:
        """Return the settings of the source, or those that this import would make it with."""
        if self._target is not None:
            # A key may be for content alone.
            with suppress(PenchantError):
                return self._target.settings()
        return new_source_settings(self._options, self.sample.pieces.values())

    def _set_up(self, pieces: Sequence[Any]) -> None:
        """Make a source that there is not with the settings that its first pieces call for."""
        if self._target is None:
            return
        settings = new_source_settings(self._options, [piece.body for piece in pieces])
        if not any(settings.values()):
            return
        try:
            if not self._target.created_at():
                self._target.create(settings)
            elif self._options.words is not None and self._target.settings().get("words") != settings.get("words"):
                reason = "the source is there already, and keeps its settings: change `words` in these"
                self.notes.left_out("(settings)", "--words", reason, 1)
        except PenchantError as error:
            # As above; pieces are no worse for it. Words of the default come with the making itself.
            members = "imageAttribute" if settings.get("words") == DEFAULT_WORDS else "imageAttribute, words"
            self.notes.left_out("(settings)", members, error.detail, 1)

    def _save(self) -> None:
        if self._checkpoint is None or self._target is None:
            return
        file, fingerprint = self._checkpoint
        # Asked for after the first batch, which may have made the source.
        self._created_at = self._created_at or self._target.created_at()
        file.save(
            Checkpoint(fingerprint=fingerprint, created_at=self._created_at, shift_ms=self._shift_ms, tally=self.tally)
        )

    def _note_invalid(self, checked: CheckedBatch) -> None:
        self.tally.invalid_rows += checked.invalid_rows
        room = MAX_INVALID - len(self.tally.invalid)
        self.tally.invalid = self.tally.invalid + list(checked.invalid[: max(0, room)])
        group_faults(self.tally.faults, checked.invalid, by_columns=self._name not in OWN_FORMATS)

    def _store(self, checked: CheckedBatch, now: int) -> None:
        """Store what of a batch may be stored, or only count it without a target, and add it to the tally."""
        tally, target, items, stored = self.tally, self._target, checked.items, BatchResult()
        if target is None:
            self._show(checked)
        if not items:
            return
        # What is only checked first is judged as it is stored.
        is_judged = self._kept is None
        if is_judged and checked.kind is DraftKind.INTERACTION:
            items = [self._finished(item) for item in items]
            tally.expired += self._count_expired(items, now)
            self.sample.take_interactions(items, now)
        elif is_judged and checked.kind is DraftKind.PIECE:
            self.sample.take_pieces(items)
        if target is not None:
            stored = _send(target, checked.kind, items)
        count = _COUNTS[checked.kind]
        setattr(tally, count, getattr(tally, count) + len(items) + checked.superseded)
        tally.superseded += checked.superseded
        for member in BatchResult._fields:
            setattr(tally, member, getattr(tally, member) + getattr(stored, member))

    def _show(self, checked: CheckedBatch) -> None:
        room = max(0, MAX_EXAMPLES - len(self.examples))
        if checked.kind is DraftKind.PIECE:
            self.examples += [piece.body for piece in checked.items[:room]]
        elif checked.kind is DraftKind.INTERACTION and not self.tally.interactions:
            self.examples += [encode(interaction_members(item)) for item in checked.items[:MAX_EXAMPLES]]

    def _finished(self, interaction: CheckedInteraction) -> CheckedInteraction:
        """Return an interaction with its event id, which goes by the time as it was read, and its time moved."""
        event_id = interaction.event_id or stable_event_id(interaction)
        occurred_at = None if interaction.occurred_at is None else interaction.occurred_at + self._shift_ms
        user_id, kind, piece_id, _, _, shown_in, portion = interaction
        # By place, which takes a third of the time of `_replace`.
        return type(interaction)(user_id, kind, piece_id, occurred_at, event_id, shown_in, portion)

    def _count_expired(self, interactions: Sequence[CheckedInteraction], now: int) -> int:
        if self._target is None:
            return 0
        if self._oldest is None:
            self._oldest = (now // DAY_MS - int(self._target.settings().get("retentionDays", RETENTION_DAYS))) * DAY_MS
        tally, times = self.tally, [item.occurred_at for item in interactions if item.occurred_at is not None]
        expired = [item for item in times if item < self._oldest]
        tally.newest = max([tally.newest, *times])
        tally.newest_expired = max([tally.newest_expired, *expired])
        # Moved so that the newest is now, an old one counts if it is near enough to that.
        is_near = tally.newest - tally.newest_expired < now - self._oldest
        tally.shift_helps = is_near and now - tally.newest > DAY_MS
        return len(expired)


def _send(target: Target, kind: DraftKind, items: Sequence[Any]) -> Any:
    """Have a target store the items of a batch, and return its `BatchResult`; of lists and settings there is one."""
    match kind:
        case DraftKind.PIECE:
            return target.submit(items)
        case DraftKind.INTERACTION:
            return target.record(items)
    target.put(kind.value, items)
    return BatchResult()


def _batches(drafts: Iterator[Draft]) -> Iterator[list[Draft]]:
    """Yield drafts in batches of one kind; a list or settings is one by itself."""
    batch: list[Draft] = []
    size = most = 0
    for draft in drafts:
        is_full = len(batch) >= most or size + len(draft.body) > BATCH_BYTES
        if batch and (is_full or draft.kind is not batch[0].kind):
            yield batch
            batch, size = [], 0
        if not batch:
            most = _MOST_ROWS.get(draft.kind, BATCH_ROWS)
        batch.append(draft)
        size += len(draft.body)
    if batch:
        yield batch


def _stopped(first: InvalidRow, rows: int) -> InvalidInput:
    more = f" (and {rows - 1} more rows of its batch)" if rows > 1 else ""
    where = f"{first.file}, line {first.line}"
    return InvalidInput(
        f"{where} may not be stored{more}, nothing of its batch is: mend it, or leave such rows out with "
        "--skip-invalid. Run the same command again to go on from here.",
        faults=[Fault(pointer=first.pointer or "(row)", detail=first.detail)],
    )


def new_source_settings(options: ImportOptions, pieces: Iterable[bytes]) -> dict[str, Any]:
    """Return the settings of a source that an import makes: where its first pieces have pictures, and words.

    Words are those of the members that the options name, by default of the label and the description.
    """
    addresses = {
        normalize_name(member): member
        for body in islice(pieces, MAX_SAMPLED_PIECES)
        for member, value in read_extras(body).items()
        if isinstance(value, str) and value.startswith(("http://", "https://"))
    }
    picture = next((addresses[name] for name in PICTURE_NAMES if name in addresses), None)
    pointer = None if picture is None else "/" + picture.replace("~", "~0").replace("/", "~1")
    members = DEFAULT_WORDS["from"] if options.words is None else list(options.words)
    words = {**DEFAULT_WORDS, "from": members, "language": options.language} if members else None
    settings = {"imageAttribute": pointer, "words": words}
    return {name: value for name, value in settings.items() if value is not None}


def _nothing_recognised(name: str, files: Files) -> UnreadableFile:
    """Return the error of files that hold nothing of a format, with what they hold instead."""
    contents = [
        f"{file}: {printable(files.findings[file]()) if file in files.findings else 'no row or entry'}"
        for file in files.all[:MAX_LISTED_FILES]
    ]
    more = len(files.all) - len(contents)
    rest = f"; and {more} more files" if more else ""
    return UnreadableFile(f"Nothing of the format {name} was recognised. Found {'; '.join(contents)}{rest}.")


def newest_moment(name: str, files: Files, options: ImportOptions, checks: RequestChecks) -> int | None:
    """Return the time of the newest interaction in the files, in ms since 1970 UTC; rows with faults do not count."""
    newest: int | None = None
    now = time.time_ns() // 1_000_000
    for batch in _batches(read_drafts(name, files, options, Notes())):
        if batch[0].kind is DraftKind.INTERACTION:
            times = [item.occurred_at for item in check(batch, now, Notes(), checks).items if item.occurred_at]
            newest = max([*times, *([] if newest is None else [newest])], default=None)
    return newest
