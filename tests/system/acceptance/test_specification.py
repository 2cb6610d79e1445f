"""The specification from top to bottom: every request that it has, and an assertion for every row of its tables.

The tests go down the page; their names say which part they hold. What the page leaves open is held elsewhere.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from penchant.settings import NodeSettings
from serving import Applications, Service

TYPES = ("Click", "Play", "Watch", "Bookmark", "Preview", "Purchase", "RateLike", "RateDislike")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
PLAIN = {"id": "1", "categories": {"genre": ["noir", "crime"], "people": {"cast": {"lead": ["Bogart"]}}}}
KEYS_ONLY = {"id": "2", "label": "Two", "categories": {"genre": [{"key": "noir"}, {"key": "war"}]}, "filters": {}}
WEIGHTED = {
    "id": "3",
    "label": "Three",
    "categories": {"genre": [{"key": "noir", "weight": 90}, {"key": "crime", "weight": 10}, {"key": "old"}]},
    "filters": {"catalogs": ["classics", "b"]},
    "extras": {"image": "https://example.org/3.png", "synopsis": "A case."},
}
PIECES = [PLAIN, KEYS_ONLY, WEIGHTED]
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def service(applications: Applications, settings: NodeSettings, clock: Callable[[], float]) -> Service:
    """An account of its own at a service that these tests share."""
    return applications.shared_service(settings, clock)


@pytest.fixture
def filled(service: Service) -> Service:
    assert service.post("/films/content", json=PIECES, headers=JSON).status_code == 202
    return service


def content(service: Service, path: str) -> list[dict[str, Any]]:
    answer = service.get(path)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["content"])


# What the service does


def test_at_most_30_similar_pieces_are_returned(service: Service) -> None:
    service.post("/films/content", json=[{"id": str(n), "categories": {"g": ["k"]}} for n in range(40)])

    assert len(content(service, "/films/content/0/similar")) == 30


def test_recommendations_follow_the_taste_and_feedback_of_a_person(filled: Service) -> None:
    filled.post("/films/users/kim/interactions/RateLike/content/2")

    assert content(filled, "/films/users/kim/recommendation?algo=cosine")[0]["id"] in {"1", "3"}
    assert filled.get("/films/users/kim/recommendation/profile").json()[0]["categories"]["genre"]["noir"] > 0


def test_a_source_is_its_name_together_with_the_key(filled: Service) -> None:
    other = filled.new_key(account="other")

    assert filled.get("/films/ids", key=other).status_code == 404
    assert filled.get("/films/ids").json()["count"] == 3


def test_the_first_submission_makes_the_source(service: Service) -> None:
    assert service.get("/new/ids").status_code == 404
    assert service.post("/new/content", json=[]).status_code == 202
    assert service.get("/new/ids").json() == {"count": 0, "content": []}


@pytest.mark.parametrize(
    ("path", "feature"),
    (
        ("/films/content/1/similar?catalogs=b", "filters"), ("/films/users/kim/recommendation", "personalized"),
        ("/films/users/kim/recommendation/profile", "profile"),
        ("/films/users/kim/interactions", "interactionsListing"), ("/films/whitelist", "lists"),
        ("/films/blacklist", "lists"),
    ),
)  # fmt: skip
def test_a_plan_grants_each_feature(service: Service, path: str, feature: str) -> None:
    key = service.new_key(plan="basic")
    service.post("/films/content", json=PIECES, key=key)

    answer = service.get(path, key=key)

    assert answer.status_code == 403
    assert feature in answer.json()["detail"]


# Content piece


@pytest.mark.parametrize("member", ("id", "label", "categories", "filters", "extras"))
def test_id_and_categories_are_required_and_the_other_members_optional(service: Service, member: str) -> None:
    answer = service.post("/films/content", json=[{name: WEIGHTED[name] for name in WEIGHTED if name != member}])

    if member in {"id", "categories"}:
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/0/{member}")
    else:
        assert answer.status_code == 202


def test_categories_have_any_depth_and_filters_are_an_empty_object_where_none_came(filled: Service) -> None:
    plain = filled.get("/films/content/1").json()

    assert (plain["categories"], plain["filters"]) == (PLAIN["categories"], {})
    assert filled.get("/films/content/3").json()["filters"] == {"catalogs": ["classics", "b"]}


def test_extras_come_back_and_change_no_list(filled: Service) -> None:
    before = content(filled, "/films/content/1/similar")
    filled.post("/films/content", json=[{**WEIGHTED, "extras": {"synopsis": "noir crime noir"}}])

    assert filled.get("/films/content/3").json()["extras"] == {"synopsis": "noir crime noir"}
    assert content(filled, "/films/content/1/similar") == before


def test_keywords_are_strings_or_objects_with_optional_key_and_weight(service: Service) -> None:
    items = ["plain", {"key": "k"}, {"key": "w", "weight": 3}, {"weight": 3}, {}]
    service.post("/films/content", json=[{"id": "1", "categories": {"g": items}}])

    assert service.get("/films/content/1").json()["categories"] == {"g": items}


def test_a_keyword_has_one_weight_in_a_piece(service: Service) -> None:
    items = [{"key": "k", "weight": 1}, {"key": "k", "weight": 2}]

    assert service.post("/films/content", json=[{"id": "1", "categories": {"g": items}}]).status_code == 422


def test_only_keywords_with_a_weight_are_weighted(filled: Service) -> None:
    weighted = content(filled, "/films/content/3/similar")
    plain = content(filled, "/films/content/2/similar")

    assert weighted == content(filled, "/films/content/3/similar?algo=cosine")
    assert plain == content(filled, "/films/content/2/similar?algo=jaccard")


def test_the_piece_submitted_last_replaces_the_one_before(filled: Service) -> None:
    filled.post("/films/content", json=[{"id": "1", "categories": {}}])

    assert filled.get("/films/content/1").json() == {"id": "1", "categories": {}, "filters": {}, "extras": {}}
    assert filled.get("/films/ids").json()["count"] == 3


# Answers


def test_a_content_list_has_source_timestamp_and_content(filled: Service) -> None:
    listed = filled.get("/films/content").json()

    assert list(listed) == ["source", "timestamp", "content"]
    assert listed["source"] == "films"
    assert MOMENT.match(listed["timestamp"])
    assert listed["content"] == [filled.get(f"/films/content/{n}").json() for n in "123"]


def test_an_id_list_has_count_and_content(filled: Service) -> None:
    assert filled.get("/films/ids").json() == {"count": 3, "content": ["1", "2", "3"]}


def test_a_list_of_similar_pieces_has_id_and_entries_by_ascending_distance(filled: Service) -> None:
    answer = filled.get("/films/content/1/similar").json()

    assert answer["id"] == "1"
    assert [sorted(entry) for entry in answer["content"]] == [["id", "score"]] * 2
    scores = [entry["score"] for entry in answer["content"]]
    assert scores == sorted(scores)
    assert all(isinstance(score, float) for score in scores)


def test_equal_distances_may_occur(service: Service) -> None:
    service.post("/films/content", json=[{"id": str(n), "categories": {"g": ["k"]}} for n in range(3)])

    assert content(service, "/films/content/0/similar") == [{"id": "1", "score": 0.0}, {"id": "2", "score": 0.0}]


def test_recommendations_have_a_string_as_id_and_ascend_too(filled: Service) -> None:
    filled.post("/films/users/kim/interactions/Click/content/1")
    answer = filled.get("/films/users/kim/recommendation").json()

    assert isinstance(answer["id"], str)
    scores = [entry["score"] for entry in answer["content"]]
    assert len(scores) == 3
    assert scores == sorted(scores)


def test_a_profile_has_source_user_and_integers_of_both_signs(filled: Service) -> None:
    filled.post("/films/users/kim/interactions/RateLike/content/3")
    filled.post("/films/users/kim/interactions/RateDislike/content/2")

    (profile,) = filled.get("/films/users/kim/recommendation/profile").json()

    assert (profile["source"], profile["userId"]) == ("films", "kim")
    scores = profile["categories"]["genre"]
    assert all(isinstance(score, int) for score in scores.values())
    assert scores["crime"] > 0 > scores["war"]


@pytest.mark.parametrize("kind", TYPES)
def test_an_interaction_has_key_type_content_id_and_timestamp(filled: Service, kind: str) -> None:
    answer = filled.post(f"/films/users/kim/interactions/{kind}/content/1")

    assert answer.status_code == 200
    interaction = answer.json()
    assert list(interaction) == ["key", "type", "contentId", "timestamp"]
    assert interaction["key"] == {"source": "films", "userId": "kim"}
    assert (interaction["type"], interaction["contentId"]) == (kind, "1")
    assert MOMENT.match(interaction["timestamp"])


# Endpoints


@pytest.mark.parametrize(
    ("method", "path"),
    (
        ("POST", "/films/content"), ("GET", "/films/ids"), ("GET", "/films/content"), ("GET", "/films/content/1"),
        ("DELETE", "/films/content"), ("DELETE", "/films/content/1"), ("GET", "/films/content/1/similar"),
        ("GET", "/films/users/kim/recommendation"), ("GET", "/films/users/kim/recommendation/profile"),
        ("POST", "/films/users/kim/interactions/Click/content/1"), ("GET", "/films/users/kim/interactions"),
    ),
)  # fmt: skip
def test_every_endpoint_requires_a_key(filled: Service, method: str, path: str) -> None:
    assert filled.client.request(method, path).status_code == 401
    assert filled.request(method, path, key="pk_no_such").status_code == 401


def test_a_submission_needs_its_content_type(service: Service) -> None:
    assert service.post("/films/content", content=b"[]").status_code == 415


def test_a_submission_has_at_most_2000_entries(service: Service) -> None:
    pieces = [{"id": str(number), "categories": {}} for number in range(2001)]

    refused = service.post("/films/content", json=pieces)
    assert (refused.status_code, refused.json()["code"]) == (413, "too-many-entries")
    assert service.post("/films/content", json=pieces[:2000]).status_code == 202


def test_one_piece_is_read_with_its_members(filled: Service) -> None:
    assert filled.get("/films/content/3").json() == WEIGHTED
    assert list(filled.get("/films/content/3").json()) == ["id", "label", "categories", "filters", "extras"]


@pytest.mark.parametrize(("query", "left"), (("", []), ("?id=1&id=3", ["2"])))
def test_deleting_removes_all_or_the_ids_and_answers_an_empty_array(
    filled: Service, query: str, left: list[str]
) -> None:
    answer = filled.delete(f"/films/content{query}")

    assert (answer.status_code, answer.json()) == (202, [])
    assert filled.get("/films/ids").json() == {"count": len(left), "content": left}


def test_one_piece_is_deleted_with_202(filled: Service) -> None:
    assert filled.delete("/films/content/2").status_code == 202
    assert filled.get("/films/content/2").status_code == 404


def test_similar_content_needs_two_pieces(service: Service) -> None:
    service.post("/films/content", json=[PLAIN])

    assert service.get("/films/content/1/similar").status_code == 409


# Parameters


def record(service: Service, kind: str, piece_id: str) -> None:
    service.post(f"/films/users/kim/interactions/{kind}/content/{piece_id}")


@pytest.mark.parametrize(
    ("query", "listed"),
    (
        ("", ["3", "2", "1", "1", "1", "1", "1", "1", "1", "1"]), ("?content-id=2", ["2"]), ("?type=Click", ["2"]),
        ("?skip=1&limit=2", ["2", "1"]), ("?limit=1", ["3"]), ("?take=2", ["3", "2"]), ("?catalogs=classics", ["3"]),
    ),
)  # fmt: skip
def test_interactions_are_listed_from_the_newest_by_their_parameters(
    filled: Service, query: str, listed: list[str]
) -> None:
    for _ in range(12):
        record(filled, "Play", "1")
    record(filled, "Click", "2")
    record(filled, "Watch", "3")

    found = filled.get(f"/films/users/kim/interactions{query}").json()

    assert [interaction["contentId"] for interaction in found] == listed


@pytest.mark.parametrize("path", ("/films/content/1/similar", "/films/users/kim/recommendation"))
def test_the_common_parameters_narrow_both_lists(filled: Service, path: str) -> None:
    assert len(content(filled, f"{path}?take=1")) == 1
    assert [entry["id"] for entry in content(filled, f"{path}?catalogs=classics")] == ["3"]
    assert [entry["id"] for entry in content(filled, f"{path}?catalogs=other&catalogs=b")] == ["3"]
    today = datetime.now(UTC).date().isoformat()
    assert content(filled, f"{path}?at={today}") == content(filled, path)
    assert content(filled, f"{path}?at=2019-08-17") == []


@pytest.mark.parametrize("path", ("/films/content/3/similar", "/films/users/kim/recommendation"))
@pytest.mark.parametrize("algorithm", ("Jaccard Index", "Cosine Similarity"))
def test_the_algorithms_are_known_by_their_names(filled: Service, algorithm: str, path: str) -> None:
    record(filled, "RateLike", "3")
    short = algorithm.split(maxsplit=1)[0].lower()

    found = content(filled, f"{path}?algo={algorithm}")

    assert found == content(filled, f"{path}?algo={short}")
    assert len(found) == 2


# Lists, errors, limits


def test_whitelisted_pieces_come_first_in_the_order_of_the_list(filled: Service) -> None:
    filled.put("/films/whitelist", json=["unknown", "2", "3"])

    record(filled, "RateLike", "1")
    for path in ("/films/content/1/similar", "/films/users/kim/recommendation"):
        assert [entry["id"] for entry in content(filled, path)] == ["2", "3"]
    filled.put("/films/whitelist", json=["3"])
    for path in ("/films/content/1/similar", "/films/users/kim/recommendation"):
        assert content(filled, path)[0]["id"] == "3"


def test_irrelevant_pieces_are_never_shown_though_whitelisted(filled: Service) -> None:
    filled.post("/films/content", json=[{"id": "4", "categories": {"genre": ["comedy"]}}])
    filled.put("/films/whitelist", json=["4"])

    assert "4" not in [entry["id"] for entry in content(filled, "/films/content/1/similar")]


def test_blacklisted_pieces_are_in_no_list(filled: Service) -> None:
    filled.put("/films/blacklist", json=["3"])

    for path in ("/films/content/1/similar", "/films/users/kim/recommendation"):
        assert "3" not in [entry["id"] for entry in content(filled, path)]
