"""The real data sets, in the project's own shape and written out again as their makers publish them."""

import csv
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from acceptance.test_goldens import folder_of
from penchant.importing import StoredTarget, export_lines
from penchant.storage import Storage
from penchant_import.files import Files, InputFile
from penchant_import.options import ImportOptions
from penchant_import.running import Import

pytestmark = pytest.mark.stress
SETS = ("goodbooks", "goodbooks-shelves", "movielens-small", "movietweetings-20k")
RATINGS = {"RateLike": "4.5", "Watch": "3.0", "RateDislike": "1.5"}


def objects(name: str, file: str) -> Iterator[dict[str, Any]]:
    with gzip.open(folder_of(name) / file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write(path: Path, heading: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(heading)
        writer.writerows(rows)


def pieces_of(storage: Storage) -> dict[str, dict[str, Any]]:
    with storage.sources.open_export(storage.accounts.ensure("default"), "s") as export:
        lines = list(export_lines(export, (), time.time_ns() // 1_000_000))
    return {piece["id"]: piece for piece in map(json.loads, lines)}


def shelf_weights(piece: dict[str, Any]) -> dict[str, int]:
    return {shelf["key"]: shelf["weight"] for shelf in piece["categories"].get("shelf", [])}


@pytest.mark.parametrize("name", SETS)
def test_no_row_of_a_real_set_is_left_out(name: str, storage: Storage, target: StoredTarget) -> None:
    source = folder_of(name)
    files = [InputFile(source / "pieces.ndjson.gz"), InputFile(source / "interactions.ndjson.gz")]
    checked = Import("ndjson", Files(files), ImportOptions(), target=None)
    checked.run(lambda _done: None)
    stored = Import("ndjson", Files(files[:1]), ImportOptions(), target=target)
    stored.run(lambda _done: None)

    assert checked.tally.invalid_rows == 0
    assert checked.notes.all_left_out() == []
    given = {piece["id"]: {"filters": {}, "extras": {}} | piece for piece in objects(name, "pieces.ndjson.gz")}
    assert pieces_of(storage) == given
    assert checked.tally.interactions == sum(1 for _ in objects(name, "interactions.ndjson.gz"))
