"""``penchant-import pull``: one address, read again and again into a source of a server, as a file says it."""

import re
import signal
import sys
import time
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import msgspec

from penchant_engine.errors import Refused
from penchant_import.commands.importing import (
    existing_file,
    format_options,
    new_file,
    read_key,
    read_options,
    require_used,
)
from penchant_import.fetching import address_problem
from penchant_import.files import printable
from penchant_import.formats import FORMATS
from penchant_import.options import ImportOptions
from penchant_import.pulling import Pull, PullSpec, StateFile, run_line
from penchant_import.report import to_text
from penchant_import.rules import source_problem

MIN_INTERVAL_S, MAX_INTERVAL_S = 60, 30 * 86_400
_UNITS = MappingProxyType({"s": 1, "m": 60, "h": 3_600, "d": 86_400})


@click.command()
@click.argument("path", type=existing_file, metavar="FILE.toml")
@click.option("--state", type=new_file, help="File of what was brought (default: FILE.state).")
@click.option("--once", is_flag=True, help="Pull once and end; exit code 1 where it failed or deletions wait.")
@click.option("--force", is_flag=True, help="Delete all pieces that are due, even over a tenth of the source.")
@click.option("--anew", is_flag=True, help="Send what has not changed, too: where pieces were changed in the source.")
@click.option("--report", "shows_report", is_flag=True, help="Print the report of each run that read a file.")
def pull(path: Path, *, state: Path | None, once: bool, force: bool, anew: bool, shows_report: bool) -> None:
    """Read an address into a source, again after each interval, until the process is told to end.

    The key of the server is in PENCHANT_KEY, or in the file that FILE names.
    """
    spec = read_pull(path)
    state_file = StateFile(state or path.with_suffix(".state"))
    work = Pull(spec, pull_options(spec), read_key(spec.key_file), state_file)
    every_s = read_interval(spec.every)
    # What is under way ends where it is, and its state is kept; what is sent again by the next one changes nothing.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        run = work.run(force=force, anew=anew)
        click.echo(run_line(run))
        for line in to_text(run.report) if shows_report and run.report is not None else ():
            click.echo(printable(line))
        if once:
            break
        time.sleep(every_s)
        # Said of one run, not of all that follow it.
        force = anew = False
    if once and run.outcome.is_failure:
        raise click.exceptions.Exit(1)


def read_pull(path: Path) -> PullSpec:
    """Return the pull in a file.

    Raises:
        Refused: it is no TOML, or says what is not accepted.
    """
    try:
        spec = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), PullSpec)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise Refused(f"{path}: {printable(str(error))}.") from None
    problem = source_problem(spec.source) or address_problem(spec.address, spec.rules.hosts)
    if spec.format not in FORMATS:
        problem = f"{spec.format!r} is no format; {', '.join(FORMATS)} are accepted."
    if problem:
        raise Refused(f"{path}: {problem}")
    return spec


def read_interval(text: str) -> int:
    """Return the seconds of an interval.

    Raises:
        Refused: it is none, or less than a minute, or more than 30 days.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)
    seconds = 0 if match is None else int(match[1]) * _UNITS[match[2]]
    if not MIN_INTERVAL_S <= seconds <= MAX_INTERVAL_S:
        raise Refused(f"every = {text!r}: 15m, 6h or 1d, a minute at least and 30 days at most, are accepted.")
    return seconds


@click.command()
@format_options
def _options_of_formats(**_options: Any) -> None:
    """Take what formats leave open: how a file's table of options is read."""


def pull_options(spec: PullSpec) -> ImportOptions:
    """Return how a pull's file is read; raises `click.UsageError` of options that its format has no use for."""
    words: list[str] = []
    for name, value in spec.options.items():
        for item in value if isinstance(value, list) else [value]:
            words += [] if item is False else [f"--{name}"] if item is True else [f"--{name}={item}"]
    return require_used(spec.format, read_options(_options_of_formats.make_context("options", words).params))
