"""``penchant`` in a process that has begun already: what all commands import is there, and each one is a fork of that.

A command takes a second of a core to import its parts, and tests run hundreds of them, servers among them.
"""

import atexit
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import get_context, process
from pathlib import Path

BEGUN = get_context("forkserver")
STARTED_ON = os.environ.get("PYTHONPATH")
"""What Python looks for when it starts: a command that is to find something else there is no fork."""
BEGUN.set_forkserver_preload(["penchant.bootstrap", "penchant.cli.options", "penchant.cli.serve"])


def run(words: Sequence[str], folder: str, environment: Mapping[str, str], printed: Mapping[int, str]) -> None:
    """Run a command in this process, as it is run by its name, with files for what it prints."""
    for descriptor, path in printed.items():
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), descriptor)
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
