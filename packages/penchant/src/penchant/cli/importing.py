"""``penchant import``: files of this and other systems into a source, with a progress bar and a report."""

import csv
import functools
import gc
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import click
import msgspec
from rich.console import Console

from penchant.bootstrap import COLLECTING, builders_of, data_folder, index_folder
from penchant.cli.keywords import describe
from penchant.cli.locations import Command, DataLocation, data_options, existing_file
from penchant.cli.options import (
    COMMAND_LINE,
    DEMO_KEY_FILE,
    NearChoice,
    account_of,
    keyed_account_option,
    new_file,
    view_of,
)
from penchant.cli.progress import Move, progress_bar
from penchant.errors import Fault, InvalidInput, PenchantError, Refused
from penchant.importing import (
    FORMATS,
    MAX_STORED_PIECES,
    CheckpointFile,
    DraftKind,
    Files,
    Import,
    ImportOptions,
    ImportProgress,
    ImportReport,
    ImportVerdict,
    InputFile,
    JudgedSource,
    RemoteTarget,
    StoredTarget,
    Target,
    VocabularyFile,
    amount,
    checkpoint_name,
    fingerprint,
    gather,
    judge,
    newest_moment,
    parse_column,
    parse_type,
    printable,
    put_in_force,
    read_vocabulary_file,
    save_standard_input,
    to_text,
    unused_options,
)
from penchant.live.builder import builder_lock
from penchant.live.segment_files import SEGMENT
from penchant.model import PieceLimits
from penchant.service.administration import key_answer
from penchant.settings import NodeSettings, client_key
from penchant.storage import Erasure, Storage
from penchant.telemetry import Metrics
from penchant.wire import DEFAULT_LIMITS, decode_settings, encode, source_problem
from penchant.words import AUTO, LANGUAGES, NONE

CHECKPOINTS = "imports"
"""The folder, in the data folder, of what imports under way have done."""
REMOTE_CHECKPOINTS = ".penchant-imports"
"""The same, in the working folder, of those into servers."""
_KEY = re.compile(r"[!-~]+\Z")
STANDARD_INPUT = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportArguments:
    """The arguments of an import."""

    format: str
    files: list[InputFile]
    options: ImportOptions
    account: str | None
    source: str
    url: str | None
    key_file: Path | None
    vocabulary: VocabularyFile | None
    state: Path | None
    shift_times: bool
    dry_run: bool
    skip_invalid: bool
    no_check: bool
    restart: bool
    as_json: bool


