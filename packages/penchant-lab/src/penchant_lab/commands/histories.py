"""Histories for evaluation and tuning: those of a source or of files, their options, and kernels to search with."""

import contextlib
import functools
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from penchant.bootstrap import kernel_folder, storage_of
from penchant.cli.locations import Command, DataLocation, data_options, existing_file
from penchant.cli.options import account_option, head_of
from penchant.enrichment import rule_of
from penchant.errors import InvalidInput, PenchantError
from penchant.importing import numbered_lines
from penchant.model import MAX_INTERACTIONS_PER_REQUEST, MAX_PIECES_PER_SUBMISSION, SourceSettings
from penchant.settings import NodeSettings
from penchant.storage import Erasure, Storage, user_key
from penchant.wire import decode_settings, decode_stored_settings, decode_submission
from penchant.wire.recording import decode_interaction_lines
from penchant.wire.stored import PieceReading, decode_stored_piece
from penchant_batch.lists import KernelChoice
from penchant_engine.compiling import load_kernels
from penchant_engine.index.compiled.samples import FINDING, RIDGE, Kind
from penchant_engine.model import DAY_MS, IndexedPiece, InteractionType, counted_portion
from penchant_lab import splits
from penchant_lab.histories import Row, SourceHistory, history_of
from penchant_lab.trials import EvaluationRequest

UNDATED = 1 << 62
"""When a piece of a file became available that does not say so: whenever it is asked."""
FEW = 100
"""Searches up to which kernels and processes take longer than doing without: some tens of milliseconds each."""
NAMES = ("{}.ndjson.gz", "{}.ndjson")
_WHICH = "Name one: a source with --source, a folder with --folder, or files with --pieces and --interactions."


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOrigin:
    """Where a history comes from: a source of a database, or files."""

    settings: NodeSettings
    account: str
    source: str | None = None
    pieces: Path | None = None
    interactions: Path | None = None
    source_settings: Path | None = None

    def read(self) -> SourceHistory:
        """Return the history.

        Raises:
            PenchantError: there is none, or a file is not acceptable.
        """
        given = None if self.source_settings is None else decode_settings(self.source_settings.read_bytes())
        if self.source is not None:
            with contextlib.closing(storage_of(self.settings, make=False)) as storage:
                return read_source(storage, self.account, self.source, given)
        assert self.pieces is not None  # noqa: S101  # or there were a source
        assert self.interactions is not None  # noqa: S101  # as above
        return _read_files(self.pieces, self.interactions, given or SourceSettings())

    def names(self, history: SourceHistory) -> Sequence[str]:
        """Return the names of a history's people by their numbers; of who was erased meanwhile the key."""
        if self.source is None:
            return [str(key) for key in history.people]
        with contextlib.closing(storage_of(self.settings, make=False)) as storage:
            account_id = head_of(storage, self.account, self.source).account_id
            with storage.sources.open_export(account_id, self.source) as export:
                found = {each.user_id for batch in export.interactions(-UNDATED) for each in batch}
        keys = {history.person_key(name): name for name in found}
        return [keys.get(key, str(key)) for key in history.people]


def history_options(function: Command) -> Command:
    """Add the options that name a source, or files; `origin_of` takes them all."""
    for option in (
        click.option("--source-settings", type=existing_file, help="File with the settings (JSON) to go by instead."),
        click.option("--interactions", type=existing_file, help="NDJSON file of interactions, also gzip."),
        click.option("--pieces", type=existing_file, help="NDJSON file of pieces, also gzip."),
        click.option(
            "--folder",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Folder with pieces.ndjson and interactions.ndjson, or both with .gz.",
        ),
        click.option("--source", help="Source of the database."),
        account_option,
        data_options,
    ):
        function = option(function)
    return function


def trial_options(function: Command) -> Command:
    """Add the options that say what is held out and what counts as liked; `trial_of` takes them."""
    for option in (
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of all draws."),
        click.option(
            "--relevant",
            multiple=True,
            type=click.Choice([kind.value for kind in InteractionType]),
            help="Type of held-out interaction that counts as liked; repeat it (default Purchase, RateLike, Bookmark).",
        ),
        click.option(
            "--split",
            type=click.Choice(splits.KINDS),
            default="time",
            help="Hold out the last fifth of each person's interactions, a random fifth, all after one moment, or each "
            "person's next like.",
        ),
    ):
        function = option(function)
    return function


def trial_of(
    trial: Mapping[str, Any], *, people: int, cold: float = 0.0, **others: Any
) -> tuple[EvaluationRequest, dict[str, Any]]:
    """Return the request that `trial_options` describe, and the options that are not among them."""
    rest = dict(trial)
    rule = splits.SplitRule(kind=rest.pop("split"), cold=cold, seed=rest.pop("seed"))
    relevant = tuple(map(InteractionType, rest.pop("relevant"))) or splits.RELEVANT
    return EvaluationRequest(split=rule, relevant=relevant, people=people, **others), rest


