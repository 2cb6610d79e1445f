"""``penchant import``: files of this and other systems into a source, with a progress bar and a report."""

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from rich.console import Console

from penchant.bootstrap import storage_of
from penchant.cli.import_options import ImportArguments, format_options, read_arguments, source_options
from penchant.cli.options import COMMAND_LINE, database_options, read_settings
from penchant.cli.progress import Move, progress_bar
from penchant.errors import Fault, InvalidInput, Refused
from penchant.importing import (
    CheckpointFile,
    DraftKind,
    Files,
    Import,
    ImportOptions,
    ImportProgress,
    ImportReport,
    InputFile,
    RemoteTarget,
    StoredTarget,
    Target,
    checkpoint_name,
    fingerprint,
    newest_moment,
    printable,
    to_text,
)
from penchant.model import PieceLimits
from penchant.settings import client_key
from penchant.storage import Storage
from penchant.wire import DEFAULT_LIMITS, encode

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
    limits: PieceLimits = DEFAULT_LIMITS


@click.command(name="import")
@database_options
@source_options
@format_options
def import_files(*, data: str | None, database: str | None, settings_file: Path | None, **options: Any) -> None:
    """Import files, or a folder of files, into a source, also while a server runs on the same data.

    An import that was ended goes on where it was when the same command is run again; one that is repeated changes
    nothing. All files are read and checked before the first row is stored; - stands for standard input.
    """
    console = Console(stderr=True)
    with ExitStack() as stack:
        arguments = read_arguments(options, stack)
        if arguments.dry_run:
            goal = _Goal(None, Path())
        elif arguments.url is not None:
            if data or database:
                raise click.UsageError("--url names a server; --data and --database do not go with it.")
            remote = RemoteTarget(arguments.url, key=_read_key(arguments.key_file), source=arguments.source)
            goal = _Goal(stack.enter_context(closing(remote)), Path(REMOTE_CHECKPOINTS))
        else:
            settings = read_settings(settings_file, data=data, database=database)
            storage = stack.enter_context(closing(storage_of(settings)))
            where = settings.database or str(Path(settings.data).resolve())
            target = StoredTarget(
                storage, account=arguments.account, source=arguments.source, actor=COMMAND_LINE, address=where
            )
            goal = _Goal(target, Path(settings.data) / CHECKPOINTS, settings.piece_limits)
        report = _import(arguments, goal, console)
    if report.dry_run and report.invalid_rows and not arguments.skip_invalid:
        # So that a script learns from a dry run that the import itself would stop.
        raise click.exceptions.Exit(1)


def load_ndjson(storage: Storage, account: str, source: str, *, pieces: Path, interactions: Path) -> None:
    """Load files of the project's own shape, times moved so that the newest interaction is now."""
    console = Console(stderr=True)
    files = [InputFile(pieces, DraftKind.PIECE), InputFile(interactions, DraftKind.INTERACTION)]
    target = StoredTarget(storage, account=account, source=source, actor=COMMAND_LINE)
    work = Import("ndjson", Files(files), ImportOptions(), target=target)
    work.shift(_shift("ndjson", files, ImportOptions()))
    with _progress(source, console) as move:
        work.run(_teller(source, move))
    _say(console, f"{source}: {work.tally.pieces} pieces and {work.tally.interactions} interactions loaded")


def _import(arguments: ImportArguments, goal: _Goal, console: Console) -> ImportReport:
    """Run an import, print its report, and return it; a row that may not be stored ends it with `InvalidInput`.

    In order: find the checkpoint of an earlier run, check all files unless there is one, store batch by batch.
    """
    begun = time.monotonic()
    work = Import(
        arguments.format,
        Files(arguments.files),
        arguments.options,
        target=goal.target,
        skip_invalid=arguments.skip_invalid,
        limits=goal.limits,
    )
    _prepare(work, arguments, goal, console)
    if goal.target is not None and not (arguments.skip_invalid or arguments.no_check or work.resumed_at):
        # An import that goes on was checked when it began, and its files are still the same.
        _check_all(arguments, goal, console)

    def report() -> ImportReport:
        return ImportReport.of(
            work.tally,
            work.notes,
            format=arguments.format,
            source=arguments.source,
            dry_run=arguments.dry_run,
            resumed_at_row=work.resumed_at,
            seconds=round(time.monotonic() - begun, 3),
            examples=[msgspec.Raw(example) for example in work.examples] if arguments.dry_run else [],
        )

    try:
        with _progress(arguments.source, console) as move:
            work.run(_teller(arguments.source, move))
    except InvalidInput:
        if arguments.as_json:
            click.echo(encode(report()))
        raise
    done = report()
    if arguments.as_json:
        click.echo(encode(done))
    else:
        for line in to_text(done):
            _say(console, line)
    return done


