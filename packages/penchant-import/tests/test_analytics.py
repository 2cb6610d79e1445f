"""Analytics: interactions out of the events of Google Analytics 4 and the visits of Matomo.

Rows have the shape of Google's sample set ``ga4_obfuscated_sample_ecommerce``, visits that of Matomo's classes
``VisitorDetails`` (plugins Live, Events and Ecommerce).
"""

import json
from typing import Any

import pytest

from import_folders import Folder
from penchant_import.options import parse_type

MICROS = "1793527200000000"
MOMENT = "2026-11-01T10:00:00.000Z"


def event(name: str, *, items: Any = None, **members: Any) -> dict[str, Any]:
    """Return a row of the table of events."""
    row = {"event_name": name, "event_timestamp": MICROS, "user_pseudo_id": "1.2", "items": items or []}
    return row | members


def parameters(**values: Any) -> list[dict[str, Any]]:
    """Return parameters as a row has them: a value for each kind, of which one is set."""
    return [
        {"key": key, "value": {"string_value": text, "int_value": None, "float_value": None, "double_value": None}}
        for key, text in values.items()
    ]


def read_ga4(folder: Folder, *rows: Any, **options: Any) -> list[Any]:
    """Return the interactions of rows, a line each."""
    folder.write("events-000000000000.json", *map(json.dumps, rows))
    return folder.read("ga4", **options)


def said(piece: str, kind: str, user: str = "1.2", moment: str = MOMENT) -> dict[str, str]:
    """Return an interaction as it is drafted."""
    return {"userId": user, "type": kind, "contentId": piece, "timestamp": moment}


def reasons(folder: Folder) -> dict[str, str]:
    """Return why each field was left out."""
    return {field: reason for (_, field), (reason, _, _) in folder.left_out().items()}


@pytest.mark.parametrize(
    ("name", "kind"),
    (
        ("view_item", "Click"),
        ("select_item", "Click"),
        ("add_to_cart", "Bookmark"),
        ("add_to_wishlist", "Bookmark"),
        ("purchase", "Purchase"),
        ("video_complete", "Watch"),
        ("like", "RateLike"),
    ),
)
def test_an_event_is_an_interaction_with_each_of_its_items(folder: Folder, name: str, kind: str) -> None:
    items = [{"item_id": "rope", "item_name": "Rope"}, {"item_id": "(not set)"}, {"item_id": "hub"}, {}]

    assert read_ga4(folder, event(name, items=items)) == [said("rope", kind), said("hub", kind)]
    assert folder.left_out()["events-000000000000.json", "items/item_id"] == ("no id", 2, 1)


def test_a_user_counts_before_the_browser_unless_another_column_is_said(folder: Folder) -> None:
    rows = event("view_item", items=[{"item_id": "a"}], user_id="kim"), event("view_item", items=[{"item_id": "b"}])

    assert [draft["userId"] for draft in read_ga4(folder, *rows)] == ["kim", "1.2"]
    assert [draft["userId"] for draft in read_ga4(folder, *rows, user_column="user_pseudo_id")] == ["1.2", "1.2"]


def test_an_event_without_items_names_its_piece_in_a_parameter(folder: Folder) -> None:
    chosen = event("select_content", event_params=parameters(content_type="post", content_id="storm"))
    number = event("select_content", event_params=[{"key": "content_id", "value": {"int_value": "7"}}])

    assert read_ga4(folder, chosen, number) == [said("storm", "Click"), said("7", "Click")]
    assert not folder.left_out()


def test_members_that_say_nothing_of_it_are_left_out_as_one(folder: Folder) -> None:
    row = event("view_item", items=[{"item_id": "a"}], device={"category": "mobile"}, geo={"country": "NZ"})

    assert read_ga4(folder, row) == [said("a", "Click")]
    assert reasons(folder) == {"(other members)": "has no place in a piece or an interaction"}


