"""``penchant import``: files of this and other systems into a source, with a progress bar and a report."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from penchant.bootstrap import storage_of
from penchant.cli.import_options import Wishes, choice_options, read_wishes, source_options
from penchant.cli.options import COMMAND_LINE, database_options, read_settings
from penchant.errors import InvalidInput, Refused
from penchant.importing import (
    CheckpointFile,
    Choices,
    Files,
    Import,
    InputFile,
    Kind,
    RemoteTarget,
    Report,
    StoredTarget,
    Target,
    checkpoint_name,
    fingerprint,
    newest_moment,
    printable,
    to_text,
)
from penchant.importing import Progress as Done
from penchant.settings import client_key
from penchant.storage import Storage
from penchant.wire import encode

CHECKPOINTS = "imports"
"""The folder, in the data folder, of what imports under way have done."""
REMOTE_CHECKPOINTS = ".penchant-imports"
"""The same, in the working folder, of those into servers."""
LINE_EVERY_S = 5.0
"""How often progress is told where there is no terminal."""
_KEY = re.compile(r"[!-~]+\Z")


class _Goal(NamedTuple):
    """Where an import goes, and where it notes how far it is; neither of a dry run."""

    target: Target | None
    checkpoints: Path


@click.command(name="import")
@database_options
@source_options
@choice_options
def import_files(*, data: str | None, database: str | None, settings_file: Path | None, **options: Any) -> None:
    """Import files, or a folder of files, into a source, also while a server runs on the same data.

    An import that was ended goes on where it was when the same command is run again; one that is repeated changes
    nothing. A batch of 2,000 rows is stored as a whole or not at all.
    """
    wishes = read_wishes(options)
    console = Console(stderr=True)
    with ExitStack() as stack:
        if wishes.dry_run:
            goal = _Goal(None, Path())
        elif wishes.url is not None:
            if data or database:
                raise click.UsageError("--url names a server; --data and --database do not go with it.")
            remote = RemoteTarget(wishes.url, key=_read_key(wishes.key_file), source=wishes.source)
            goal = _Goal(stack.enter_context(closing(remote)), Path(REMOTE_CHECKPOINTS))
        else:
            settings = read_settings(settings_file, data=data, database=database)
            storage = stack.enter_context(closing(storage_of(settings)))
            where = settings.database or str(Path(settings.data).resolve())
            target = StoredTarget(
                storage, account=wishes.account, source=wishes.source, actor=COMMAND_LINE, address=where
            )
            goal = _Goal(target, Path(settings.data) / CHECKPOINTS)
        report = _import(wishes, goal, console)
    if report.dry_run and report.invalid_rows and not wishes.skip_invalid:
        raise click.exceptions.Exit(1)


def load_ndjson(storage: Storage, account: str, source: str, *, pieces: Path, interactions: Path) -> None:
    """Load files of the project's own shape, times moved so that the newest interaction is now."""
    console = Console(stderr=True)
    files = [InputFile(pieces, Kind.PIECE), InputFile(interactions, Kind.INTERACTION)]
    target = StoredTarget(storage, account=account, source=source, actor=COMMAND_LINE)
    work = Import("ndjson", Files(files), Choices(), target=target)
    work.shift(_shift("ndjson", files, Choices()))
    with _progress(source, console) as tell:
        work.run(tell)
    _say(console, f"{source}: {work.tally.pieces} pieces and {work.tally.interactions} interactions loaded")


def _import(wishes: Wishes, goal: _Goal, console: Console) -> Report:
    begun = time.monotonic()
    work = Import(
        wishes.format,
        Files(wishes.files),
        wishes.choices,
        target=goal.target,
        skip_invalid=wishes.skip_invalid,
    )
    _prepare(work, wishes, goal, console)

    def report() -> Report:
        return Report.of(
            work.tally,
            work.notes,
            format=wishes.format,
            source=wishes.source,
            dry_run=wishes.dry_run,
            resumed_at_row=work.resumed_at,
            seconds=round(time.monotonic() - begun, 3),
        )

    try:
        with _progress(wishes.source, console) as tell:
            work.run(tell)
    except InvalidInput:
        if wishes.as_json:
            click.echo(encode(report()))
        raise
    done = report()
    if wishes.as_json:
        click.echo(encode(done))
    else:
        for line in to_text(done):
            _say(console, line)
    return done


def _prepare(work: Import, wishes: Wishes, goal: _Goal, console: Console) -> None:
    """Let an import go on where an earlier run was, or else find out by how much its times are moved."""
    shift_ms = None
    if goal.target is not None:
        address = goal.target.address
        path = wishes.state or goal.checkpoints / checkpoint_name(wishes.files, wishes.format, address)
        checkpoint = CheckpointFile(path)
        if wishes.restart:
            checkpoint.remove()
        shift_ms = work.resume(
            checkpoint, fingerprint(wishes.files, wishes.format, wishes.choices, wishes.shift_times, address)
        )
        if work.resumed_at:
            _say(console, f"{wishes.source}: goes on after {work.resumed_at} rows that are imported already")
    if shift_ms is None and wishes.shift_times:
        work.shift(_shift(wishes.format, wishes.files, wishes.choices))


def _shift(name: str, files: list[InputFile], choices: Choices) -> int:
    newest = newest_moment(name, Files(files), choices)
    return 0 if newest is None else time.time_ns() // 1_000_000 - newest


def _read_key(file: Path | None) -> str:
    """Return the key from a file or the environment: never from an argument, which all users of a machine can see."""
    key = client_key() if file is None else file.read_text(encoding="ascii", errors="replace")
    key = (key or "").strip()
    if not _KEY.match(key):
        raise Refused("A key is needed: put it into the variable PENCHANT_KEY, or into a file named by --key-file.")
    return key


@contextmanager
def _progress(source: str, console: Console) -> Iterator[Callable[[Done], None]]:
    """Give a function that moves a bar on a terminal, and prints a line now and then otherwise."""
    if not console.is_terminal:
        yield _lines(source, console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]} rows"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(source, total=None, rows=0)

        def move(done: Done) -> None:
            name, read, size = done.position
            bar.update(task, description=f"{source}: {name}", completed=read, total=size, rows=done.rows)

        yield move


def _lines(source: str, console: Console) -> Callable[[Done], None]:
    told = [time.monotonic()]

    def tell(done: Done) -> None:
        now = time.monotonic()
        if now - told[0] >= LINE_EVERY_S:
            told[0] = now
            name, read, size = done.position
            share = 100 * read // size if size else 100
            _say(console, f"{source}: {done.rows} rows, {name} read to {share} %")

    return tell


def _say(console: Console, line: str) -> None:
    console.print(printable(line), highlight=False, markup=False, soft_wrap=True)
