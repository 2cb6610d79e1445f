"""The help and the completion of the command line, tried in real shells."""

import itertools
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from acceptance.balancers import program
from cli.conftest import Running
from cli.test_start import imported_by
from penchant.cli import commands, groups, places
from penchant.cli.completion import SHELLS
from serving import Service

PATIENCE_S = 120


def told(*words: str) -> str:
    done = CliRunner().invoke(commands, words, terminal_width=100, prog_name="penchant")
    assert done.exit_code == 0, done.output
    return done.output


def test_the_help_has_every_command_below_its_heading_in_whole_sentences() -> None:
    found = dict(re.findall(r"^([A-Z][\w ]+):\n((?:  .*\n)+)", told("--help"), re.MULTILINE))

    assert list(found)[1:] == list(groups())
    for heading, group in groups().items():
        listed = dict(re.findall(r"^  ([a-z]+) +((?:.*\n(?: {3,})?)+?)(?=  [a-z]|\Z)", found[heading], re.MULTILINE))
        assert list(listed) == list(group)
        for name, sentence in listed.items():
            own = " ".join((commands.get_command(None, name).help or "").partition("\n\n")[0].split())  # type: ignore[arg-type, union-attr]
            assert " ".join(sentence.split()) == own
            assert own.endswith("."), name
    assert all(told(group, "--help").count("...") == 1 for group in ("keys", "keywords"))


@pytest.mark.slow
def test_no_option_takes_what_is_no_number() -> None:
    ranges = {
        (name, option.opts[0])
        for name in places()
        for option in getattr(commands.get_command(None, name), "params", ())  # type: ignore[arg-type]
        if isinstance(option.type, click.FloatRange)
    }
    assert ("bench", "--seconds") in ranges
    assert ("import", "--rating-scale") in ranges

    for (name, option), number in itertools.product(sorted(ranges), ("nan", "inf", "-inf")):
        done = CliRunner().invoke(commands, [name, f"{option}={number}"])

        assert done.exit_code == 2, (name, option, number)
        assert f"'{option}'" in done.output


@pytest.mark.slow
def test_help_and_completion_of_names_import_no_command() -> None:
    helped = "from penchant.cli import commands; commands(['--help'], standalone_mode=False)"
    completed = (
        "import os; os.environ |= dict(_PENCHANT_COMPLETE='bash_complete', COMP_WORDS='penchant re', COMP_CWORD='1')\n"
    )
    completed += "from penchant.cli import commands\ntry: commands(prog_name='penchant')\nexcept SystemExit: pass"

    for done in (helped, completed):
        assert not imported_by(done) & {"granian", "msgspec", "numpy", "penchant.storage", "sqlalchemy"}


def type_into(shell: list[str], dialogue: Sequence[tuple[str, str]]) -> None:
    """Type into a shell at a terminal, each time until it shows a text."""
    ours, theirs = pty.openpty()
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "dumb"}
    started = subprocess.Popen(
        [program("setsid"), "--ctty", *shell], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    deadline = time.monotonic() + PATIENCE_S
    try:
        for line, awaited in dialogue:
            shown = ""
            os.write(ours, line.encode())
            while awaited not in shown:
                assert time.monotonic() < deadline, shown
                if select.select([ours], [], [], 1)[0]:
                    shown += os.read(ours, 65_536).decode(errors="replace")
    finally:
        started.kill()
        started.wait()
        os.close(ours)


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    program(shell)
    script = tmp_path / "completion"
    script.write_text(told("completion", shell))
    if shell == "fish":
        asked = f"source {script}; complete -C 'penchant bac'; complete -C 'penchant backup --fo'"
        done = subprocess.run(
            ["fish", "-N", "-c", asked],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
        assert re.findall(r"^(\S+)", done.stdout, re.MULTILINE) == ["backup", "--force"]
        return
    start = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[shell]
    first = "autoload -Uz compinit && compinit -u -D\n" if shell == "zsh" else ""

    first += f". {script}\npenchant bac\t"
    type_into(start, [(first, "penchant backup "), ("--fo\t", "--force ")])


def test_where_another_account_has_a_source_of_the_name_it_is_told(service: Service, refused: Running) -> None:
    service.submit("s")
    data = ("--data", service.settings.data)

    code, said = refused("export", "--source", "s", "--account", "press", *data)

    assert code == 1
    assert said.endswith("The account default has a source of this name: --account default.")
    assert "of this name" not in refused("export", "--source", "t", *data)[1]


def test_every_command_is_named_once() -> None:
    assert sorted(places()) == sorted(name for group in groups().values() for name in group)
    assert len(places()) == 23
