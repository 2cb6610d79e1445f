"""Pulls: an address that is read again and again into a source of a server, by the imports of files, differences only.

    fetch --(the same as before)--------------------------+--> away twice: delete --> state file
      |                                                   |
      +--> check all --> import, what changed is sent ----+
      |                      |
      +--(a failure)---------+--> state file: tried again at the next turn

Which pieces a pull has brought, and a hash of each, lies in its state file: what is the same is not sent again, and
only what it has brought is ever deleted. A process that ends half-way is followed by one that begins again, and what
is stored twice is stored once.
"""

import enum
import fcntl
import hashlib
import os
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from penchant_engine.errors import PenchantError, Refused
from penchant_engine.moments import format_timestamp
from penchant_import.fetching import FetchRules, LookUp, Validators, fetch, look_up
from penchant_import.files import Files, amount, gather, printable
from penchant_import.hosting import BatchResult, Settings
from penchant_import.options import ImportOptions
from penchant_import.remote import RemoteTarget
from penchant_import.report import ImportReport
from penchant_import.rules import MAX_PIECES
from penchant_import.running import Import

MIN_ABSENCES = 2
"""How often a piece is not there before it is deleted: a file that is written just now may lack some."""
DELETED_SHARE = 10
"""One of so many pieces of the source is deleted at once; more wait for somebody who says so."""


class PullOutcome(enum.StrEnum):
    """What came of a run; of the last two somebody should know."""

    STORED = "stored"
    UNCHANGED = "unchanged"
    WITHHELD = "withheld"
    FAILED = "failed"

    @property
    def is_failure(self) -> bool:
        """Whether somebody should look at it."""
        return self in {PullOutcome.WITHHELD, PullOutcome.FAILED}


class PullSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What is pulled, as its file says it: from which address into which source of which server.

    ``delete_missing`` says that the file is a complete listing, so that what is not in it is deleted; ``options`` are
    those of imports, by their names.
    """

    address: str
    format: str = msgspec.field(name="from")
    url: str
    source: str
    every: str = "15m"
    key_file: Path | None = None
    skip_invalid: bool = False
    delete_missing: bool = False
    hosts: list[str] = []
    limit_bytes: int = FetchRules().limit_bytes
    options: dict[str, bool | int | float | str | list[str]] = {}

    @property
    def rules(self) -> FetchRules:
        """What may be fetched."""
        return FetchRules(hosts=frozenset(map(str.lower, self.hosts)), limit_bytes=self.limit_bytes)


class PullRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run: pieces new, replaced, deleted, away, and those whose deletion waits.

    ``bytes`` is what was fetched, packed as it came. Runs that stored nothing have no report.
    """

    begun_at: str
    seconds: float
    outcome: PullOutcome
    detail: str
    bytes: int = 0
    created: int = 0
    replaced: int = 0
    deleted: int = 0
    away: int = 0
    withheld: int = 0
    report: ImportReport | None = None


class PullState(msgspec.Struct, kw_only=True):
    """What a run leaves for the next one: of which source, what the server called the file, and what was brought.

    ``pieces`` has a hash of each, ``away`` how often those were not there that are missing, ``others`` hashes of
    lists and settings.
    """

    created_at: str = ""
    etag: str = ""
    modified: str = ""
    content: bytes = b""
    pieces: dict[str, bytes] = {}
    away: dict[str, int] = {}
    others: dict[str, bytes] = {}

    def forget_file(self) -> None:
        """Have the file read the next time, whatever its server says."""
        self.etag, self.modified, self.content = "", "", b""


