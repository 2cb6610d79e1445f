"""``penchant import``: files of this and other systems into a source, with a progress bar and a report."""

import csv
import difflib
import functools
import gc
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import quote

import click
import msgspec

from penchant_engine.errors import Fault, InvalidInput, PenchantError, Refused
from penchant_import.advice import ImportVerdict, judge
from penchant_import.checking import PlainChecks
from penchant_import.checkpoint import CheckpointFile, checkpoint_name, fingerprint
from penchant_import.drafts import DraftKind
from penchant_import.files import Files, InputFile, amount, gather, printable, save_standard_input
from penchant_import.formats import DATASETS, FORMATS, unused_options
from penchant_import.hosting import DataPlace, RequestChecks, ServiceHost, StoredSource, Target
from penchant_import.options import ImportOptions, parse_column, parse_type
from penchant_import.remote import RemoteTarget
from penchant_import.report import ImportReport, to_text
from penchant_import.rules import AUTO, LANGUAGES, MAX_MEMBERS, NONE, encode, name_problem, source_problem
from penchant_import.running import MAX_INVALID, Import, ImportProgress, newest_moment
from penchant_import.vocabularies import VocabularyFile, apply_vocabulary, read_vocabulary_file, summarize_vocabulary

Command = TypeVar("Command", bound=Callable[..., Any])
REMOTE_CHECKPOINTS = ".penchant-imports"
"""The same, in the working folder, of those into servers."""
_KEY = re.compile(r"[!-~]+\Z")
STANDARD_INPUT = Path("-")
GC_THRESHOLDS = 10_000, 20, 50
"""How often garbage is looked for: rows are none until they are stored."""
existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
new_file = click.Path(dir_okay=False, path_type=Path)


class SuggestingChoice(click.Choice[str]):
    """One of many names, in any case; of one that is not among them the nearest are told first."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is written."""
        names = {name.lower(): name for name in self.choices}
        given = str(value).lower()
        near = [names[name] for name in difflib.get_close_matches(given, names)]
        if near and given not in names:
            self.fail(f"{value!r} is unknown. Did you mean {' or '.join(near)}?", param, ctx)
        return super().convert(names.get(given, value), param, ctx)


class _FormatChoice(SuggestingChoice):
    """The name of a format; of one that is a data set of research it is told what reads it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is written."""
        name = str(value).lower()
        if name in DATASETS and name not in self.choices:
            how = f"penchant dataset {name} FILES | penchant import --source SOURCE -"
            self.fail(f"{name} is a data set of research, which penchant-lab reads: {how}", param, ctx)
        return super().convert(value, param, ctx)


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
    click.option("--from", "format_name", type=_FormatChoice(tuple(FORMATS)), default="ndjson", help="Format."),
    click.option("--account", help="Account of the source (default: the only one that has keys)."),
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
        callback=lambda _context, _option, value: _require_finite(value),
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


_OF_PLACES = (
    click.option("--data", help="Folder of the data; made if missing.", metavar="DIR"),
    click.option("--database", help="Address of a PostgreSQL database (postgresql://…)."),
    click.option(
        "--settings",
        "settings_file",
        type=existing_file,
        help="Settings file (default: penchant.toml where there is one).",
    ),
)
source_option = click.option("--source", required=True, help="Source to import into; made if missing.")


def _add_all(options: Sequence[Callable[[Command], Command]], function: Command) -> Command:
    # Help lists options in the order in which decorators stand, the last applied first.
    for option in reversed(options):
        function = option(function)
    return function


def source_options(function: Command) -> Command:
    """Add what every import has: files, format, source, and how to go about it."""
    return _add_all(_OF_EVERY_IMPORT, function)


def place_options(function: Command) -> Command:
    """Add ``--data``, ``--database`` and ``--settings`` to a command, which takes them as its ``place``."""

    @functools.wraps(function)
    def command(*, data: str | None, database: str | None, settings_file: Path | None, **others: Any) -> Any:
        return function(place=DataPlace(data=data, database=database, settings_file=settings_file), **others)

    return cast(Command, _add_all(_OF_PLACES, command))


def require_host(context: click.Context) -> ServiceHost:
    """Return the service in whose command line this command runs.

    Raises:
        Refused: it runs alone.
    """
    host: ServiceHost | None = context.obj
    if host is None:
        raise Refused("This needs the service: pip install penchant, and call it by `penchant`.")
    return host


def format_options(function: Command) -> Command:
    """Add what formats leave open."""
    return _add_all(_OF_FORMATS, function)


def read_arguments(host: ServiceHost | None, options: dict[str, Any], stack: ExitStack) -> ImportArguments:
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
    used = require_used(name, read_options(options))
    return ImportArguments(
        **same | {"format": name, "files": files, "options": used, "vocabulary": _read_vocabulary(host, options)}
    )


