"""Taking back: what a person did is removed, and all is as if it had never been (interface, section 6)."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acceptance.processes import wait_until
from clocks import DAY_CLOCK
from factories import piece
from penchant.wire import parse_timestamp
from serving import Service, ok
from strategies import CATALOGUES, INTERACTIONS, examples
from visitors import HOME, Visitor, text_of

pytestmark = pytest.mark.usefixtures("noon")

VERSION = "x-penchant-interactions-version"
FIRST, SECOND = DAY_CLOCK.midnight(31), DAY_CLOCK.midnight(30)
"""When the two events of Kim's were."""
USERS = ("u0", "u1", "u2")
DOINGS = st.lists(
    st.tuples(st.sampled_from(USERS), INTERACTIONS.map(lambda some: some[:2]), st.booleans()), min_size=1, max_size=10
)
"""Some of what a person does, after which the first of it may be taken back."""


def path(source: str, user: str, kind: str, piece_id: str) -> str:
    return f"/{source}/users/{user}/interactions/{kind}/content/{piece_id}"


def answers(service: Service, source: str, ids: list[str]) -> list[Any]:
    """Return what lists answer of everybody, with weights of now."""
    version = service.put(f"/{source}/users/last/preferences", json={"hidden": ["x"]}).headers[VERSION]
    newest = {"x-penchant-min-audience-version": version}

    def listed_at(path: str) -> Any:
        return ok(service.get(f"/{source}/{path}", headers=newest))["content"]

    found = [listed_at(f"content/{each}/similar?by=audience") for each in ids]
    for user in USERS:
        own = f"/{source}/users/{user}"
        found.append(listed_at(f"users/{user}/recommendation?explain=true"))
        found.append(listed_at(f"users/{user}/recommendation?include-seen=true"))
        found.append([each["categories"] for each in ok(service.get(f"{own}/recommendation/profile"))])
        listed = ok(service.get(f"{own}/interactions?limit=1000"))
        found.append([(each["type"], each["contentId"], each["timestamp"], each.get("value")) for each in listed])
    return found


def are_as_popular(service: Service) -> bool:
    """Return whether the same is popular in both sources: no read waits for it, it follows within half a second."""
    return bool(ok(service.get("/s/popular"))["content"] == ok(service.get("/t/popular"))["content"])


@given(CATALOGUES, DOINGS)
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_taken_back_has_never_been(service: Service, pieces: list[dict[str, Any]], doings: list[Any]) -> None:
    for source in "st":
        service.delete(f"/{source}?confirm={source}")
        both = [*pieces, {"id": "another", "categories": {"genre": ["a"]}}]
        service.submit(source, *(each | {"filters": {"availableFrom": DAY_CLOCK.midnight(9)}} for each in both))
    left: list[dict[str, Any]] = []
    for user, some, is_taken in doings:
        body = [
            {name: e[name] for name in ("type", "contentId", "value") if name in e}
            | {"userId": user, "timestamp": DAY_CLOCK.midnight(e["age"])}
            for e in some
        ]
        ok(service.post("/s/interactions", json=body))
        left += body
        if body and is_taken:
            # Lists are asked for in between, so that everything is remembered that could be stale.
            ok(service.get(f"/s/users/{user}/recommendation"))
            gone = user, body[0]["type"], body[0]["contentId"]
            kept = [each for each in left if (each["userId"], each["type"], each["contentId"]) != gone]
            assert ok(service.delete(path("s", *gone))) == {"removed": len(left) - len(kept)}
            left = kept
    ok(service.post("/t/interactions", json=left))

    ids = [str(each["id"]) for each in pieces]
    assert answers(service, "s", ids) == answers(service, "t", ids)
    wait_until(lambda: are_as_popular(service))


@pytest.fixture
def shop(service: Service) -> Service:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "y"))
    for event, when in (("e-1", FIRST), ("e-2", SECOND)):
        ok(service.post(path("s", "kim", "Watch", "a") + f"?event-id={event}&timestamp={when}"))
    ok(service.post(path("s", "kim", "RateLike", "a")))
    return service


def left_of(service: Service) -> list[tuple[str, str | None]]:
    export = ok(service.get("/s/users/kim/export"))
    return [(each["type"], each.get("eventId")) for each in export["interactions"]]


