"""Does a service run what a document says, and answer what it prints?

Blocks are run in their order, in one folder, against one real process. Shell variables stay from block to block, names
of Python too. ``…`` in what is printed stands for anything.
"""

import contextlib
import doctest
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from acceptance.commands import on_path
from acceptance.processes import waited_for
from acceptance.servers import Server
from documents.blocks import Block
from kernel_cache import KERNELS
from penchant.settings import load_settings

_SITE = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "documents.py"))
ADDRESS, curl = _SITE["ADDRESS"], _SITE["curl"]
ANYTHING = "…"
_COMMAND_S = 300
_UNFINISHED = '"done":false'
"""In answers of `GET` that say what was found by now."""
_STATUS = "penchant-status:"


class Reader:
    """Someone who follows a document, block by block, in a folder that holds ``penchant-data``."""

    def __init__(self, folder: Path, server: Server, key: str, **variables: str) -> None:
        self._folder = folder
        self._server = server
        self._key = key
        self._variables = folder / ".variables"
        self._names: dict[str, Any] = {"__name__": "document"}
        self._environment = os.environ | variables | {"KEY": key, "PENCHANT_KERNEL_FOLDER": str(KERNELS)}
        self._variables.write_text("")

    def follow(self, blocks: Sequence[Block]) -> None:
        """Run all blocks; what differs from what is printed fails, with its place."""
        previous: Block | None = None
        answer: Any = None
        with contextlib.closing(self), on_path() as programs:
            path = (programs, str(Path(sys.executable).parent), os.environ["PATH"])
            self._environment["PATH"] = os.pathsep.join(path)
            for block in blocks:
                if previous is not None and previous.language == "http" and block.language not in {"json", "text"}:
                    assert previous.not_run or answer[0] < 400, f"{previous}: {answer}"
                if block.not_run is None:
                    answer = self._one(block, previous, answer)
                previous = block

    def close(self) -> None:
        """Close clients and the like that a document's Python has left open."""
        for made in self._names.values():
            close = getattr(made, "close", None)
            if isinstance(made, contextlib.AbstractContextManager) and callable(close):
                close()

    def _one(self, block: Block, previous: Block | None, answer: Any) -> Any:
        """Run a block, and return what a next one may be compared with."""
        after = previous.language if previous is not None else ""
        if block.file is not None:
            (self._folder / block.file).write_text(self._placed(block.text))
            return None
        match block.language:
            case "sh":
                printed = self._shell(block, block.text)
                assert '"type":"/-/problems/' not in printed, f"{block}: {printed}"
            case "console":
                self._console(block)
            case "http":
                return self._ask(block, block.text)
            case "json" if after == "http":
                status, body = self._finished(previous, answer)
                assert status == (block.status or 200), f"{block}: {status} {body}"
                assert matches(json.loads(body), json.loads(block.text)), f"{block}: answered {body}"
            case "json":
                json.loads(block.text)
            case "python" | "pycon" | "javascript":
                return self._node(block) if block.language == "javascript" else self._python(block)
            case "text" if after in {"python", "javascript", "http"}:
                printed = answer[1] if after == "http" else answer
                assert agrees(printed, block.text), f"{block}: printed {printed}"
            case "toml":
                self._read_settings(block)
        return None

    def _read_settings(self, block: Block) -> None:
        """Read settings of the service; of a file that is named in the first line, whether it can be read."""
        if block.text.startswith("# "):
            tomllib.loads(block.text)
        else:
            (self._folder / "example.toml").write_text(block.text)
            load_settings(file=self._folder / "example.toml", environment={})

    def _console(self, block: Block) -> None:
        for command, expected in commands(block.text):
            printed = self._shell(block, command)
            assert agrees(printed, expected), f"{block}: {command}\nprinted: {printed}\nnot:     {expected}"

    def _shell(self, block: Block, text: str) -> str:
        """Run a script, and return what it printed; its variables and folder stay for the next one."""
        before = f'set -aeu; . "{self._variables}"'
        after = f'{{ export -p; printf "cd %q\\n" "$PWD"; }} >"{self._variables}"'
        script = f"{before}\n{self._placed(text)}\n{after}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            check=False,
        )
        assert done.returncode == 0, f"{block}: {text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _ask(self, block: Block, request: str) -> tuple[int, str]:
        """Send a request as the API reference prints it, with curl; return the status and the body.

        The id of a key that was made is ``$KEY_ID`` from then on.
        """
        printed = self._shell(block, f"{curl(request)} -w '{_STATUS}%{{http_code}}'")
        body, _, status = printed.rpartition(_STATUS)
        if made := re.match(r'\{.*"keyId":"(\w+)"', body):
            with self._variables.open("a") as variables:
                variables.write(f"KEY_ID={made[1]}\n")
        return int(status), body

    def _finished(self, asked: Block | None, answer: tuple[int, str]) -> tuple[int, str]:
        """Return an answer; what is still being found out is asked for again until it is."""
        if asked is None or _UNFINISHED not in answer[1]:
            return answer
        return waited_for(lambda: self._ask(asked, asked.text), lambda seen: _UNFINISHED not in seen[1])

    def _python(self, block: Block) -> str:
        """Run a block in this process, and return what it printed."""
        printed = io.StringIO()
        text = self._placed(block.text)
        with self._inside(), contextlib.redirect_stdout(printed):
            if block.language == "pycon":
                self._session(block, text)
            else:
                exec(compile(text, str(block), "exec"), self._names)  # noqa: S102  # our own documents
        return printed.getvalue()

    def _node(self, block: Block) -> str:
        """Run a block as a module of Node, and return what it printed."""
        if shutil.which("node") is None:
            pytest.skip("Node is not installed")
        (self._folder / ".block.mjs").write_text(self._placed(block.text))
        return self._shell(block, "node .block.mjs")

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Be in the document's folder, with its environment."""
        folder = Path.cwd()
        before = dict(os.environ)
        os.chdir(self._folder)
        os.environ.update(self._environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            os.chdir(folder)

    def _session(self, block: Block, text: str) -> None:
        """Run a session of Python, comparing what each line prints."""
        session = doctest.DocTestParser().get_doctest(text + "\n", self._names, str(block), None, 0)
        said: list[str] = []
        done = doctest.DocTestRunner(verbose=False).run(session, out=said.append, clear_globs=False)
        self._names = session.globs
        assert done.attempted, block
        assert not done.failed, "".join(said)

    def _placed(self, text: str) -> str:
        """Return a text with the server's own address, port and key in place of the printed ones."""
        placed = text.replace(ADDRESS, self._server.url).replace("--port 8080", f"--port {self._server.port}")
        return placed.replace("pk_your_key", self._key)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console with what each printed: lines after ``$ ``, as many as the shell would read."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in pairwise([*starts, len(lines)]):
        command = lines[start][2:]
        line = start + 1
        while line < end and not is_whole(command):
            command += "\n" + lines[line]
            line += 1
        yield command, "\n".join(lines[line:end])


def is_whole(command: str) -> bool:
    """Return whether the shell would not wait for another line."""
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def agrees(printed: str, expected: str) -> bool:
    """Return whether a text is the expected one: as JSON where both are, with ``…`` for anything."""
    with contextlib.suppress(ValueError):
        return matches(json.loads(printed), json.loads(expected))
    pattern = re.escape(expected.strip()).replace(re.escape(ANYTHING), ".*")
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def matches(found: Any, expected: Any) -> bool:
    """Return whether an answer is the one that is printed, with ``"…"`` for any value."""
    if expected == ANYTHING:
        return True
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(matches(found[name], expected[name]) for name in expected)
        )
    if isinstance(expected, list) and isinstance(found, list):
        # A last "…" in a list stands for all that follows.
        if expected and expected[-1] == ANYTHING and len(found) >= len(expected) - 1:
            found, expected = found[: len(expected) - 1], expected[:-1]
        return len(found) == len(expected) and all(map(matches, found, expected))
    return bool(found == expected)
