"""``penchant keys``: scopes, origins and secrets on the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penchant.cli.keys import keys


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(keys, [words[0], "--data", str(data), *words[1:]])


def test_a_key_has_the_scopes_and_origins_it_was_made_with(tmp_path: Path) -> None:
    assert run(tmp_path, "create", "--scope", "write", "--scope", "read").exit_code == 0
    assert run(tmp_path, "create", "--browser", "--origin", "https://a.example", "--origin", "http://b").exit_code == 0

    listed = [json.loads(line) for line in run(tmp_path, "list", "--json").output.splitlines()]

    assert [key["scopes"] for key in listed] == [["read", "write"], ["read", "personal", "interact"]]
    assert [key["origins"] for key in listed] == [[], ["https://a.example", "http://b"]]


@pytest.mark.parametrize(
    "words",
    (
        ("--browser",),
        ("--origin", "https://a.example"),
        ("--browser", "--origin", "a.example"),
        ("--browser", "--origin", "https://a.example", "--scope", "write"),
        ("--scope", "all"),
        ("--admin", "--scope", "read"),
    ),
)
def test_limits_that_make_no_sense_are_usage_errors(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert run(tmp_path, "create", *words).exit_code == 2
    assert run(tmp_path, "list").output == ""


def test_a_secret_is_made_once_and_replaced_on_demand(tmp_path: Path) -> None:
    first = run(tmp_path, "secret")
    assert first.exit_code == 0
    assert first.stdout.startswith("ps_")

    assert run(tmp_path, "secret").exit_code == 1
    rolled = run(tmp_path, "secret", "--roll")
    assert rolled.exit_code == 0
    assert rolled.stdout not in {"", first.stdout}
