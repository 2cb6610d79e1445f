"""Lines of the service's own shape, saved answers of the interface and bodies sent to it are taken as they are."""

import json
from typing import Any

import pytest

from factories import piece
from import_folders import Folder, run
from penchant.importing import StoredTarget
from serving import Service

INTERACTION = {"key": {"source": "s", "userId": "kim"}, "type": "Watch", "contentId": "a"}
TIME = "2026-11-01T10:00:00.000Z"


def saved(folder: Folder, name: str, value: Any, *, indent: int | None = None) -> None:
    folder.write(name, json.dumps(value, indent=indent))


@pytest.mark.parametrize("indent", (None, 2))
def test_a_saved_answer_of_all_content_gives_its_pieces(folder: Folder, indent: int | None) -> None:
    pieces = [piece("a", "x", label="A"), piece("b", "y")]
    saved(folder, "content.json", {"source": "s", "timestamp": TIME, "content": pieces}, indent=indent)

    assert folder.read("specification") == pieces


def test_a_listing_of_interactions_gives_them_with_their_person(folder: Folder) -> None:
    saved(folder, "kim.json", [INTERACTION | {"timestamp": TIME}])

    assert folder.read("specification") == [{"userId": "kim", "type": "Watch", "contentId": "a", "timestamp": TIME}]
    assert folder.mapped()["kim.json", "key/userId"] == ("userId", 1)


def test_bodies_that_one_posts_and_single_pieces_are_taken(folder: Folder) -> None:
    bulk = {"userId": "kim", "type": "Play", "contentId": "a", "eventId": "e"}
    saved(folder, "1.json", [piece("a", "x")])
    saved(folder, "2.json", [bulk])
    saved(folder, "3.json", piece("b", "y"), indent=4)
    saved(folder, "4.json", {"source": "s", "userId": "kim", "interactions": [INTERACTION]})
    saved(folder, "5.json", [])

    found = folder.read("specification")

    assert found[:3] == [piece("a", "x"), bulk, piece("b", "y")]
    assert found[3] == {"userId": "kim", "type": "Watch", "contentId": "a"}


def test_answers_may_stand_a_line_each(folder: Folder) -> None:
    folder.write("all.ndjson", json.dumps({"content": [piece("a", "x")]}), json.dumps([INTERACTION]))

    assert [set(each) for each in folder.read("specification")] == [
        {"id", "categories"} | set(piece("a", "x")),
        {"userId", "type", "contentId"},
    ]


def test_what_is_made_anew_is_left_out_and_told(folder: Folder) -> None:
    saved(folder, "ids.json", {"count": 1, "content": ["a"]})
    saved(folder, "similar.json", {"id": "a", "content": [{"id": "b", "score": 0.5}]})
    saved(folder, "profile.json", [{"source": "s", "userId": "kim", "categories": {"g": {"x": 1000}}}])

    assert folder.read("specification") == []
    assert {file for file, _ in folder.left_out()} == {"ids.json", "similar.json", "profile.json"}


def test_what_is_no_answer_says_what_is_accepted(folder: Folder) -> None:
    folder.write("a.json", "[5]")
    folder.write("b.json", "<html>")
    saved(folder, "c.json", [{"key": "kim"}])

    number, page, key = folder.read("specification")

    assert number.detail.endswith("an array of pieces or interactions, is accepted.")
    assert "line 1, column 1" in page.detail
    assert key.pointer == "/key"


@pytest.mark.parametrize(
    ("answers", "counts"), ((("content", "users/kim/interactions"), (2, 1, 0)), (("users/kim/export",), (0, 1, 1)))
)
def test_what_a_service_answers_is_imported_into_another(
    service: Service, folder: Folder, target: StoredTarget, answers: tuple[str, ...], counts: tuple[int, int, int]
) -> None:
    service.submit("s", piece("a", "x", label="A"), piece("b", "y"))
    service.post("/s/users/kim/interactions/Watch/content/a")
    service.put("/s/users/kim/preferences", json={"hidden": ["a"]})
    for number, path in enumerate(answers):
        (folder.path / f"{number}.json").write_bytes(service.get(f"/s/{path}").content)

    tally = run("specification", folder, target).tally

    assert (tally.pieces, tally.interactions, tally.preferences) == counts
    assert tally.invalid_rows == 0


def test_lines_of_the_own_shape_tell_what_they_are(folder: Folder) -> None:
    lines = (
        '{"id":"a","categories":{}}',
        '{"userId":"u","type":"Watch","contentId":"a","more":1}',
        '{"whitelist":["a"]}',
        '{"settings":{"halfLifeDays":1}}',
        "[1]",
        '{"id":"a"},{"id":"b"}',
    )
    folder.write("all.ndjson", *lines)

    found = folder.read("ndjson")

    assert found[:4] == [json.loads(lines[0]), json.loads(lines[1]), ["a"], {"halfLifeDays": 1}]
    accepted = "One object a line, or an array of objects, is accepted."
    assert found[4].detail == f"The line is no JSON object. {accepted}"
    assert found[5].detail == f"The line is not JSON: trailing characters at column 12. {accepted}"
    assert folder.left_out()["all.ndjson", "more"][1:] == (1, 2)
