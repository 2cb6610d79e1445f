"""What part of a piece was watched, read or listened to: kept, shown, and counted as less (interface, section 6)."""

from typing import Any

import pytest

from clocks import DAY_CLOCK
from factories import piece
from serving import Service, ok
from visitors import Visitor, text_of

DAY = DAY_CLOCK.midnight(30)


@pytest.fixture
def films(service: Service) -> Service:
    service.submit("s", *(piece(each, f"of-{each}", "all") for each in "abcd"))
    return service


def record(service: Service, user: str, *done: dict[str, Any]) -> dict[str, int]:
    """Record what a person did, of the type Watch if nothing else is said."""
    body = [{"userId": user, "type": "Watch", "timestamp": DAY} | each for each in done]
    return dict(ok(service.post("/s/interactions", json=body)))


def values(service: Service, user: str) -> list[Any]:
    return [each.get("value", "none") for each in ok(service.get(f"/s/users/{user}/interactions"))]


def profile(service: Service, user: str) -> dict[str, int]:
    found = ok(service.get(f"/s/users/{user}/recommendation/profile"))
    return {word: score for own in found for words in own["categories"].values() for word, score in words.items()}


def shown(service: Service, user: str, query: str = "") -> list[str]:
    return [each["id"] for each in ok(service.get(f"/s/users/{user}/recommendation{query}"))["content"]]


def test_a_value_is_answered_listed_and_exported_where_it_was_given(films: Service) -> None:
    path = "/s/users/kim/interactions/{}/content/{}"
    answers = [
        ok(films.post(path.format(kind, "a") + query))
        for kind, query in [("Watch", "?value=0.6"), ("Play", "?value=1.00"), ("RateLike", "?value=.5"), ("Click", "")]
    ]

    assert [each.get("value", "none") for each in answers] == [0.6, 1, 0.5, "none"]
    assert values(films, "kim") == ["none", 0.5, 1, 0.6]
    exported = ok(films.get("/s/users/kim/export"))["interactions"]
    assert [each.get("value", "none") for each in exported] == ["none", 0.5, 1, 0.6]


def test_an_event_is_answered_with_the_value_that_came_first(films: Service) -> None:
    path = "/s/users/kim/interactions/Watch/content/a?event-id=e&value="
    first, again = (ok(films.post(path + each)) for each in ("0.3", "0.9"))

    assert first == again
    assert record(films, "kim", {"contentId": "a", "eventId": "e", "value": 1}) == {"accepted": 0, "duplicates": 1}
    assert values(films, "kim") == [0.3]


def test_the_value_multiplies_the_weight_in_the_profile(films: Service) -> None:
    record(films, "kim", {"contentId": "a", "value": 0.5}, {"contentId": "b"}, {"contentId": "c", "value": 0})
    record(films, "lee", {"contentId": "a", "type": "RateLike", "value": 0.1}, {"contentId": "b", "type": "RateLike"})

    assert profile(films, "kim") == {"all": 1000, "of-a": 333, "of-b": 667}
    assert profile(films, "lee") == {"all": 1000, "of-a": 500, "of-b": 500}


def test_above_0_a_piece_is_seen_and_at_0_nothing_was_done(films: Service) -> None:
    record(films, "kim", {"contentId": "a", "value": 0.01}, {"contentId": "b", "value": 0})
    record(films, "lee", {"contentId": "b", "value": 0})

    assert set(shown(films, "kim")) == {"b", "c", "d"}
    assert profile(films, "lee") == {}
    assert values(films, "lee") == [0]
    assert [each["id"] for each in ok(films.get("/s/popular"))["content"]] == ["a"]


def test_what_was_done_at_0_begins_nothing(films: Service) -> None:
    record(
        films, "kim", {"contentId": "a", "type": "Play", "value": 0}, {"contentId": "b", "type": "Play", "value": 0.2}
    )

    assert [each["id"] for each in ok(films.get("/s/users/kim/again"))["content"]] == ["b"]


def test_nothing_came_of_a_list_at_0(films: Service) -> None:
    ok(films.put("/s/placements/home", json={"kind": "recommendations"}))
    page = {"user": "kim", "lists": [{"placement": "home"}]}
    (home,) = ok(films.post("/s/lists", json=page))["lists"]
    films.post("/s/impressions", json=[{"listId": home["listId"], "content": ["a", "b"]}])
    for piece_id, value in (("a", 0), ("b", 0.01)):
        ok(films.post(f"/s/users/kim/interactions/Watch/content/{piece_id}?value={value}&list={home['listId']}"))

    seen = {each["contentId"]: each.get("ledTo") for each in ok(films.get("/s/users/kim/export"))["impressions"]}

    assert seen == {"a": None, "b": ["Watch"]}


def test_values_are_taken_back_like_all_else(films: Service) -> None:
    record(films, "kim", {"contentId": "a", "value": 0}, {"contentId": "a", "value": 0.5, "eventId": "e"})
    before = profile(films, "kim")
    removed = ok(films.delete("/s/users/kim/interactions/Watch/content/a?event-id=e"))
    after = profile(films, "kim"), values(films, "kim")

    assert (before, removed, after) == ({"all": 1000, "of-a": 1000}, {"removed": 1}, ({}, [0]))
    assert record(films, "kim", {"contentId": "a", "value": 1, "eventId": "e"}) == {"accepted": 0, "duplicates": 1}
    assert ok(films.delete("/s/users/kim/interactions/Watch/content/a")) == {"removed": 1}


def test_a_value_counts_in_the_next_list_of_one_who_is_remembered(films: Service) -> None:
    record(films, "kim", {"contentId": "a"})
    assert set(shown(films, "kim")) == {"b", "c", "d"}
    record(films, "kim", {"contentId": "b", "value": 0})
    assert set(shown(films, "kim")) == {"b", "c", "d"}
    record(films, "kim", {"contentId": "c", "value": 0.1})

    assert set(shown(films, "kim")) == {"b", "d"}


def test_the_page_of_a_person_says_what_part_it_was(films: Service) -> None:
    done = [("Watch", "a", 0.6), ("Purchase", "b", 0.5), ("Click", "c", 0), ("RateLike", "d", 0.4), ("Play", "d", None)]
    record(films, "kim", *({"type": kind, "contentId": each, "value": value} for kind, each, value in done))

    said = text_of(Visitor(films, films.key).get("user", source="s", id="kim").text)

    assert "Watch (60 % watched)" in said
    assert "Purchase (50 % of it)" in said
    assert "Click (nothing of it: counts for nothing)" in said
    assert "RateLike (" not in said
    assert "Play (" not in said
