"""``penchant`` in a process that has begun already: what all commands import is there, and each one is a fork of that.

A command takes a second of a core to import its parts, and tests run hundreds of them.
"""

import atexit
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

BEGUN = get_context("forkserver")
BEGUN.set_forkserver_preload(["penchant.bootstrap", "penchant.cli.options"])


def run(words: Sequence[str], folder: str, environment: Mapping[str, str], printed: Sequence[str]) -> None:
    """Run a command in this process, as it is run by its name, with files for what it prints."""
    for descriptor, path in enumerate(printed, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
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
    where = (str(Path.cwd()), dict(os.environ), [str(out), str(err)])
    process = BEGUN.Process(target=run, args=(words, *where))
    process.start()
    process.join(timeout_s)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