_OF_EVERY_IMPORT = (
    click.argument(
        "paths", nargs=-1, type=click.Path(exists=True, allow_dash=True, path_type=Path), metavar="[FILE|FOLDER|-]..."
    ),
    click.option("--from", "format_name", type=NearChoice(tuple(FORMATS)), default="ndjson", help="Format."),
    keyed_account_option,
    click.option("--source", required=True, help="Source to import into; made if missing."),
    click.option("--pieces", type=existing_file, help="File of pieces (ndjson, csv)."),
    click.option("--interactions", type=existing_file, help="File of interactions (ndjson, csv)."),
    click.option("--url", help="Import into the server at this address instead; its key is in PENCHANT_KEY."),
    click.option("--key-file", type=existing_file, help="File that holds the key for --url."),
    click.option("--vocabulary", "vocabulary_file", type=existing_file, help="File of a vocabulary to add."),
    click.option("--vocabulary-category", help="Category of its labels, if it is a thesaurus."),
    click.option("--vocabulary-language", multiple=True, metavar="CODE", help="Languages of its labels; repeatable."),
    click.option("--shift-times", is_flag=True, help="Move all times so that the newest interaction is now."),
    click.option("--dry-run", is_flag=True, help="Only read and check, show the first rows; nothing is stored."),
    click.option("--no-check", is_flag=True, help="Store batches as they are read, without checking all files first."),
    click.option("--skip-invalid", is_flag=True, help="Leave out rows that may not be stored, instead of stopping."),
    click.option("--restart", is_flag=True, help="Begin anew where an earlier run was ended."),
    click.option(
        "--state", type=new_file, help="File that notes how far the import is, instead of one found by itself."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output."),
)
_OF_FORMATS = (
    click.option("--id-column", help="Column of the pieces' ids (csv, recombee, calibre, trakt)."),
    click.option("--label-column", help="Column or field of the label (csv, recombee, metarank)."),
    click.option(
        "--keywords",
        multiple=True,
        metavar="CATEGORY=COLUMN[:SEPARATOR]",
        help="Column or field of keywords; repeatable (csv, gorse, recombee, metarank).",
    ),
    click.option(
        "--catalogs", metavar="COLUMN[:SEPARATOR]", help="Column or field of catalogs (csv, recombee, metarank)."
    ),
    click.option("--user-column", help="Column of the users' ids (csv)."),
    click.option("--user", help="Whose interactions are in files that name nobody, such as one person's export."),
    click.option("--type-column", help="Column of what users did (csv)."),
    click.option("--rating-column", help="Column of ratings (csv)."),
    click.option("--time-column", help="Column of times (csv)."),
    click.option(
        "--type", "types", multiple=True, metavar="NAME=TYPE", help="What an action is; repeatable, * for any other."
    ),
    click.option(
        "--rating-scale",
        type=click.FloatRange(min=0, min_open=True),
        default=5.0,
        help="The best rating: four fifths and more are likes, two fifths and less dislikes.",
    ),
    click.option("--delimiter", help="What separates columns; tab is \\t (default: found out by the heading)."),
    click.option("--encoding", help="How tables and XML are written, for instance windows-1252 (default utf-8)."),
    click.option("--columns", metavar="NAME,...", help="Names of the columns of a table without a heading (csv)."),
    click.option(
        "--decimal",
        type=click.Choice((".", ",")),
        default=".",
        help="What decimals begin with in tables.",
    ),
    click.option("--time-format", help="How times are written, for instance '%d/%m/%Y %H:%M'; UTC unless it says."),
    click.option(
        "--words",
        metavar="MEMBER,...",
        help="Members of pieces whose words become keywords in a source that this makes "
        "[default: label,extras.description].",
    ),
    click.option(
        "--language",
        type=click.Choice((AUTO, NONE, *LANGUAGES)),
        default=AUTO,
        help="Language of the texts that words are taken from, where they are too short to tell it.",
    ),
    click.option("--no-words", is_flag=True, help="Make no keywords of words."),
    click.option("--without-times", is_flag=True, help="Interactions without a time that is understood happen now."),
)


def _source_options(function: Command) -> Command:
    """Add what every import has: files, format, source, and how to go about it."""
    # Help lists options in the order in which decorators stand, the last applied first.
    for option in reversed(_OF_EVERY_IMPORT):
        function = option(function)
    return function


def format_options(function: Command) -> Command:
    """Add what formats leave open."""
    for option in reversed(_OF_FORMATS):
        function = option(function)
    return function


def _read_arguments(options: dict[str, Any], stack: ExitStack) -> ImportArguments:
    """Return the arguments of an import; what standard input holds lies in a file until the stack is left.

    Raises:
        click.UsageError: options do not fit together, or have a value that is not accepted.
    """
    name, source = options["format_name"], options["source"]
    problem = source_problem(source)
    if problem:
        raise click.UsageError(f"--source: {problem}")
    paths = [path for path in options["paths"] if path != STANDARD_INPUT]
    files = gather(paths) if paths else []
    if len(paths) < len(options["paths"]):
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="penchant-import-"))
        files.append(save_standard_input(sys.stdin.buffer, Path(folder)))
    for role, kind in (("pieces", DraftKind.PIECE), ("interactions", DraftKind.INTERACTION)):
        if options[role] is not None:
            if name not in ("ndjson", "csv"):
                raise click.UsageError(f"--{role} goes with --from ndjson or csv; name files or a folder instead.")
            files.append(InputFile(options[role], kind))
    if not files:
        raise click.UsageError("Name files or a folder, or a file with --pieces or --interactions.")
    same = {field.name: options[field.name] for field in fields(ImportArguments) if field.name in options}
    read = {
        "format": name,
        "files": files,
        "options": require_used(name, read_options(options)),
        "vocabulary": _read_vocabulary(options),
    }
    return ImportArguments(**same | read)


def _read_vocabulary(options: dict[str, Any]) -> VocabularyFile | None:
    """Return the vocabulary that an import adds, read before anything is stored."""
    path, category, languages = (options[f"vocabulary_{name}"] for name in ("file", "category", "language"))
    return None if path is None else read_vocabulary_file(path, category=category, languages=languages)