def _require_finite(number: float) -> float:
    """Return a number; NaN, which no bound holds off, and infinity are none."""
    if not math.isfinite(number):
        raise click.BadParameter(f"{number} is no number.")
    return number


def _read_vocabulary(host: ServiceHost | None, options: dict[str, Any]) -> VocabularyFile | None:
    """Return the vocabulary that an import adds, read before anything is stored."""
    path, category, languages = (options[f"vocabulary_{name}"] for name in ("file", "category", "language"))
    if path is None:
        return None
    if host is None:
        raise Refused("--vocabulary needs the service: pip install penchant, and call it by `penchant import`.")
    return read_vocabulary_file(host, path, category=category, languages=languages)


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


def require_used(name: str, options: ImportOptions, uses: str | None = None) -> ImportOptions:
    """Return options of which a format uses all.

    Raises:
        click.UsageError: it has no use for one that was given.
    """
    unused = unused_options(name, options, uses)
    if unused:
        raise click.UsageError(f"{', '.join(unused)}: the format {name} has no use for this.")
    return options


def _read_words(members: str | None, no_words: bool) -> tuple[str, ...] | None:  # noqa: FBT001  # as click has it
    if members is not None and no_words:
        raise click.UsageError("--words and --no-words do not go together.")
    if members is None:
        return () if no_words else None
    names = [member.strip() for member in members.split(",") if member.strip()]
    if not 0 < len(set(names)) == len(names) <= MAX_MEMBERS:
        raise click.UsageError(
            f"--words: 1 to {MAX_MEMBERS} different members, `label` or `extras.NAME`, are accepted."
        )
    for name in names:
        inner = name.removeprefix("extras.")
        if name != "label" and (inner == name or name_problem(inner)):
            raise click.UsageError(f"--words: Found another member; `label` or `extras.NAME` is accepted: {name}.")
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
        local = self.account is not None
        where, when = (f" in the account {self.account}", " once `penchant serve` runs there") if local else ("", "")
        yield f"{source} is{where} at {self.address}{when}. Ask for it by"
        if self.making:
            yield f"  {self.making}"
        yield f"  curl -H \"x-api-key: {self.key}\" '{self.address}/{path}'"
        yield f"The dashboard, which takes the key as well: {self.address}/-/dashboard"


class _Goal(NamedTuple):
    """Where an import goes, and where it notes how far it is; neither of a dry run.

    ``stored`` is the source where it lies in a database that is at hand; ``host`` is the service, where there is one.
    """

    target: Target | None
    checkpoints: Path
    host: ServiceHost | None
    asking: _SampleRequest | None = None
    stored: StoredSource | None = None

    @property
    def checks(self) -> RequestChecks:
        """The checks of requests; without the service what tells without it."""
        return PlainChecks() if self.host is None else self.host.checks(self.stored)

    def say(self, line: str) -> None:
        """Print a line on standard error."""
        click.echo(printable(line), err=True)


@click.command(name="import")
@place_options
@source_option
@source_options
@format_options
@click.pass_context
def import_files(context: click.Context, /, *, place: DataPlace, **options: Any) -> None:
    """Import files, or a folder of files, into a source, also while a server runs on the same data.

    An import that was ended goes on where it was when the same command is run again; one that is repeated changes
    nothing. All files are read and checked before the first row is stored; - stands for standard input.
    """
    run_import(context, place, options)


def run_import(context: click.Context, place: DataPlace, options: dict[str, Any]) -> None:
    """Run an import by its options: as a trial, into a server, or into a source of the data."""
    with ExitStack() as stack:
        # Rows are no garbage until they are stored: to look among them as often as Python does takes a fifth of time.
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(*GC_THRESHOLDS)
        host: ServiceHost | None = context.obj
        arguments = read_arguments(host, options, stack)
        if arguments.dry_run:
            goal = _Goal(None, Path(), host)
        elif arguments.url is not None:
            if place.data or place.database:
                raise click.UsageError("--url names a server; --data and --database do not go with it.")
            remote = RemoteTarget(arguments.url, key=read_key(arguments.key_file), source=arguments.source)
            # Where nothing has checked rows before, what the server refuses is what may not be stored.
            remote.skips_refused = host is None and arguments.skip_invalid
            stack.callback(_report_refused, remote)
            word = "$PENCHANT_KEY" if arguments.key_file is None else "$KEY"
            asking = _SampleRequest(arguments.url.rstrip("/"), word)
            goal = _Goal(stack.enter_context(closing(remote)), Path(REMOTE_CHECKPOINTS), host, asking)
        else:
            host = require_host(context)
            stored: StoredSource = stack.enter_context(host.opened(place, arguments.account, arguments.source))
            address, word, making = stored.asking
            asking = _SampleRequest(address, word, stored.account, making)
            goal = _Goal(stored, stored.checkpoints, host, asking, stored)
        report = _import(arguments, goal)
        if arguments.vocabulary is not None:
            _add_vocabulary(arguments.vocabulary, arguments.source, goal)
    if report.dry_run and report.invalid_rows and not arguments.skip_invalid:
        # So that a script learns from a dry run that the import itself would stop.
        raise click.exceptions.Exit(1)


