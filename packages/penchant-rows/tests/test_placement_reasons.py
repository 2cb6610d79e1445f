"""Reasons of the lists of placements (interface, section 9): the lists stay the same, and the shares add up."""

from typing import Any

import pytest

from clocks import DAY_CLOCK
from serving import Service, ok
from shown import report

pytestmark = pytest.mark.usefixtures("noon")

KINDS = ("similar", "recommendations", "popular", "new", "again")
ATTRIBUTES = {"attributes": {"year": {"pointer": "/year", "type": "integer"}}}
BOOST = {"key": "year", "gte": 2006, "factor": 2}
PARTS = {"popular": ["popular"], "new": ["new"], "again": ["again"]}


@pytest.fixture
def source(service: Service) -> Service:
    """Return the service with a dozen pieces and four people who did something with some of them."""
    pieces = [
        {
            "id": f"p{number:02}",
            "categories": {"genre": [f"g{number % 3}", f"g{number % 4}"], "director": [f"d{number % 2}"]},
            "filters": {"availableFrom": f"2026-01-{number + 1:02}T00:00:00Z"},
            "extras": {"year": 2000 + number},
        }
        for number in range(12)
    ]
    service.submit("s", *pieces)
    service.put("/s/settings", json=ATTRIBUTES)
    did = [
        {"userId": user, "type": kind, "contentId": f"p{(3 * place + number) % 12:02}"}
        for place, user in enumerate(("ann", "bob", "cleo", "dan"))
        for number, kind in enumerate(["RateLike", "Watch", "Play", "Click", "Click"])
    ]
    answer = service.post("/s/interactions", json=did)
    version = answer.headers["x-penchant-interactions-version"]
    service.get("/s/popular", headers={"x-penchant-min-audience-version": version})
    return service


def place(service: Service, placement: dict[str, Any]) -> None:
    ok(service.put("/s/placements/home", json=placement))


def told(why: dict[str, Any]) -> float:
    """Return what the reasons of an entry add up to."""
    rest = why.get("rest", {}).get("share", 0.0)
    terms = [term["share"] for term in why.get("terms", [])]
    parts = [part["share"] for part in why.get("parts", [])]
    return float(sum([*terms, rest, why.get("audience", 0.0), *parts]))


def is_same_list(found: list[dict[str, Any]], asked: list[dict[str, Any]]) -> bool:
    """Return whether two lists are the same but for reasons; by a real clock pieces age from one to the other."""
    scores = [[each["score"] for each in entries] for entries in (found, asked)]
    close = pytest.approx(scores[1], abs=1e-4) if DAY_CLOCK.is_real else scores[1]
    return [each["id"] for each in found] == [each["id"] for each in asked] and scores[0] == close


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("boosts", ([], [BOOST]), ids=("plain", "boosted"))
def test_reasons_add_up_to_the_scores_of_the_same_list(source: Service, kind: str, boosts: list[Any]) -> None:
    weights = {"categoryWeights": {"genre": 2}} if kind in {"similar", "recommendations"} else {}
    place(source, {"kind": kind, "boosts": boosts, **weights})
    path = "/s/placements/home/list?user=ann&content=p03"

    asked = ok(source.get(path))["content"]
    found = ok(source.get(f"{path}&explain=true"))

    assert asked
    assert is_same_list(found["content"], asked)
    assert found["categoryWeights"] == weights.get("categoryWeights", {})
    for each in found["content"]:
        boosted = bool(boosts) and int(each["id"][1:]) >= 6
        assert ("boost" in [rule["rule"] for rule in each["why"]["rules"]]) == boosted
        s = told(each["why"]) * (2 if boosted else 1)
        assert each["score"] == pytest.approx(1 - min(1.0, max(0.0, s)), abs=2e-9)
        parts = [part["part"] for part in each["why"].get("parts", [])]
        assert kind not in PARTS or parts == PARTS[kind]


def test_reasons_are_those_of_the_variant_that_the_person_sees(source: Service) -> None:
    everybody = {"name": "near", "share": 1, "kind": "similar", "categoryWeights": {"director": 0}}
    place(source, {"kind": "new", "variants": [everybody]})

    found = ok(source.get("/s/placements/home/list?user=ann&content=p03&explain=true"))

    assert (found["variant"], found["categoryWeights"]) == ("near", {"director": 0})
    assert {term["category"] for each in found["content"] for term in each["why"]["terms"]} == {"genre"}


def test_a_page_is_explained_as_a_whole(source: Service) -> None:
    place(source, {"kind": "new"})
    ok(source.put("/s/placements/beside", json={"kind": "similar"}))
    page = {"user": "ann", "lists": [{"placement": "home", "take": 3}, {"placement": "beside", "content": "p03"}]}

    without, found = (ok(source.post(f"/s/lists{query}", json=page))["lists"] for query in ("", "?explain=true"))

    for each, asked in zip(found, without, strict=True):
        assert is_same_list(each["content"], asked["content"])
    assert [set(each["content"][0]["why"]) for each in found] == [{"parts", "rules"}, {"terms", "rules"}]
    assert all("why" in entry for each in found for entry in each["content"])


def test_what_sinks_since_it_was_passed_over_is_told(source: Service) -> None:
    place(source, {"kind": "recommendations", "rotation": 0.5})
    first = source.get("/s/placements/home/list?user=ann&take=1")
    shown = {"listId": first.headers["x-penchant-list"], "content": [first.json()["content"][0]["id"]], "userId": "ann"}
    assert report(source, shown).status_code == 202

    found = ok(source.get("/s/placements/home/list?user=ann&explain=true"))["content"]

    demoted = {each["id"]: each["why"]["rules"] for each in found}[first.json()["content"][0]["id"]]
    assert {"rule": "rotation", "factor": 0.5} in demoted
