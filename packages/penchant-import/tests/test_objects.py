"""Objects of JSON with anybody's members, as MongoDB, DynamoDB, Elasticsearch, DuckDB and BigQuery write them."""

import json
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from import_folders import Folder, drafted, run
from penchant.errors import Refused
from penchant.importing import StoredTarget
from penchant_engine.model import InteractionType
from penchant_import.options import KeywordColumn

GENRES = (KeywordColumn(column="kinds", category="genre"),)


def lines(*objects: Any) -> list[str]:
    return [json.dumps(each) for each in objects]


@pytest.mark.parametrize("as_array", (False, True))
def test_members_are_columns_whichever_object_has_them(folder: Folder, *, as_array: bool) -> None:
    rope = {"item_id": 7, "title": "Rope", "genres": ["crime", "drama"], "year": 1948, "director": None}
    films = [rope, {"item_id": "8", "moods": ["dark"], "live": False, "maker": {"name": "Ito"}}]
    folder.write("films.json", *([json.dumps(films)] if as_array else lines(*films)))

    first, second = folder.read("json")

    assert first == drafted("7", "Rope", genre=["crime", "drama"], extras={"year": 1948})
    assert second == drafted("8", moods=["dark"], extras={"live": False, "maker": {"name": "Ito"}})
    assert folder.mapped()["films.json", "item_id"] == ("id", 2)


@pytest.mark.parametrize(
    "date", ({"$date": "1960-02-01T12:00:00Z"}, {"$date": {"$numberLong": "-312897600000"}}, {"$date": -312897600000})
)
def test_extended_json_is_read_as_what_it_says(folder: Folder, date: Any) -> None:
    film = {
        "_id": {"$oid": "65f1c0ffee00000000000001"},
        "title": "Rope",
        "kinds": ["crime", {"$oid": "65f1c0ffee00000000000009"}],
        "out": date,
        "plays": {"$numberLong": "9007199254740993"},
        "price": {"$numberDecimal": "9.50"},
        "share": {"$numberDouble": "0.5"},
        "odd": {"$numberLong": "many"},
        "sub": {"$binary": {"base64": "AA==", "subType": "00"}},
    }
    folder.write("films.ndjson", *lines(film))

    (rope,) = folder.read("json", keywords=GENRES)

    assert rope["id"] == "65f1c0ffee00000000000001"
    assert rope["categories"] == {"genre": ["crime", "65f1c0ffee00000000000009"]}
    assert rope["extras"].pop("out") in ("1960-02-01T12:00:00Z", "1960-02-01T12:00:00.000Z")
    assert rope["extras"] == {
        "plays": 9007199254740993,
        "price": "9.50",
        "share": 0.5,
        "odd": {"$numberLong": "many"},
        "sub": {"$binary": {"base64": "AA==", "subType": "00"}},
    }


def test_clicks_of_extended_json_keep_their_times(folder: Folder, target: StoredTarget) -> None:
    # 1972, which as a number of seconds would be the year 4140.
    moments = {"$date": {"$numberLong": "68428800000"}}, {"$date": "2026-11-02T09:00:00.250Z"}
    events = [
        {"_id": {"$oid": "a" * 24}, "user": {"$numberInt": "5"}, "item": "rope", "event": "view", "ts": moment}
        for moment in moments
    ]
    folder.write("events.json", *lines(*events))

    first, second = folder.read("json")
    work = run("json", folder, target)

    assert first == {"userId": "5", "type": "Click", "contentId": "rope", "timestamp": "1972-03-03T00:00:00.000Z"}
    assert second["timestamp"] == "2026-11-02T09:00:00.250Z"
    assert (work.tally.interactions, work.tally.expired) == (2, 1)


