"""Pulls: addresses that are read again and again into a source, by the imports of files, differences only.

    claim --> fetch --(the same as before)--------------------------+--> away twice: delete --> log, release
                |                                                   |
                +--> check all --> import, what changed is stored --+
                |                      |
                +--(a failure)---------+--> log, release: tried again at its next turn

Which pieces a pull has brought, and a hash of each, lies with the pull (`PullState`): what is the same is not submitted
again, and only what it has brought is ever deleted. A process that ends half-way is followed by one that begins
again, and what is stored twice is stored once.
"""

import enum
import hashlib
import re
import tempfile
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from penchant.clock import SYSTEM_CLOCK
from penchant.errors import PenchantError, Refused
from penchant.importing import (
    WINDOWED,
    FetchRules,
    Files,
    Import,
    ImportOptions,
    ImportReport,
    ImportVerdict,
    LookUp,
    StoredTarget,
    Validators,
    address_problem,
    amount,
    fetch,
    gather,
    judge,
    look_up,
    new_source_settings,
    printable,
)
from penchant.importing.targets import BatchResult
from penchant.model import EncodedPiece, ListKind, NewInteraction, SourceSettings
from penchant.settings import NodeSettings
from penchant.storage import DeletePieces, PullRecord, PullResult, Storage
from penchant.telemetry import logger
from penchant.wire import ExportedDraft, ExportedPlacement, StatedPreferences, encode, format_timestamp, source_problem

ACTOR = "pull"
"""The actor of pulls in the audit log; their commands are those of an import."""
LEAST_EVERY_S = 60
MOST_EVERY_S = 30 * 86_400
LEASE_MS = 120_000
"""For how long nobody else begins where a process has ended without a word."""
RENEWAL_S = 30.0
TIMES_AWAY = 2
"""How often a piece is not there before it is deleted: a file that is written just now may lack some."""
DELETED_SHARE = 10
"""One of so many pieces of the source is deleted at once; more wait for somebody who says so."""
KEPT_ENTRIES = 50
"""Fields, faults and the like that the log keeps of each report."""
_BATCH = 2_000
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


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


class PullSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is pulled: which format from which address, how often (seconds), and what the format leaves open.

    ``delete_missing`` says that the file is a complete listing, so that what is not in it is deleted; ``None`` is of
    pulls that were added before that was asked: those of formats that hold complete listings go on deleting.
    """

    format: str
    address: str
    every_s: int
    options: ImportOptions = ImportOptions()
    skip_invalid: bool = False
    delete_missing: bool | None = None

    @property
    def deletes(self) -> bool:
        """Whether pieces are deleted that are no longer in the file."""
        return self.format not in WINDOWED if self.delete_missing is None else self.delete_missing


class PullRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of a run: pieces new, replaced, deleted, away, and those whose deletion waits; report and verdict.

    ``bytes`` is what was fetched, packed as it came. Runs that stored nothing have no report.
    """

    pull: str
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

    @property
    def validators(self) -> Validators:
        """What to ask the server with."""
        return Validators(self.etag, self.modified)

    def forget_file(self) -> None:
        """Have the file read the next time, whatever its server says."""
        self.etag, self.modified, self.content = "", "", b""


class LostLease(Refused):
    """The pull was removed meanwhile, or another process is at it."""


