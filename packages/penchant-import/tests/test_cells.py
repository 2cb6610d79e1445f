"""Cells that hold a list in another notation are lists in every table, by their own brackets."""

import pytest

from import_folders import Folder, drafted
from penchant_import.options import KeywordColumn
from penchant_import.texts import LISTED, read_list

PYTHON = "['Film noir', 'Crime, true', \"it's\"]"
OBJECTS = "[{'id': 1, 'name': 'Film noir'}, {'id': 2, 'name': 'Crime, true'}, {'id': 3, 'name': \"it's\"}]"
NOTATIONS = (
    '["Film noir", "Crime, true", "it\'s"]',
    PYTHON,
    "[Film noir, 'Crime, true', 'it\\'s']",
    "['Film noir'\n 'Crime, true' \"it's\"]",
    '{"Film noir","Crime, true",it\'s}',
    "{'Film noir', 'Crime, true', \"it's\"}",
    OBJECTS,
    '[{"name": "Film noir"}, {"name": "Crime, true"}, {"name": "it\'s"}]',
    "[{'name': Film noir, 'id': 1}, {'name': 'Crime, true'}, {'name': 'it\\'s'}]",
    "['Film noir', None, 'Crime, true', NULL, nan, \"it's\"]",
    f"({PYTHON[1:-1]},)",
)
"""One list as JSON, Python, DuckDB, numpy, PostgreSQL and Python's sets write it, as texts, as objects, with holes."""


def in_csv(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_list_is_the_same_in_every_notation(notation: str) -> None:
    assert read_list(f" {notation}\n") == ["Film noir", "Crime, true", "it's"]


@pytest.mark.parametrize(
    "text", ("", "[", "[a", "[a] and [b]", "[,]", "['a' b]", "['a]", "('a' b)", "(a, b)", "[" * 20 + "a" + "]" * 20)
)
def test_texts_that_only_begin_or_end_with_a_bracket_are_no_lists(text: str) -> None:
    assert read_list(text) is None


def test_a_word_in_brackets_is_a_list_of_one_as_duckdb_writes_it() -> None:
    assert [read_list(text) for text in ("[untitled]", "[]", "[[a], [b]]")] == [["untitled"], [], [["a"], ["b"]]]


def test_numbers_of_lists_keep_their_digits_and_escapes_are_letters() -> None:
    assert read_list("[12345678901234567890123, 2.50, true]") == ["12345678901234567890123", "2.50", "true"]
    assert read_list(r"['caf\xe9', 'caf\u00e9', '\U0001F600']") == ["café", "café", "😀"]
    assert read_list(r"['a\nb', 'a\\b']") == ["a\nb", "a\\b"]
    assert read_list(r'["\ud83d\ude00"]') == ["😀"]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_columns_of_lists_are_keywords_and_an_empty_list_is_none(folder: Folder, notation: str) -> None:
    folder.write("a.csv", "id,title,genres,tags,authors", f"1,[Rope],{in_csv(notation)},[],[Bee]", "2,Sail,[],,")

    rope, sail = folder.read("csv")

    assert rope == drafted("1", "[Rope]", genre=["Film noir", "Crime, true", "it's"], author=["Bee"])
    assert sail == drafted("2", "Sail")
    assert folder.mapped()["a.csv", "authors"] in {(LISTED, 1), ("categories/author", 1)}
    assert any(each.to == LISTED and each.count == 2 for each in folder.notes.all_mapped() if each.field == "genres")


def test_columns_that_are_chosen_are_read_by_their_brackets_whatever_parts_them(folder: Folder) -> None:
    folder.write("a.csv", "id;moods;where", "1;['dark, slow', 'sad'];[\"kids\"]", "2;dark, slow, sad;kids")

    lists, texts = folder.read(
        "csv",
        delimiter=";",
        keywords=(KeywordColumn(column="moods", category="mood", separator=","),),
        catalogs=KeywordColumn(column="where", category=""),
    )

    assert lists == drafted("1", mood=["dark, slow", "sad"], filters={"catalogs": ["kids"]})
    assert texts["categories"] == {"mood": ["dark", "slow", "sad"]}


@pytest.mark.parametrize(
    ("name", "file", "heading", "row", "category"),
    (
        ("gorse", "items.csv", "item_id,labels", "1,{}", "label"),
        ("recombee", "items.csv", "itemId,genres", "1,{}", "genres"),
    ),
)
def test_lists_in_cells_are_lists_in_every_format_of_tables(
    folder: Folder, name: str, file: str, heading: str, row: str, category: str
) -> None:
    for notation in (PYTHON, OBJECTS, NOTATIONS[0], NOTATIONS[2]):
        folder.write(file, heading, row.format(in_csv(notation)))

        (piece,) = folder.read(name)

        assert piece["categories"] == {category: ["Film noir", "Crime, true", "it's"]}