def read_options(options: dict[str, Any]) -> ImportOptions:
    """Return what formats leave open, of the values of `format_options` and others.

    Raises:
        click.UsageError: a value is not accepted.
    """
    delimiter = "\t" if options["delimiter"] == "\\t" else options["delimiter"]
    if delimiter is not None and len(delimiter) != 1:
        raise click.UsageError("--delimiter takes one character.")
    try:
        "".encode(options["encoding"] or "utf-8")
    except (LookupError, UnicodeError):
        raise click.UsageError("--encoding takes a name such as windows-1252, latin-1 or utf-16.") from None
    try:
        catalogs = options["catalogs"]
        read = {
            "keywords": tuple(parse_column(text) for text in options["keywords"]),
            "catalogs": None if catalogs is None else parse_column(catalogs, category=False),
            "types": dict(parse_type(text) for text in options["types"]),
            "delimiter": delimiter,
            "columns": _read_columns(options["columns"]),
            "words": _read_words(options["words"], options["no_words"]),
        }
        return ImportOptions(**{field.name: options[field.name] for field in fields(ImportOptions)} | read)
    except ValueError as error:
        raise click.UsageError(f"--keywords, --catalogs or --type: {error}.") from error


def _read_columns(text: str | None) -> tuple[str, ...]:
    names = [] if text is None else [name.strip() for name in next(csv.reader([text]), [])]
    if len(set(names)) < len(names) or (text is not None and not all(names)):
        raise click.UsageError("--columns takes names that differ, such as user,item,rating,time.")
    return tuple(names)


def require_used(name: str, options: ImportOptions) -> ImportOptions:
    """Return options of which a format uses all.

    Raises:
        click.UsageError: it has no use for one that was given.
    """
    unused = unused_options(name, options)
    if unused:
        raise click.UsageError(f"{', '.join(unused)}: the format {name} has no use for this.")
    return options


def _read_words(members: str | None, no_words: bool) -> tuple[str, ...] | None:  # noqa: FBT001  # as click has it
    if members is not None and no_words:
        raise click.UsageError("--words and --no-words do not go together.")
    if members is None:
        return () if no_words else None
    names = [member.strip() for member in members.split(",") if member.strip()]
    try:
        decode_settings(encode({"words": {"from": names}}))
    except InvalidInput as error:
        raise click.UsageError(f"--words: {error.faults[0].detail}") from error
    return tuple(names)


class _SampleRequest(NamedTuple):
    """How what was imported is asked for: where, with which word of a shell for the key, and how one is made."""

    address: str
    key: str
    account: str | None = None
    making: str = ""

    def lines(self, source: str, piece_id: str | None) -> Iterator[str]:
        """Yield how a list of the source is asked for, to be pasted into a shell, and where its pages are."""
        path = quote(source, safe="") + ("" if piece_id is None else f"/content/{quote(piece_id, safe='')}/similar")
        where = "" if self.account is None else f" in the account {self.account}"
        yield f"{source} is{where} at {self.address}, where a server runs. Ask for it by"
        if self.making:
            yield f"  {self.making}"
        yield f"  curl -H \"x-api-key: {self.key}\" '{self.address}/{path}'"
        yield f"The dashboard, which takes the key as well: {self.address}/-/dashboard"


class _Goal(NamedTuple):
    """Where an import goes, and where it notes how far it is; neither of a dry run.

    ``reading`` gives the source as it is after the import, where it lies in a database that is at hand; ``folder`` is
    that of the data, where there is one.
    """

    target: Target | None
    checkpoints: Path
    limits: PieceLimits = DEFAULT_LIMITS
    asking: _SampleRequest | None = None
    reading: Callable[[], AbstractContextManager[JudgedSource | None]] = nullcontext
    folder: Path | None = None


