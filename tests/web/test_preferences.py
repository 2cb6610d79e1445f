"""Preferences of people: what they have said of keywords, pieces and categories (interface, section 9)."""

from typing import Any

import pytest

from factories import piece, weighted
from serving import Service, ok

pytestmark = pytest.mark.usefixtures("noon")

NOTHING: dict[str, Any] = {"keywords": {}, "hidden": [], "unusedCategories": []}
PATH = "/s/users/kim/preferences"


def listed(service: Service, query: str = "", user: str = "kim") -> list[str]:
    return [each["id"] for each in ok(service.get(f"/s/users/{user}/recommendation{query}"))["content"]]


def profile(service: Service) -> Any:
    found = ok(service.get("/s/users/kim/recommendation/profile"))
    return found[0]["categories"] if found else {}


def test_what_is_said_is_given_back_until_it_is_removed(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    said = {"keywords": {"people/director": {"scott": 0.5, "none": 0}}, "hidden": ["b", "b"], "unusedCategories": None}

    kept = ok(service.put(PATH, json=said))
    assert kept == {"keywords": {"people/director": {"scott": 0.5}}, "hidden": ["b"], "unusedCategories": []}
    assert ok(service.get(PATH)) == kept == ok(service.put(PATH, json=kept))
    assert ok(service.put(PATH, json={})) == NOTHING == ok(service.get(PATH))
    ok(service.put(PATH, json=said))
    assert ok(service.delete(PATH)) == NOTHING == ok(service.get(PATH))


@pytest.mark.nodes
def test_each_change_takes_a_version_of_the_interactions_and_no_change_none(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    header = "x-penchant-interactions-version"
    first = service.post("/s/users/kim/interactions/Click/content/a").headers[header]
    changes: tuple[dict[str, Any], ...] = ({"hidden": ["a"]}, {"hidden": ["b"]}, {}, {})

    versions = [service.put(PATH, json=said).headers[header] for said in changes]

    assert [int(each) - int(first) for each in versions] == [1, 2, 3, 3]


def test_a_keyword_counts_as_much_as_the_strongest_of_what_was_done(service: Service) -> None:
    service.submit("s", weighted("a", war=81, space=9), weighted("b", love=1))
    service.post("/s/users/kim/interactions/Watch/content/a")
    assert profile(service) == {"tag": {"space": 333, "war": 1000}}

    ok(service.put(PATH, json={"keywords": {"tag": {"love": 0.5, "war": -1, "space": 1, "unknown": 1}}}))

    assert profile(service) == {"tag": {"love": 375, "space": 1000}}


def test_of_somebody_who_did_nothing_what_is_said_counts_alone(service: Service) -> None:
    service.submit("s", piece("a", "war"), piece("b", "love"), piece("c", "space"))
    service.post("/s/users/other/interactions/Play/content/a")
    assert listed(service)[0] == "a"

    ok(service.put(PATH, json={"keywords": {"genre": {"love": 1, "war": -1}}}))

    assert listed(service)[0] == "b"
    assert listed(service, "?algo=cosine") == ["b", "c", "a"]
    assert listed(service, "?algo=jaccard&fill=false") == ["b"]
    assert listed(service, user="other") != listed(service)


@pytest.mark.nodes
def test_hidden_pieces_are_in_no_list_and_lists_are_not_short_for_it(service: Service) -> None:
    service.submit("s", *(piece(f"p{number:02}", "x") for number in range(62)))
    for number in (0, 1):
        for _ in range(2):
            service.post(f"/s/users/kim/interactions/Play/content/p{number:02}")
    hidden = [f"p{number:02}" for number in range(0, 62, 2)]

    ok(service.put(PATH, json={"hidden": [*hidden, "not-there"]}))

    for query in ("", "?include-seen=true", "?algo=jaccard", "?diversity=0.5"):
        assert len(listed(service, query)) == 30
        assert not set(hidden) & set(listed(service, query))
    assert [each["id"] for each in ok(service.get("/s/users/kim/again"))["content"]] == ["p01"]
    found = ok(service.post("/s/recommendations", json=["kim", "lee"]))
    assert [set(hidden).isdisjoint(each["id"] for each in one["content"]) for one in found] == [True, False]


def test_a_category_never_used_says_nothing_while_its_pieces_stay(service: Service) -> None:
    pieces = {"a": ("fr", "war"), "b": ("fr", "love"), "c": ("en", "war")}
    service.submit("s", *({"id": i, "categories": {"country": [c], "genre": [g]}} for i, (c, g) in pieces.items()))
    service.post("/s/users/kim/interactions/Watch/content/a")

    ok(service.put(PATH, json={"unusedCategories": ["country"], "keywords": {"country": {"fr": 1}}}))

    assert profile(service) == {"genre": {"war": 1000}}
    assert listed(service, "?algo=cosine") == ["c", "b"]


def test_why_names_what_was_said_and_what_was_hidden(service: Service) -> None:
    service.submit("s", piece("a", "war", "love"), piece("b", "love"), piece("c", "love", "space"))
    service.post("/s/users/kim/interactions/Watch/content/b")
    ok(service.put(PATH, json={"keywords": {"genre": {"war": 1, "space": -1}}, "hidden": ["b", "c"]}))

    place = ok(service.get("/s/users/kim/why/c"))
    terms = ok(service.get("/s/users/kim/why/a"))["why"]["parts"][0]["terms"]
    hidden = {"code": "hidden", "detail": "The person has hidden the piece.", "remedy": {"remove": "hidden"}}

    assert {each["keyword"]: each.get("stated") for each in terms} == {"war": "liked", "love": None}
    assert place["reasons"] == [hidden]
    assert {each["keyword"]: each.get("stated") for each in place["why"]["parts"][0]["terms"]} == {
        "love": None,
        "space": "disliked",
    }
    assert [each["code"] for each in ok(service.get("/s/users/kim/why/b"))["reasons"]] == ["hidden", "seen"]
    ok(service.put(PATH, json={"keywords": {"genre": {"war": 1}}}))
    assert ok(service.get("/s/users/kim/why/c"))["reasons"] == []


def test_it_is_exported_and_erased_with_the_person(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"))
    said = NOTHING | {"keywords": {"genre": {"y": 1.0}}, "hidden": ["a"]}
    ok(service.put(PATH, json=said))
    export = {"source": "s", "userId": "kim", "interactions": []}
    assert ok(service.get("/s/users/kim/export")) == export | {"preferences": said}
    assert listed(service) == ["b"]

    assert service.delete("/s/users/kim").status_code == 202

    assert ok(service.get("/s/users/kim/export")) == export
    assert ok(service.get(PATH)) == NOTHING
    # What nothing speaks for has another order every day.
    assert sorted(listed(service)) == ["a", "b"]


def test_a_thousand_things_may_be_said_and_no_more(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    many = {"keywords": {"genre": {str(number): 1 for number in range(999)}}}

    assert service.put(PATH, json=many | {"hidden": ["a"]}).status_code == 200
    assert service.put(PATH, json=many | {"hidden": ["a", "b"]}).json()["code"] == "too-many-entries"
