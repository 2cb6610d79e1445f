"""Files to import, written by the tests themselves in the genuine formats."""

import csv
import gzip
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from databases import opened_file
from penchant.importing import BodyChecks, StoredTarget
from penchant.storage import Storage
from penchant_import.files import Files, gather
from penchant_import.formats import read_drafts
from penchant_import.options import ImportOptions
from penchant_import.report import Notes
from penchant_import.running import Import

CHECKS = BodyChecks()
"""Those of a service with the usual limits."""


class Folder:
    """A folder of files, and what the importer makes of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes = Notes()

    def write(self, name: str, *lines: str, encoding: str = "utf-8") -> Path:
        """Write a file, packed where its name ends so."""
        content = "".join(line + "\n" for line in lines).encode(encoding)
        file = self.path / name
        file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return file

    def files(self) -> Files:
        """Return the files."""
        return Files(gather([self.path]))

    def read(self, name: str, **options: Any) -> list[Any]:
        """Return what a format makes of the files: decoded drafts, or their problems."""
        drafts = read_drafts(name, self.files(), ImportOptions(**options), self.notes)
        return [draft.problem or json.loads(draft.body) for draft in drafts]

    def left_out(self) -> dict[tuple[str, str], tuple[str, int, int]]:
        """Return what was left out: reason, count and first line by file and field."""
        return {(each.file, each.field): (each.reason, each.count, each.line) for each in self.notes.all_left_out()}

    def mapped(self) -> dict[tuple[str, str], tuple[str, int]]:
        """Return what was mapped: to what and how often by file and field."""
        return {(each.file, each.field): (each.to, each.count) for each in self.notes.all_mapped()}


def drafted(
    piece_id: str, label: str | None = None, /, *, filters: Any = None, extras: Any = None, **categories: list[Any]
) -> dict[str, Any]:
    """Return the draft of a piece that has these keywords, by category, and no other."""
    named = {} if label is None else {"label": label}
    return {"id": piece_id} | named | {"categories": categories, "filters": filters or {}, "extras": extras or {}}


def opinions_in(drafts: list[Any]) -> list[tuple[str, str, str]]:
    """Return piece, type and day of interactions."""
    return [(each["contentId"], each["type"], each.get("timestamp", "")[:10]) for each in drafts if "userId" in each]


@pytest.fixture(autouse=True)
def field_limit() -> Iterator[None]:
    """Put the longest field of CSV back, which the process has one of."""
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An empty folder for files to import."""
    path = tmp_path / "files"
    path.mkdir()
    return Folder(path)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    """A database file with nothing in it."""
    with closing(opened_file(tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
def target(storage: Storage) -> StoredTarget:
    """The source ``s`` of that database, which is not made yet."""
    return StoredTarget(storage, account="default", source="s", actor="command-line")


def run(name: str, folder: Folder, target: StoredTarget | None, **options: Any) -> Import:
    """Import a folder."""
    work = Import(
        name, folder.files(), options.pop("options", ImportOptions()), target=target, checks=CHECKS, **options
    )
    work.run(lambda _done: None)
    return work
