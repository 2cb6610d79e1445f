"""``penchant keys``: scopes, origins and secrets on the command line."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from databases import prepare_file
from penchant.cli.keys import keys
from penchant.wire.signing import signed_user


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(keys, [words[0], "--data", str(data), *words[1:]])


def test_a_key_has_the_scopes_and_origins_it_was_made_with(tmp_path: Path) -> None:
    assert run(tmp_path, "create", "--scope", "write", "--scope", "read").exit_code == 0
    assert run(tmp_path, "create", "--browser", "--origin", "https://a.example", "--origin", "http://b").exit_code == 0
    limits = ("--requests-per-second", "5", "--requests-per-month", "70")
    assert run(tmp_path, "create", "--browser", "--origin", "http://c", *limits).exit_code == 0

    listed = [json.loads(line) for line in run(tmp_path, "list", "--json").output.splitlines()]

    assert [key["scopes"] for key in listed] == [["read", "write"], *[["read", "personal", "interact"]] * 2]
    assert [key["origins"] for key in listed] == [[], ["https://a.example", "http://b"], ["http://c"]]
    assert [key["requestsPerSecond"] for key in listed] == [None, None, 5]
    assert [key["requestsPerMonth"] for key in listed] == [None, None, 70]


@pytest.mark.parametrize(
    "words",
    (
        ("--browser",),
        ("--origin", "https://a.example"),
        ("--browser", "--origin", "a.example"),
        ("--browser", "--origin", "https://a.example", "--scope", "write"),
        ("--scope", "all"),
        ("--admin", "--scope", "read"),
        ("--requests-per-second", "5"),
        ("--browser", "--origin", "https://a.example", "--requests-per-month", "0"),
    ),
)
def test_limits_that_make_no_sense_are_usage_errors(tmp_path: Path, words: tuple[str, ...]) -> None:
    prepare_file(tmp_path)
    assert run(tmp_path, "create", *words).exit_code == 2
    assert len(run(tmp_path, "list").output.splitlines()) == 1


def test_a_secret_is_made_once_and_replaced_on_demand(tmp_path: Path) -> None:
    first = run(tmp_path, "secret")
    assert first.exit_code == 0
    assert first.stdout.startswith("ps_")

    assert run(tmp_path, "secret").exit_code == 1
    rolled = run(tmp_path, "secret", "--roll")
    assert rolled.exit_code == 0
    assert rolled.stdout not in {"", first.stdout}


def test_a_person_is_signed_for_as_long_as_is_said(tmp_path: Path) -> None:
    secret = run(tmp_path, "secret", "--account", "a").stdout.strip()

    signed = run(tmp_path, "sign", "--account", "a", "--user", "kim/lee", "--minutes", "10")

    assert signed.exit_code == 0
    assert signed_user(signed.stdout.strip(), secret, time.time()) == "kim/lee"
    assert signed_user(signed.stdout.strip(), secret, time.time() + 601) is None


@pytest.mark.parametrize(
    "words", (("--user", ""), ("--user", "k", "--minutes", "1441"), ("--user", "k", "--minutes", "0"), ())
)
def test_nobody_is_signed_for_more_than_a_day_or_without_a_name(tmp_path: Path, words: tuple[str, ...]) -> None:
    run(tmp_path, "secret")

    assert run(tmp_path, "sign", *words).exit_code == 2


def test_an_account_without_a_secret_signs_nobody(tmp_path: Path) -> None:
    prepare_file(tmp_path)

    refused = run(tmp_path, "sign", "--user", "kim")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "penchant keys secret" in refused.stderr
