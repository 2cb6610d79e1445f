"""Lists filtered by attributes: never short, at once by what is stored, the same for every kind of list."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import piece
from filters_reference import ATTRIBUTES, EXTRAS, FILTERS, holds
from serving import Service
from strategies import examples

NUMBERS = count()
LISTS = (
    "content/q/similar",
    "content/q/similar?by=audience",
    "content/q/similar?by=both",
    "users/new/recommendation",
    "users/u/recommendation?include-seen=true",
    "users/u/recommendation?include-seen=true&algo=jaccard",
    "popular",
    "new",
    "users/u/again",
)
LANGUAGE = {"language": {"pointer": "/language", "type": "keyword"}}
ENGLISH = {"key": "language", "any": ["en"]}


def ok(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(service: Service, path: str, clause: Any = None, **options: Any) -> list[str]:
    params = [] if clause is None else [("filter", clause if isinstance(clause, str) else json.dumps(clause))]
    address, _, query = path.partition("?")
    params += [(name, value) for name, _, value in (each.partition("=") for each in query.split("&") if each)]
    return [entry["id"] for entry in ok(service.get(address, params=params, **options))["content"]]


def name_attributes(service: Service, source: str, attributes: dict[str, Any] = ATTRIBUTES) -> None:
    assert service.put(f"/{source}/settings", json={"attributes": attributes}).status_code == 200


def languages(service: Service, source: str = "s") -> None:
    """Store forty pieces, every fourth of which is English, that everybody likes alike."""
    pieces = [piece(f"p{n:02}", "x", extras={"language": "en" if n % 4 == 0 else "fr"}) for n in range(40)]
    service.submit(source, piece("q", "x"), *pieces)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(EXTRAS, min_size=35, max_size=45), FILTERS, st.sampled_from(LISTS), st.integers(1, 30))
def test_a_list_is_the_whole_one_without_what_the_filter_does_not_hold_for(
    service: Service, extras: list[dict[str, Any]], clause: dict[str, Any], path: str, limit: int
) -> None:
    source = f"s{next(NUMBERS)}"
    pieces = {f"p{n:02}": each for n, each in enumerate(extras)}
    service.submit(source, piece("q", "x"), *[piece(key, "x", "y", extras=each) for key, each in pieces.items()])
    name_attributes(service, source)
    played = [{"userId": "u", "type": "Play", "contentId": key} for key in ("q", *pieces)]
    assert service.post(f"/{source}/interactions", json=played).status_code == 200
    pieces["q"] = {}
    everything: list[str] = []
    # Page by page, since a list has thirty entries at most.
    while page := ids(service, f"/{source}/{path}{'&' if '?' in path else '?'}{_excluded(everything)}"):
        everything += page

    found = ids(service, f"/{source}/{path}{'&' if '?' in path else '?'}limit={limit}", clause)

    assert found == [each for each in everything if holds(clause, pieces[each])][:limit]


def _excluded(found: list[str]) -> str:
    return "&".join(f"exclude={each}" for each in found)


def test_attributes_and_pieces_count_from_the_next_request_on(service: Service) -> None:
    languages(service)
    missing = service.get("/s/new", params={"filter": json.dumps(ENGLISH)})
    name_attributes(service, "s", LANGUAGE)
    before = ids(service, "/s/new", ENGLISH)
    service.submit("s", piece("p01", "x", extras={"language": "en"}), piece("p04", "x"))

    assert missing.status_code == 422
    assert missing.json()["errors"][0]["pointer"] == "/key"
    assert sorted(before) == [f"p{n:02}" for n in range(0, 40, 4)]
    assert sorted(ids(service, "/s/new", ENGLISH)) == sorted({*before, "p01"} - {"p04"})
    name_attributes(service, "s", {"language": {"pointer": "/other", "type": "keyword"}})
    assert ids(service, "/s/new", ENGLISH) == []
    assert len(ids(service, "/s/new", {"key": "language", "exists": False})) == 30


def test_remembered_lists_of_similar_pieces_are_told_apart_by_their_filter(service: Service) -> None:
    languages(service)
    name_attributes(service, "s", LANGUAGE)
    path = "/s/content/q/similar?limit=3"

    for _ in range(2):
        assert ids(service, path) == ["p00", "p01", "p02"]
        assert ids(service, path, ENGLISH) == ["p00", "p04", "p08"]
        assert ids(service, path, {"mustNot": [ENGLISH]}) == ["p01", "p02", "p03"]


def test_lists_for_many_are_filtered_alike(service: Service) -> None:
    languages(service)
    name_attributes(service, "s", LANGUAGE)
    params = {"filter": json.dumps(ENGLISH), "limit": 2}

    people = ok(service.post("/s/recommendations", json=["u", "v"], params=params))
    near = ok(service.post("/s/similar", json=["q", "p00"], params=params))
    draft = ok(service.post("/s/preview/similar", json=piece("d", "x"), params=params))
    somebody = ok(service.post("/s/preview/recommendation", json={"liked": ["q"]}, params=params))

    expected = [["p00", "p04"], ["p00", "p04"], ["p00", "p04"], ["p04", "p08"], ["p00", "p04"], ["p00", "p04"]]
    assert [[entry["id"] for entry in each["content"]] for each in (*people, *near, draft, somebody)] == expected


def test_the_filter_is_named_as_what_keeps_a_piece_out(service: Service) -> None:
    languages(service)
    name_attributes(service, "s", LANGUAGE)
    params = {"filter": json.dumps(ENGLISH)}

    near = ok(service.get("/s/content/q/why/p01", params=params))
    suited = ok(service.get("/s/users/u/why/p01", params=params))

    assert [(each["code"], each["remedy"]) for each in near["reasons"]] == [("filter", {"remove": "filter"})]
    assert [(each["code"], each["remedy"]) for each in suited["reasons"]] == [("filter", {"remove": "filter"})]
    assert ok(service.get("/s/content/q/why/p04", params=params))["rank"] == 2
    assert ok(service.get("/s/users/u/why/p04", params=params))["rank"] == 2


@pytest.mark.parametrize(
    ("text", "status", "code", "pointer"),
    (
        ('{"must":', 400, "invalid-syntax", None),
        ("", 422, "invalid-input", None),
        ("[]", 422, "invalid-input", ""),
        ('{"must":[{"key":"language","gt":"a"}]}', 422, "invalid-input", "/must/0/gt"),
    ),
)
def test_what_is_no_filter_is_refused(service: Service, text: str, status: int, code: str, pointer: str | None) -> None:
    languages(service)
    name_attributes(service, "s", LANGUAGE)
    for path in ("content/q/similar", "users/u/recommendation", "popular", "new", "users/u/again"):
        answer = service.get(f"/s/{path}", params={"filter": text})

        assert (answer.status_code, answer.json()["code"]) == (status, code)
        if status == 422:
            fault = answer.json()["errors"][0]
            assert (fault["parameter"], fault.get("pointer")) == ("filter", pointer)


def test_filters_are_a_feature_of_plans(service: Service) -> None:
    key = service.new_key(plan="basic", account="small")
    service.submit("s", piece("q", "x"), piece("a", "x", extras={"language": "en"}), key=key)
    assert service.put("/s/settings", json={"attributes": LANGUAGE}, key=key).status_code == 200

    answer = service.get("/s/content/q/similar", params={"filter": json.dumps(ENGLISH)}, key=key)

    assert (answer.status_code, answer.json()["code"]) == (403, "feature-not-in-plan")
