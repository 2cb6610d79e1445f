"""Every command and file of docs/how-to/import.md and of the formats' README.md does what the pages say."""

import re
import shlex
from datetime import date
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from clocks import set_back
from penchant.cli import commands
from penchant.cli.upkeep import export_source
from penchant_import.commands.importing import import_files
from penchant_import.drafts import ACTION_NAMES, find_type
from penchant_import.formats import FORMATS

ROOT = Path(__file__).parents[3]
PAGES = ("docs/how-to/import.md", "packages/penchant-import/src/penchant_import/formats/README.md")
PAGE = "".join((ROOT / name).read_text(encoding="utf-8") for name in PAGES)
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
FILE = re.compile(r"```\w+ (\S+)\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def when_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go by a clock of then: what people of its files did is too old to be kept one day."""
    set_back(monkeypatch, date(2026, 12, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(FORMATS.keys() - {"parquet", "calibre", "spreadsheet"})
)  # whose files no page can show
def test_each_format_s_example_gives_what_is_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, text in FILE.findall(SECTIONS[name]):
        (tmp_path / file).write_text(text)
    (console,) = CONSOLE.findall(SECTIONS[name])
    asked = [part.partition("\n") for part in console.split("$ penchant ")[1:]]

    for words, _, printed in asked:
        done = CliRunner().invoke(commands, shlex.split(words))

        assert done.exit_code == 0, done.output
        assert done.stdout == printed

    assert [words.split()[0] for words, _, _ in asked] == ["import", "export"]


@pytest.mark.slow
def test_each_command_of_the_guide_ends_with_a_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    guide = SECTIONS["What you have"]
    asked = [line.partition("$ penchant ")[2] for line in guide.splitlines() if line.startswith("$ penchant ")]
    for words in asked:
        # The files are those of the format's own section; two formats may have files of one name.
        for file, text in FILE.findall(SECTIONS[words.split()[2]] + guide):
            (tmp_path / file).write_text(text)

        done = CliRunner().invoke(commands, shlex.split(words))

        assert done.exit_code == 0, done.output
        assert re.search("pieces share a keyword with another|people: [0-9]+ like a piece", done.stderr), done.stderr
    assert len(set(asked)) > len(re.findall("^### ", guide, re.MULTILINE)) > 0


def test_the_page_names_every_option_and_none_that_there_is_not() -> None:
    options = {
        option
        for command in (import_files, export_source)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    }

    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))

    assert named <= options
    assert options - named == {"--account", "--settings"}


def test_the_names_of_actions_that_the_page_shows_are_known_however_they_are_spelt() -> None:
    assert len(ACTION_NAMES) == 8
    assert "<!-- made of the code: actions -->" in SECTIONS["Ratings and actions"]
    for kind, names in ACTION_NAMES.items():
        for name in (kind.value, *names.split()):
            assert {find_type(spelt, {}) for spelt in (name, name.upper(), f"{name[:2]}-{name[2:]}")} == {kind}
