"""Lists filtered by attributes: never short, at once by what is stored, the same for every kind of list."""

import json
import threading
from typing import Any

import pytest

from factories import piece
from filters_reference import ATTRIBUTES
from penchant.service.lists.answers import result_of
from penchant_engine.lists.ranking import ListRanking
from serving import Service, ok

pytestmark = pytest.mark.usefixtures("noon")

LANGUAGE = {"language": {"pointer": "/language", "type": "keyword"}}
ENGLISH = {"key": "language", "any": ["en"]}


def entries(service: Service, path: str, **by_attributes: Any) -> list[tuple[str, float]]:
    """Return the ids and scores of a list under a filter and boosts."""
    params = [(name, json.dumps(value)) for name, value in by_attributes.items() if value is not None]
    address, _, query = path.partition("?")
    params += [(name, value) for name, _, value in (each.partition("=") for each in query.split("&") if each)]
    return [(entry["id"], entry["score"]) for entry in ok(service.get(address, params=params))["content"]]


def ids(service: Service, path: str, clause: Any = None) -> list[str]:
    return [piece_id for piece_id, _ in entries(service, path, filter=clause)]


def name_attributes(service: Service, source: str, attributes: dict[str, Any] = ATTRIBUTES) -> None:
    assert service.put(f"/{source}/settings", json={"attributes": attributes}).status_code == 200


def languages(service: Service, source: str = "s") -> None:
    """Store forty pieces, the newest first, every fourth of which is English, that everybody likes alike."""
    pieces = [
        piece(
            f"p{n:02}",
            "x",
            extras={"language": "en" if n % 4 == 0 else "fr"},
            filters={"availableFrom": f"{2020 - n}-01-01T00:00:00Z"},
        )
        for n in range(40)
    ]
    service.submit(source, piece("q", "x"), *pieces)


@pytest.mark.nodes
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


@pytest.mark.nodes
def test_a_name_means_another_attribute_from_the_next_request_on(service: Service) -> None:
    spoken = {"pointer": "/spoken", "type": "keyword"}
    written = {"pointer": "/written", "type": "keyword"}
    service.submit(
        "tongues",
        piece("q", "x"),
        piece("a", "x", extras={"spoken": "en", "written": "fr"}),
        piece("b", "x", extras={"spoken": "fr", "written": "en"}),
    )
    name_attributes(service, "tongues", {"language": spoken, "other": written})
    before = ids(service, "/tongues/content/q/similar", ENGLISH)

    name_attributes(service, "tongues", {"language": written, "other": spoken})

    assert (before, ids(service, "/tongues/content/q/similar", ENGLISH)) == (["a"], ["b"])


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


def genres(service: Service, source: str = "s") -> None:
    """Store forty pieces, the newest first, every fourth of which is noir, every fifth on television."""
    pieces = [
        piece(
            f"p{n:02}",
            "x",
            categories={"topic": ["x"], "genre": ["noir" if n % 4 == 0 else "war"], "people/director": [f"d{n % 2}"]},
            filters={"availableFrom": f"{2020 - n}-01-01T00:00:00Z", "catalogs": ["tv"] if n % 5 == 0 else []},
        )
        for n in range(40)
    ]
    service.submit(source, {"id": "q", "categories": {"topic": ["x"]}}, *pieces)


NOIR = {"category": "genre", "any": ["noir"]}


@pytest.mark.nodes
@pytest.mark.parametrize(
    ("clause", "expected"),
    (
        (NOIR, range(0, 40, 4)),
        ({"must": [NOIR, {"catalogs": ["tv", "none"]}]}, range(0, 40, 20)),
        (
            {"mustNot": [{"category": "genre", "all": ["war"]}], "must": [{"category": "genre", "exists": True}]},
            range(0, 40, 4),
        ),
        ({"category": "people/director", "any": ["d1"]}, range(1, 40, 2)),
        ({"category": "people", "exists": True}, []),
        ({"category": "genre", "any": ["no such keyword"]}, []),
    ),
)
def test_keywords_and_catalogs_filter_every_list_without_any_setting(
    service: Service, clause: Any, expected: Any
) -> None:
    genres(service)
    matching = {f"p{n:02}" for n in expected}

    lists = [ids(service, path, clause) for path in ("/s/new", "/s/content/q/similar", "/s/users/u/recommendation")]

    assert all(len(each) == min(len(matching), 30) and set(each) <= matching for each in lists)


