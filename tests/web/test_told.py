"""What is seen of interactions that count for nothing, as yet or for good: unknown pieces, and what is too old."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from factories import piece
from penchant.wire import sign_user
from serving import Service

UNKNOWN, EXPIRED = "x-penchant-unknown-content", "x-penchant-expired"
ORIGIN = "https://shop.example"


def click(service: Service, piece_id: str, query: str = "", **more: Any) -> Any:
    answer = service.post(f"/s/users/u/interactions/Click/content/{piece_id}{query}", **more)
    assert answer.status_code == 200, answer.text
    return answer


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_click_on_a_piece_that_is_not_there_says_so_until_it_is(service: Service) -> None:
    service.submit("s", piece("a"))

    assert UNKNOWN not in click(service, "a").headers
    assert click(service, "gone").headers[UNKNOWN] == "true"
    service.submit("s", piece("gone"))
    assert UNKNOWN not in click(service, "gone").headers
    service.delete("/s/content/gone")
    assert click(service, "gone").headers[UNKNOWN] == "true"
    service.delete("/s/content")
    assert click(service, "a").headers[UNKNOWN] == "true"


def test_the_same_event_again_and_people_who_are_off_are_told_it_too(service: Service) -> None:
    service.submit("s", piece("a"))
    for _ in range(2):
        assert click(service, "gone", "?event-id=e").headers[UNKNOWN] == "true"
    service.put("/s/users/u/preferences", json={"personal": False})

    answer = click(service, "gone")
    assert (answer.headers[UNKNOWN], answer.json()["stored"]) == ("true", False)
    assert UNKNOWN not in click(service, "a").headers


def test_a_page_learns_nothing_of_pieces_that_may_not_be_shown(service: Service) -> None:
    later = piece("later", filters={"availableFrom": "2999-01-01T00:00:00Z"})
    over = piece("over", filters={"availableUntil": "2020-01-01T00:00:00Z"})
    service.submit("s", piece("a"), later, over)
    key = service.new_key(origins=(ORIGIN,))
    headers = {"origin": ORIGIN, "x-penchant-user": sign_user("u", service.new_secret(), int(time.time()) + 3_600)}

    answers = {each: click(service, each, key=key, headers=headers) for each in ("a", "later", "over", "no")}

    told = {each: UNKNOWN in answer.headers for each, answer in answers.items()}

    assert told == {"a": False, "later": True, "over": True, "no": True}
    assert UNKNOWN not in click(service, "later").headers


def test_what_is_older_than_the_retention_is_told(service: Service) -> None:
    service.submit("s", piece("a"))
    zero = "?timestamp=0001-01-01T00:00:00Z"

    assert click(service, "a", zero).headers[EXPIRED] == "true"
    assert EXPIRED not in click(service, "a").headers
    assert EXPIRED not in click(service, "a", f"?timestamp={days_ago(40)}").headers
    service.put("/s/settings", json={"retentionDays": 50})
    assert EXPIRED not in click(service, "a", f"?timestamp={days_ago(40)}").headers
    assert click(service, "a", f"?timestamp={days_ago(60)}").headers[EXPIRED] == "true"


def test_in_bulk_those_that_are_newly_stored_and_too_old_are_counted(service: Service) -> None:
    service.submit("s", piece("a"))
    service.put("/s/settings", json={"retentionDays": 50})
    clicks = [
        {"userId": user, "type": "Click", "contentId": "a", "timestamp": days_ago(days), "eventId": f"{user}{days}"}
        for user, days in (("u", 0), ("u", 40), ("u", 60), ("v", 400), ("v", 400))
    ]

    first = service.post("/s/interactions", json=clicks).json()
    again = service.post("/s/interactions", json=clicks).json()
    recent = service.post("/s/interactions", json=clicks[:1]).json()

    assert first == {"accepted": 4, "duplicates": 1, "expired": 2}
    assert again == {"accepted": 0, "duplicates": 5}
    assert recent == {"accepted": 0, "duplicates": 1}


@pytest.mark.parametrize("moment", ("T12:00:00+0200", "T12:00:00%2B0200", "T05:00:00-0500", "T10:00:00 0000"))
def test_an_offset_without_its_colon_is_understood_of_an_interaction(service: Service, moment: str) -> None:
    service.submit("s", piece("a"))

    assert click(service, "a", f"?timestamp=2026-11-01{moment}").json()["timestamp"] == "2026-11-01T10:00:00.000Z"


def test_an_offset_without_its_colon_is_understood_in_bodies(service: Service) -> None:
    moment = "2026-11-01T12:00:00+0200"
    made = piece("a", filters={"availableFrom": moment}, extras={"made": "2026-11-01T10:00:00Z"})
    service.submit("s", made, piece("b"))
    bulk = [{"userId": "u", "type": "Click", "contentId": "a", "timestamp": moment}]

    # Typed clients read it back as a time.
    assert service.get("/s/content/a").json()["filters"] == {"availableFrom": "2026-11-01T12:00:00+02:00"}
    assert service.post("/s/interactions", json=bulk).status_code == 200
    assert service.get("/s/users/u/interactions").json()[0]["timestamp"] == "2026-11-01T10:00:00.000Z"
    for wrong in ("2026-11-01T12:00:00 2", "2026-11-01T12:00:00+02", "2026-11-01T12:00:00+2500"):
        assert service.post("/s/interactions", json=[bulk[0] | {"timestamp": wrong}]).status_code == 422


def test_an_offset_without_its_colon_is_understood_of_rows_drafts_and_filters(service: Service) -> None:
    moment = "2026-11-01T12:00:00+0200"
    service.submit("s", piece("a", extras={"made": "2026-11-01T10:00:00Z"}), piece("b"))
    service.put("/s/settings", json={"attributes": {"made": {"pointer": "/made", "type": "time"}}})
    row = {"kind": "popular", "pins": [{"id": "a", "position": 1, "from": moment}]}

    assert service.put("/s/placements/home", json=row).status_code == 200
    assert service.get("/s/placements/home/list").json()["content"][0]["rule"] == "pin"
    found = [
        [each["id"] for each in service.get("/s/new", params={"filter": json.dumps(condition)}).json()["content"]]
        for condition in ({"key": "made", "gte": moment}, {"key": "made", "gt": moment})
    ]
    assert found == [["a"], []]
    service.put("/s/drafts/d", json={"blacklist": ["b"]})
    service.post("/s/drafts/d/propose", json={})
    due = service.post("/s/drafts/d/schedule", json={"at": "2999-11-01T12:00:00+0200"})
    assert (due.status_code, due.json()["due"]) == (200, "2999-11-01T10:00:00.000Z")