def test_page_views_count_only_where_the_parameter_is_said(folder: Folder) -> None:
    address = "https://b.example/?p=7&utm_source=x&gclid=y&_gl=z#top"
    view = event("page_view", event_params=parameters(page_location=address, page_title="Storm"))

    assert read_ga4(folder, view) == []
    assert reasons(folder)["event_name=page_view"] == (
        "names no piece; say --id-column with one of its parameters (page_location, page_title)"
    )
    assert read_ga4(folder, view, id_column="page_location") == [said("https://b.example/?p=7", "Click")]


def test_another_member_of_an_item_may_be_the_id(folder: Folder) -> None:
    items = [{"item_id": "rope-red", "item_group": "rope"}, {"item_id": "hub"}]

    drafts = read_ga4(folder, event("purchase", items=items), id_column="item_group")

    assert drafts == [said("rope", "Purchase"), said("hub", "Purchase")]


def test_events_that_say_nothing_of_a_piece_are_left_out_unless_a_type_is_said(folder: Folder) -> None:
    rows = (
        event("session_start"),
        event("fork", items=[{"item_id": "a"}]),
        event("begin_checkout", items=[{"item_id": "a"}]),
    )
    types = dict(map(parse_type, ("fork=Bookmark", "begin_checkout=Bookmark")))

    assert read_ga4(folder, *rows) == []
    assert reasons(folder) == {
        "event_name=session_start": "says nothing of a piece",
        "event_name": "the type 'fork' is not mapped; say --type fork=Click",
        "event_name=begin_checkout": "says nothing of a piece",
    }
    assert read_ga4(folder, *rows, types=types) == [said("a", "Bookmark"), said("a", "Bookmark")]


def test_events_of_nobody_are_left_out(folder: Folder) -> None:
    assert read_ga4(folder, event("view_item", items=[{"item_id": "a"}], user_pseudo_id=None)) == []
    assert "without a person" in reasons(folder)["event_name=view_item"]


def test_rows_that_are_no_events_are_problems_with_their_lines(folder: Folder) -> None:
    late = event("view_item", items=[{"item_id": "a"}], event_timestamp="soon")
    folder.write("events.json", json.dumps({"id": "a"}), "{", "7", json.dumps(late))

    no_event, broken, number, timeless = folder.read("ga4")

    assert no_event == number
    assert (no_event.pointer, no_event.detail) == (
        "event_name",
        "An object with event_name is accepted, as BigQuery exports it.",
    )
    assert broken.detail.startswith("The line is not JSON")
    assert timeless.detail == "Found 'soon'; microseconds since 1970 are accepted."


def test_parameters_of_any_shape_are_read(folder: Folder) -> None:
    odd = [None, {"key": 7}, {"key": "content_id", "value": None}, {"key": "item_id", "value": {"string_value": [1]}}]

    assert read_ga4(folder, event("select_content", event_params=odd), event("view_item", event_params="x")) == []


def test_what_looks_like_an_address_and_is_none_is_taken_as_it_is(folder: Folder) -> None:
    view = event("page_view", event_params=parameters(page_location="https://[x"))

    assert [draft["contentId"] for draft in read_ga4(folder, view, id_column="page_location")] == ["https://[x"]


def visit(*actions: Any, **members: Any) -> dict[str, Any]:
    """Return a visit."""
    return {"visitorId": "1.2", "userId": None, "actionDetails": list(actions)} | members


def action(kind: str, **members: Any) -> dict[str, Any]:
    """Return an action of a visit."""
    return {"type": kind, "url": "https://s.example/rope?pk_campaign=x", "timestamp": 1793527200} | members


def read_matomo(folder: Folder, *visits: Any, **options: Any) -> list[Any]:
    """Return the interactions of an answer with these visits."""
    folder.write("visits.json", json.dumps(visits))
    return folder.read("matomo", **options)


def test_orders_carts_and_product_views_are_interactions(folder: Folder) -> None:
    bought = [{"itemSKU": "rope", "quantity": "2"}, {"itemSKU": None}]
    actions = (
        action("action", productViewSku="rope", productViewName="Rope"),
        action("ecommerceAbandonedCart", itemDetails=[{"itemSKU": "hub"}]),
        action("ecommerceOrder", itemDetails=bought),
    )

    assert read_matomo(folder, visit(*actions)) == [
        said("rope", "Click"),
        said("hub", "Bookmark"),
        said("rope", "Purchase"),
    ]
    assert reasons(folder) == {"itemDetails/itemSKU": "no id"}