class _ChangesTarget:
    """A source into which only that goes which is not as it was brought before; as an import's target.

    ``keep_lease`` is asked before anything is stored, and raises `LostLease`.
    """

    def __init__(self, target: StoredTarget, state: PullState, keep_lease: Callable[[], None]) -> None:
        self.address = target.address
        self.created_at, self.settings = target.created_at, target.settings
        self.seen: set[str] = set()
        self._target = target
        self._state = state
        self._keep_lease = keep_lease

    def create(self, settings: SourceSettings) -> None:
        """Make the source, with these settings, where it is missing."""
        self._prepare()
        self._target.create(settings)

    def submit(self, pieces: Sequence[EncodedPiece]) -> BatchResult:
        """Submit the pieces that are new or changed."""
        hashes = {piece.id: _hash(piece.body) for piece in pieces}
        changed = [piece for piece in pieces if self._state.pieces.get(piece.id) != hashes[piece.id]]
        self.seen |= hashes.keys()
        if not changed:
            return BatchResult()
        self._prepare()
        result = self._target.submit(changed)
        self._state.pieces |= hashes
        return result

    def record(self, interactions: Sequence[NewInteraction]) -> BatchResult:
        """Store interactions; those that are known already go by their event ids."""
        self._prepare()
        return self._target.record(interactions)

    def replace_list(self, kind: ListKind, ids: Sequence[str]) -> None:
        """Replace a list that has changed."""
        self._once(kind.value, encode(list(ids)), lambda: self._target.replace_list(kind, ids))

    def replace_settings(self, settings: SourceSettings) -> None:
        """Replace settings that have changed."""
        self._once("settings", repr(settings).encode(), lambda: self._target.replace_settings(settings))

    def put_placements(self, placements: Sequence[ExportedPlacement]) -> None:
        """Put placements in force that are not yet."""
        self._prepare()
        self._target.put_placements(placements)

    def put_drafts(self, drafts: Sequence[ExportedDraft]) -> None:
        """Store drafts that are not yet there."""
        self._prepare()
        self._target.put_drafts(drafts)

    def replace_preferences(self, stated: Sequence[StatedPreferences]) -> None:
        """Replace preferences."""
        self._prepare()
        self._target.replace_preferences(stated)

    def _prepare(self) -> None:
        """Make sure that something may be stored."""
        self._keep_lease()
        # What then fails half-way is read again, even if the server has the file of before once more.
        self._state.forget_file()

    def _once(self, name: str, content: bytes, replace: Callable[[], None]) -> None:
        if self._state.others.get(name) == _hash(content):
            return
        self._prepare()
        replace()
        self._state.others[name] = _hash(content)


class Puller:
    """Runs pulls in this process, one at a time; ``find`` looks up hosts."""

    def __init__(self, storage: Storage, settings: NodeSettings, *, find: LookUp = look_up) -> None:
        self._storage = storage
        self._settings = settings
        self._find = find

    def add(self, name: str, spec: PullSpec, *, account: str, source: str, actor: str) -> None:
        """Store a new pull, whose turn it is at once.

        Raises:
            Refused: its name, source, address or interval is not accepted, or there is one of its name.
        """
        if not _NAME.fullmatch(name):
            raise Refused("A pull's name has up to 64 small letters, digits, dots, hyphens and underscores.")
        problem = source_problem(source) or address_problem(spec.address, frozenset(self._settings.pull_hosts))
        if problem:
            raise Refused(problem)
        if not LEAST_EVERY_S <= spec.every_s <= MOST_EVERY_S:
            raise Refused("A pull runs once a minute at most, and once in 30 days at least.")
        record = PullRecord(
            name=name,
            account_id=self._storage.accounts.ensure(account),
            account=account,
            source=source,
            body=msgspec.json.encode(spec),
        )
        self._storage.pulls.add(record, actor=actor)

    def run_due(self) -> Iterator[PullRun]:
        """Run all pulls whose turn it is, but for those that others are at; yield what came of each."""
        for name in self._storage.pulls.list_due():
            run = self._run(name, due=True)
            if run is not None:
                yield run

    def run(self, name: str, *, force: bool = False, anew: bool = False) -> PullRun:
        """Run a pull now; ``force`` deletes however much is due, ``anew`` submits what has not changed, too.

        Raises:
            Refused: there is no such pull, or somebody is at it.
        """
        run = self._run(name, due=False, force=force, anew=anew)
        if run is None:
            require_pull(self._storage, name)
            raise Refused(f"The pull {name!r} is under way in another process; see `penchant pull log {name}` later.")
        return run

    def _run(self, name: str, *, due: bool, force: bool = False, anew: bool = False) -> PullRun | None:
        """Run a pull if nobody is at it, and store what came of it; ``None`` where that is not ours to say."""
        pulls, holder = self._storage.pulls, uuid.uuid4().hex
        if not pulls.claim(name, holder, lease_ms=LEASE_MS, due=due):
            return None
        record = pulls.find(name)
        if record is None:
            return None
        # By the database's clock: by another one this run would stand before or after those of other nodes.
        begun_at = record.lease_until - LEASE_MS
        try:
            with _kept_lease(self._storage, name, holder) as keep_lease:
                work = _PullWork(self._storage, self._settings, record, keep_lease, self._find)
                run = work.run(begun_at, force=force, anew=anew)
        except LostLease:
            logger.info("pull %s: removed, or taken over, while it was under way", name)
            return None
        except BaseException:
            # Ended from outside: the next process need not wait until the lease is over.
            pulls.release(name, holder)
            raise
        result = PullResult(
            begun_at=begun_at,
            run=encode(run),
            has_failed=run.outcome.is_failure,
            state=zlib.compress(msgspec.msgpack.encode(work.state), 1),
            pause_ms=work.spec.every_s * 1_000,
        )
        return run if pulls.finish(name, holder, result) else None


