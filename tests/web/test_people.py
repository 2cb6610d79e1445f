"""Interactions, profiles, recommendations, lists and settings (interface, sections 6 and 7)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from acceptance.processes import wait_until
from clocks import DAY_CLOCK
from factories import piece, weighted
from serving import Service

pytestmark = pytest.mark.nodes


def moment(days_ago: int) -> str:
    return f"{datetime.now(UTC).date() - timedelta(days=days_ago)}T00:00:00.000Z"


def interact(service: Service, user: str, kind: str, piece_id: str, query: str = "") -> dict[str, Any]:
    answer = service.post(f"/s/users/{user}/interactions/{kind}/content/{piece_id}{query}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def recommended(service: Service, user: str, query: str = "") -> list[str]:
    answer = service.get(f"/s/users/{user}/recommendation{query}")
    assert answer.status_code == 200, answer.text
    scores = [entry["score"] for entry in answer.json()["content"]]
    assert answer.json()["id"] == user
    assert all(0 <= score <= 1 for score in scores)
    return [entry["id"] for entry in answer.json()["content"]]


def test_a_plus_that_arrived_as_a_space_is_understood(service: Service) -> None:
    service.submit("s", piece("a"))

    stored = interact(service, "u", "Watch", "a", "?timestamp=2026-11-01T12:00:00+02:00")

    assert stored["timestamp"] == "2026-11-01T10:00:00.000Z"


def test_the_same_event_is_stored_once_and_answered_alike(service: Service) -> None:
    service.submit("s", piece("a"), piece("b"))

    first = interact(service, "u", "Watch", "a", "?event-id=e%201")
    again = interact(service, "u", "Click", "b", "?event-id=e+1")

    assert again == first
    assert len(service.get("/s/users/u/interactions").json()) == 1


def test_many_interactions_are_stored_all_or_none(service: Service) -> None:
    service.submit("s", piece("a"))
    good = {"userId": "u", "type": "Watch", "contentId": "a", "timestamp": moment(1), "eventId": "1"}

    refused = service.post("/s/interactions", json=[good, good | {"type": "watch"}, 5])
    accepted = service.post("/s/interactions", json=[good, good, good | {"eventId": None}, good | {"eventId": "2"}])

    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/1/type", "/2"]
    assert accepted.json() == {"accepted": 3, "duplicates": 1}
    assert service.post("/s/interactions", json=[good]).json() == {"accepted": 0, "duplicates": 1}


@pytest.mark.parametrize("media_type", ("application/x-ndjson", "application/ndjson", "Application/JSONL"))
def test_interactions_come_as_lines_too(service: Service, media_type: str) -> None:
    service.submit("s")
    lines = b'{"userId":"u","type":"Watch","contentId":"a"}\n\n{"userId":"u","type":"Click","contentId":"b"}\n'
    headers = {"content-type": media_type}

    assert service.post("/s/interactions", content=lines, headers=headers).json()["accepted"] == 2
    bad = service.post("/s/interactions", content=lines + b'{"userId":"u"}', headers=headers)
    assert [fault["pointer"] for fault in bad.json()["errors"]] == ["/4/type", "/4/contentId"]
    assert service.post("/s/interactions", content=lines + b"{", headers=headers).status_code == 400
    assert service.post("/s/interactions", content=lines, headers={"content-type": "text/csv"}).status_code == 415


def test_ten_are_listed_without_a_limit_and_a_thousand_at_most(service: Service) -> None:
    service.submit("s")
    body = [{"userId": "u", "type": "Click", "contentId": str(number)} for number in range(1200)]
    service.post("/s/interactions", json=body)

    assert len(service.get("/s/users/u/interactions").json()) == 10
    assert len(service.get("/s/users/u/interactions?limit=5000").json()) == 1000
    assert service.get("/s/users/u/interactions?limit=1").json()[0]["contentId"] == "1199"


def test_a_profile_is_scaled_to_a_thousand(service: Service) -> None:
    service.submit("s", weighted("a", x=4, y=1), weighted("b", z=9))
    interact(service, "u", "RateLike", "a")
    interact(service, "u", "RateDislike", "b")
    interact(service, "u", "Watch", "unknown")

    profile = service.get("/s/users/u/recommendation/profile").json()

    # RateLike 4 x (2, 1) against RateDislike -4 x 3: scaled by 12.
    assert profile == [{"source": "s", "userId": "u", "categories": {"tag": {"x": 667, "y": 333, "z": -1000}}}]
    assert service.get("/s/users/nobody/recommendation/profile").json() == []


def test_a_person_s_own_interaction_counts_at_once(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "y"), piece("d", "y"))

    interact(service, "u", "Watch", "a")
    assert recommended(service, "u")[0] == "b"
    interact(service, "u", "Purchase", "d")
    assert recommended(service, "u")[0] == "c"
    assert recommended(service, "u", "?include-seen=true")[0] == "d"


def test_an_unknown_person_gets_the_popular_order(service: Service) -> None:
    service.submit("s", piece("a"), piece("b"), piece("c"))
    for user, liked in (("1", "b"), ("2", "b"), ("3", "c")):
        interact(service, user, "Click", liked)

    assert recommended(service, "nobody") == ["b", "c", "a"]
    assert recommended(service, "nobody", "?fill=false") == ["b", "c"]
    assert recommended(service, "nobody", "?take=1") == ["b"]


def test_lists_windows_and_catalogs_hold_for_recommendations(service: Service) -> None:
    service.submit(
        "s",
        piece("a", "x", filters={"catalogs": ["c"]}),
        piece("b", "x", filters={"catalogs": ["c"]}),
        piece("c", "x"),
        piece("d", "x", filters={"catalogs": ["c"], "availableFrom": "2999-01-01T00:00:00Z"}),
        piece("e", "y", filters={"catalogs": ["c"]}),
    )
    interact(service, "u", "Click", "a")
    service.put("/s/whitelist", json=["e", "c", "b"])
    service.put("/s/blacklist", json=["a"])

    # e has nothing that speaks for it, so the whitelist does not lift it.
    assert recommended(service, "u") == ["c", "b", "e"]
    assert recommended(service, "u", "?catalogs=c") == ["b", "e"]
    assert "d" in recommended(service, "u", "?at=2999-01-01")


@pytest.mark.usefixtures("noon")
def test_at_cuts_a_person_s_own_interactions(service: Service) -> None:
    old = {"availableFrom": "2020-01-01T00:00:00Z"}
    service.submit(
        "s", *(piece(name, keyword, filters=old) for name, keyword in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")))
    )
    interact(service, "u", "Watch", "a", f"?timestamp={DAY_CLOCK.midnight(9)}")
    interact(service, "u", "Watch", "c", f"?timestamp={DAY_CLOCK.midnight(2)}")

    assert recommended(service, "u", f"?at={DAY_CLOCK.today() - timedelta(days=5)}&algo=cosine")[0] == "b"
    assert "c" in recommended(service, "u", f"?at={DAY_CLOCK.today() - timedelta(days=5)}")
    assert recommended(service, "u", "?algo=cosine")[:1] == ["d"]


def test_an_erased_person_is_gone_at_once_and_from_every_file(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    interact(service, "someone-unmistakable", "Watch", "a", "?event-id=event-of-someone")
    assert recommended(service, "other")[0] == "a"
    exported = service.get("/s/users/someone-unmistakable/export").json()
    assert [each["contentId"] for each in exported["interactions"]] == ["a"]

    assert service.delete("/s/users/someone-unmistakable").json() == []

    assert service.get("/s/users/someone-unmistakable/export").json()["interactions"] == []
    assert service.get("/s/users/someone-unmistakable/interactions").json() == []
    assert recommended(service, "other", "?fill=false") == []
    for file in Path(service.settings.data).rglob("*"):
        assert not file.is_file() or b"someone-unmistakable" not in file.read_bytes()
    back = interact(service, "someone-unmistakable", "Click", "b", "?event-id=event-of-someone")
    assert (back["type"], back["contentId"]) == ("Click", "b")


def test_interactions_past_their_retention_are_used_for_nothing(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    interact(service, "u", "Watch", "a", f"?timestamp={moment(400)}")
    interact(service, "u", "Watch", "b", f"?timestamp={moment(390)}")

    assert len(service.get("/s/users/u/interactions").json()) == 1
    assert len(service.get("/s/users/u/export").json()["interactions"]) == 1
    assert recommended(service, "nobody", "?fill=false") == ["b"]
    service.put("/s/settings", json={"retentionDays": 10})
    assert service.get("/s/users/u/recommendation/profile").json() == []
    assert recommended(service, "nobody", "?fill=false") == []


@pytest.mark.slow
def test_recommendations_at_once_are_those_one_by_one(service: Service) -> None:
    service.submit("s", *(piece(f"p{number:03}", f"k{number % 7}", f"l{number % 3}") for number in range(200)))
    body = [
        {"userId": f"u{number % 20}", "type": "Watch", "contentId": f"p{number * 7 % 200:03}"} for number in range(400)
    ]
    service.post("/s/interactions", json=body)
    users = [f"u{number}" for number in range(20)] * 5
    one_by_one = [recommended(service, user) for user in users]

    with ThreadPoolExecutor(8) as threads:
        at_once = list(threads.map(lambda user: recommended(service, user), users))

    assert at_once == one_by_one


def test_what_records_or_erases_tells_the_version_of_the_interactions(service: Service) -> None:
    def version(answer: Any) -> int:
        return int(answer.headers["x-penchant-interactions-version"])

    service.submit("s", {"id": "a", "categories": {}})
    one = {"userId": "u", "type": "Watch", "contentId": "a", "eventId": "e"}
    first = version(service.post("/s/users/u/interactions/Watch/content/a"))
    bulk = version(service.post("/s/interactions", json=[one, one | {"eventId": "f"}]))
    again = version(service.post("/s/interactions", json=[one]))
    erased = version(service.delete("/s/users/u"))

    assert (bulk, again) == (first + 2, first + 2)
    assert erased > again


def test_lists_tell_up_to_which_interaction_they_know_what_others_like(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"))
    before = service.get("/s/users/u/recommendation").headers["x-penchant-audience-version"]
    for user in ("1", "2", "3"):
        recorded = [interact_version(service, user, liked) for liked in ("a", "b")]

    headers = {"x-penchant-min-audience-version": recorded[-1]}
    answers = [
        service.get("/s/users/u/recommendation", headers=headers),
        service.get("/s/users/u/why/a", headers=headers),
        service.post("/s/preview/recommendation", json={"liked": ["a"]}, headers=headers),
    ]

    unread = service.get("/s/users/u/recommendation", headers={"x-penchant-min-audience-version": "x"})
    assert (before, unread.status_code) == ("0", 422)
    assert [answer.headers["x-penchant-audience-version"] for answer in answers] == [recorded[-1]] * 3
    erased = service.delete("/s/users/1").headers["x-penchant-interactions-version"]
    headers = {"x-penchant-min-audience-version": erased}
    assert service.get("/s/users/u/recommendation", headers=headers).headers["x-penchant-audience-version"] == erased


def interact_version(service: Service, user: str, piece_id: str) -> str:
    """Record a like, and return the version of the interactions then."""
    answer = service.post(f"/s/users/{user}/interactions/RateLike/content/{piece_id}")
    return str(answer.headers["x-penchant-interactions-version"])


def test_an_erased_person_was_never_there(service: Service) -> None:
    pieces = [piece(name, "x", name) for name in "abcde"]
    service.submit("s", *pieces)
    service.submit("t", *pieces)
    # At the same moments in both: gaps that are equal by chance would mean made-up times in one of them.
    begun = datetime.now(UTC) - timedelta(minutes=5)
    liked = [each.split(".") for each in ("1.a", "1.b", "2.a", "2.b", "2.c", "gone.a", "gone.d", "gone.e", "u.a")]
    for second, (user, piece_id) in enumerate(liked):
        at = {"timestamp": (begun + timedelta(seconds=second * second)).isoformat()}
        for source in "st" if user != "gone" else "s":
            path = f"/{source}/users/{user}/interactions/RateLike/content/{piece_id}"
            liked_last = service.post(path, params=at)

    erased = service.delete("/s/users/gone")

    # The audience is waited for; popularity may follow a second later, on whichever node answers.
    def listed(source: str, done: Any) -> bytes:
        headers = {"x-penchant-min-audience-version": done.headers["x-penchant-interactions-version"]}
        return bytes(service.get(f"/{source}/users/u/recommendation", headers=headers).content)

    wait_until(lambda: listed("s", erased) == listed("t", liked_last))
