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
from dataset_folders import DatasetFolder
from penchant.importing import StoredTarget, export_lines
from penchant.storage import Storage
from penchant_import.formats.books import PERSONAL_SHELVES

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


def test_movielens_as_it_is_published_gives_the_set(
    folder: DatasetFolder, storage: Storage, target: StoredTarget
) -> None:
    given = list(objects("movielens-small", "pieces.ndjson.gz"))
    films = (
        (each["id"], f"{each['label']} (1999)", "|".join(each["categories"].get("genre", [])) or "(no genres listed)")
        for each in given
    )
    write(folder.path / "movies.csv", ("movieId", "title", "genres"), films)
    tags = (
        (user, each["id"], tag["key"], 1_445_714_994)
        for each in given
        for tag in each["categories"].get("tag", [])
        for user in range(tag["weight"])
    )
    write(folder.path / "tags.csv", ("userId", "movieId", "tag", "timestamp"), tags)
    ratings = (
        (each["userId"], each["contentId"], RATINGS[each["type"]], 1_445_714_835)
        for each in objects("movielens-small", "interactions.ndjson.gz")
    )
    write(folder.path / "ratings.csv", ("userId", "movieId", "rating", "timestamp"), ratings)

    work = folder.run("movielens", None)
    (folder.path / "ratings.csv").unlink()
    folder.run("movielens", target)

    assert (work.tally.pieces, work.tally.interactions, work.tally.invalid_rows) == (9_742, 100_836, 0)
    found = pieces_of(storage)
    assert {each["id"]: each["categories"] for each in given} == {
        piece_id: piece["categories"] for piece_id, piece in found.items()
    }


def test_goodbooks_as_they_are_published_give_the_set_s_shelves(
    folder: DatasetFolder, storage: Storage, target: StoredTarget
) -> None:
    given = list(objects("goodbooks", "pieces.ndjson.gz"))
    shelves = {each["id"]: shelf_weights(each) for each in given}
    names = sorted({name for found in shelves.values() for name in found})
    columns = ("book_id", "goodreads_book_id", "authors", "title")
    write(folder.path / "books.csv", columns, ((each["id"], f"9{each['id']}", "A", each["label"]) for each in given))
    write(folder.path / "tags.csv", ("tag_id", "tag_name"), ((number, name) for number, name in enumerate(names)))
    counts = (
        (f"9{book}", names.index(name), weight * 7) for book, found in shelves.items() for name, weight in found.items()
    )
    write(folder.path / "book_tags.csv", ("goodreads_book_id", "tag_id", "count"), counts)

    work = folder.run("goodbooks", target)

    assert (work.tally.pieces, work.tally.invalid_rows) == (10_000, 0)
    found = pieces_of(storage)
    expected = {
        book: {name: weight for name, weight in weights.items() if name not in PERSONAL_SHELVES}
        for book, weights in shelves.items()
    }
    assert expected == {book: shelf_weights(piece) for book, piece in found.items()}
