"""``penchant`` in a process that has begun already: what all commands import is there, and each one is a fork of that.

A command takes a second of a core to import its parts, and tests run hundreds of them, servers among them.
"""

import atexit
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context, process
from pathlib import Path
from typing import BinaryIO

BEGUN = get_context("forkserver")
STARTED_ON = os.environ.get("PYTHONPATH")
"""What Python looks for when it starts: a command that is to find something else there is no fork."""
BEGUN.set_forkserver_preload(
    ["penchant.bootstrap", "penchant.cli.options", "penchant.cli.listening", "penchant.cli.serve"]
)


def run(words: Sequence[str], folder: str, environment: Mapping[str, str], files: Mapping[int, str]) -> None:
    """Run a command in this process, as it is run by its name, with files for what it reads and prints."""
    for descriptor, path in files.items():
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND if descriptor else os.O_RDONLY
        os.dup2(os.open(path, how, 0o600), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["penchant", *words]
    try:
        runpy.run_module("penchant", run_name="__main__", alter_sys=True)
    finally:
        # A process that was forked ends without what others do at their end.
        atexit._run_exitfuncs()


def carried_out(words: Sequence[str], folder: Path, timeout_s: float) -> tuple[int | None, str, str]:
    """Return how a command ended and what it printed, by way of files in a folder; ``None`` where it took too long."""
    out, err = folder / "out", folder / "err"
    where = (str(Path.cwd()), dict(os.environ), {1: str(out), 2: str(err)})
    process = BEGUN.Process(target=run, args=(words, *where))
    process.start()
    process.join(timeout_s)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")


_ASKING = """#!/bin/sh
mkfifo {folder}/$$
echo $$ >{folder}/asked
read -r code <{folder}/$$
exit "$code"
"""
"""Has a command carried out for itself: words, folder, environment and files are those of its own process."""


@contextmanager
def on_path() -> Iterator[str]:
    """Yield a folder for ``PATH``, where shells find a ``penchant`` that is such a fork."""
    with tempfile.TemporaryDirectory(prefix="penchant-") as folder:
        program = Path(folder, "penchant")
        program.write_text(_ASKING.format(folder=folder))
        program.chmod(0o755)
        os.mkfifo(f"{folder}/asked")
        # Held for writing as well, so that it does not end with the first command.
        asked = os.fdopen(os.open(f"{folder}/asked", os.O_RDWR), "r+b", buffering=0)
        thread = threading.Thread(target=_carry_out, args=(asked, folder))
        thread.start()
        try:
            yield folder
        finally:
            asked.write(b"0\n")
            thread.join()
            asked.close()


def _carry_out(asked: BinaryIO, folder: str) -> None:
    """Carry out what shells ask for, each command beside the others, until the process 0 asks."""
    while asking := int(asked.readline()):
        threading.Thread(target=_answer, args=(asking, folder)).start()


def _answer(asking: int, folder: str) -> None:
    of_process = Path(f"/proc/{asking}")
    _shell, _program, *words = (of_process / "cmdline").read_text().split("\0")[:-1]
    environment = dict(each.split("=", 1) for each in (of_process / "environ").read_text().split("\0")[:-1])
    files = {number: f"{of_process}/fd/{number}" for number in range(3)}
    process = BEGUN.Process(target=run, args=(words, str((of_process / "cwd").readlink()), environment, files))
    process.start()
    process.join()
    code = process.exitcode or 0
    Path(folder, str(asking)).write_text(f"{code if code >= 0 else 128 - code}\n")


class Fork:
    """A command that runs until it is ended, with the words of `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], err: Path, environment: Mapping[str, str]) -> None:
        self._process = BEGUN.Process(target=run, args=(words, str(Path.cwd()), dict(environment), {2: str(err)}))
        self._process.start()
        # One that a failed test has left is not waited for when this process ends.
        process._children.discard(self._process)  # type: ignore[attr-defined]  # it has no other way
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return how it has ended, ``None`` while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return how it has ended."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("penchant", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without warning."""
        self.send_signal(signal.SIGKILL)


def started(words: Sequence[str], err: Path, environment: Mapping[str, str]) -> Fork | subprocess.Popen[bytes]:
    """Start a command that runs until it is ended, with a file for what it says."""
    err.write_bytes(b"")
    if environment.get("PYTHONPATH") == STARTED_ON:
        return Fork(words, err, environment)
    with err.open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "penchant", *words], stderr=log, env=environment)
