"""Folders of data sets of research, written by the tests themselves as they are published."""

import json
from pathlib import Path
from typing import Any

import pytest

from import_folders import Folder, run
from penchant.importing import StoredTarget
from penchant_import.formats import read_drafts
from penchant_import.lines import read_lines
from penchant_import.options import ImportOptions
from penchant_import.running import Import
from penchant_lab.datasets import DATASETS


class DatasetFolder(Folder):
    """A folder of files of a data set."""

    def read(self, name: str, **options: Any) -> list[Any]:
        """Return what a data set is: decoded drafts, or their problems."""
        drafts = read_drafts(name, self.files(), ImportOptions(**options), self.notes, DATASETS[name])
        return [draft.problem or json.loads(draft.body) for draft in drafts]

    def run(self, name: str, target: StoredTarget | None) -> Import:
        """Import a data set by its lines."""
        lines = Folder(self.path.with_name("lines"))
        lines.path.mkdir(exist_ok=True)
        with (lines.path / "all.ndjson").open("wb") as file:
            file.writelines(read_lines(name, [self.path], reader=DATASETS[name]))
        return run("ndjson", lines, target)


@pytest.fixture
def folder(tmp_path: Path) -> DatasetFolder:
    """An empty folder for files of a data set."""
    path = tmp_path / "files"
    path.mkdir()
    return DatasetFolder(path)