def _check_all(arguments: ImportArguments, goal: _Goal, console: Console) -> None:
    """Read and check everything before anything is stored, so that a bad file leaves nothing half imported.

    Raises:
        InvalidInput: a row may not be stored.
    """
    work = Import(arguments.format, Files(arguments.files), arguments.options, target=None, limits=goal.limits)
    with _progress(f"{arguments.source}: checking", console) as move:
        work.run(_teller(f"{arguments.source}: checking", move))
    found, count = work.tally.invalid, work.tally.invalid_rows
    if not count:
        return
    if arguments.as_json:
        click.echo(
            encode(
                ImportReport.of(
                    work.tally,
                    work.notes,
                    format=arguments.format,
                    source=arguments.source,
                    dry_run=True,
                    resumed_at_row=0,
                    seconds=0.0,
                )
            )
        )
    rows = "1 row" if count == 1 else f"{count} rows"
    raise InvalidInput(
        f"{rows} may not be stored, so nothing is: mend them, or leave them out with --skip-invalid.",
        faults=[
            Fault(pointer=f"{row.file}, line {row.line}: {row.pointer or '(row)'}", detail=row.detail) for row in found
        ],
    )


def _prepare(work: Import, arguments: ImportArguments, goal: _Goal, console: Console) -> None:
    """Let an import go on where an earlier run was, or else find out by how much its times are moved."""
    shift_ms = None
    if goal.target is not None:
        address = goal.target.address
        path = arguments.state or goal.checkpoints / checkpoint_name(arguments.files, arguments.format, address)
        checkpoint = CheckpointFile(path)
        if arguments.restart:
            checkpoint.remove()
        shift_ms = work.resume(
            checkpoint,
            fingerprint(arguments.files, arguments.format, arguments.options, arguments.shift_times, address),
        )
        if work.resumed_at:
            _say(console, f"{arguments.source}: goes on after {work.resumed_at} rows that are imported already")
    # Found out once, and kept in the checkpoint: the next run begins later, and would move its rows by more.
    if shift_ms is None and arguments.shift_times:
        work.shift(_shift(arguments.format, arguments.files, arguments.options))


def _shift(name: str, files: list[InputFile], options: ImportOptions) -> int:
    newest = newest_moment(name, Files(files), options)
    return 0 if newest is None else time.time_ns() // 1_000_000 - newest


def _read_key(file: Path | None) -> str:
    """Return the key from a file or the environment: never from an argument, which all users of a machine can see."""
    key = client_key() if file is None else file.read_text(encoding="ascii", errors="replace")
    key = (key or "").strip()
    if not _KEY.match(key):
        raise Refused("A key is needed: put it into the variable PENCHANT_KEY, or into a file named by --key-file.")
    return key


def _progress(source: str, console: Console) -> AbstractContextManager[Move]:
    return progress_bar(console, source, otherwise=_lines(console))


def _teller(source: str, move: Move) -> Callable[[ImportProgress], None]:
    def tell(progress: ImportProgress) -> None:
        name, read, size = progress.position
        move(f"{source}: {name}", read, size, f"{progress.rows} rows")

    return tell


def _lines(console: Console) -> Move:
    """Return the function that prints a line now and then, where a bar cannot be seen."""
    printed_at = time.monotonic()

    def move(what: str, done: int, total: int, remark: str) -> None:
        nonlocal printed_at
        now = time.monotonic()
        if now - printed_at >= LINE_EVERY_S:
            printed_at = now
            _say(console, f"{what} read to {100 * done // total if total else 100} %, {remark}")

    return move


def _say(console: Console, line: str) -> None:
    console.print(printable(line), highlight=False, markup=False, soft_wrap=True)
