"""Explanations of pieces with many keywords name the greatest shares and sum up the others."""

import math

import pytest

from factories import piece
from serving import Service

KEYWORDS = [f"k{number:04}" for number in range(1_200)]


@pytest.fixture
def long(service: Service) -> Service:
    weighted = [{"key": keyword, "weight": 1 + number} for number, keyword in enumerate(KEYWORDS)]
    service.submit(
        "s", *[piece(name, categories={"c": weighted}) for name in "ab"], piece("c", categories={"c": KEYWORDS[:5]})
    )
    service.post("/s/users/u/interactions/Purchase/content/a")
    return service


def test_a_thousand_terms_are_named_and_the_rest_adds_up(long: Service) -> None:
    listed = long.get("/s/content/a/similar?explain=true").json()["content"]
    asked = long.get("/s/content/a/why/b").json()

    for entry in (listed[0], asked):
        why = entry["why"]
        shares = [term["share"] for term in why["terms"]]
        assert [term["keyword"] for term in why["terms"]] == KEYWORDS[:199:-1]
        assert why["rest"]["count"] == 200
        assert math.isclose(math.fsum([*shares, why["rest"]["share"]]), 1 - entry["score"], rel_tol=1e-9)
    assert "rest" not in listed[1]["why"]


def test_so_it_is_with_what_a_person_may_like(long: Service) -> None:
    entry = next(each for each in long.get("/s/users/u/recommendation?explain=true").json()["content"])

    content = entry["why"]["parts"][0]
    shares = [term["share"] for term in content["terms"]]
    assert (len(shares), content["rest"]["count"]) == (1_000, 200)
    assert math.isclose(math.fsum([*shares, content["rest"]["share"]]), content["share"], rel_tol=1e-9)
