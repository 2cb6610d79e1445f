"""The command line: every command has a module, or shares one with its kin."""

import ast
import contextlib
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from penchant import __version__
from penchant.cli.output import OutputFailed, end_without_output, guard_standard_output
from penchant.errors import InvalidSettings, PenchantError, StorageUnavailable

ENTRY_POINTS = "penchant.commands"
"""The entry points by which other packages bring commands."""
_ELSEWHERE = ""
"""The place of a command that is there where the package that brings it is installed."""
_HEADINGS: Mapping[str, Mapping[str, str]] = {
    "Serve": {"serve": "listening:serve", "demo": "listening:demo", "keys": "keys:keys"},
    "Bring in and write out": {
        "import": "importing:import_files",
        "keywords": _ELSEWHERE,
        "dataset": _ELSEWHERE,
        "export": "upkeep:export_source",
        "recommend": _ELSEWHERE,
    },
    "Judge and tune": {
        "evaluate": _ELSEWHERE,
        "tune": _ELSEWHERE,
        "simulate": _ELSEWHERE,
        "replay": _ELSEWHERE,
        "bench": _ELSEWHERE,
    },
    "Look after": {
        "health": "health:health",
        "doctor": "doctor:doctor",
        "check": "upkeep:check",
        "backup": "upkeep:backup",
        "restore": "upkeep:restore",
        "move": "upkeep:move",
        "reindex": "upkeep:reindex",
        "usage": "keys:usage",
        "audit": "keys:audit",
    },
    "This command line": {"completion": "completion:completion"},
}
"""Where each command is defined, below this package, under the heading that it has in the help."""
REPLACED = {"import"}
"""Commands that another package may bring in place of our own, which does less."""
_OTHERS = "Of other packages"
_OWN: Mapping[str, str] = {
    name: f"{__name__}.{place}" for group in _HEADINGS.values() for name, place in group.items() if place != _ELSEWHERE
}


@cache
def places() -> Mapping[str, str]:
    """Return of each command that there is the module and the function that define it."""
    brought = {each.name: each.value for each in entry_points(group=ENTRY_POINTS)}
    own = {name: place for name, place in _OWN.items() if name not in REPLACED or name not in brought}
    return {**brought, **own}


def groups() -> Mapping[str, Sequence[str]]:
    """Return the names of the commands that there are by the heading that they have in the help."""
    known = {name for group in _HEADINGS.values() for name in group}
    headings = {heading: [name for name in group if name in places()] for heading, group in _HEADINGS.items()}
    others = sorted(places().keys() - known)
    return {**headings, _OTHERS: others} if others else headings


class SentenceGroup(click.Group):
    """Commands that its help tells of in whole sentences: the first paragraph of each one's own help."""

    def sentences(self, ctx: click.Context) -> Mapping[str, Mapping[str, str]]:
        """Return the sentence of each command, by heading."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        return {"Commands": {name: _first_paragraph(each.help) for name, each in commands.items() if each is not None}}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list of commands under each heading."""
        for heading, sentences in self.sentences(ctx).items():
            with formatter.section(heading):
                formatter.write_dl(list(sentences.items()))


class LateGroup(SentenceGroup):
    """The commands, each imported when it is run: those of a server need nothing of an evaluation."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the names of all commands, ascending."""
        return sorted(places())

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, ``None`` where there is none."""
        # What others bring is looked for among all that is installed, which takes as long as an import.
        place = (cmd_name not in REPLACED and _OWN.get(cmd_name)) or places().get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_late(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first; of one that is not there, with those that are called nearly so."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=places(), ctx=ctx) from None

    def sentences(self, _ctx: click.Context) -> Mapping[str, Mapping[str, str]]:
        """Return the sentence of each command, by heading; read, not imported, which would take seconds."""
        return {
            heading: {name: _first_paragraph(_docstring(places()[name])) for name in group}
            for heading, group in groups().items()
        }

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the names of commands that begin so, with their sentences, and options of the program itself."""
        sentences = {name: text for group in self.sentences(ctx).values() for name, text in group.items()}
        names = [
            CompletionItem(name, help=sentences[name]) for name in sorted(sentences) if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def import_late(module: str) -> ModuleType:
    """Import a module and all that it needs without a look for garbage: modules stay, an eighth of the time goes."""
    with collecting_later():
        return import_module(module)


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """Look for no garbage until the block ends."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


@cache
def _syntax_of(module: str) -> ast.Module:
    found = find_spec(module)
    return ast.parse("" if found is None or found.origin is None else Path(found.origin).read_text(encoding="utf-8"))


def _docstring(place: str) -> str | None:
    """Return the docstring of a function, without importing its module."""
    module, _, name = place.partition(":")
    functions = (each for each in _syntax_of(module).body if isinstance(each, ast.FunctionDef) and each.name == name)
    return next((ast.get_docstring(each) for each in functions), None)


class LateHost:
    """The service as `penchant.cli.host.CommandHost` gives it, imported when it is asked for something."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_late(f"{__name__}.host").CommandHost(), name)


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, prog_name="penchant")
@click.pass_context
def commands(context: click.Context) -> None:
    """A content recommendation service that you run yourself."""
    # What commands of other packages reach the data by; made when one asks, since it imports the service.
    context.obj = LateHost()


def main() -> None:
    """Run the command line: exit code 0 when done, 1 when it failed, 2 for wrong usage or settings.

    A closed pipe ends it by the signal for that, without a word.
    """
    guard_standard_output()
    try:
        try:
            commands()
        finally:
            # Here rather than at the very end, where nobody is told of what cannot be written.
            if sys.stdout is not None:
                sys.stdout.flush()
    except OutputFailed as error:
        end_without_output(error)
    except PenchantError as error:
        click.echo(f"penchant: {error.reason if isinstance(error, StorageUnavailable) else error.detail}", err=True)
        for fault in error.faults:
            click.echo(f"  {fault.pointer or fault.parameter}: {fault.detail}", err=True)
        sys.exit(2 if isinstance(error, InvalidSettings) else 1)
    except OSError as error:
        # A file of the machine's, such as one that may not be read: a traceback would say no more.
        where = f"{error.filename}: " if error.filename is not None else ""
        click.echo(f"penchant: {where}{error.strerror or error}", err=True)
        sys.exit(1)
