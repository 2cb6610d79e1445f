"""What each format's rows become. The samples are made up; their form is the genuine one."""

import json
from typing import Any

import pytest

from import_folders import Folder, drafted
from penchant.errors import Refused
from penchant_engine.model import InteractionType
from penchant_import.drafts import NO_TIME_REASON, find_type, type_of_rating
from penchant_import.moments import read_moment
from penchant_import.options import KeywordColumn
from penchant_import.pieces import PLACEHOLDER_REASON
from penchant_import.placeholders import is_never, is_nobody

GORSE_ITEM = {
    "ItemId": "vue",
    "IsHidden": True,
    "Categories": ["web"],
    "Timestamp": "2021-05-06T07:08:09.123456Z",
    "Labels": {"topics": ["ui", "js"], "language": "ts", "embedding": [0.1, 0.2], "size": 3, "deep": {"kind": ["x"]}},
    "Comment": "A framework",
}


def test_gorse_items_have_nested_labels_catalogs_and_a_window(folder: Folder) -> None:
    folder.write(
        "items.jsonl",
        json.dumps(GORSE_ITEM),
        '{"ItemId":"b","Labels":["red"],"Timestamp":"0001-01-01T00:00:00Z"}',
        "{}",
    )
    folder.write("users.jsonl", '{"UserId":"u","Labels":[]}')

    vue, plain, empty = folder.read("gorse")

    assert vue == drafted(
        "vue",
        "A framework",
        **{"topics": ["ui", "js"], "language": ["ts"], "deep/kind": ["x"]},
        filters={
            "catalogs": ["web"],
            "availableFrom": "2021-05-06T07:08:09.123Z",
            "availableUntil": "1970-01-01T00:00:00.000Z",
        },
        extras={"size": 3},
    )
    assert plain == drafted("b", label=["red"])
    assert empty.detail == "An object with ItemId is accepted."
    assert folder.left_out()["items.jsonl", "Labels/embedding"][1:] == (1, 1)
    assert ("users.jsonl", "(the whole file)") in folder.left_out()


def test_gorse_feedback_goes_by_its_type(folder: Folder) -> None:
    lines = [
        {"FeedbackType": kind, "UserId": "u", "ItemId": "vue", "Value": 1, "Timestamp": "2022-02-24T00:00:00Z"}
        for kind in ("star", "read", "fork", "gaze")
    ]
    folder.write("feedback.jsonl", *map(json.dumps, lines))

    star, read, fork = folder.read("gorse", types={"fork": InteractionType.BOOKMARK})

    assert star == {"userId": "u", "type": "RateLike", "contentId": "vue", "timestamp": "2022-02-24T00:00:00.000Z"}
    assert (read["type"], fork["type"]) == ("Click", "Bookmark")
    reason = "the type 'gaze' is not mapped; say --type gaze=Click"
    assert folder.left_out()["feedback.jsonl", "FeedbackType"] == (reason, 1, 4)
    assert folder.left_out()["feedback.jsonl", "Value"][1] == 3


def test_a_value_of_gorse_that_is_a_portion_is_one(folder: Folder) -> None:
    values = [("read", 0.4), ("read", 0.001), ("read", 0), ("read", 1), ("read", 7.5), ("star", 0.4), ("read", "x")]
    lines = [{"FeedbackType": kind, "UserId": "u", "ItemId": "i", "Value": value} for kind, value in values]
    folder.write("feedback.jsonl", *map(json.dumps, lines))
    folder.write("feedback.csv", "feedback_type,user_id,item_id,value", "read,u,1,0.25", "read,u,1,much")

    assert [each.get("value") for each in folder.read("gorse")] == [0.4, 0.01, *[None] * 5, 0.25, None]


def test_gorse_of_old_exports_csv(folder: Folder) -> None:
    folder.write(
        "items.csv",
        "item_id,is_hidden,categories,time_stamp,labels,description",
        '1,false,a|b,2021-03-01 10:00:00 +0000 UTC,"[""x"",""y""]",Text',
    )
    folder.write(
        "feedback.csv", "feedback_type,user_id,item_id,time_stamp", "like,u,1,2021-03-01 10:00:00.5 +0200 CEST"
    )

    item, like = folder.read("gorse")

    assert item["filters"] == {"catalogs": ["a", "b"], "availableFrom": "2021-03-01T10:00:00.000Z"}
    assert item["categories"] == {"label": ["x", "y"]}
    assert item["label"] == "Text"
    assert like["timestamp"] == "2021-03-01T08:00:00.500Z"


