"""Similar content (interface, section 5)."""

from typing import Any

import pytest

from factories import piece, weighted
from serving import Service

pytestmark = pytest.mark.usefixtures("noon")


def similar(service: Service, piece_id: str, query: str = "") -> list[tuple[str, float]]:
    answer = service.get(f"/s/content/{piece_id}/similar{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] == piece_id
    return [(entry["id"], entry["score"]) for entry in answer.json()["content"]]


def test_jaccard_distance_is_one_minus_shared_over_all(service: Service) -> None:
    service.submit("s", piece("q", "x", "y"), piece("a", "x", "y", "z"), piece("b", "y"), piece("c", "z"))

    assert similar(service, "q") == [("a", 0.333333333333), ("b", 0.5)]


def test_cosine_is_chosen_for_weighted_pieces(service: Service) -> None:
    service.submit("s", weighted("q", x=3, y=4), weighted("a", x=3), weighted("b", y=4), weighted("c", x=6, y=8))

    assert similar(service, "q") == [("c", 0.0), ("b", 0.2), ("a", 0.4)]
    assert similar(service, "q", "?algo=Jaccard-Index") == [("c", 0.0), ("a", 0.5), ("b", 0.5)]
    assert similar(service, "q", "?algo=COSINE_similarity") == similar(service, "q")


def test_a_plain_keyword_has_the_mean_weight_of_its_piece(service: Service) -> None:
    mixed = {"id": "q", "categories": {"tag": ["plain", {"key": "x", "weight": 2}, {"key": "y", "weight": 3}]}}
    service.submit("s", mixed, weighted("same", plain=3, x=2, y=3))

    assert similar(service, "q", "?algo=cosine") == [("same", 0.0)]


def test_a_weight_of_0_says_the_same_as_none(service: Service) -> None:
    zeros = {"id": "q", "categories": {"tag": [{"key": "x", "weight": 2}, {"key": "y", "weight": 0}]}}
    service.submit("s", zeros, weighted("a", x=2, y=2), weighted("b", y=5))

    assert similar(service, "q") == [("a", 0.0), ("b", 0.292893218813)]
    assert service.get("/s/content/q").json()["categories"] == zeros["categories"]


def test_a_piece_with_weights_of_0_alone_is_compared_as_one_without(service: Service) -> None:
    service.submit("s", weighted("q", x=0, y=0), weighted("a", x=0), piece("b", "x"))
    service.post("/s/users/u/interactions/RateLike/content/q")

    assert similar(service, "q") == [("a", 0.5)] == similar(service, "q", "?algo=jaccard")
    assert similar(service, "q", "?algo=cosine") == [("a", 0.292893218813)]
    profile = service.get("/s/users/u/recommendation/profile").json()[0]["categories"]
    assert profile == {"tag": {"x": 1000, "y": 1000}}
    listed = service.get("/s/users/u/recommendation?fill=false&algo=cosine").json()["content"]
    assert [entry["id"] for entry in listed] == ["a"]


@pytest.mark.nodes
def test_a_change_is_in_the_next_answer(service: Service) -> None:
    service.submit("s", piece("q", "x"), piece("a", "x"))
    for number in range(5):
        service.submit("s", piece(f"n{number:02}", "x"))
        assert len(similar(service, "q")) == number + 2
        service.delete(f"/s/content/n{number:02}")
        assert f"n{number:02}" not in dict(similar(service, "q"))
        service.submit("s", piece(f"n{number:02}", "x"))


def test_catalogs_filter_and_the_list_stays_full(service: Service) -> None:
    near = [piece(f"near{number:02}", "x", filters={"catalogs": ["big"]}) for number in range(50)]
    far = [piece(f"far{number:02}", "x", "y", filters={"catalogs": ["small", "with,comma"]}) for number in range(40)]
    service.submit("s", piece("q", "x"), *near, *far)

    assert [each for each, _ in similar(service, "q", "?catalogs=small")] == [f"far{n:02}" for n in range(30)]
    assert len(similar(service, "q", "?catalogs=none,small&catalogs=other")) == 30
    assert len(similar(service, "q", "?catalogs[]=with,comma")) == 30
    assert similar(service, "q", "?catalogs=with,comma") == []


def test_availability_windows_open_and_close(service: Service) -> None:
    def windowed(name: str, **filters: str) -> dict[str, Any]:
        return piece(name, "x", filters=filters)

    service.submit(
        "s",
        piece("q", "x"),
        windowed("past", availableFrom="2020-01-01T00:00:00Z", availableUntil="2020-06-01T00:00:00Z"),
        windowed("future", availableFrom="2999-01-01T00:00:00Z"),
        windowed("open", availableFrom="2020-03-01T12:00:00Z"),
        piece("new", "x"),
    )

    assert [each for each, _ in similar(service, "q")] == ["new", "open"]
    assert [each for each, _ in similar(service, "q", "?at=2020-02-29")] == ["past"]
    assert [each for each, _ in similar(service, "q", "?at=2020-03-01")] == ["open", "past"]
    assert [each for each, _ in similar(service, "q", "?at=2020-06-01")] == ["open"]
    assert [each for each, _ in similar(service, "q", "?at=2999-01-01")] == ["future", "new", "open"]
    assert similar(service, "future") == [("new", 0.0), ("open", 0.0), ("q", 0.0)]


def test_the_blacklist_hides_and_the_whitelist_lifts(service: Service) -> None:
    service.submit("s", piece("q", "x"), *(piece(f"p{number:02}", "x") for number in range(40)))
    service.put("/s/blacklist", json=["p00", "p01"])
    service.put("/s/whitelist", json=["p31", "p20", "p39", "p00", "p05"])

    found = [each for each, _ in similar(service, "q", "?take=5")]

    # p39 is not among the 30 nearest; p31 is, since the blacklisted ones take up no place.
    assert found == ["p31", "p20", "p05", "p02", "p03"]


def test_category_weights_count_in_both_algorithms(service: Service) -> None:
    def two(name: str, first: str, second: str) -> dict[str, Any]:
        return {"id": name, "categories": {"a": [first], "n": {"b": [second]}}}

    service.submit("s", two("q", "1", "2"), two("left", "1", "9"), two("right", "9", "2"))
    service.put("/s/settings", json={"categoryWeights": {"n/b": 3}})

    assert similar(service, "q", "?algo=jaccard") == [("right", 0.4), ("left", 0.857142857143)]
    assert similar(service, "q", "?algo=cosine") == [("right", 0.1), ("left", 0.9)]
    service.put("/s/settings", json={"categoryWeights": {"n/b": 0}})
    assert similar(service, "q") == [("left", 0.0)]


def test_a_nested_category_is_the_one_literally_so_named(service: Service) -> None:
    service.submit(
        "s",
        {"id": "a", "categories": {"people": {"director": ["X"]}}},
        {"id": "b", "categories": {"people/director": ["X"]}},
        {"id": "c", "categories": {"director": ["X"]}},
    )

    assert similar(service, "a") == [("b", 0.0)]
