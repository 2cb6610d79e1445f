"""What of a file does not fit, and files that are broken: left out with a reason, or refused."""

import json
import os
import re
from pathlib import Path

import pytest

from import_folders import Folder, run
from penchant.errors import InvalidInput, Refused
from penchant.importing import StoredTarget
from penchant_engine.model import InteractionType
from penchant_import.checkpoint import checkpoint_name, fingerprint
from penchant_import.options import KeywordColumn, parse_column, parse_type
from penchant_import.report import MAX_ENTRIES


def test_names_and_bytes_that_no_terminal_should_see_are_not_shown(folder: Folder) -> None:
    file = folder.write("a.csv", "x\x1b]0;title\x07,y", "1,2").rename(
        Path(os.fsdecode(bytes(folder.path) + b"/\xff.csv"))
    )

    with pytest.raises(Refused, match="Found are x\N{REPLACEMENT CHARACTER}]0;title"):
        folder.read("csv")

    assert [each.name for each in folder.files().all] == ["?.csv"]
    assert len(fingerprint(folder.files().all, file.name)) == 32
    assert checkpoint_name(folder.files().all).startswith("import-")


def test_hidden_files_of_a_folder_are_not_read(folder: Folder) -> None:
    folder.write("a.ndjson", '{"id":"a","categories":{}}')
    folder.write(".hidden", "x")

    assert len(folder.read("ndjson")) == 1


def test_folders_in_a_folder_are_read_and_links_to_folders_are_not(folder: Folder) -> None:
    (folder.path / "b" / "deep").mkdir(parents=True)
    (folder.path / ".hidden").mkdir()
    for name in ("a.ndjson", "b/b.ndjson", "b/deep/c.ndjson", ".hidden/d.ndjson"):
        folder.write(name, f'{{"id":"{name}","categories":{{}}}}')
    (folder.path / "b" / "deep" / "around").symlink_to(folder.path, target_is_directory=True)

    assert [piece["id"] for piece in folder.read("ndjson")] == ["a.ndjson", "b/b.ndjson", "b/deep/c.ndjson"]


def test_a_byte_order_mark_is_no_part_of_a_file(folder: Folder) -> None:
    folder.write("a.ndjson", '\ufeff{"id":"a","categories":{}}')
    folder.write("b.csv", "\ufeffid,genre", "b,x")

    assert folder.read("ndjson")[0]["id"] == "a"
    (folder.path / "a.ndjson").unlink()
    assert folder.read("csv")[0]["id"] == "b"


def test_what_a_piece_cannot_hold_is_left_out_with_its_reason(folder: Folder) -> None:
    row = {
        "itemId": 7,
        "title": "x" * 2001,
        "tags": ["", "ok", "ok", 5, "\x00"],
        "t" * 201: ["x"],
        "since": "soon",
        "shops": ["", "here", "here"],
        "kinds": "a|b",
        "numbers": [1],
    }
    folder.write("items.jsonl", json.dumps(row), "[]")

    piece, problem = folder.read(
        "recombee",
        catalogs=KeywordColumn(column="shops", category=""),
        keywords=(KeywordColumn(column="kinds", category="kind"),),
    )

    assert piece["id"] == "7"
    assert piece["categories"] == {"tags": ["ok"], "kind": ["a", "b"]}
    assert piece["filters"] == {"catalogs": ["here"]}
    assert "label" not in piece
    left = folder.left_out()
    assert left["items.jsonl", "title"][0].startswith("no label: Found 2001 characters")
    assert left["items.jsonl", "t" * 201][0] == "no name of a category"
    assert left["items.jsonl", "shops"][0] == "no name of a catalog"
    assert left["items.jsonl", "numbers"][0] == "a list without texts holds no keywords"
    assert len([key for key in left if key == ("items.jsonl", "tags")]) == 1
    assert problem.detail == "An object with itemId is accepted."


def test_windows_that_are_no_times_are_left_out(folder: Folder) -> None:
    folder.write("a.csv", "id,available_from,available_until", "1,soon,2026-01-02")

    (piece,) = folder.read("csv")

    assert piece["filters"] == {"availableUntil": "2026-01-02T00:00:00.000Z"}
    assert folder.left_out()["a.csv", "available_from"][1:] == (1, 2)


