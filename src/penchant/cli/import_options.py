"""What can be said to ``penchant import``?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from penchant.cli.options import DEFAULT_ACCOUNT, Command
from penchant.importing import FORMATS, Choices, InputFile, Kind, gather, parse_column, parse_type
from penchant.wire import source_problem

_existing = click.Path(exists=True, path_type=Path)
_existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_file = click.Path(dir_okay=False, path_type=Path)
_FILES_BY_ROLE = ("ndjson", "csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What an import is asked for."""

    format: str
    files: list[InputFile]
    choices: Choices
    account: str
    source: str
    url: str | None
    key_file: Path | None
    state: Path | None
    shift_times: bool
    dry_run: bool
    skip_invalid: bool
    restart: bool
    as_json: bool


_SOURCE_OPTIONS = (
    click.argument("paths", nargs=-1, type=_existing, metavar="[FILE|FOLDER]..."),
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
    click.option("--dry-run", is_flag=True, help="Only read and check, and report; nothing is stored."),
    click.option("--skip-invalid", is_flag=True, help="Leave out rows that may not be stored, instead of stopping."),
    click.option("--restart", is_flag=True, help="Begin anew where an earlier run was ended."),
    click.option("--state", type=_file, help="File that notes how far the import is, instead of one found by itself."),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on standard output."),
)
_CHOICE_OPTIONS = (
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
    click.option("--delimiter", default=",", show_default=True, help="What separates columns (csv); tab is \\t."),
)


def source_options(function: Command) -> Command:
    """Add what every import has: files, format, source, and how to go about it."""
    for option in reversed(_SOURCE_OPTIONS):
        function = option(function)
    return function


def choice_options(function: Command) -> Command:
    """Add what formats leave open."""
    for option in reversed(_CHOICE_OPTIONS):
        function = option(function)
    return function


def read_wishes(options: dict[str, Any]) -> Wishes:
    """Return what is asked for.

    Raises:
        click.UsageError: options do not fit together, or have a value that is not accepted.
    """
    name, source = options["format_name"], options["source"]
    problem = source_problem(source)
    if problem:
        raise click.UsageError(f"--source: {problem}")
    files = gather(options["paths"]) if options["paths"] else []
    for role, kind in (("pieces", Kind.PIECE), ("interactions", Kind.INTERACTION)):
        if options[role] is not None:
            if name not in _FILES_BY_ROLE:
                raise click.UsageError(f"--{role} goes with --from ndjson or csv; name files or a folder instead.")
            files.append(InputFile(options[role], kind))
    if not files:
        raise click.UsageError("Name files or a folder, or a file with --pieces or --interactions.")
    return Wishes(
        format=name,
        files=files,
        choices=_read_choices(options),
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
                "restart",
                "as_json",
            )
        },
    )


def _read_choices(options: dict[str, Any]) -> Choices:
    delimiter = "\t" if options["delimiter"] == "\\t" else options["delimiter"]
    if len(delimiter) != 1:
        raise click.UsageError("--delimiter takes one character.")
    try:
        catalogs = options["catalogs"]
        return Choices(
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
                )
            },
        )
    except ValueError as error:
        raise click.UsageError(f"--keywords, --catalogs or --type: {error}.") from error