@click.command(name="import")
@data_options
@_source_options
@format_options
def import_files(*, location: DataLocation, **options: Any) -> None:
    """Import files, or a folder of files, into a source, also while a server runs on the same data.

    An import that was ended goes on where it was when the same command is run again; one that is repeated changes
    nothing. All files are read and checked before the first row is stored; - stands for standard input.
    """
    console = Console(stderr=True)
    with ExitStack() as stack:
        # Rows are no garbage until they are stored: to look among them as often as Python does takes a fifth of time.
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(*COLLECTING)
        arguments = _read_arguments(options, stack)
        if arguments.dry_run:
            goal = _Goal(None, Path())
        elif arguments.url is not None:
            if location.data or location.database:
                raise click.UsageError("--url names a server; --data and --database do not go with it.")
            remote = RemoteTarget(arguments.url, key=_read_key(arguments.key_file), source=arguments.source)
            asking = _SampleRequest(
                arguments.url.rstrip("/"), "$PENCHANT_KEY" if arguments.key_file is None else "$KEY"
            )
            goal = _Goal(stack.enter_context(closing(remote)), Path(REMOTE_CHECKPOINTS), asking=asking)
        else:
            settings, storage = stack.enter_context(location.opened(make=True))
            where = settings.database or str(Path(settings.data).resolve())
            account = account_of(storage, arguments.account)
            target = StoredTarget(storage, account=account, source=arguments.source, actor=COMMAND_LINE, address=where)
            reading = functools.partial(_judged, storage, settings, account, arguments.source)
            checkpoints = Path(settings.data) / CHECKPOINTS
            asking = _asking(storage, settings, account)
            folder = Path(settings.data)
            goal = _Goal(target, checkpoints, settings.piece_limits, asking, reading, folder)
        report = _import(arguments, goal, console)
        if arguments.vocabulary is not None:
            _add_vocabulary(arguments.vocabulary, arguments.source, goal.target, console)
    if report.dry_run and report.invalid_rows and not arguments.skip_invalid:
        # So that a script learns from a dry run that the import itself would stop.
        raise click.exceptions.Exit(1)


def _add_vocabulary(file: VocabularyFile, source: str, target: Target | None, console: Console) -> None:
    """Add a vocabulary to that of the source, but for a dry run, and tell what it says."""
    for remark in file.remarks:
        _say(console, remark)
    in_force = file.vocabulary if target is None else put_in_force(target, file.vocabulary)
    _say(console, f"{source}: {describe(in_force)}")


def load_ndjson(storage: Storage, account: str, source: str, *, pieces: Path, interactions: Path) -> None:
    """Load files of the project's own shape, times moved so that the newest interaction is now."""
    console = Console(stderr=True)
    files = [InputFile(pieces, DraftKind.PIECE), InputFile(interactions, DraftKind.INTERACTION)]
    target = StoredTarget(storage, account=account, source=source, actor=COMMAND_LINE)
    # A demo is about what is in these files: the keywords that they have.
    options = ImportOptions(words=())
    work = Import("ndjson", Files(files), options, target=target)
    work.shift(_shift("ndjson", files, options))
    with progress_bar(console, source) as move:
        work.run(_teller(source, move))
    _say(
        console,
        f"{source}: {amount(work.tally.pieces, 'pieces')} and {amount(work.tally.interactions, 'interactions')} loaded",
    )


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
        _check_all(work, arguments, goal, console)

    def report() -> ImportReport:
        seconds = round(time.monotonic() - begun, 3)
        return _report(work, arguments, dry_run=arguments.dry_run, seconds=seconds)

    try:
        with progress_bar(console, arguments.source) as move:
            work.run(_teller(arguments.source, move))
    except InvalidInput:
        if arguments.as_json:
            click.echo(encode(report()))
        raise
    done = msgspec.structs.replace(report(), verdict=_verdict(work, arguments, goal))
    if arguments.as_json:
        click.echo(encode(done))
    else:
        for line in to_text(done):
            _say(console, line)
        if goal.asking is not None:
            for line in goal.asking.lines(arguments.source, next(iter(work.sample.pieces), None)):
                _say(console, line)
    return done


def _asking(storage: Storage, settings: NodeSettings, account: str) -> _SampleRequest:
    """Return how a source of an account is asked for: by the demo's key, by one that is made, or by one of its own."""
    data = "" if settings.data == NodeSettings().data else f" --data {shlex.quote(settings.data)}"
    key_file = Path(settings.data) / DEMO_KEY_FILE
    records = [each for each in storage.keys.list_all() if each.account == account and not each.origins]
    active = {each.key_id for each in records if key_answer(each).state == "active"}
    with suppress(OSError):
        if not active.isdisjoint(key_file.read_text(encoding="ascii", errors="replace").split("_")):
            return _SampleRequest(settings.own_address, f"$(cat {shlex.quote(str(key_file))})", account)
    making = f"KEY=$(penchant keys create{data} --account {shlex.quote(account)})" if not active else ""
    return _SampleRequest(settings.own_address, "$KEY", account, making or "KEY=…   # a key of the account")


