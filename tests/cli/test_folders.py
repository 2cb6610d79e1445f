"""A data folder is the one that was named, whatever its name is."""

import contextlib
import sqlite3
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from penchant.cli import commands
from penchant.telemetry import Metrics

NAMES = (
    "live%20A",
    "what?",
    "what?mode=ro",
    "a#b",
    "a b",
    "ws/feature%2Fx",
    "ws%2Fy",
    "Übersicht-日",
    "-x",
    "a[b]*",
    "%",
    "file:z",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_the_one_that_was_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A neighbour has the name that an address would make of it."""
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(commands, ["keys", "create", "--data", "live A"]).exit_code == 0

    made = run(commands, ["keys", "create", f"--data={name}", "--account", "named"])
    copied = run(commands, ["backup", f"--data={name}", "file:copy%20?.db"])

    assert (made.exit_code, copied.exit_code) == (0, 0), (made.output, copied.output)
    assert accounts(tmp_path / name / "penchant.db") == accounts(tmp_path / "file:copy%20?.db") == ["named"]
    assert accounts(tmp_path / "live A" / "penchant.db") == ["default"]
    assert {each.name for each in tmp_path.iterdir()} == {"live A", Path(name).parts[0], "file:copy%20?.db"}


def accounts(file: Path) -> list[str]:
    """Return the accounts in a database, opened without a thing of ours."""
    with contextlib.closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM accounts")]


def test_metrics_are_summed_up_in_a_folder_whose_name_is_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a[b]*"
    folder.mkdir()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    metrics = Metrics(folder)

    metrics.rows_purged.inc(3)

    assert metrics.counts("penchant_rows_purged") == {(): 3}