def test_items_of_dynamodb_are_read_by_their_types(folder: Folder) -> None:
    item = {
        "id": {"S": "rope"},
        "title": {"S": "Rope"},
        "kinds": {"L": [{"S": "crime"}, {"S": "drama"}]},
        "tags": {"SS": ["flat", "party"]},
        "year": {"N": "1948"},
        "score": {"N": "7.5"},
        "live": {"BOOL": True},
        "gone": {"NULL": True},
        "cut": {"M": {"by": {"S": "Ito"}, "parts": {"NS": ["1", "2"]}}},
        "raw": {"B": "AA=="},
    }
    # An object of somebody's own that is merely called so.
    folder.write("items.json", *lines({"Item": item}), *lines({"Item": {"S": 5}, "id": "x"}))

    rope, other = folder.read("json", keywords=GENRES)

    assert rope == drafted(
        "rope",
        "Rope",
        genre=["crime", "drama"],
        extras={
            "tags": ["flat", "party"],
            "year": 1948,
            "score": 7.5,
            "live": True,
            "cut": {"by": "Ito", "parts": [1, 2]},
            "raw": "AA==",
        },
    )
    assert other == drafted("x", extras={"Item": {"S": 5}})


def test_a_document_of_elasticsearch_is_its_source_with_its_id(folder: Folder) -> None:
    hit = {"_index": "films", "_id": "rope", "_score": 1, "_source": {"title": "Rope", "tags": ["flat"]}}
    folder.write("hits.ndjson", *lines(hit))

    assert folder.read("json") == [drafted("rope", "Rope", tag=["flat"])]


def test_whole_numbers_that_are_written_with_a_fraction_are_ids(folder: Folder) -> None:
    films = [{"id": 7.0, "title": "Rope"}, {"id": 2.0**53, "title": "Heat"}, {"id": 7.5, "title": "Gun"}]
    folder.write("films.json", *lines(*films))

    rope, heat, gun = folder.read("json")

    assert rope["id"] == "7"
    assert "has lost digits" in heat.detail
    assert gun["id"] == 7.5  # refused where pieces are checked


@pytest.mark.parametrize("value", (["rope"], {"de": "rope"}))
def test_a_list_or_an_object_is_no_id(folder: Folder, value: Any) -> None:
    folder.write("films.json", *lines({"id": value, "title": "Rope"}, {"id": "heat"}), "7", "{")

    nested, heat, number, broken = folder.read("json")

    assert nested.detail == "The member id holds neither a text, a number nor a time."
    assert heat == drafted("heat")
    assert number.detail == "An object is accepted."
    assert "JSON" in broken.detail


def test_a_file_without_ids_and_one_with_too_many_members_are_refused(folder: Folder) -> None:
    folder.write("films.json", *lines({"title": "Rope"}))
    with pytest.raises(Refused, match=r"no column of ids.*name it with --id-column. Found are title"):
        folder.read("json")

    folder.write("films.json", *lines({"id": "a"} | {f"m{number}": 1 for number in range(1_000)}))
    with pytest.raises(Refused, match="line 1: more than 1000 members"):
        folder.read("json")


def test_ratings_and_actions_are_read_as_of_tables(folder: Folder) -> None:
    events = [{"userId": "kim", "itemId": "rope", "stars": "5", "ts": 1793000000}]
    folder.write("events.json", *lines(*events))

    (like,) = folder.read("json")

    assert (like["userId"], like["type"]) == ("kim", InteractionType.RATE_LIKE)


def test_who_gives_objects_as_another_format_is_told_of_this_one(folder: Folder) -> None:
    folder.write("films.ndjson", *lines({"film": "rope", "title": "Rope"}))
    (problem,) = folder.read("ndjson")
    assert "read by --from json" in problem.detail

    (folder.path / "films.ndjson").rename(folder.path / "films.csv")
    with pytest.raises(Refused, match="say so with --from json"):
        folder.read("csv")


def test_who_gives_pieces_of_our_own_as_others_objects_keeps_their_keywords(folder: Folder) -> None:
    """Their member `categories` would be a column without a text, and the pieces stored without a keyword."""
    ours = {"id": "rope", "categories": {"genre": ["crime", {"key": "drama", "weight": 3}]}}
    others = {"id": "jaws", "categories": ["horror"]}
    folder.write("films.json", json.dumps([ours, others]))

    problem, jaws = folder.read("json")

    assert "--from ndjson reads it" in problem.detail
    assert jaws == drafted("jaws", category=["horror"])


