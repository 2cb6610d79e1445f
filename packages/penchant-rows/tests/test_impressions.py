"""What people saw: reported once, attributed to, exported, erased, and nobody else's."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from factories import piece
from penchant.wire import sign_user
from penchant_rows.storage.placement_counts import LISTS, SHOWN, SUCCEEDED
from serving import Service
from shown import counted, list_id, report, unproven_list_id

SHOP = "https://shop.example"
CLICK = 1


@pytest.fixture
def shop(service: Service) -> Service:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "x"))
    assert service.put("/s/placements/home", json={"kind": "new"}).status_code == 200
    return service


def act(service: Service, piece_id: str, kind: str = "Click", query: str = "", user: str = "kim") -> None:
    answer = service.post(f"/s/users/{user}/interactions/{kind}/content/{piece_id}{query}")
    assert answer.status_code == 200, answer.text


@pytest.mark.nodes
def test_what_was_seen_is_counted_once_at_its_position(shop: Service) -> None:
    shown = list_id(shop)

    first = report(shop, {"listId": shown, "content": ["a", "b"]})
    again = report(shop, {"listId": shown, "content": ["a", {"id": "c", "position": 3}]})

    assert (first.status_code, first.json()) == (202, {"accepted": 2, "duplicates": 0})
    assert again.json() == {"accepted": 1, "duplicates": 1}
    assert counted(shop) == {SHOWN: {1: 1, 2: 1, 3: 1}, LISTS: {0: 1}}


@pytest.mark.nodes
def test_two_reports_of_the_same_at_once_count_once(shop: Service) -> None:
    shown = [list_id(shop) for _ in range(5)]
    body = [{"listId": each, "content": ["a", "b", "c"]} for each in shown]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: report(shop, *body).json(), range(8)))

    assert sum(answer["accepted"] for answer in answers) == 15
    assert counted(shop)[SHOWN] == {1: 5, 2: 5, 3: 5}


def test_an_interaction_belongs_to_the_last_list_that_showed_the_piece(shop: Service) -> None:
    early, late = time.time() - 7200, time.time() - 3600
    report(shop, {"listId": list_id(shop, made_at=early), "content": ["a"]})
    report(shop, {"listId": list_id(shop, placement="end", made_at=late, pieces="ba"), "content": ["b", "a"]})

    act(shop, "a")
    act(shop, "a")
    act(shop, "a", "Purchase")
    act(shop, "a", user="lee")

    assert counted(shop, "end") == {SHOWN: {1: 1, 2: 1}, LISTS: {0: 1}, CLICK: {2: 1}, 6: {2: 1}, SUCCEEDED: {2: 1}}
    assert set(counted(shop)) == {SHOWN, LISTS}


def test_a_list_that_proves_nothing_is_taken_at_its_word(shop: Service) -> None:
    shown = unproven_list_id(shop)

    act(shop, "b", query=f"?list={shown}")
    assert counted(shop) == {SHOWN: {0: 1}, LISTS: {0: 1}, CLICK: {0: 1}, SUCCEEDED: {0: 1}}
    assert report(shop, {"listId": shown, "content": ["a", "b"]}).json() == {"accepted": 1, "duplicates": 1}

    assert counted(shop) == {SHOWN: {1: 1, 2: 1}, LISTS: {0: 1}, CLICK: {2: 1}, SUCCEEDED: {2: 1}}


def test_an_interaction_names_its_list_also_before_the_report(shop: Service) -> None:
    shown = list_id(shop)

    act(shop, "b", query=f"?list={shown}")
    assert counted(shop) == {SHOWN: {2: 1}, LISTS: {0: 1}, CLICK: {2: 1}, SUCCEEDED: {2: 1}}
    assert report(shop, {"listId": shown, "content": ["a", "b"]}).json() == {"accepted": 1, "duplicates": 1}

    assert counted(shop) == {SHOWN: {1: 1, 2: 1}, LISTS: {0: 1}, CLICK: {2: 1}, SUCCEEDED: {2: 1}}


def test_pieces_that_were_not_in_a_list_were_not_shown(shop: Service) -> None:
    answer = shop.get("/s/placements/home/list?user=kim&take=2")
    shown, seen = answer.headers["x-penchant-list"], [each["id"] for each in answer.json()["content"]]

    refused = report(shop, {"listId": shown, "content": [seen[0], "made-up", {"id": "c"}]})

    assert seen == ["a", "b"]
    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/0/content/1", "/0/content/2/id"]
    assert counted(shop) == {}


def test_an_interaction_with_a_piece_that_was_not_in_the_list_came_from_another(shop: Service) -> None:
    report(shop, {"listId": list_id(shop, placement="end", pieces="c"), "content": ["c"]})
    shown = list_id(shop, pieces="ab")

    act(shop, "c", query=f"?list={shown}")
    bulk = [{"userId": "kim", "type": "Click", "contentId": "made-up", "listId": shown}]
    assert shop.post("/s/interactions", json=bulk).status_code == 200

    assert counted(shop) == {}
    assert counted(shop, "end")[CLICK] == {1: 1}
    assert len(shop.get("/s/users/kim/export").json()["interactions"]) == 2


def test_the_position_is_the_one_that_a_piece_had(shop: Service) -> None:
    report(shop, {"listId": list_id(shop), "content": [{"id": "c", "position": 1}, "b"]})

    assert counted(shop)[SHOWN] == {2: 1, 3: 1}


def test_a_bulk_of_interactions_names_lists_too(shop: Service) -> None:
    shown = list_id(shop, user=None)
    body = [{"userId": user, "type": "Click", "contentId": "a", "listId": shown} for user in ("kim", "lee")]

    assert shop.post("/s/interactions", json=body).status_code == 200
    assert shop.post("/s/interactions", json=[body[0] | {"listId": None}]).status_code == 200
    refused = shop.post("/s/interactions", json=[body[0], body[1] | {"listId": list_id(shop)}])

    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/1/listId"]
    assert counted(shop)[CLICK] == {1: 1}


def test_an_interaction_after_the_window_belongs_to_no_list(shop: Service) -> None:
    assert shop.put("/s/settings", json={"attributionWindowHours": 1}).json()["attributionWindowHours"] == 1
    two_hours_ago = time.time() - 7200
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(two_hours_ago))
    report(shop, {"listId": list_id(shop, made_at=two_hours_ago), "content": ["a"], "timestamp": stamp})

    act(shop, "a")

    assert set(counted(shop)) == {SHOWN, LISTS}


def test_a_dislike_is_counted_and_is_no_success(shop: Service) -> None:
    report(shop, {"listId": list_id(shop), "content": ["a"]})

    act(shop, "a", "RateDislike")

    assert counted(shop) == {SHOWN: {1: 1}, LISTS: {0: 1}, 8: {1: 1}}


def test_an_export_tells_what_was_shown_and_an_erasure_forgets_it(shop: Service) -> None:
    report(shop, {"listId": list_id(shop), "content": ["a"]}, {"listId": list_id(shop, user="lee"), "content": ["b"]})
    act(shop, "a")

    shown = shop.get("/s/users/kim/export").json()["impressions"]
    assert shop.delete("/s/users/kim").status_code == 202

    assert [{**each, "timestamp": "", "madeAt": ""} for each in shown] == [
        {
            "placement": "home",
            "variant": "a",
            "contentId": "a",
            "position": 1,
            "madeAt": "",
            "timestamp": "",
            "ledTo": ["Click"],
        }
    ]
    assert shown[0]["madeAt"] <= shown[0]["timestamp"]
    assert "impressions" not in shop.get("/s/users/kim/export").json()
    assert len(shop.get("/s/users/lee/export").json()["impressions"]) == 1
    assert counted(shop)[SHOWN] == {1: 1, 2: 1}
    act(shop, "a")
    assert counted(shop)[CLICK] == {1: 1}


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"listId": "kim"}, "/0/listId"),
    ({"listId": None}, "/0/listId"),
    ({"userId": "lee"}, "/0/listId"),
    ({"userId": 7}, "/0/userId"),
    ({"content": "a"}, "/0/content"),
    ({"content": ["a", ""]}, "/0/content/1"),
    ({"content": [{"id": "a", "position": 0}]}, "/0/content/0/position"),
    ({"content": [{"id": "a", "position": True}]}, "/0/content/0/position"),
    ({"content": [{"id": "a", "rank": 1}]}, "/0/content/0/rank"),
    ({"timestamp": "yesterday"}, "/0/timestamp"),
    ({"timestamp": 7}, "/0/timestamp"),
    ({"place": 1}, "/0/place"),
)


def test_a_report_that_is_wrong_is_refused_where_it_is(shop: Service) -> None:
    right = {"listId": list_id(shop), "content": ["a"]}

    for change, pointer in WRONG:
        answer = report(shop, right | change)
        assert answer.status_code == 422, change
        assert pointer in [fault["pointer"] for fault in answer.json()["errors"]], change
    assert counted(shop) == {}


def test_old_lists_are_refused_and_named_in_vain(shop: Service) -> None:
    old = list_id(shop, made_at=time.time() - 31 * 86_400)

    assert report(shop, {"listId": old, "content": ["a"]}).status_code == 422
    act(shop, "a", query=f"?list={old}")
    shop.put("/s/settings", json={"retentionDays": 3})
    recent = list_id(shop, made_at=time.time() - 4 * 86_400)

    assert report(shop, {"listId": recent, "content": ["a"]}).status_code == 422
    assert counted(shop) == {}


def test_a_list_that_is_no_list_is_refused_with_an_interaction(shop: Service) -> None:
    for text in ("kim", list_id(shop, user="lee")):
        answer = shop.post(f"/s/users/kim/interactions/Click/content/a?list={text}")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["parameter"] == "list"
    assert shop.get("/s/users/kim/export").json()["interactions"] == []


def test_no_more_pieces_of_a_list_are_taken_than_lists_have(shop: Service) -> None:
    shown = unproven_list_id(shop)

    answer = report(shop, {"listId": shown, "content": [f"p{number}" for number in range(120)]})

    assert answer.json() == {"accepted": 100, "duplicates": 20}
    many = [{"listId": shown, "content": [str(number) for number in range(6_000)]}] * 2
    assert report(shop, *many).status_code == 413


def test_a_browser_key_reports_for_its_person_and_for_lists_of_nobody(shop: Service) -> None:
    signed = sign_user("kim", shop.new_secret(), int(time.time()) + 3_600)
    key = shop.new_key(origins=[SHOP])

    def status(user: str | None, **headers: str) -> int:
        body = {"listId": list_id(shop, user=user), "content": ["a"]}
        return int(report(shop, body, key=key, headers={"origin": SHOP} | headers).status_code)

    assert status("kim", **{"x-penchant-user": signed}) == 202
    assert status("lee", **{"x-penchant-user": signed}) == 401
    assert status("kim") == 401
    assert status(None) == 202
