"""``penchant pull``: what it lists, tells and refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.conftest import Running
from client.answering import Answer, answering
from databases import prepare_file
from penchant.cli.pulling import pull

SHOP = b"id,label,kind\na,A,x\nb,B,x\n"


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(pull, [words[0], "--data", str(data), *words[1:]])


def add(data: Path, address: str, *words: str) -> Result:
    return run(data, "add", "shop", address, "--source", "s", "--from", "csv", "--keywords", "kind=kind", *words)


@pytest.mark.slow
def test_a_pull_is_added_listed_run_logged_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(Answer(200, SHOP, {"etag": '"1"'}), Answer(304), Answer(500)) as server:
        monkeypatch.setenv("PENCHANT_PULL_HOSTS", server.address.removeprefix("http://"))
        added = add(tmp_path, server.address.replace("//", "//me:secret@") + "/x.csv?key=secret", "--every", "6h")
        listed = run(tmp_path, "list", "--json")
        runs = [run(tmp_path, "run", "shop") for _ in range(3)]
        log = run(tmp_path, "log", "shop")
        report = run(tmp_path, "log", "shop", "--report")
        table = run(tmp_path, "list")
        removed = run(tmp_path, "remove", "shop")

    row = json.loads(listed.stdout)
    assert (row["address"], row["everySeconds"], row["last"]) == (f"{server.address}/x.csv?…", 21_600, "none yet")
    assert [each.exit_code for each in (added, *runs, log, removed)] == [0, 0, 0, 1, 0, 0]
    assert "s: 2 pieces stored, 2 new, 0 replaced" in runs[0].stdout
    assert [line.split("\t")[1] for line in log.stdout.splitlines()] == ["outcome", "failed", "unchanged", "stored"]
    assert "2 pieces stored" in report.stdout
    assert "\tfailed\t1\t" in table.stdout
    assert not any("secret" in each.output for each in (added, listed, *runs, log, report, table, removed))
    assert run(tmp_path, "list").stdout.startswith("name\taccount\tsource\t")
    assert run(tmp_path, "list", "--json").stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize(("words", "deletes"), (((), False), (("--delete-missing",), True)))
def test_what_is_missing_is_deleted_if_that_is_said(words: tuple[str, ...], deletes: object, tmp_path: Path) -> None:
    assert add(tmp_path, "https://a.example/x.csv", *words).exit_code == 0

    assert json.loads(run(tmp_path, "list", "--json").stdout)["deletesMissing"] is deletes


@pytest.mark.parametrize("words", (("--every", "15"), ("--every", "0m"), ("--every", "1w"), ("--delimiter", "xx")))
def test_options_that_make_no_sense_are_usage_errors(words: tuple[str, str], tmp_path: Path) -> None:
    assert add(tmp_path, "https://a.example/x.csv", *words).exit_code == 2


@pytest.mark.parametrize("words", (("run", "shop"), ("log", "shop"), ("remove", "shop")))
def test_a_pull_that_there_is_not_is_named(words: tuple[str, ...], tmp_path: Path, refused: Running) -> None:
    prepare_file(tmp_path)

    code, told = refused("pull", *words, "--data", str(tmp_path))

    assert code == 1
    assert "no pull of the name 'shop'" in told


def test_a_pull_from_within_a_network_is_refused_by_the_setting_s_name(tmp_path: Path, refused: Running) -> None:
    words = ("--source", "s", "--from", "csv", "--data", str(tmp_path))
    code, told = refused("pull", "add", "shop", "http://127.0.0.1/x.csv", *words)

    assert code == 1
    assert "pull-hosts" in told