@pytest.mark.parametrize(
    ("query", "left"),
    (
        ("", []),
        ("?event-id=e-1", ["e-2"]),
        ("?timestamp=SECOND", ["e-1"]),
        ("?event-id=e-1&timestamp=SECOND", ["e-2", "e-1"]),
        ("?event-id=unknown", ["e-2", "e-1"]),
    ),
)
def test_one_is_told_by_its_event_id_or_its_time(shop: Service, query: str, left: list[str]) -> None:
    query = query.replace("SECOND", SECOND)

    removed = ok(shop.delete(path("s", "kim", "Watch", "a") + query))["removed"]

    assert removed == 2 - len(left)
    assert left_of(shop) == [("RateLike", None), *(("Watch", each) for each in left)]
    assert ok(shop.delete(path("s", "kim", "Watch", "a") + (query or "?event-id=e-1"))) == {"removed": 0}


def test_a_misspelt_parameter_takes_back_nothing(shop: Service) -> None:
    before = left_of(shop)

    for query in ("eventId=e-1", "event_id=e-1", "timestamp=SECOND&limit=1"):
        refused = shop.delete(path("s", "kim", "Watch", "a") + "?" + query.replace("SECOND", SECOND))

        assert refused.status_code == 422
        (fault,) = refused.json()["errors"]
        assert fault["parameter"] in {"eventId", "event_id", "limit"}
    assert left_of(shop) == before


def test_to_take_back_what_is_not_there_takes_no_version(shop: Service) -> None:
    before = shop.delete(path("s", "kim", "Click", "a"))
    other = shop.delete(path("s", "lee", "Watch", "a"))
    taken = shop.delete(path("s", "kim", "Watch", "a"))

    assert [each.json()["removed"] for each in (before, other, taken)] == [0, 0, 2]
    assert before.headers[VERSION] == other.headers[VERSION]
    assert int(taken.headers[VERSION]) > int(before.headers[VERSION])


def test_a_late_repeat_of_its_event_id_brings_nothing_back(shop: Service) -> None:
    ok(shop.delete(path("s", "kim", "Watch", "a") + "?event-id=e-1"))
    late = {"userId": "kim", "type": "Watch", "contentId": "a", "eventId": "e-1"}

    ok(shop.post(path("s", "kim", "Watch", "a") + "?event-id=e-1"))

    assert ok(shop.post("/s/interactions", json=[late, late | {"eventId": "e-2"}])) == {"accepted": 0, "duplicates": 2}
    assert ok(shop.post("/s/interactions", json=[late | {"userId": "lee"}])) == {"accepted": 1, "duplicates": 0}
    assert left_of(shop) == [("RateLike", None), ("Watch", "e-2")]


def test_an_erasure_leaves_nothing_of_it(shop: Service) -> None:
    ok(shop.delete(path("s", "kim", "Watch", "a")))
    assert shop.delete("/s/users/kim").status_code == 202

    ok(shop.post(path("s", "kim", "Watch", "a") + "?event-id=e-1"))

    assert left_of(shop) == [("Watch", "e-1")]


@pytest.mark.slow
def test_the_page_of_a_person_takes_one_back(shop: Service) -> None:
    visitor = Visitor(shop, shop.key)
    page = visitor.get("user", source="s", id="kim")
    assert "as if it had never been" in text_of(page.text)
    moment = str(parse_timestamp(FIRST))

    for notice in ("It is taken back.", "taken back already"):
        answer = visitor.fill(page, f"{HOME}/user", type="Watch", piece="a", moment=moment)
        assert answer.status_code == 303
        assert notice in text_of(visitor.ask("GET", answer.headers["location"]).text)
    assert left_of(shop) == [("RateLike", None), ("Watch", "e-2")]
    assert visitor.fill(page, f"{HOME}/user", type="Watch", piece="a", moment="x").status_code == 422


@pytest.mark.slow
def test_of_several_at_a_moment_the_page_takes_the_one_of_its_event_id(shop: Service) -> None:
    for event in ("x", "y"):
        ok(shop.post(path("s", "lee", "Watch", "a") + f"?event-id={event}&timestamp={SECOND}"))
    visitor = Visitor(shop, shop.key)
    page = visitor.get("user", source="s", id="lee")

    fields = {"type": "Watch", "piece": "a", "moment": str(parse_timestamp(SECOND)), "event": "x"}
    assert visitor.fill(page, f"{HOME}/user", **fields).status_code == 303

    assert page.text.count('name="event" value="x"') == 1
    assert [each["eventId"] for each in ok(shop.get("/s/users/lee/export"))["interactions"]] == ["y"]


def test_an_unknown_type_is_refused(shop: Service) -> None:
    assert shop.delete(path("s", "kim", "watch", "a")).status_code == 422