class StateFile:
    """The file of a pull's state, which one process has at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep others from the pull.

        Raises:
            Refused: another process is at it, or the file cannot be made.
        """
        try:
            descriptor = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(f"The state of the pull cannot be kept: {error.strerror}: {error.filename}.") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Refused(f"Another process is at this pull: it has {self._path.with_suffix('.lock')}.") from None
        try:
            yield
        finally:
            os.close(descriptor)

    def load(self) -> PullState:
        """Return the state; that of a first run where there is none.

        Raises:
            Refused: the file is none that a pull has written.
        """
        try:
            return msgspec.msgpack.decode(zlib.decompress(self._path.read_bytes()), type=PullState)
        except FileNotFoundError:
            return PullState()
        except (zlib.error, msgspec.DecodeError):
            raise Refused(f"{self._path} is no state of a pull; move it away to begin anew.") from None

    def save(self, state: PullState) -> None:
        """Write the state in place of the one before."""
        written = self._path.with_suffix(".new")
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(zlib.compress(msgspec.msgpack.encode(state), 1))
            file.flush()
            os.fsync(file.fileno())
        written.replace(self._path)


class _ChangesTarget:
    """A source into which only that goes which is not as it was brought before; as an import's target."""

    def __init__(self, target: RemoteTarget, state: PullState) -> None:
        self.address = target.address
        self.created_at, self.settings = target.created_at, target.settings
        self.seen: set[str] = set()
        self._target = target
        self._state = state

    def create(self, settings: Settings) -> None:
        """Make the source, with these settings, where it is missing."""
        self._target.create(settings)

    def submit(self, pieces: Sequence[Any]) -> BatchResult:
        """Submit the pieces that are new or changed."""
        hashes = {piece.id: _hash(piece.body) for piece in pieces}
        changed = [piece for piece in pieces if self._state.pieces.get(piece.id) != hashes[piece.id]]
        self.seen |= hashes.keys()
        if not changed:
            return BatchResult()
        # What then fails half-way is read again, even if the server has the file of before once more.
        self._state.forget_file()
        result = self._target.submit(changed)
        self._state.pieces |= hashes
        return result

    def record(self, interactions: Sequence[Any]) -> BatchResult:
        """Store interactions; those that are known already go by their event ids."""
        self._state.forget_file()
        return self._target.record(interactions)

    def put(self, kind: str, bodies: Sequence[bytes]) -> None:
        """Put what has changed."""
        known = _hash(b"\n".join(bodies))
        if self._state.others.get(kind) != known:
            self._state.forget_file()
            self._target.put(kind, bodies)
            self._state.others[kind] = known


