"""Options of ``penchant import``, in two groups: those of every import, and those that formats leave open."""

import codecs
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from penchant.cli.options import DEFAULT_ACCOUNT, Command
from penchant.importing import (
    FORMATS,
    DraftKind,
    ImportOptions,
    InputFile,
    gather,
    parse_column,
    parse_type,
    save_standard_input,
)
from penchant.wire import source_problem

_existing = click.Path(exists=True, allow_dash=True, path_type=Path)
_existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_file = click.Path(dir_okay=False, path_type=Path)
STANDARD_INPUT = Path("-")
_FILES_BY_ROLE = ("ndjson", "csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportArguments:
    """The arguments of an import."""

    format: str
    files: list[InputFile]
    options: ImportOptions
    account: str
    source: str
    url: str | None
    key_file: Path | None
    state: Path | None
    shift_times: bool
    dry_run: bool
    skip_invalid: bool
    no_check: bool
    restart: bool
    as_json: bool


_SOURCE_OPTIONS = (
    click.argument("paths", nargs=-1, type=_existing, metavar="[FILE|FOLDER|-]..."),
    click.option(
        "--from", "format_name", type=click.Choice(tuple(FORMATS)), default="ndjson", show_default=True, help="Format."
    ),
    click.option("--account", default=DEFAULT_ACCOUNT, show_default=True, help="Account of the source."),
    click.option("--source", required=True, help="Source to import into; made if missing."),
    click.option("--pieces", type=_existing_file, help="File of pieces (ndjson, csv)."),
    click.option("--interactions", type=_existing_file, help="File of interactions (ndjson, csv)."),
    click.option("--url", help="Import into the server at this address instead; its key is in PENCHANT_KEY."),
    click.option("--key-file", type=_existing_file, help="File that holds the key for --url."),
    click.option("--shift-times", is_flag=True, help="Move all times so that the newest interaction is now."),
    click.option("--dry-run", is_flag=True, help="Only read and check, show the first rows; nothing is stored."),
    click.option("--no-check", is_flag=True, help="Store batches as they are read, without checking all files first."),
    click.option("--skip-invalid", is_flag=True, help="Leave out rows that may not be stored, instead of stopping."),
    click.option("--restart", is_flag=True, help="Begin anew where an earlier run was ended."),
    click.option("--state", type=_file, help="File that notes how far the import is, instead of one found by itself."),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output."),
)
_FORMAT_OPTIONS = (
    click.option("--id-column", help="Column of the pieces' ids (csv, recombee)."),
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
        show_default=True,
        help="The best rating: four fifths and more are likes, two fifths and less dislikes.",
    ),
    click.option("--delimiter", help="What separates columns; tab is \\t (default: found out by the heading)."),
    click.option("--encoding", help="How texts of tables are written, for instance windows-1252 (default utf-8)."),
    click.option(
        "--decimal",
        type=click.Choice((".", ",")),
        default=".",
        show_default=True,
        help="What decimals begin with in tables.",
    ),
    click.option("--time-format", help="How times are written, for instance '%d/%m/%Y %H:%M'; UTC unless it says."),
    click.option("--without-times", is_flag=True, help="A table of interactions has no times: they happen now (csv)."),
)


def source_options(function: Command) -> Command:
    """Add what every import has: files, format, source, and how to go about it."""
    # Help lists options in the order in which decorators stand, the last applied first.
    for option in reversed(_SOURCE_OPTIONS):
        function = option(function)
    return function


def format_options(function: Command) -> Command:
    """Add what formats leave open."""
    for option in reversed(_FORMAT_OPTIONS):
        function = option(function)
    return function


def read_arguments(options: dict[str, Any], stack: ExitStack) -> ImportArguments:
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
            if name not in _FILES_BY_ROLE:
                raise click.UsageError(f"--{role} goes with --from ndjson or csv; name files or a folder instead.")
            files.append(InputFile(options[role], kind))
    if not files:
        raise click.UsageError("Name files or a folder, or a file with --pieces or --interactions.")
    return ImportArguments(
        format=name,
        files=files,
        options=_read_options(options),
        **{
            each: options[each]
            for each in (
                "account",
                "source",
                "url",
                "key_file",
                "state",
                "shift_times",
                "dry_run",
                "skip_invalid",
                "no_check",
                "restart",
                "as_json",
            )
        },
    )


def _read_options(options: dict[str, Any]) -> ImportOptions:
    """Return what formats leave open.

    Raises:
        click.UsageError: a value is not accepted.
    """
    delimiter = "\t" if options["delimiter"] == "\\t" else options["delimiter"]
    if delimiter is not None and len(delimiter) != 1:
        raise click.UsageError("--delimiter takes one character.")
    try:
        codecs.lookup(options["encoding"] or "utf-8")
    except LookupError:
        raise click.UsageError("--encoding takes a name such as windows-1252, latin-1 or utf-16.") from None
    try:
        catalogs = options["catalogs"]
        return ImportOptions(
            keywords=tuple(parse_column(text) for text in options["keywords"]),
            catalogs=None if catalogs is None else parse_column(catalogs, category=False),
            types=dict(parse_type(text) for text in options["types"]),
            delimiter=delimiter,
            **{
                each: options[each]
                for each in (
                    "id_column",
                    "label_column",
                    "user_column",
                    "type_column",
                    "rating_column",
                    "time_column",
                    "rating_scale",
                    "encoding",
                    "decimal",
                    "time_format",
                    "without_times",
                )
            },
        )
    except ValueError as error:
        raise click.UsageError(f"--keywords, --catalogs or --type: {error}.") from error
