"""The command line in this process: what a command says and how it ends, without what a process costs."""

import sys
from collections.abc import Callable

import pytest

from penchant.cli import main

Running = Callable[..., tuple[object, str]]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Running:
    """A function that runs a command which fails; it returns the exit code, and what was told, in one line."""

    def run(*words: str) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["penchant", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, " ".join(capsys.readouterr().err.split())

    return run