class _PullWork:
    """One run of a pull, which somebody else stores."""

    def __init__(
        self,
        storage: Storage,
        settings: NodeSettings,
        record: PullRecord,
        keep_lease: Callable[[], None],
        find: LookUp,
    ) -> None:
        self.spec = read_spec(record)
        self.state = _read_state(record)
        self._storage = storage
        self._settings = settings
        self._record = record
        self._keep_lease = keep_lease
        self._find = find
        self._target = StoredTarget(storage, account=record.account, source=record.source, actor=ACTOR)
        self._counts: dict[str, Any] = {}

    def run(self, begun_at: int, *, force: bool, anew: bool) -> PullRun:
        """Fetch, import and delete what is due to be; return what came of it, failures too.

        Raises:
            LostLease: it is no longer ours.
        """
        begun = time.monotonic()
        # A source that was deleted, and maybe made again, holds nothing of what was brought.
        if self._target.created_at() != self.state.created_at:
            self.state = PullState()
        if anew:
            self.state.forget_file()
            self.state.pieces = dict.fromkeys(self.state.pieces, b"")
            self.state.others = {}
        with tempfile.TemporaryDirectory(prefix="penchant-pull-") as folder:
            try:
                outcome, detail = self._pull(Path(folder), force=force)
            except LostLease:
                raise
            except PenchantError as error:
                outcome, detail = PullOutcome.FAILED, _failure_text(error, folder)
            except Exception as error:  # noqa: BLE001  # whatever a file does to its reader, the other pulls go on
                logger.exception("pull %s failed", self._record.name)
                outcome, detail = PullOutcome.FAILED, f"Unexpected: {type(error).__name__}; the log has more."
        self.state.created_at = self._target.created_at()
        return PullRun(
            pull=self._record.name,
            begun_at=format_timestamp(begun_at),
            seconds=round(time.monotonic() - begun, 3),
            outcome=outcome,
            detail=detail,
            **self._counts,
        )

    def _pull(self, folder: Path, *, force: bool) -> tuple[PullOutcome, str]:
        rules = FetchRules(hosts=frozenset(self._settings.pull_hosts), limit_bytes=self._settings.pull_limit_bytes)
        download = fetch(self.spec.address, folder, known=self.state.validators, rules=rules, find=self._find)
        content = self.state.content if download.path is None else _hash_of(download.path)
        self._counts["bytes"] = download.byte_count
        is_same = content == self.state.content
        is_whole = True
        if is_same or download.path is None:
            gone = {*self.state.away}
        else:
            seen, is_whole = self._import(download.path)
            gone = self.state.pieces.keys() - seen
        self.state.etag, self.state.modified = download.validators
        self.state.content = content
        if not self.spec.deletes:
            # What has left the file stays in the source; if it comes back it is submitted once more.
            self.state.pieces = {each: known for each, known in self.state.pieces.items() if each not in gone}
            self.state.away = {}
        # A row with a fault may be of a piece that then only seems to be away.
        elif is_whole:
            self.state.away = {each: self.state.away.get(each, 0) + 1 for each in gone}
        return self._delete(force=force, unchanged=is_same)

    def _import(self, path: Path) -> tuple[set[str], bool]:
        """Import a file; return the ids of its pieces, and whether they are all there are, by its rows and itself."""
        begun = time.monotonic()
        files, spec = gather([path]), self.spec
        limits = self._settings.piece_limits
        target = _ChangesTarget(self._target, self.state, self._keep_lease)
        work = Import(
            spec.format, Files(files), spec.options, target=target, skip_invalid=spec.skip_invalid, limits=limits
        )
        if not spec.skip_invalid:
            checked = work.check_first(path.parent, lambda _progress: None)
            if checked.tally.faults:
                first, rows = checked.tally.faults[0], checked.tally.invalid_rows
                raise Refused(f"{amount(rows, 'rows')} may not be stored, so nothing is. {first.where}: {first.told}")
        work.run(lambda _progress: None)
        report = ImportReport.of(
            work.tally,
            work.notes,
            format=spec.format,
            source=self._record.source,
            dry_run=False,
            resumed_at_row=0,
            seconds=round(time.monotonic() - begun, 3),
            verdict=_verdict(work, spec),
        )
        self._counts |= {"created": work.tally.created, "replaced": work.tally.replaced}
        self._counts["report"] = _shortened(report)
        return target.seen, not work.tally.invalid_rows and not work.notes.is_partial

    def _delete(self, *, force: bool, unchanged: bool) -> tuple[PullOutcome, str]:
        """Delete the pieces that were away often enough; return what came of the whole run."""
        due = sorted(each for each, times in self.state.away.items() if times >= TIMES_AWAY)
        head = self._storage.sources.read_head(self._record.account_id, self._record.source)
        most = 0 if head is None else head.piece_count // DELETED_SHARE
        self._counts["away"] = len(self.state.away) - len(due)
        if len(due) > most and not force:
            self._counts["withheld"] = len(due)
            return PullOutcome.WITHHELD, (
                f"{len(due)} pieces were away {TIMES_AWAY} times. {most} of this source may be deleted at once; if"
                f" they are to go, run `penchant pull run {self._record.name} --force`."
            )
        # What another pull brings as well stays, and is that one's from now on.
        others = self._storage.pulls.list_of(self._record.account_id, self._record.source)
        kept = {each for other in others if other.name != self._record.name for each in _read_state(other).pieces}
        ids = [each for each in due if each not in kept]
        for start in range(0, len(ids), _BATCH):
            self._keep_lease()
            command = DeletePieces(
                account_id=self._record.account_id,
                source=self._record.source,
                actor=ACTOR,
                ids=ids[start : start + _BATCH],
            )
            self._counts["deleted"] = self._counts.get("deleted", 0) + self._storage.submit(command).result().deleted
        for each in due:
            del self.state.away[each]
            self.state.pieces.pop(each, None)
        if unchanged and not self._counts.get("deleted"):
            return PullOutcome.UNCHANGED, "The file is the one of the last time."
        return PullOutcome.STORED, ""