def test_recombee_sets_are_keywords_and_other_properties_extras(folder: Folder) -> None:
    folder.write(
        "items.csv",
        "item_id,title,price,available,tags,brand",
        'item-1,Mouse,25.99,true,"[""wire"",""desk""]",Acme',
        "item-2,,,,,",
    )

    mouse, bare = folder.read("recombee", keywords=(KeywordColumn(column="brand", category="maker"),))

    assert mouse == drafted(
        "item-1", "Mouse", tags=["wire", "desk"], maker=["Acme"], extras={"price": 25.99, "available": True}
    )
    assert bare == drafted("item-2")


def test_recombee_s_lists_in_json_are_read_too(folder: Folder) -> None:
    folder.write("items.json", '[{"itemId":"tv","categories":["Screens"],"price":342},', ' {"itemId":"mixer"}]')
    folder.write("ratings.json", '[{"userId":"u","itemId":"tv","rating":-0.5,"timestamp":1348151906.0}]')

    tv, mixer, rating = folder.read("recombee")

    assert tv["categories"] == {"categories": ["Screens"]}
    assert mixer["id"] == "mixer"
    assert rating["type"] == "RateDislike"
    assert rating["timestamp"] == "2012-09-20T14:38:26.000Z"


def test_recombee_has_five_kinds_of_interactions_and_portions(folder: Folder) -> None:
    head = "user_id,item_id,timestamp"
    folder.write("detail_views.csv", f"{head},recomm_id", "u,i,2025-07-06T21:12:43Z,r-1")
    folder.write("purchases.csv", head, "u,i,2025-07-06T21:12:43")
    folder.write("ratings.csv", f"{head},rating", "u,i,,0.6", "u,i,,0", "u,i,,-0.2", "u,i,,2")
    folder.write("bookmarks.csv", head, "007,i,")
    folder.write("cart_additions.csv", f"{head},amount", "u,i,,2")
    folder.write("view_portions.csv", f"{head},portion", "u,i,,0.75", "u,i,,0.1", "u,i,,0", "u,i,,1")

    found = folder.read("recombee")

    types = [each["type"] if isinstance(each, dict) else each.pointer for each in found]
    assert types == [
        *("Click", "Purchase", "RateLike", "Watch", "RateDislike", "rating"),
        *("Bookmark", "Bookmark", "Watch", "Play", "Play", "Watch"),
    ]
    assert [each["value"] for each in found[-4:]] == [0.75, 0.1, 0, 1]
    assert found[6]["userId"] == "007"
    assert folder.left_out()["detail_views.csv", "recomm_id"][1:] == (1, 2)
    assert folder.left_out()["cart_additions.csv", "amount"][1:] == (1, 2)


def test_metarank_gathers_all_events_of_an_item(folder: Folder) -> None:
    fields = {"title": "Cat", "color": ["white"], "cute": True, "vector": [0.5, 1.0]}
    first: dict[str, Any] = {"event": "item", "id": "e1", "timestamp": "1599391467000", "item": "cat"}
    first["fields"] = [{"name": name, "value": value} for name, value in fields.items()]
    second: dict[str, Any] = {"event": "metadata", "id": "e2", "timestamp": 1, "item": "cat"}
    second["fields"] = [{"name": "color", "value": ["red"]}]
    folder.write(
        "events.jsonl", json.dumps(first), json.dumps(second), '{"event":"item","item":7}', '{"event":"?"}', "no"
    )

    *problems, cat = folder.read("metarank")

    assert cat == drafted("cat", "Cat", color=["red"], extras={"cute": True})
    assert [problem.pointer for problem in problems] == ["item", "event", "event"]
    assert folder.left_out()["events.jsonl", "fields/vector"][1:] == (1, 1)