def origin_of(*, location: DataLocation, **members: Any) -> HistoryOrigin:
    """Return where a command's history comes from; ``folder`` stands for the two files in it."""
    folder = members.pop("folder")
    if folder is not None:
        if any(members[name] is not None for name in ("source", "pieces", "interactions")):
            raise click.UsageError(_WHICH)
        members |= {name: _file(folder, name) for name in ("pieces", "interactions")}
    if (members["source"] is None) == (members["pieces"] is None or members["interactions"] is None):
        raise click.UsageError(_WHICH)
    return HistoryOrigin(settings=location.settings(), **members)


def read_source(storage: Storage, account: str, source: str, given: SourceSettings | None = None) -> SourceHistory:
    """Return the history of a source, under its own settings unless others are given; what is past retention is none.

    Raises:
        UnknownSource: the account has none of this name.
    """
    account_id = head_of(storage, account, source).account_id
    with storage.sources.follow_content(account_id, source, None) as feed:
        stored = feed.curation.settings
        settings = given or decode_stored_settings(stored)
        # Under other settings words are worked out here; those that are kept are by the rule in force.
        rule = feed.curation.words if given is None else rule_of(settings)
        reading = PieceReading(rule, settings.vocabulary)
        is_kept = rule == feed.curation.words
        pieces = [
            decode_stored_piece(
                row.body,
                row.first_submitted_at,
                reading=reading,
                keywords=(
                    reading.keywords_of(row.body, row.words) if is_kept else reading.keywords_of_unstored(row.body)
                ),
            )
            for batch in feed.batches
            for row in batch
            if not row.deleted
        ]
        person_key = functools.partial(user_key, feed.head.source_id)
    return history_of(source, pieces, _rows_of_source(storage, account_id, source, settings), settings, person_key)


@contextlib.contextmanager
def kernels_for(history: SourceHistory, settings: NodeSettings) -> Iterator[KernelChoice]:
    """Give the compiled kernels that many searches are worth."""
    with contextlib.ExitStack() as stack:
        folder, data = kernel_folder(settings), Path(settings.data)
        # No data folder is made for a history of files.
        if folder.is_relative_to(data) and not data.exists():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penchant-kernels-")))
        kinds: set[Kind] = {FINDING, RIDGE, ("d", "B")}
        # Weights above 255 take two bytes, for which there are kernels of their own.
        if any(max(piece.weights.values(), default=0) > 255 for piece in history.pieces):
            kinds |= {("d", "H")}
        for kind in kinds:
            # Compiled before there are several processes that would.
            load_kernels(folder, kind)
        yield KernelChoice(str(folder.absolute()), tuple(sorted(kinds)))


def _file(folder: Path, name: str) -> Path:
    file = next((folder / each.format(name) for each in NAMES if (folder / each.format(name)).exists()), None)
    if file is None:
        raise InvalidInput(f"{folder} has no {name}.ndjson or {name}.ndjson.gz.")
    return file


def _rows_of_source(storage: Storage, account_id: int, source: str, settings: SourceSettings) -> Iterator[Row]:
    oldest = settings.oldest_day(_now() // DAY_MS) * DAY_MS
    with storage.sources.follow_interactions(account_id, source, None) as feed:
        for batch in feed.batches:
            for row in batch:
                # What an erasure took away is not in the feed any more.
                if not isinstance(row, Erasure) and row.occurred_at >= oldest:
                    yield row.user_key, row.piece_id, row.type, row.occurred_at, row.portion


def _read_files(pieces: Path, interactions: Path, settings: SourceSettings) -> SourceHistory:
    name = pieces.resolve().parent.name
    reading = PieceReading(rule_of(settings), settings.vocabulary)
    return history_of(name, _pieces_of(pieces, reading), _rows_of_file(interactions), settings)


def _pieces_of(path: Path, reading: PieceReading) -> list[IndexedPiece]:
    pieces: dict[str, IndexedPiece] = {}
    for first, lines in _batches(path, MAX_PIECES_PER_SUBMISSION):
        with _located(path, first):
            submission = decode_submission(b"[" + b",".join(lines) + b"]")
        # Of two pieces with the same id the later counts, as in an import.
        pieces |= {
            each.id: decode_stored_piece(
                each.body, UNDATED, reading=reading, keywords=reading.keywords_of_unstored(each.body)
            )
            for each in submission.pieces
        }
    return list(pieces.values())


def _rows_of_file(path: Path) -> Iterator[Row]:
    now = _now()
    for first, lines in _batches(path, MAX_INTERACTIONS_PER_REQUEST):
        with _located(path, first):
            batch = decode_interaction_lines(b"\n".join(lines), now)
        for each in batch:
            occurred_at = now if each.occurred_at is None else each.occurred_at
            portion = counted_portion(each.type, each.portion)
            # As in a feed: what counts for nothing is in no history.
            if portion:
                yield each.user_id, each.piece_id, each.type, occurred_at, portion


def _batches(path: Path, size: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield a file's lines but for blank ones, gzip or not, in batches with their first line's number."""
    # The numbers are those of lines in the file, blank ones counted, for messages.
    numbered = numbered_lines(path)
    while batch := list(itertools.islice(numbered, size)):
        yield batch[0][0], [line for _, line in batch]


@contextlib.contextmanager
def _located(path: Path, first: int) -> Iterator[None]:
    try:
        yield
    except PenchantError as error:
        error.detail = f"{path}, in the batch from line {first}: {error.detail}"
        raise


def _now() -> int:
    return time.time_ns() // 1_000_000
