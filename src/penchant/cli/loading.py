"""How does a file become a source? Lines in batches, through the same checks as requests."""

import gzip
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from penchant.cli.options import COMMAND_LINE
from penchant.errors import PenchantError
from penchant.model import MAX_INTERACTIONS_PER_REQUEST, MAX_PIECES_PER_SUBMISSION, NewInteraction
from penchant.storage import RecordInteractions, Storage, SubmitPieces
from penchant.wire import decode_interaction_lines, decode_submission

Step = Callable[[int], None]


def read_batches(path: Path, size: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield a file's lines, gzip or not and without blank ones, in batches with their first line's number."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        first, batch = 1, list[bytes]()
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            if not batch:
                first = number
            batch.append(line.rstrip(b"\r\n"))
            if len(batch) == size:
                yield first, batch
                batch = []
        if batch:
            yield first, batch


def newest_time(path: Path) -> int | None:
    """Return the time of the newest interaction in a file, in ms since 1970 UTC."""
    times = [each.occurred_at for batch in _interactions(path) for each in batch if each.occurred_at]
    return max(times, default=None)


class Loader:
    """Loads files into one source, showing how far it is."""

    def __init__(self, storage: Storage, account: str, source: str, console: Console) -> None:
        self._storage = storage
        self._account_id = storage.account_id(account)
        self._source = source
        self._console = console

    def load_pieces(self, path: Path) -> int:
        """Store the pieces of an NDJSON file; return how many it had.

        Raises:
            InvalidInput, InvalidSyntax: a line is not acceptable; batches before its own are stored.
        """
        with self._progress(path, MAX_PIECES_PER_SUBMISSION) as step:
            total = 0
            for first, lines in read_batches(path, MAX_PIECES_PER_SUBMISSION):
                body = b"[" + b",".join(lines) + b"]"
                with _located(path, first):
                    submission = decode_submission(body)
                command = SubmitPieces(
                    account_id=self._account_id,
                    source=self._source,
                    actor=COMMAND_LINE,
                    pieces=submission.pieces,
                )
                self._storage.submit(command).result()
                total += len(lines)
                step(len(lines))
        return total

    def load_interactions(self, path: Path, *, shift_ms: int = 0) -> int:
        """Store the interactions of an NDJSON file, their times moved; return how many it had.

        Raises:
            InvalidInput, InvalidSyntax: a line is not acceptable; batches before its own are stored.
        """
        with self._progress(path, MAX_INTERACTIONS_PER_REQUEST) as step:
            total = 0
            for batch in _interactions(path):
                command = RecordInteractions(
                    account_id=self._account_id,
                    source=self._source,
                    actor=COMMAND_LINE,
                    interactions=[_moved(each, shift_ms) for each in batch],
                )
                self._storage.submit(command).result()
                total += len(batch)
                step(len(batch))
        return total

    @contextmanager
    def _progress(self, path: Path, size: int) -> Iterator[Step]:
        """Give a function that moves a progress bar on a terminal, and prints a line at the end otherwise."""
        if not self._console.is_terminal:
            yield lambda _lines: None
            self._console.print(f"{self._source}: {path.name} is loaded", highlight=False, soft_wrap=True)
            return
        total = sum(len(lines) for _, lines in read_batches(path, size))
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(f"{self._source}: {path.name}", total=total)
            yield lambda lines: progress.advance(task, lines)


def _interactions(path: Path) -> Iterator[tuple[NewInteraction, ...]]:
    now = time.time_ns() // 1_000_000
    for first, lines in read_batches(path, MAX_INTERACTIONS_PER_REQUEST):
        with _located(path, first):
            interactions = decode_interaction_lines(b"\n".join(lines), now)
        yield interactions


def _moved(interaction: NewInteraction, shift_ms: int) -> NewInteraction:
    if interaction.occurred_at is None or not shift_ms:
        return interaction
    return replace(interaction, occurred_at=interaction.occurred_at + shift_ms)


@contextmanager
def _located(path: Path, first: int) -> Iterator[None]:
    """Say of errors in which part of which file they are."""
    try:
        yield
    except PenchantError as error:
        error.detail = f"{path}, in the batch from line {first}: {error.detail}"
        raise