def test_rows_of_other_lengths_than_their_heading_are_problems_wherever_they_are(folder: Folder) -> None:
    folder.write("items.csv", "item_id,labels", "1", "2,a|b")
    folder.write("feedback.csv", "feedback_type,item_id,user_id", "1")
    folder.write("a.csv", "id,user,rating", "1")

    wrong, item, feedback = folder.read("gorse")
    assert item["categories"] == {"label": ["a", "b"]}
    assert (wrong.detail, feedback.detail) == ("Found 1 columns; 2 are accepted.", "Found 1 columns; 3 are accepted.")


def test_files_that_cannot_be_read_to_their_end_say_where(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penchant_import.files.MAX_LINE_BYTES", 40)
    monkeypatch.setattr("penchant_import.files.MAX_DOCUMENT_BYTES", 40)
    folder.write("long.ndjson", "{}", "x" * 50)
    with pytest.raises(Refused, match="line 2: longer than 40 bytes"):
        folder.read("ndjson")
    (folder.path / "long.ndjson").unlink()

    folder.write("items.json", "[" + " " * 50 + "]")
    with pytest.raises(Refused, match="one JSON value of over 40 bytes"):
        folder.read("gorse")
    folder.write("items.json", "[1,]")
    with pytest.raises(Refused, match=r"items.json: The file is not JSON: .* at line 1, column 4"):
        folder.read("gorse")
    (folder.path / "items.json").unlink()

    for content, said in (
        (b"id\na\xff\n", "a.csv, line 2, column 2: not UTF-8 .* --encoding"),
        (b"id\n" + b"x" * 50, "a row longer than 40 letters"),
    ):
        (folder.path / "a.csv").write_bytes(content)
        with pytest.raises(Refused, match=said):
            folder.read("csv")


def test_a_file_that_is_cut_off_is_told(folder: Folder) -> None:
    file = folder.write("a.ndjson.gz", *[json.dumps({"id": str(n), "categories": {}}) for n in range(999)])
    file.write_bytes(file.read_bytes()[:-20])

    with pytest.raises(Refused, match="cannot be read"):
        folder.read("ndjson")


def test_a_file_may_call_its_fields_by_any_number_of_names(folder: Folder) -> None:
    rows = [json.dumps({"itemId": f"i{n}", f"good{n}": n, f"bad{n}": [n]}) for n in range(MAX_ENTRIES + 5)]
    folder.write("items.jsonl", *rows)

    folder.read("recombee")

    assert len(folder.notes.all_mapped()) == len(folder.notes.all_left_out()) == MAX_ENTRIES + 1
    assert folder.mapped()["items.jsonl", "(other fields)"][1] == 6
    assert folder.left_out()["items.jsonl", "(other fields)"][1] == 5


@pytest.mark.parametrize("text", ("genre", "=x", "genre=", "genre=:|"))
def test_columns_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write CATEGORY"):
        parse_column(text)


def test_columns_and_types_are_read_as_they_are_written() -> None:
    assert parse_column("genre=kinds:|") == KeywordColumn(column="kinds", category="genre", separator="|")
    assert parse_column("kinds", category=False) == KeywordColumn(column="kinds", category="")
    assert parse_type("Add=To=ratelike") == ("add=to", InteractionType.RATE_LIKE)


def test_json_in_another_encoding_is_refused_with_what_helps_and_utf_16_is_read(
    folder: Folder, target: StoredTarget
) -> None:
    piece = '{"id":"1","label":"Café","categories":{}}'
    helps = r"not UTF-8: .* Write it in UTF-8, for instance by iconv"
    for name, text in (("a.ndjson", piece), ("a.json", f"[{piece}]")):
        path = folder.write(name, text, encoding="latin-1")
        with pytest.raises(InvalidInput) as refusal:
            run("ndjson", folder, target)
        assert re.search(helps, refusal.value.faults[0].detail)
        folder.write(name, text, text if name == "a.ndjson" else "", encoding="utf-16")
        assert {each["label"] for each in folder.read("ndjson")} == {"Café"}
        path.unlink()


@pytest.mark.parametrize(("name", "format_name"), (("items.json", "jellyfin"), ("watched-movies.json", "trakt")))
def test_answers_in_another_encoding_are_refused_with_what_helps(folder: Folder, name: str, format_name: str) -> None:
    folder.write(name, '{"Items":[{"Name":"Café"}]}', encoding="latin-1")

    with pytest.raises(Refused, match=r"not UTF-8: .* Write it in UTF-8"):
        folder.read(format_name)
