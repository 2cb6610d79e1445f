"""Commands on a folder without a database: those that bring nothing in say so, and make nothing."""

from pathlib import Path

import click
import pytest

from cli.conftest import Running
from databases import new_database
from penchant.cli import commands, places

MAKING = {"serve", "demo", "import", "keys create", "keys secret", "restore"}
"""Commands that begin a database where there is none."""
TELLING = {"doctor"}
"""It tells among other things whether there is one."""
READING = {
    "check": "",
    "usage": "",
    "audit": "",
    "keys list": "",
    "keys plan": "x full",
    "keys revoke": "x",
    "keys sign": "--user u",
    "reindex": "",
    "export": "--source s --output out",
    "recommend": "--source s --out out.ndjson",
    "evaluate": "--source s --json out.json",
    "simulate": "--source s --json out.json",
    "tune": "--source s --apply",
    "replay": "--source s --placement p --draft ../draft.json",
    "keywords variants": "--source s --output out",
    "keywords apply": "--source s ../table.csv",
    "backup": "out.db",
    "move": "--to other",
}


def test_each_command_on_data_is_of_one_of_these_kinds() -> None:
    found = set()
    for name in places():
        command = commands.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        parts = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        found |= {f"{name} {part}".strip() for part, each in parts if any(o.name == "data" for o in each.params)}

    assert found == MAKING | TELLING | set(READING)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "draft.json").write_text('{"kind":"popular"}')
    (tmp_path / "table.csv").write_text("from,to\na/b,a/c\n")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("name", READING)
def test_a_command_that_reads_makes_nothing_and_says_that_there_is_nothing(
    name: str, empty: Path, refused: Running
) -> None:
    code, told = refused(*name.split(), *READING[name].split(), "--data", "typo")

    assert (code, told) == (1, "penchant: There is no database in typo.")
    assert list(empty.iterdir()) == []


def test_what_tells_of_the_data_makes_none(empty: Path, refused: Running) -> None:
    code, _ = refused("doctor", "--data", "typo", "--quick")

    assert code == 0
    assert list(empty.iterdir()) == []


def test_two_sides_are_compared_only_where_both_are_there(empty: Path, refused: Running) -> None:
    refused("keys", "create", "--data", "one")

    assert refused("move", "--data", "one", "--to", "other", "--compare") == (
        1,
        "penchant: There is no database in other.",
    )
    assert [each.name for each in empty.iterdir()] == ["one"]


@pytest.mark.slow
def test_an_empty_database_of_a_server_is_left_empty(empty: Path, refused: Running, postgresql: str) -> None:
    address = new_database(postgresql)

    for name in ("check", "export", "keys list"):
        code, told = refused(*name.split(), *READING[name].split(), "--database", address)
        assert code == 1
        assert told.startswith(f"penchant: The database {address.partition('?')[0].rpartition('/')[2]} on /")
        assert told.endswith("is empty.")
    assert not any(each.suffix == ".db" for each in empty.rglob("*"))