def _report_refused(remote: RemoteTarget) -> None:
    for fault in remote.refused[:MAX_INVALID]:
        click.echo(printable(f"The server refused, in its batch {fault.pointer or ''}: {fault.detail}"), err=True)


def _add_vocabulary(file: VocabularyFile, source: str, goal: _Goal) -> None:
    """Add a vocabulary to that of the source, but for a dry run, and tell what it says."""
    for remark in file.remarks:
        goal.say(remark)
    assert goal.host is not None  # noqa: S101  # or the file was not read
    goal.say(f"{source}: {summarize_vocabulary(apply_vocabulary(goal.host, goal.target, file))}")


def _import(arguments: ImportArguments, goal: _Goal) -> ImportReport:
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
        checks=goal.checks,
    )
    _prepare(work, arguments, goal)
    if goal.target is not None and not (arguments.skip_invalid or arguments.no_check or work.resumed_at):
        # An import that goes on was checked when it began, and its files are still the same.
        _check_all(work, arguments, goal)

    def report() -> ImportReport:
        seconds = round(time.monotonic() - begun, 3)
        return _report(work, arguments, dry_run=arguments.dry_run, seconds=seconds)

    try:
        with _progress(goal, arguments.source) as report_progress:
            work.run(report_progress)
    except InvalidInput:
        if arguments.as_json:
            click.echo(encode(report()))
        raise
    done = msgspec.structs.replace(report(), verdict=_verdict(work, arguments, goal))
    if arguments.as_json:
        click.echo(encode(done))
    else:
        for line in to_text(done):
            goal.say(line)
        for line in goal.asking.lines(arguments.source, next(iter(work.sample.pieces), None)) if goal.asking else ():
            goal.say(line)
    return done


def _verdict(work: Import, arguments: ImportArguments, goal: _Goal) -> ImportVerdict | None:
    """Return the verdict about the source, or about the first pieces where that cannot be read."""
    if goal.host is None or not (work.tally.pieces or work.tally.interactions):
        return None
    # What was stored is stored: without a verdict it is no worse.
    with suppress(PenchantError):
        settings = work.source_settings()
        figures = goal.host.figures(work.sample, settings, work.tally.pieces - work.tally.superseded, goal.stored)
        return judge(figures, work.sample, arguments.format, settings, is_there=goal.target is not None)
    return None


def _check_all(work: Import, arguments: ImportArguments, goal: _Goal) -> None:
    """Read and check everything before anything is stored, so that a bad file leaves nothing half imported.

    Raises:
        InvalidInput: a row may not be stored.
    """
    with _progress(goal, f"{arguments.source}: checking") as report_progress:
        checked = work.check_all(None if goal.stored is None else goal.stored.folder, report_progress)
    count = checked.tally.invalid_rows
    if not count:
        return
    if arguments.as_json:
        click.echo(encode(_report(checked, arguments, dry_run=True)))
    raise InvalidInput(
        f"{amount(count, 'rows')} may not be stored, so nothing is: mend them, or leave them out with --skip-invalid.",
        faults=[Fault(pointer=item.where, detail=item.message) for item in checked.tally.faults],
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


def _prepare(work: Import, arguments: ImportArguments, goal: _Goal) -> None:
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
            goal.say(f"{arguments.source}: goes on after {work.resumed_at} rows that are imported already")
    # Found out once, and kept in the checkpoint: the next run begins later, and would move its rows by more.
    if shift_ms is None and arguments.shift_times:
        newest = newest_moment(arguments.format, Files(arguments.files), arguments.options, goal.checks)
        work.shift(0 if newest is None else time.time_ns() // 1_000_000 - newest)


def read_key(file: Path | None) -> str:
    """Return the key from a file or the environment: never from an argument, which all users of a machine can see."""
    key = os.environ.get("PENCHANT_KEY") if file is None else file.read_text(encoding="ascii", errors="replace")
    key = (key or "").strip()
    if not _KEY.match(key):
        raise Refused("A key is needed: put it into the variable PENCHANT_KEY, or into a file named by --key-file.")
    return key


@contextmanager
def _progress(goal: _Goal, description: str) -> Iterator[Callable[[ImportProgress], None]]:
    """Give what reports progress; nothing does where this runs alone."""
    with nullcontext(lambda *_: None) if goal.host is None else goal.host.progress(description) as move:

        def report(progress: ImportProgress) -> None:
            name, read, size = progress.position
            move(f"{description}: {name}", read, size, f"{progress.rows} rows")

        yield report