@pytest.mark.nodes
def test_what_a_keyword_is_an_alias_of_counts_from_the_next_request_on(service: Service) -> None:
    genres(service)
    film_noir = {"category": "genre", "any": ["film noir"]}
    before = ids(service, "/s/new", film_noir)

    service.put("/s/settings", json={"vocabulary": {"aliases": [{"from": ["genre/film noir"], "to": "genre/noir"}]}})

    assert (before, ids(service, "/s/new", film_noir)) == ([], ids(service, "/s/new", NOIR))
    assert len(ids(service, "/s/new", film_noir)) == 10


def test_a_boost_of_keywords_moves_a_list(service: Service) -> None:
    genres(service)

    listed = entries(service, "/s/content/q/similar?limit=3", boost={"mustNot": [NOIR], "factor": 0.1})

    assert [piece_id for piece_id, _ in listed] == ["p00", "p04", "p08"]


def test_placements_have_conditions_and_quotas_of_keywords_and_catalogs(service: Service) -> None:
    genres(service)
    quota = {"filter": NOIR, "atLeast": 5, "of": 6}

    made = service.put("/s/placements/home", json={"kind": "new", "quotas": [quota]})
    tv = service.put("/s/placements/tv", json={"kind": "new", "filter": {"must": [NOIR, {"catalogs": ["tv"]}]}})

    assert (made.status_code, tv.status_code) == (200, 200)
    listed = [entry["id"] for entry in ok(service.get("/s/placements/home/list?take=6"))["content"]]
    assert listed == ["q", "p00", "p04", "p08", "p12", "p16"]
    assert [entry["id"] for entry in ok(service.get("/s/placements/tv/list"))["content"]] == ["p00", "p20"]


@pytest.mark.parametrize(
    ("clause", "words"),
    (
        (NOIR, "not genre: noir"),
        ({"must": [{"category": "genre", "exists": True}, {"catalogs": ["tv"]}]}, "not in the catalog tv"),
        ({"mustNot": [{"category": "people/director", "any": ["d1"]}]}, "people/director: d1, which it leaves out"),
        ({"should": [NOIR, {"category": "mood", "exists": True}]}, "not genre: noir or with any mood"),
    ),
)
def test_what_of_a_filter_keeps_a_piece_out_is_said(service: Service, clause: Any, words: str) -> None:
    genres(service)

    (reason,) = ok(service.get("/s/content/q/why/p01", params={"filter": json.dumps(clause)}))["reasons"]

    assert reason["detail"] == f"The request's filter does not hold for it: {words}."


def test_a_boost_is_named_among_what_moved_a_piece(service: Service) -> None:
    languages(service)
    name_attributes(service, "s", LANGUAGE)
    boosts = [ENGLISH | {"factor": 0.5}, {"mustNot": [ENGLISH], "factor": 0.2}]
    params = {"boost": json.dumps(boosts), "limit": 12, "explain": "true"}

    listed = ok(service.get("/s/content/q/similar", params=params))["content"]
    suited = ok(service.get("/s/users/u/recommendation", params=params))["content"]

    first, last = {"rule": "boost", "position": 0, "factor": 0.5}, {"rule": "boost", "position": 1, "factor": 0.2}
    assert [each["id"] for each in listed] == [*(f"p{n:02}" for n in range(0, 40, 4)), "p01", "p02"]
    assert [each["why"]["rules"] for each in (listed[0], listed[-1])] == [[first], [last]]
    assert [each["score"] for each in (listed[0], listed[-1])] == [0.5, 0.8]
    assert sum(term["share"] for term in listed[-1]["why"]["terms"]) == 1
    assert all(each["why"]["rules"][-1] in (first, last) for each in suited)
    place = ok(service.get("/s/content/q/why/p03", params={"boost": json.dumps(boosts)}))
    assert (place["rank"], place["score"], place["why"]["rules"]) == (13, 0.8, [last])
    assert (
        ok(service.get("/s/users/u/why/p39", params={"boost": json.dumps(boosts)}))["reasons"][0]["code"] == "outranked"
    )


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


@pytest.mark.usefixtures("alone")
def test_a_filter_that_takes_long_is_looked_at_beside_the_event_loop(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def noted(ranking: ListRanking, *, explain: bool = False) -> Any:
        ran.append(threading.current_thread().name)
        return result_of(ranking, explain=explain)

    monkeypatch.setattr("penchant.service.lists.serving.result_of", noted)
    service.submit("s", *[piece(f"p{n}", "x", extras={"language": "en"}) for n in range(2_000)])
    name_attributes(service, "s", LANGUAGE)
    for conditions in (1, 100):
        assert len(ids(service, "/s/content/p0/similar", {"should": [ENGLISH] * conditions})) == 30

    assert [name.startswith("penchant-read") for name in ran] == [False, True]
