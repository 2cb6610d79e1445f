"""``penchant import`` of the service alone: lines of JSON, as an export writes them, and who reads anything else."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from factories import piece
from penchant.cli import commands
from penchant.cli.importing import import_files
from penchant.errors import InvalidInput, Refused


def imported(tmp_path: Path, *words: str, **more: Any) -> Result:
    return CliRunner().invoke(import_files, ["--data", str(tmp_path / "data"), "--source", "s", *words], **more)


def exported(tmp_path: Path) -> list[Any]:
    words = ["export", "--data", str(tmp_path / "data"), "--source", "s", "--with", "all"]
    return [json.loads(line) for line in CliRunner().invoke(commands, words).stdout.splitlines()]


def lines(*things: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in things)


ALL = (
    {"settings": {"retentionDays": 36_500}},
    piece("a", "x"),
    piece("b", "x"),
    {"whitelist": ["b"]},
    {"placement": {"name": "front", "placement": {"kind": "popular"}}},
    {"draft": {"name": "spring", "edits": {"title": "Spring", "whitelist": ["a"]}}},
    {"userId": "kim", "type": "Watch", "contentId": "a", "timestamp": "2026-11-01T00:00:00Z"},
    {"preferences": {"userId": "lee", "hidden": ["a"]}},
)


def test_an_export_comes_back_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "all.ndjson.gz"
    file.write_bytes(gzip.compress(lines(*ALL).encode()))

    first = imported(tmp_path, str(file))
    stored = exported(tmp_path)
    again = imported(tmp_path, "-", input=lines(*stored))

    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    assert "s: 2 lines of piece stored" in first.stderr
    assert [each["id"] for each in stored if "id" in each] == ["a", "b"]
    assert {next(iter(each)) for each in stored} >= {"whitelist", "settings", "placement", "draft", "userId"}
    assert exported(tmp_path) == stored


@pytest.mark.parametrize(
    ("text", "told"),
    (
        (lines(piece("a", "x"), {"id": "b", "categories": 7}), "a.ndjson, line 2: /categories: "),
        ("{\n", "a.ndjson, line 1: no JSON object"),
        (lines({"settings": {"retentionDays": "more"}}), "a.ndjson, line 1: /retentionDays: "),
    ),
)
def test_a_line_that_may_not_be_stored_is_named(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "a.ndjson"
    file.write_text(text)

    refused = imported(tmp_path, str(file))

    assert isinstance(refused.exception, InvalidInput)
    assert refused.exception.detail.removeprefix(f"{tmp_path}/").startswith(told)


def test_settings_of_packages_that_are_not_installed_are_kept_and_named(tmp_path: Path) -> None:
    brought = {"settings": {"retentionDays": 400, "greeting": {"words": ["hello"]}}}

    first = imported(tmp_path, "-", input=lines(brought, piece("a", "x")))
    again = imported(tmp_path, "-", input=lines({"settings": {"halfLifeDays": 7}}))
    settings = next(each["settings"] for each in exported(tmp_path) if "settings" in each)

    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    assert "settings that no installed package knows, kept as they are: /greeting" in first.stderr
    assert (settings["halfLifeDays"], settings["greeting"]) == (7, {"words": ["hello"]})


def test_a_file_of_another_system_is_read_by_another_package(tmp_path: Path) -> None:
    file = tmp_path / "films.csv"
    file.write_text("id,title\n1,Rope\n")

    refused = imported(tmp_path, str(file))

    assert isinstance(refused.exception, Refused)
    assert refused.exception.detail.endswith("pip install penchant-import")
    assert not (tmp_path / "data").exists()
