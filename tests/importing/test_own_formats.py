"""What becomes of CSV, whose columns are anybody's, and of lines of the service's own shape."""

import json

from importing.conftest import Folder
from penchant.importing import KeywordColumn


def test_csv_columns_are_known_by_their_names(folder: Folder) -> None:
    folder.write(
        "shop.csv",
        "id,Title,Genres,catalogs,available_from,colour",
        '1,"Two\nlines",a|b,kids;new,2026-01-02,blue',
        "2,Short,,,,",
    )

    first, second = folder.read("csv")

    assert first == {
        "id": "1",
        "label": "Two\nlines",
        "categories": {"genre": ["a", "b"]},
        "filters": {"catalogs": ["kids", "new"], "availableFrom": "2026-01-02T00:00:00.000Z"},
        "extras": {"colour": "blue"},
    }
    assert second["id"] == "2"


def test_csv_columns_can_be_chosen(folder: Folder) -> None:
    folder.write("shop.csv", "sku;text;g;c", "1;Name;x,y;p/q", "2;Name;x;")

    first, second = folder.read(
        "csv",
        delimiter=";",
        id_column="sku",
        label_column="text",
        keywords=(
            KeywordColumn(column="g", category="kind", separator=","),
            KeywordColumn(column="c", category="path/to"),
        ),
        catalogs=KeywordColumn(column="c", category="", separator="/"),
    )

    assert first["categories"] == {"kind": ["x", "y"], "path/to": ["p/q"]}
    assert second == {"id": "2", "label": "Name", "categories": {"kind": ["x"]}, "filters": {}, "extras": {}}


def test_csv_with_a_column_of_users_holds_interactions(folder: Folder) -> None:
    folder.write("a.csv", "user_id,item_id,event,timestamp,shop", "u,1,add-to-cart,1700000000000,x", "u,1,sniff,,x")
    folder.write("c.csv", "user,item,rating,ts", "u,1,10,")
    folder.write("b.csv", "user,id,stars,ts", "u,1,9,1", "u,1,4,1", "u,1,11,1")

    cart, like, dislike, beyond, timeless = folder.read("csv", rating_scale=10)

    assert cart == {"userId": "u", "type": "Bookmark", "contentId": "1", "timestamp": "2023-11-14T22:13:20.000Z"}
    assert (like["type"], dislike["type"], beyond.pointer) == ("RateLike", "RateDislike", "stars")
    assert folder.left_out()["a.csv", "shop"][1] == 2
    assert timeless.pointer == "ts"
    assert timeless.detail.startswith("Found no time; without one the row would count as of now")


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
