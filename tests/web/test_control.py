"""Lists that are varied, limited by keyword, without some pieces, and for people of whom nothing is stored."""

from typing import Any

import pytest

from factories import piece
from serving import Service


def film(name: str, genre: str, director: str) -> dict[str, Any]:
    return {"id": name, "categories": {"genre": [genre], "director": [director]}}


def recommended(service: Service, query: str = "", user: str = "u") -> list[str]:
    found = service.get(f"/s/users/{user}/recommendation{query}").json()["content"]
    return [each["id"] for each in found]


def like(service: Service, *ids: str, user: str = "u") -> None:
    for piece_id in ids:
        assert service.post(f"/s/users/{user}/interactions/RateLike/content/{piece_id}").status_code == 200


@pytest.fixture
def films(service: Service) -> Service:
    """Four of one director, of whom one is liked, and others."""
    wilders = [film(name, "crime", "wilder") for name in ("a1", "a2", "a3", "a4")]
    service.submit("s", *wilders, film("b1", "crime", "lang"), film("c1", "comedy", "tati"))
    like(service, "a4")
    return service


def test_the_settings_limit_how_many_pieces_share_a_keyword(films: Service) -> None:
    assert recommended(films)[:3] == ["a1", "a2", "a3"]
    films.put("/s/settings", json={"maxPerValue": {"director": 2}})

    assert recommended(films) == ["a1", "a2", "b1", "c1"]
    assert films.get("/s/settings").json()["maxPerValue"] == {"director": 2}


def test_without_a_limit_the_settings_do_not_name_it(films: Service) -> None:
    assert "maxPerValue" not in films.get("/s/settings").json()


def test_a_diverse_list_prefers_what_is_unlike_the_pieces_before(films: Service) -> None:
    assert recommended(films, "?diversity=0") == recommended(films)
    assert recommended(films, "?diversity=0.9") == ["a1", "b1", "a2", "a3", "c1"]
    assert recommended(films, "?diversity=1") == ["a1", "b1", "c1", "a2", "a3"]
    assert sorted(recommended(films, "?diversity=0.5")) == sorted(recommended(films))


def test_whitelisted_pieces_come_first_and_count_for_the_limit(films: Service) -> None:
    films.put("/s/settings", json={"maxPerValue": {"director": 1}})
    films.put("/s/whitelist", json=["a3", "a2"])

    assert recommended(films) == ["a3", "a2", "b1", "c1"]


def test_one_request_can_exclude_pieces(films: Service) -> None:
    assert recommended(films, "?exclude=a1&exclude=a3") == ["a2", "b1", "c1"]
    similar = films.get("/s/content/a1/similar?exclude=a2&exclude=b1").json()["content"]
    assert [each["id"] for each in similar] == ["a3", "a4"]


def why_not(service: Service, piece_id: str, query: str = "") -> list[dict[str, Any]]:
    answer = service.get(f"/s/users/u/why/{piece_id}{query}").json()
    assert answer["rank"] is None
    reasons: list[dict[str, Any]] = answer["reasons"]
    return reasons


def test_reasons_name_limits_and_exclusions(films: Service) -> None:
    (reason,) = why_not(films, "a1", "?exclude=a1")
    assert (reason["code"], reason["remedy"]) == ("excluded", {"remove": "exclude"})

    films.put("/s/settings", json={"maxPerValue": {"director": 2}})
    (reason,) = why_not(films, "a3")
    assert (reason["code"], reason["remedy"]) == ("max-per-value", {"remove": "maxPerValue", "category": "director"})
    assert "wilder" in reason["detail"]


def test_reasons_name_diversity(service: Service) -> None:
    service.submit("s", *[piece(f"a{number:02}", "x") for number in range(40)], piece("liked", "x"))
    others = [piece(f"b{number:02}", "y", f"k{number}") for number in range(40)]
    service.submit("s", *others, piece("also", "y"), *[piece(f"c{number:02}", "z") for number in range(40)])
    like(service, "liked", "also")

    (reason,) = why_not(service, "a05", "?diversity=1")
    assert (reason["code"], reason["remedy"]) == ("alike", {"diversity": 0})


def test_what_diversity_has_moved_is_told(films: Service) -> None:
    listed = films.get("/s/users/u/recommendation?diversity=1&explain=true").json()["content"]

    rules = {each["id"]: [rule["rule"] for rule in each["why"]["rules"]] for each in listed}
    assert rules["a1"] == []
    assert "diversity" in rules["c1"]


def test_a_calibrated_list_has_the_shares_of_the_persons_tastes(service: Service) -> None:
    crimes = [film(f"a{number:02}", "crime", "wilder") for number in range(40)]
    service.submit("s", *crimes, *[film(f"c{number}", "comedy", "tati") for number in range(9)])
    like(service, "a37", "a38", "a39", "c8")
    by_genre = "?limit=8&calibration=0.9&calibration-category=genre"

    assert [each[0] for each in recommended(service, "?limit=8")] == ["a"] * 8
    assert sorted(each[0] for each in recommended(service, by_genre)) == ["a"] * 6 + ["c"] * 2
    # Of nobody there are no shares to keep.
    assert recommended(service, by_genre, "nobody") == recommended(service, "?limit=8", "nobody")


def test_what_calibration_has_moved_and_left_out_is_told(service: Service) -> None:
    crimes = [film(f"a{number:02}", "crime", "wilder") for number in range(40)]
    service.submit("s", *crimes, *[film(f"c{number:02}", "comedy", "tati") for number in range(30)])
    like(service, "a37", "a38", "a39", "c29")
    query = "?calibration=1&calibration-category=genre"

    listed = service.get(f"/s/users/u/recommendation{query}&explain=true").json()["content"]
    (reason,) = why_not(service, "a28", query)

    told = {each["id"]: each["why"]["rules"] for each in listed}
    assert told["a00"] == []
    assert told["c00"] == [{"rule": "calibration", "keyword": "comedy"}]
    assert (reason["code"], reason["remedy"]) == ("calibrated", {"calibration": 0})


def preview(service: Service, body: Any, query: str = "") -> Any:
    answer = service.post(f"/s/preview/recommendation{query}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_somebody_without_an_id_gets_a_list_from_likes(films: Service) -> None:
    found = preview(films, {"liked": ["a4"]})

    assert found["id"] is None
    assert [each["id"] for each in found["content"]] == recommended(films)


def test_likes_and_dislikes_may_be_keywords(films: Service) -> None:
    body = {"likedKeywords": {"genre": ["comedy"]}, "dislikedKeywords": {"director": ["wilder"]}}
    found = [each["id"] for each in preview(films, body, "?algo=cosine")["content"]]

    assert found[:2] == ["c1", "b1"]


def test_a_preview_stores_nothing_and_may_be_explained(films: Service) -> None:
    before = films.get("/s").json()
    found = preview(films, {"disliked": ["a4"]}, "?explain=true&take=2")

    assert [set(each) for each in found["content"]] == [{"id", "score", "why"}] * 2
    assert films.get("/s").json() == before


def test_without_likes_the_popular_come_first(films: Service) -> None:
    assert preview(films, {})["content"][0]["id"] == "a4"