def _build_file(storage: Storage, settings: NodeSettings) -> None:
    """Build segment files that are due where no service does: the verdict maps them, and so does the first start.

    Where they cannot be written, both read the database.
    """
    folder = data_folder(settings)
    if settings.database is None and not builder_lock(folder).is_won_by_anyone():
        with suppress(PenchantError, OSError):
            builders_of(storage, settings, Metrics())[SEGMENT.name].build_due()


@contextmanager
def _judged(storage: Storage, settings: NodeSettings, account: str, source: str) -> Iterator[JudgedSource | None]:
    """Give a source as its readers see it now; ``None`` where it is too large to be looked at in passing."""
    account_id = storage.accounts.find(account)
    head = None if account_id is None else storage.sources.read_head(account_id, source)
    if account_id is not None and head is not None:
        _build_file(storage, settings)
    if account_id is None or head is None or head.piece_count > MAX_STORED_PIECES:
        yield None
        return
    view = view_of(storage, index_folder(settings), account, source)
    with storage.sources.follow_interactions(account_id, source, None) as feed:
        rows = (
            (row.user_key, row.piece_id, row.type, row.occurred_at, row.portion)
            for batch in feed.batches
            for row in batch
            if not isinstance(row, Erasure)
        )
        yield JudgedSource(
            snapshot=view.snapshot,
            piece_count=view.snapshot.piece_count,
            settings=view.settings,
            is_there=True,
            image_hosts=settings.image_hosts,
            rows=rows,
            blacklisted=view.blacklisted,
        )


def _verdict(work: Import, arguments: ImportArguments, goal: _Goal) -> ImportVerdict | None:
    """Return the verdict about the source, or about the first pieces where that cannot be read."""
    now = time.time_ns() // 1_000_000
    if not work.tally.pieces and not work.tally.interactions:
        return None
    # What was stored is stored: without a verdict it is no worse.
    with suppress(PenchantError), goal.reading() as stored:
        settings = work.source_settings()
        if stored is not None:
            work.sample.rows.clear()  # they are read again, from the source
        source = stored or work.sampled_source(settings, now, is_there=goal.target is not None)
        return judge(source, work.sample, arguments.format, now)
    return None


def _check_all(work: Import, arguments: ImportArguments, goal: _Goal, console: Console) -> None:
    """Read and check everything before anything is stored, so that a bad file leaves nothing half imported.

    Raises:
        InvalidInput: a row may not be stored.
    """
    with progress_bar(console, f"{arguments.source}: checking") as move:
        checked = work.check_first(goal.folder, _teller(f"{arguments.source}: checking", move))
    count = checked.tally.invalid_rows
    if not count:
        return
    if arguments.as_json:
        click.echo(encode(_report(checked, arguments, dry_run=True)))
    raise InvalidInput(
        f"{amount(count, 'rows')} may not be stored, so nothing is: mend them, or leave them out with --skip-invalid.",
        faults=[Fault(pointer=each.where, detail=each.told) for each in checked.tally.faults],
    )


def _report(work: Import, arguments: ImportArguments, *, dry_run: bool, seconds: float = 0.0) -> ImportReport:
    return ImportReport.of(
        work.tally,
        work.notes,
        format=arguments.format,
        source=arguments.source,
        dry_run=dry_run,
        resumed_at_row=work.resumed_at,
        seconds=seconds,
        examples=[msgspec.Raw(example) for example in work.examples] if arguments.dry_run else [],
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


def _teller(source: str, move: Move) -> Callable[[ImportProgress], None]:
    def tell(progress: ImportProgress) -> None:
        name, read, size = progress.position
        move(f"{source}: {name}", read, size, f"{progress.rows} rows")

    return tell


def _say(console: Console, line: str) -> None:
    console.print(printable(line), highlight=False, markup=False, soft_wrap=True)