def require_pull(storage: Storage, name: str) -> PullRecord:
    """Return a pull.

    Raises:
        Refused: there is none of this name.
    """
    record = storage.pulls.find(name)
    if record is None:
        raise Refused(f"There is no pull of the name {name!r}; see `penchant pull list`.")
    return record


def read_spec(record: PullRecord) -> PullSpec:
    """Return what a pull pulls; its address may hold credentials, `shown_address` does not."""
    return msgspec.json.decode(record.body, type=PullSpec)


def list_runs(storage: Storage, name: str) -> list[PullRun]:
    """Return what came of the last runs of a pull, the newest first."""
    return [msgspec.json.decode(body, type=PullRun) for body in storage.pulls.list_runs(name)]


def _read_state(record: PullRecord) -> PullState:
    return msgspec.msgpack.decode(zlib.decompress(record.state), type=PullState) if record.state else PullState()


@contextmanager
def _kept_lease(storage: Storage, name: str, holder: str) -> Iterator[Callable[[], None]]:
    """Renew a lease now and then in a thread; give the function that renews it at once, or raises `LostLease`."""
    ended = threading.Event()

    def renew() -> None:
        if not storage.pulls.renew(name, holder, lease_ms=LEASE_MS):
            raise LostLease(f"The pull {name!r} was removed, or another process is at it.")

    def renew_for_ever() -> None:
        while not ended.wait(RENEWAL_S):
            try:
                renew()
            except LostLease:
                return
            except PenchantError as error:
                logger.warning("pull %s: its lease could not be renewed: %s", name, error.detail)

    thread = threading.Thread(target=renew_for_ever, daemon=True)
    thread.start()
    try:
        yield renew
    finally:
        ended.set()
        thread.join()


def _verdict(work: Import, spec: PullSpec) -> ImportVerdict | None:
    """Return what lists come of a file by itself, of its first pieces."""
    if not work.tally.pieces and not work.tally.interactions:
        return None
    now = SYSTEM_CLOCK.now_ms()
    settings = new_source_settings(spec.options, work.sample.pieces.values())
    return judge(work.sampled_source(settings, now), work.sample, spec.format, now)


def _shortened(report: ImportReport) -> ImportReport:
    """Return a report without what is one by one in it past the first."""
    lists = {name: getattr(report, name)[:KEPT_ENTRIES] for name in report.__struct_fields__ if _is_list(report, name)}
    return msgspec.structs.replace(report, **lists)


def _is_list(report: ImportReport, name: str) -> bool:
    return isinstance(getattr(report, name), list)


def _failure_text(error: PenchantError, folder: str) -> str:
    """Return what is wrong, with names of files but not the folder, which is gone by then."""
    parts = [error.detail, *(f"{fault.pointer or ''}: {fault.detail}" for fault in error.faults[:1])]
    return printable(" ".join(parts).replace(f"{folder}/", ""))


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=8).digest()


def _hash_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
