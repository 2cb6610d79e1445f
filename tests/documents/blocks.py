"""Which blocks of code has a document, and what is to be done with each?

The info string of a block holds its language and then, where needed: ``not-run="why"`` for what no test can run,
``file=name`` (or the name alone) for what is written to a file first, and behind ``json`` the status of an answer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RUN_LANGUAGES = {"sh", "console", "http", "json", "python", "pycon", "javascript", "sql"}
"""Blocks of these are run, compared or written to a file, unless they are marked."""
_BLOCK = re.compile(r"^```([^\n`]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r'([\w.-]+)(?:=(?:"([^"]*)"|(\S+)))?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a document; ``line`` is where it begins."""

    document: str
    line: int
    language: str
    text: str
    not_run: str | None = None
    file: str | None = None
    status: int | None = None

    def __str__(self) -> str:
        """Where it stands."""
        return f"{self.document}:{self.line}"


def blocks_of(path: Path) -> list[Block]:
    """Return the blocks of a document, in order."""
    return list(_blocks(path.name, path.read_text(encoding="utf-8")))


def _blocks(name: str, text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        (language, *_), *words = _WORD.findall(found.group(1))
        known = {word: quoted or plain for word, quoted, plain in words}
        statuses = [int(word) for word in known if word.isdigit()]
        names = [word for word in known if "." in word]
        strange = [word for word in known if not word.isdigit() and word not in {"not-run", "file", *names[:1]}]
        line = text.count("\n", 0, found.start()) + 1
        assert not strange, f"{name}:{line}: {strange}"
        yield Block(
            document=name,
            line=line,
            language=language,
            text=found.group(2),
            not_run=known.get("not-run"),
            file=known.get("file") or next(iter(names), None),
            status=statuses[0] if statuses else None,
        )
