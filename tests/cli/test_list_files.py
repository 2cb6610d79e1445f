"""Files of lists: any of the usual shapes is read the same, and what cannot be read is told in a line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from cli.conftest import Running
from evaluation.conftest import made
from penchant_import.files import UnreadableFile
from penchant_lab.commands.list_files import ListColumns, ListFile, read_lists
from penchant_lab.foreign_lists import ForeignLists

HISTORY = made([("u", "a", "RateLike", 1), ("w", "b", "RateLike", 2)], "abc")
ROWS = [("u", "b", 1, 0.9), ("u", "c", 2, 0.5), ("w", "a", 1, 7.0)]
Writing = Callable[[pd.DataFrame, Path], object]


def as_rows(lists: ForeignLists) -> list[tuple[str, str, float]]:
    columns = (each.tolist() for each in (lists.people, lists.pieces, lists.places))
    return [(str(HISTORY.people[who]), HISTORY.ids[what], place) for who, what, place in zip(*columns, strict=True)]


def read(path: Path, **columns: str) -> ForeignLists:
    return read_lists(ListFile("mine", path), ListColumns(**columns), HISTORY)


@pytest.mark.parametrize(
    ("ending", "write"),
    (
        ("csv", lambda frame, path: frame.to_csv(path, index=False)),
        ("csv", lambda frame, path: frame.to_csv(path)),
        ("tsv", lambda frame, path: frame.to_csv(path, sep="\t", index=False)),
        ("csv.gz", lambda frame, path: path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))),
        ("ndjson", lambda frame, path: frame.to_json(path, orient="records", lines=True)),
        ("json", lambda frame, path: frame.to_json(path, orient="records")),
        ("parquet", lambda frame, path: frame.to_parquet(path)),
        ("feather", lambda frame, path: frame.to_feather(path, compression="uncompressed")),
    ),
)
@pytest.mark.parametrize("names", ("user item rank score", "user_id item_id rank score", "userId contentId rank score"))
def test_usual_frames_are_read_the_same(tmp_path: Path, ending: str, write: Writing, names: str) -> None:
    path = tmp_path / f"lists.{ending}"
    write(pd.DataFrame(ROWS, columns=names.split()), path)

    assert as_rows(read(path)) == [("u", "b", 1), ("u", "c", 2), ("w", "a", 1)]


def test_scores_count_without_ranks_and_the_order_of_rows_without_both(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["reader", "what", "rank", "prediction"])
    frame.to_csv(tmp_path / "lists.csv", index=False)
    told = {"person": "reader", "piece": "what"}

    scored = read(tmp_path / "lists.csv", **told, score="prediction")
    frame[["reader", "what"]].to_csv(tmp_path / "plain.csv", index=False)

    assert [place for _, _, place in as_rows(scored)] == [-0.9, -0.5, -7.0]
    assert [place for _, _, place in as_rows(read(tmp_path / "plain.csv", **told))] == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "told"),
    (
        ("", "there is no list in it"),
        ("user,item\n", "there is no list in it"),
        ("who,item\nu,a\n", "no column of persons; name it with --person-column. Found are who, item."),
        ("user,what\nu,a\n", "no column of pieces; name it with --piece-column. Found are user, what."),
        ("user,item,rank\nu,a,first\n", "line 2: 'first' in the column rank is no number."),
        ("user,item,score\nu,a,nan\n", "line 2: 'nan' in the column score is no number."),
        ("user,item\nu,a\n,b\n", "line 3: no person or no piece in"),
        ("user,item,rank\nu,a,1\nu,b\n", "line 3: "),
    ),
)
def test_what_is_no_table_of_lists_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "lists.csv").write_text(text)

    with pytest.raises(UnreadableFile) as refused:
        read(tmp_path / "lists.csv")

    assert told in refused.value.detail


@pytest.mark.parametrize("text", ("[1]", "{", '{"user": "u", "item": "a", "rank": null}'))
def test_json_that_is_no_row_is_told_with_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "lists.ndjson").write_text(text)

    with pytest.raises(UnreadableFile, match="line 1"):
        read(tmp_path / "lists.ndjson")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    (
        (["--lists", "none.csv"], 2, "'none.csv' names no file; write NAME=FILE, such as mine=lists.csv."),
        (["--lists", "ease=lists.csv"], 2, "'ease' is the name of a method already; write OTHER=lists.csv."),
        (["--lists", "a=lists.csv", "--lists", "A=lists.csv"], 2, "'A' is the name of a method already"),
        (["--lists", "lists.csv", "--known", "1"], 2, "--history and --known go with neither --lists nor"),
        (["--lists", "lists.csv", "--rank-column", "place"], 1, "no column 'place'. Found are user, item, rank."),
        (["--lists", "lists.csv"], 1, "lists: no list is of one of the"),
        (["--method", "eas"], 2, "'eas' is unknown. Did you mean EASE"),
        (["--method", "ALS"], 1, "The method als needs implicit: pip install implicit"),
        (["--method", "lenskit-knn"], 1, "The method lenskit-knn needs lenskit: pip install lenskit"),
    ),
)
def test_what_cannot_be_judged_is_told_before_any_work(
    refused: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists.csv").write_text("user,item,rank\nnobody,a,1\n")
    people = [("RateLike", f"u{number}", place) for number in range(4) for place in "abcde"]
    rows = [{"userId": user, "contentId": place, "type": kind} for kind, user, place in people]
    for name, lines in (("pieces", [{"id": place, "categories": {}} for place in "abcdefg"]), ("interactions", rows)):
        (tmp_path / f"{name}.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))

    ended, said = refused("evaluate", "--folder", ".", *words)

    assert (ended, told in said) == (code, True), said