def test_metarank_interactions_keep_their_event_ids(folder: Folder) -> None:
    buy: dict[str, Any] = {
        "event": "interaction",
        "id": "e9",
        "ranking": "r",
        "timestamp": "1599391467000",
        "user": "u",
    }
    buy |= {"session": "s", "type": "purchase", "item": "cat", "fields": [{"name": "count", "value": 1}]}
    shown = {"event": "ranking", "id": "r", "timestamp": "1", "user": "u", "items": [{"id": "cat"}]}
    events = (shown, buy, buy | {"user": None}, buy | {"type": "purr"})
    folder.write("events.jsonl.gz", *map(json.dumps, events))

    (found,) = folder.read("metarank")

    assert found == {
        "userId": "u",
        "type": "Purchase",
        "contentId": "cat",
        "timestamp": "2020-09-06T11:24:27.000Z",
        "eventId": "e9",
    }
    left = folder.left_out()
    assert left["events.jsonl", "event=ranking"] == ("what was shown is no interaction", 1, 1)
    assert left["events.jsonl", "event=interaction"] == ("without a user; a session is no person", 1, 3)
    assert left["events.jsonl", "type"][1:] == (1, 4)
    assert left["events.jsonl", "session"][1:] == (1, 2)


@pytest.mark.parametrize(
    ("name", "file", "lines"),
    (
        ("csv", "a.csv", ("x,y", "1,2")),
        ("csv", "a.csv", ("user,id", "1,2")),
        ("gorse", "x.jsonl", ("{}",)),
        ("recombee", "x.json", ("{}",)),
        ("recombee", "items.json", ("[{", "}")),
        ("ndjson", "broken.gz.gz", ()),
    ),
)
def test_files_that_are_not_of_the_format_are_refused_by_name(
    folder: Folder, name: str, file: str, lines: tuple[str, ...]
) -> None:
    folder.write(file, *lines)
    if not lines:
        (folder.path / file).write_bytes(b"\x1f\x8bnonsense")

    with pytest.raises(Refused) as raised:
        folder.read(name)

    assert raised.value.detail


@pytest.mark.parametrize(
    ("value", "moment"),
    (
        (0, None),
        (-3600, None),
        ("978300760", "2000-12-31T22:12:40.000Z"),
        ("1.5e9", "2017-07-14T02:40:00.000Z"),
        (1599391467000, "2020-09-06T11:24:27.000Z"),
        ("2020-01-02", "2020-01-02T00:00:00.000Z"),
        ("2020-01-02 03:04", "2020-01-02T03:04:00.000Z"),
        ("2020-01-02 03:04:05.25-0130", "2020-01-02T04:34:05.250Z"),
        ("0001-01-01 00:00:00 +0000 UTC", None),
        ("0000-00-00 00:00:00", None),
        ("1601-01-01", None),
        ("1899-12-30T00:00:00Z", None),
        ("1970-01-01T01:00:00+01:00", None),
        ("1969-12-31 19:00:00", None),
        ("undefined", None),
        ("", None),
        (None, None),
    ),
)
def test_moments_are_read_however_they_are_written(value: object, moment: str | None) -> None:
    assert read_moment(value) == moment


def test_what_ends_in_1970_is_over_and_a_work_may_be_of_that_day() -> None:
    assert read_moment("1970-01-01T00:00:00.000Z", is_end=True) == "1970-01-01T00:00:00.000Z"
    assert read_moment("0000-00-00", is_end=True) is None
    assert read_moment("0000-00-00 00:00:00", "%Y-%m-%d %H:%M:%S") is None
    assert read_moment("01/01/1970", "%d/%m/%Y") is None
    assert not is_never("1970-01-01", of_work=True)
    assert is_never("1601-01-01", of_work=True)


def test_people_are_told_from_words_for_nobody() -> None:
    assert all(map(is_nobody, (r"\N", "<NA>", "nil", " N/A ", "NaT", "(null)")))
    assert not any(map(is_nobody, ("na", "Nan Goldin", "00", "10", "nobody")))


