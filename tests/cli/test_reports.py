"""``penchant usage`` and ``audit``, also while a service runs on the same data."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from factories import piece
from penchant.cli import commands
from serving import Service


def told(service: Service, *words: str) -> Result:
    return CliRunner().invoke(commands, [*words, "--data", service.settings.data])


def lines(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_usage_is_told_by_account(service: Service) -> None:
    service.submit("s", piece("a"), piece("b"))
    service.new_key(account="press")
    month = time.strftime("%Y-%m", time.gmtime())

    default, press = lines(told(service, "usage", "--json"))

    assert default == {
        "month": month,
        "account": "default",
        "answers": 0,
        "sources": 1,
        "pieces": 2,
        "browserAnswers": 0,
    }
    assert lines(told(service, "usage", "--json", "--account", "press")) == [press]
    table = told(service, "usage", "--month", "2020-02", "--account", "default").stdout
    assert table == "month\taccount\tanswers\tsources\tpieces\tbrowserAnswers\n2020-02\tdefault\t0\t1\t2\t0\n"


@pytest.mark.slow
def test_the_audit_log_is_told_newest_first(service: Service) -> None:
    service.submit("s")
    service.new_key(account="press")

    entries = lines(told(service, "audit", "--json"))

    assert [(entry["account"], entry["action"]) for entry in entries] == [
        ("press", "key.create"),
        ("default", "source.create"),
        ("default", "key.create"),
    ]
    assert {entry["actor"] for entry in entries} == {"command-line", service.key.split("_")[1]}
    assert lines(told(service, "audit", "--json", "--limit", "1")) == entries[:1]
    assert lines(told(service, "audit", "--json", "--account", "default")) == entries[1:]
    assert told(service, "audit").stdout.splitlines()[0] == "recordedAt\taccount\tactor\taction\tsubject\tcount"


@pytest.mark.slow
def test_the_audit_log_is_found_by_actor_and_time_page_by_page(service: Service) -> None:
    service.submit("s")
    for _ in range(2):
        service.put("/s/settings", json={})
    acting = service.key.split("_")[1]

    first = told(service, "audit", "--json", "--actor", acting, "--limit", "1")
    before = first.stderr.split()[-1]
    rest = told(service, "audit", "--json", "--actor", acting, "--before", before)

    assert [(entry["action"], entry["count"]) for entry in lines(first)] == [("settings.replace", 2)]
    assert [entry["action"] for entry in lines(rest)] == ["source.create"]
    assert "--before" not in rest.stderr
    assert lines(told(service, "audit", "--json", "--before", "2020-01-01T00:00:00Z")) == []


@pytest.mark.parametrize(
    ("words", "code"),
    (
        (("usage", "--month", "2026-13"), 2),
        (("audit", "--limit", "0"), 2),
        (("audit", "--before", "yesterday"), 2),
        (("usage", "--account", "nobody"), 1),
        (("audit", "--account", "nobody"), 1),
    ),
)
def test_wrong_words_have_their_exit_codes(service: Service, words: tuple[str, ...], code: int) -> None:
    assert told(service, *words).exit_code == code


def test_an_account_that_was_asked_for_in_vain_is_not_made(service: Service, tmp_path: Path) -> None:
    told(service, "usage", "--account", "nobody")

    assert [each["account"] for each in lines(told(service, "usage", "--json"))] == ["default"]
    assert (tmp_path / "data" / "penchant.db").exists()