class Pull:
    """A pull, whose file is read with these options; ``find`` looks up hosts."""

    def __init__(
        self, spec: PullSpec, options: ImportOptions, key: str, file: StateFile, *, find: LookUp = look_up
    ) -> None:
        self._spec = spec
        self._options = options
        self._key = key
        self._file = file
        self._find = find
        self._counts: dict[str, Any] = {}

    def run(self, *, force: bool = False, anew: bool = False) -> PullRun:
        """Fetch, import and delete what is due to be; return what came of it, failures too.

        ``force`` deletes however much is due, ``anew`` sends what has not changed, too.

        Raises:
            Refused: another process is at it, or its state cannot be read.
        """
        begun_at, begun, self._counts = time.time_ns() // 1_000_000, time.monotonic(), {}
        with (
            self._file.lock(),
            closing(RemoteTarget(self._spec.url, key=self._key, source=self._spec.source)) as target,
            tempfile.TemporaryDirectory(prefix="penchant-pull-") as folder,
        ):
            state = self._file.load()
            try:
                # A source that was deleted, and maybe made again, holds nothing of what was brought.
                if target.created_at() != state.created_at:
                    state = PullState()
                if anew:
                    state.forget_file()
                    state.pieces, state.others = dict.fromkeys(state.pieces, b""), {}
                outcome, detail = self._pull(target, state, Path(folder), force=force)
                state.created_at = target.created_at()
            except PenchantError as error:
                outcome, detail = PullOutcome.FAILED, _failure_text(error, folder)
            finally:
                self._file.save(state)
        seconds = round(time.monotonic() - begun, 3)
        return PullRun(
            begun_at=format_timestamp(begun_at), seconds=seconds, outcome=outcome, detail=detail, **self._counts
        )

    def _pull(self, target: RemoteTarget, state: PullState, folder: Path, *, force: bool) -> tuple[PullOutcome, str]:
        known = Validators(state.etag, state.modified)
        download = fetch(self._spec.address, folder, known=known, rules=self._spec.rules, find=self._find)
        content = state.content if download.path is None else _hash_of(download.path)
        self._counts["bytes"] = download.byte_count
        is_same = content == state.content
        is_whole = True
        if is_same or download.path is None:
            gone = {*state.away}
        else:
            seen, is_whole = self._import(target, state, download.path)
            gone = state.pieces.keys() - seen
        state.etag, state.modified = download.validators
        state.content = content
        if not self._spec.delete_missing:
            # What has left the file stays in the source; if it comes back it is submitted once more.
            state.pieces = {item: known for item, known in state.pieces.items() if item not in gone}
            state.away = {}
        # A row with a fault may be of a piece that then only seems to be away.
        elif is_whole:
            state.away = {item: state.away.get(item, 0) + 1 for item in gone}
        return self._delete(target, state, force=force, unchanged=is_same)

    def _import(self, target: RemoteTarget, state: PullState, path: Path) -> tuple[set[str], bool]:
        """Import a file; return the ids of its pieces, and whether they are all there are, by its rows and itself."""
        begun, spec = time.monotonic(), self._spec
        changes = _ChangesTarget(target, state)
        work = Import(spec.format, Files(gather([path])), self._options, target=changes, skip_invalid=spec.skip_invalid)
        if not spec.skip_invalid:
            checked = work.check_all(path.parent, lambda _progress: None)
            if checked.tally.faults:
                first, rows = checked.tally.faults[0], checked.tally.invalid_rows
                raise Refused(
                    f"{amount(rows, 'rows')} may not be stored, so nothing is. {first.where}: {first.message}"
                )
        target.skips_refused = spec.skip_invalid
        work.run(lambda _progress: None)
        self._counts |= {"created": work.tally.created, "replaced": work.tally.replaced}
        self._counts["report"] = ImportReport.of(
            work.tally,
            work.notes,
            format=spec.format,
            source=spec.source,
            dry_run=False,
            resumed_at_row=0,
            seconds=round(time.monotonic() - begun, 3),
        )
        is_whole = not (work.tally.invalid_rows or target.refused or work.notes.is_partial)
        return changes.seen, is_whole

    def _delete(
        self, target: RemoteTarget, state: PullState, *, force: bool, unchanged: bool
    ) -> tuple[PullOutcome, str]:
        """Delete the pieces that were away often enough; return what came of the whole run."""
        due = sorted(item for item, times in state.away.items() if times >= MIN_ABSENCES)
        self._counts["away"] = len(state.away) - len(due)
        most = target.count_pieces() // DELETED_SHARE if due else 0
        if len(due) > most and not force:
            self._counts["withheld"] = len(due)
            return PullOutcome.WITHHELD, (
                f"{len(due)} pieces were away {MIN_ABSENCES} times. {most} of this source may be deleted at once; if"
                " they are to go, run it with --once --force."
            )
        for start in range(0, len(due), MAX_PIECES):
            batch = due[start : start + MAX_PIECES]
            self._counts["deleted"] = self._counts.get("deleted", 0) + target.delete(batch)
            for item in batch:
                del state.away[item]
                state.pieces.pop(item, None)
        if unchanged and not self._counts.get("deleted"):
            return PullOutcome.UNCHANGED, "The file is the one of the last time."
        return PullOutcome.STORED, ""


def run_line(run: PullRun) -> str:
    """Return a run in a line: when, what came of it, how many pieces, and why."""
    counts = {"new": run.created, "replaced": run.replaced, "deleted": run.deleted, "away": run.away}
    numbers = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    parts = (numbers, printable(run.detail), f"{run.bytes} bytes in {run.seconds:.1f} s")
    return f"{run.begun_at}\t{run.outcome.value}\t" + "; ".join(part for part in parts if part)


def _failure_text(error: PenchantError, folder: str) -> str:
    """Return what is wrong, with names of files but not the folder, which is gone by then."""
    parts = [error.detail, *(f"{fault.pointer or ''}: {fault.detail}" for fault in error.faults[:1])]
    return printable(" ".join(parts).replace(f"{folder}/", ""))


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=8).digest()


def _hash_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