def test_objects_of_numbers_are_weighted_keywords_where_they_are_chosen(folder: Folder) -> None:
    kinds: list[Any] = [
        {"noir": 80, "crime": 5.0, "drama": None},
        [{"key": "noir", "weight": 7}, {"key": "flat"}, "war"],
    ]
    kinds += [{"noir": 0.37, "crime": 10_001, "war": 3}, [{"name": "Ito"}]]
    folder.write("films.json", *lines(*({"id": str(number), "kinds": each} for number, each in enumerate(kinds))))

    pieces = folder.read("json", keywords=GENRES)

    assert [piece["categories"]["genre"] for piece in pieces] == [
        [{"key": "noir", "weight": 80}, {"key": "crime", "weight": 5}],
        [{"key": "noir", "weight": 7}, "flat", "war"],
        [{"key": "war", "weight": 3}],
        ["Ito"],
    ]
    reason, count, line = folder.left_out()["films.json", "kinds"]
    assert (count, line) == (2, 3)
    assert "from 1 to 10000: scale and round yours" in reason


def test_maps_and_structs_of_frames_are_weighted_keywords(folder: Folder) -> None:
    weights = [[("noir", 80), ("crime", 5)], [("war", None)]]
    for kind in (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.float64())):
        table = pa.table({"id": ["rope", "gun"], "kinds": pa.array(weights, kind)})
        parquet.write_table(table, folder.path / "films.parquet")

        rope, gun = folder.read("parquet", keywords=GENRES)

        assert rope["categories"] == {"genre": [{"key": "noir", "weight": 80}, {"key": "crime", "weight": 5}]}
        assert gun["categories"] == {}


@pytest.mark.parametrize(("opening", "closing"), (('{"a":', "}"), ('[{"b":', "}]"), ('{"L":[{"M":{"a":', "}}]}")))
def test_what_is_nested_too_deep_is_refused_by_its_row(
    folder: Folder, target: StoredTarget, opening: str, closing: str
) -> None:
    for levels in (200, 240, 480, 490, 980, 2_000):
        deep = f"{opening * levels}1{closing * levels}"
        folder.write(
            "films.json", f'{{"id":"deep","x":{{"y":{deep}}}}}', '{"id":"flat"}', f'{{"Item":{{"id":{deep}}}}}'
        )

        work = run("json", folder, target, skip_invalid=True)

        assert (work.tally.pieces, work.tally.invalid_rows) == (1, 2)


def test_a_piece_of_our_own_that_is_nested_too_deep_is_refused_by_its_row(folder: Folder, target: StoredTarget) -> None:
    for levels in (480, 900, 980):
        deep = '{"n":null,"a":' * levels + "1" + "}" * levels
        folder.write("a.ndjson", f'{{"id":"deep","categories":{{"g":{deep}}}}}', '{"id":"flat","categories":{}}')

        work = run("ndjson", folder, target, skip_invalid=True)

        assert (work.tally.pieces, work.tally.invalid_rows) == (1, 1)


@pytest.mark.parametrize(
    ("content", "problem"),
    (
        ("", r": it holds no object with members\."),
        ('{\n  "id": "a"\n}', r", line 1: The line is not JSON: it ends before its end"),
        ('{"id": "a"}{"id": "b"}', r", line 1: The line is not JSON: trailing characters at column 13\."),
        ("<html></html>", r", line 1: The line is not JSON: invalid character at column 1\."),
        ('[{"id": 1e400}]', r", line 1: The line is no JSON value that is accepted here\."),
        ('[1, "a"]', r", line 1: An object is accepted\."),
    ),
)
def test_a_file_without_any_object_is_refused_for_what_is_wrong(folder: Folder, content: str, problem: str) -> None:
    folder.write("films.json", content)

    with pytest.raises(Refused, match=rf"films\.json{problem} .*jq -c \. FILE > NEW\.$"):
        folder.read("json")
