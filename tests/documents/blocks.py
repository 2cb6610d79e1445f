"""Which blocks of code has a document, and what is to be done with each?

The info string of a block holds its language and then, where needed: ``not-run="why"`` for what no test can run,
``file=name`` (or the name alone) for what is written to a file first, and behind ``json`` the status of an answer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penchant.web.documents import interface_pages
from penchant.web.routes import interface_operations

IN_ORDER = ("service", "content", "words", "similar", "people", "recommendations", "placements", "drafts", "source")
"""The pages of the interface, as their examples are run: what one needs those before it have made. Others follow."""
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


def pages_in_order() -> list[Path]:
    """Return the pages of the interface, as their examples are run."""
    pages = {page.stem: page for page in map(Path, map(str, interface_pages(interface_operations())))}
    return [pages.pop(name) for name in IN_ORDER] + list(pages.values())


def interface_in_order() -> str:
    """Return them as one text."""
    return "\n".join(page.read_text(encoding="utf-8") for page in pages_in_order())