@pytest.mark.parametrize("word", ("", "null", "undefined", "(not set)", "false", "0", "None", "NaN", "anonymous", "NA"))
@pytest.mark.parametrize("format_name", ("csv", "gorse", "recombee", "metarank"))
def test_a_placeholder_is_no_person_in_any_format(folder: Folder, format_name: str, word: str) -> None:
    rows = {
        "csv": ("a.csv", "user,item,event,time", '"{}",1,view,2026-11-01'),
        "gorse": ("feedback.jsonl", '{{"FeedbackType":"like","UserId":"{}","ItemId":"1"}}'),
        "recombee": ("purchases.csv", "user_id,item_id,timestamp", "{},1,2026-11-01"),
        "metarank": (
            "e.jsonl",
            '{{"event":"interaction","user":"{}","item":"1","type":"like","timestamp":"1"}}',
        ),
    }
    name, *lines = rows[format_name]
    folder.write(name, *(line.format(word) for line in lines), lines[-1].format("kim"))

    assert [each["userId"] for each in folder.read(format_name)] == ["kim"]
    assert sum(each.count for each in folder.notes.all_left_out()) == 1


PLACEHOLDERS = ("null", "undefined", "(not set)", "nan", "None", "N/A", "NA", r"\N", "-", "\N{EM DASH}")


@pytest.mark.parametrize("word", PLACEHOLDERS)
@pytest.mark.parametrize(
    ("format_name", "name", "lines"),
    (
        ("csv", "a.csv", ("id,title,authors,brand,tags,catalogs", "1,A,{0},{0},{0}|b,{0}")),
        ("gorse", "items.jsonl", ('{{"ItemId":"1","Labels":{{"brand":"{0}","tags":["{0}"]}}}}',)),
        ("shopify", "products.csv", ("Handle,Title,Vendor,Tags", "1,A,{0},{0}")),
        ("feed", "a.rss", ("<rss><item><guid>1</guid><category>{0}</category><author>{0}</author></item></rss>",)),
        ("schema.org", "a.jsonld", ('{{"@type":"b","@id":"1","name":"A","author":{{"name":"{0}"}},"genre":"{0}"}}',)),
    ),
)
def test_a_placeholder_is_no_keyword_in_any_format(
    folder: Folder, word: str, format_name: str, name: str, lines: tuple[str, ...]
) -> None:
    text = word.replace("\\", "\\\\") if "json" in name else word
    folder.write(name, *(line.format(text) for line in lines))

    (piece,) = folder.read(format_name)

    assert {key for keywords in piece["categories"].values() for key in keywords} <= {"b"}
    assert "catalogs" not in piece["filters"]
    assert any(reason.endswith(PLACEHOLDER_REASON) for reason, *_ in folder.left_out().values())


def test_an_interaction_at_no_time_is_left_out_unless_it_may_happen_now(folder: Folder) -> None:
    folder.write("purchases.csv", "user_id,item_id,timestamp", "kim,1,0001-01-01T00:00:00Z", "kim,2,2026-11-01")

    assert [each["contentId"] for each in folder.read("recombee")] == ["2"]
    assert folder.left_out()["purchases.csv", "timestamp"] == (NO_TIME_REASON, 1, 2)
    assert "timestamp" not in folder.read("recombee", without_times=True)[0]


@pytest.mark.parametrize("value", ("soon", "2020-13-01", "-5", True, float("nan"), [], "99999999999999999"))
def test_what_is_no_moment_is_told(value: object) -> None:
    with pytest.raises(ValueError, match="Found"):
        read_moment(value)


def test_ratings_are_divided_in_fifths_of_their_scale() -> None:
    said = [type_of_rating(rating, 5).value for rating in (0, 2, 2.5, 3.5, 4, 5)]

    assert said == ["RateDislike", "RateDislike", "Watch", "Watch", "RateLike", "RateLike"]
    assert type_of_rating("8", 10) is InteractionType.RATE_LIKE


@pytest.mark.parametrize("rating", (True, "true", 10**400, None, "nan", -1))
def test_what_is_no_rating_is_told(rating: object) -> None:
    with pytest.raises(ValueError, match="Found"):
        type_of_rating(rating, 5)


def test_actions_are_known_however_they_are_spelt() -> None:
    assert find_type("Add_To-Cart", {}) is InteractionType.BOOKMARK
    assert find_type("click", {"click": InteractionType.PLAY}) is InteractionType.PLAY
    assert find_type("sniff", {}) is None
    assert find_type("sniff", {"*": InteractionType.WATCH}) is InteractionType.WATCH
