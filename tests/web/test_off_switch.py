"""The off switch: whose lists know nothing of them, and of whom nothing more is stored (interface, section 10)."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acceptance.processes import wait_until
from factories import piece
from serving import Service, ok
from shown import counted, list_id, report
from strategies import CATALOGUES, INTERACTIONS, SAID, examples
from web.test_explanations import interacting

pytestmark = pytest.mark.usefixtures("noon")

OFF = {"personal": False}
LISTS = (
    "recommendation",
    "recommendation?algo=cosine",
    "recommendation?algo=jaccard",
    "recommendation?include-seen=true&explain=true",
    "recommendation?at=2030-01-01",
    "again",
    "recommendation/profile",
)


def switch(service: Service, user: str, said: dict[str, Any] | None = None, *, off: bool) -> None:
    answer = ok(service.put(f"/s/users/{user}/preferences", json=(said or {}) | (OFF if off else {})))
    assert answer.get("personal", True) is not off


def shown(service: Service, user: str) -> list[Any]:
    """Return everything that lists answer of a person, without the id."""
    answers = [ok(service.get(f"/s/users/{user}/{each}")) for each in LISTS]
    answers += [ok(service.get(f"/s/placements/{name}/list?user={user}")) for name in ("turning", "new")]
    answers.append(ok(service.post("/s/recommendations", json=[user]))[0])
    for each in answers:
        if isinstance(each, dict):
            each.pop("id", None)
            each.pop("userId", None)
    return answers


def of_everybody(service: Service) -> list[Any]:
    popular = ok(service.get("/s/popular"))
    return [popular, *(ok(service.get(f"/s/content/{each['id']}/similar?by=audience")) for each in popular["content"])]


@pytest.mark.nodes
@given(CATALOGUES, st.lists(INTERACTIONS, min_size=2, max_size=4), SAID, INTERACTIONS)
@pytest.mark.usefixtures("alone")  # lists of what is new go by the clock, which nodes have of their own
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_who_is_switched_off_is_answered_as_somebody_unknown_and_leaves_nothing(
    service: Service,
    pieces: list[dict[str, Any]],
    people: list[list[dict[str, Any]]],
    said: dict[str, Any],
    later: list[dict[str, Any]],
) -> None:
    if len(pieces) == 1:
        pieces = [*pieces, {"id": "another", "categories": {"genre": ["x"]}}]
    interacting(service, pieces, people)
    ok(service.put("/s/placements/turning", json={"kind": "recommendations", "rotation": 0.5}))
    ok(service.put("/s/placements/new", json={"kind": "new"}))
    switch(service, "u0", said, off=False)
    header = "x-penchant-interactions-version"
    known, before = shown(service, "u0"), of_everybody(service)

    switch(service, "u0", said, off=True)
    for each in later:
        path = f"/s/users/u0/interactions/{each['type']}/content/{each['contentId']}"
        assert ok(service.post(path))["stored"] is False
    after = service.post("/s/interactions", json=[{"userId": "u0", "type": "Watch", "contentId": "another"}])

    assert ok(after) == {"accepted": 0, "duplicates": 0, "unstored": 1}
    assert shown(service, "u0") == shown(service, "nobody")
    assert of_everybody(service) == before
    switch(service, "u0", said, off=False)
    version = service.put("/s/users/u0/preferences", json=said).headers[header]
    assert int(version) - int(after.headers[header]) in {1, 2}
    assert shown(service, "u0") == known


@pytest.fixture
def shop(service: Service) -> Service:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "y"))
    ok(service.put("/s/placements/home", json={"kind": "recommendations", "rotation": 0.5}))
    ok(service.post("/s/users/kim/interactions/RateLike/content/a?event-id=e-1"))
    return service


def test_what_was_stored_stays_and_is_told(shop: Service) -> None:
    switch(shop, "kim", {"hidden": ["b"]}, off=True)

    export = ok(shop.get("/s/users/kim/export"))

    assert [each["contentId"] for each in export["interactions"]] == ["a"]
    assert export["preferences"] == {"keywords": {}, "hidden": ["b"], "unusedCategories": [], "personal": False}
    assert len(ok(shop.get("/s/users/kim/interactions"))) == 1
    assert ok(shop.get("/s/popular"))["content"][0]["id"] == "a"


def test_a_repeat_of_what_is_stored_is_answered_as_it_is_stored(shop: Service) -> None:
    switch(shop, "kim", off=True)
    path = "/s/users/kim/interactions/RateLike/content/{}?event-id={}"

    known, new, again = (ok(shop.post(path.format(*each))) for each in (("a", "e-1"), ("b", "e-2"), ("b", "e-2")))

    assert "stored" not in known
    assert (new["stored"], again["stored"]) == (False, False)
    switch(shop, "kim", off=False)
    assert "stored" not in ok(shop.post(path.format("b", "e-2")))


def test_others_in_the_same_request_are_stored(shop: Service) -> None:
    switch(shop, "kim", off=True)
    body = [{"userId": user, "type": "Watch", "contentId": "b"} for user in ("kim", "lee", "kim", "max")]

    assert ok(shop.post("/s/interactions", json=body)) == {"accepted": 2, "duplicates": 0, "unstored": 2}
    assert [len(ok(shop.get(f"/s/users/{user}/interactions"))) for user in ("kim", "lee", "max")] == [1, 1, 1]


def test_results_count_nothing_of_who_is_switched_off(shop: Service) -> None:
    switch(shop, "kim", off=True)
    lists = [{"listId": list_id(shop, user=user, pieces=("a", "b")), "content": ["a", "b"]} for user in ("kim", "lee")]
    ok(shop.post(f"/s/users/kim/interactions/Click/content/b?list={lists[0]['listId']}"))

    assert report(shop, lists[0]).json() == {"accepted": 0, "duplicates": 0, "unstored": 2}
    assert counted(shop) == {}
    assert report(shop, lists[1]).json() == {"accepted": 2, "duplicates": 0}
    assert "impressions" not in ok(shop.get("/s/users/kim/export"))


def test_nothing_suits_who_is_switched_off(shop: Service) -> None:
    ok(shop.post("/s/users/lee/interactions/RateLike/content/c"))

    def people() -> list[str]:
        return [each["id"] for each in ok(shop.get("/s/content/b/audience"))["people"]]

    assert people() == ["kim", "lee"]
    switch(shop, "kim", off=True)
    assert people() == ["lee"]
    switch(shop, "kim", off=False)
    assert people() == ["kim", "lee"]


def test_it_ends_with_what_the_person_has_said(shop: Service) -> None:
    for end in (shop.delete, lambda path: shop.put(path, json={"hidden": []})):
        switch(shop, "kim", off=True)
        # What is popular is the same on all nodes within a second only.
        wait_until(lambda: shown_list(shop, "kim") == shown_list(shop, "nobody"))
        ok(end("/s/users/kim/preferences"))
        assert "stored" not in ok(shop.post("/s/users/kim/interactions/Click/content/b"))
        assert shown_list(shop, "kim") != shown_list(shop, "nobody")


def shown_list(service: Service, user: str) -> list[str]:
    return [each["id"] for each in ok(service.get(f"/s/users/{user}/recommendation"))["content"]]


def test_only_true_and_false_are_accepted(shop: Service) -> None:
    answer = shop.put("/s/users/kim/preferences", json={"personal": "no"})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/personal")
