"""``penchant-import`` as it is called: lines on standard output, or into a server, without the service."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from acceptance.servers import Server
from penchant_import.commands.alone import read_files

TABLE = "id,title,genres,more\n1,Rope,Crime|Drama,x\n,Nameless,Crime,y\n2,Jaws,Crime,z\n"


def told(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(read_files, words, env=environment)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "films.csv").write_text(TABLE)
    return "films.csv"


def test_what_files_hold_is_written_as_lines_and_faults_are_told(table: str) -> None:
    done = told("--from", "csv", table)
    lax = told("--from", "csv", "--skip-invalid", table)

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["1", "2"]
    assert "films.csv, line 3: id: Found no id" in done.stderr
    assert (done.exit_code, lax.exit_code, lax.stdout) == (1, 0, done.stdout)


def test_lists_and_settings_stay_lines_of_their_own(tmp_path: Path) -> None:
    lines = '{"settings":{"retentionDays":7}}\n{"whitelist":["a"]}\n{"id":"a","categories":{}}\n'
    (tmp_path / "all.ndjson").write_text(lines)

    assert told(str(tmp_path / "all.ndjson")).stdout == lines


@pytest.mark.parametrize("value", ("1e308", "-1", "2"))
def test_a_portion_that_is_none_is_told_before_a_server_is_asked(tmp_path: Path, value: str) -> None:
    line = f'{{"userId":"u","type":"Watch","contentId":"a","value":{value}}}'
    (tmp_path / "all.ndjson").write_text(line)

    done = told("--dry-run", str(tmp_path / "all.ndjson"))

    assert done.exit_code == 1
    assert "a number from 0 to 1 is accepted" in done.stderr


def test_a_trial_needs_no_source_and_shows_the_first_rows(table: str) -> None:
    done = told("--from", "csv", "--dry-run", "--skip-invalid", table)

    assert done.exit_code == 0, done.output
    assert '{"id":"1","label":"Rope"' in done.stderr


def test_a_server_takes_what_it_accepts(table: str, tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        words = ("--from", "csv", "--url", server.url, "--skip-invalid", table)

        without, done = told(*words), told(*words, "--source", "s", "--json", PENCHANT_KEY=server.key)

        assert (without.exit_code, "--source" in without.stderr) == (2, True)
        assert json.loads(done.stdout)["created"] == 2
        assert [each["id"] for each in server.client.get("/s/content").json()["content"]] == ["1", "2"]
        # What the server alone finds wrong is left out, too, and told.
        (tmp_path / "all.ndjson").write_text('{"id":"3","categories":{}}\n{"id":"4","categories":7}\n')
        lax = told("all.ndjson", "--url", server.url, "--source", "s", "--skip-invalid", PENCHANT_KEY=server.key)
        assert "in its batch /1/categories: " in lax.stderr
        assert sorted(each["id"] for each in server.client.get("/s/content").json()["content"]) == ["1", "2", "3"]