def test_events_go_by_their_action_and_name(folder: Folder) -> None:
    actions = (
        action("event", eventCategory="Video", eventAction="play", eventName="knots", timestamp="1793527200"),
        action("event", eventCategory="Video", eventAction="pause", eventName="knots"),
        action("event", eventAction="like"),
    )

    assert read_matomo(folder, visit(*actions)) == [said("knots", "Play")]
    assert reasons(folder) == {
        "eventAction": "the type 'pause' is not mapped; say --type pause=Click",
        "eventAction=like": "names no piece; say --id-column, for instance --id-column url",
    }


def test_pages_count_where_the_member_that_names_them_is_said(folder: Folder) -> None:
    actions = action("action"), action("download"), action("action", url=None)
    types = dict([parse_type("download=Bookmark")])

    assert read_matomo(folder, visit(*actions)) == []
    assert "--id-column url" in reasons(folder)["type=action"]
    assert read_matomo(folder, visit(*actions), id_column="url", types=types) == [
        said("https://s.example/rope", "Click"),
        said("https://s.example/rope", "Bookmark"),
    ]


def test_what_names_no_piece_is_left_out(folder: Folder) -> None:
    assert read_matomo(folder, visit(action("search"), action("goal"), action("outlink"), "x"), id_column="url") == []
    assert reasons(folder) == dict.fromkeys(("type=search", "type=goal", "type=outlink"), "says nothing of a piece")


def test_a_visit_is_of_a_user_a_visitor_or_nobody(folder: Folder) -> None:
    viewed = action("action", productViewSku="rope", timestamp=None)
    visits = (
        visit(viewed, idVisit="7", userId="kim", lastActionTimestamp=1793527200),
        visit(viewed, lastActionTimestamp=1793527200),
        visit(viewed, visitorId=False),
    )

    assert read_matomo(folder, *visits) == [said("rope", "Click", "kim"), said("rope", "Click")]
    assert folder.left_out()["visits.json", "visit"][1:] == (1, 3)
    assert folder.left_out()["visits.json", "(other members)"][1:] == (1, 1)


def test_what_matomo_refuses_is_told_in_its_words(folder: Folder) -> None:
    folder.write("visits.json", json.dumps({"result": "error", "message": "You must be logged in."}), "[]")

    refused, no_visit = folder.read("matomo")

    assert refused.detail.startswith("Found an answer without visits, which says 'You must be logged in.'.")
    assert no_visit.detail == "A visit with actionDetails is accepted, as Live.getLastVisitsDetails answers."


@pytest.mark.parametrize("word", ("null", "undefined", "(not set)", "0", "false", None, 0, False))
def test_beside_a_placeholder_the_visitor_is_the_person(folder: Folder, word: Any) -> None:
    rows = read_ga4(folder, event("view_item", items=[{"item_id": "rope"}], user_id=word))
    (folder.path / "events-000000000000.json").unlink()
    visits = read_matomo(folder, visit(action("action", productViewSku="rope"), userId=word))

    assert [each["userId"] for each in rows + visits] == ["1.2", "1.2"]


def test_an_order_that_is_sent_again_has_the_same_event_id(folder: Folder) -> None:
    order = event("purchase", items=[{"item_id": "rope"}], ecommerce={"transaction_id": "T1"})
    again = order | {"event_timestamp": "1793527209000000"}
    unnumbered = event("purchase", items=[{"item_id": "rope"}], ecommerce={"transaction_id": "(not set)"})
    beside = event("purchase", items=[{"item_id": "hub"}], event_params=parameters(transaction_id="T1"))

    first, second, third, fourth = read_ga4(folder, order, again, unnumbered, beside)

    assert first["eventId"] == second["eventId"] != fourth["eventId"]
    assert "eventId" not in third
