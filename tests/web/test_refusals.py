"""What is refused of requests that are well formed: values, shapes, numbers and features; nothing is stored of them."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

from factories import piece
from serving import Service

PLACEMENT = {"name": "home", "placement": {"kind": "new"}}
CLICK = {"userId": "u", "type": "Click", "contentId": "a"}
ODD_VALUES: list[Any] = [True, "0.5", 1.5, 0.001, [], None, 0.25]
ENGLISH = {"key": "language", "any": ["en"]}
MOMENTS = {"from": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
ALIAS = {"from": ["a/x"], "to": "a/y"}
LISTS: tuple[tuple[Any, list[str]], ...] = (
    (["a", "a"], ["/1"]),
    ([1], ["/0"]),
    ({}, [""]),
    ([""], ["/0"]),
    (["."], ["/0"]),
)
BODIES: dict[str, tuple[tuple[Any, list[str]], ...]] = {
    "PUT /s/whitelist": LISTS,
    "PUT /s/blacklist": LISTS,
    "PUT /s/settings": (
        ({"unknown": 1}, ["/unknown"]),
        ({"halfLifeDays": -1}, ["/halfLifeDays"]),
        ({"halfLifeDays": 36_501}, ["/halfLifeDays"]),
        ({"halfLifeDays": True}, ["/halfLifeDays"]),
        ({"retentionDays": 0}, ["/retentionDays"]),
        ({"retentionDays": 1.5}, ["/retentionDays"]),
        ({"excludeSeen": 1}, ["/excludeSeen"]),
        ({"blend": {"content": 0, "audience": 0, "popularity": 0}}, ["/blend"]),
        ({"blend": {"content": 101}}, ["/blend/content"]),
        ({"blend": {"other": 1}}, ["/blend/other"]),
        ({"categoryWeights": {"a": 100.5}}, ["/categoryWeights/a"]),
        ({"categoryWeights": {"a": 1.234}}, ["/categoryWeights/a"]),
        ({"categoryWeights": {"a": "1"}}, ["/categoryWeights/a"]),
        ({"categoryWeights": []}, ["/categoryWeights"]),
        ({"interactionWeights": {"Like": 1}}, ["/interactionWeights/Like"]),
        ({"interactionWeights": {"Click": -101}}, ["/interactionWeights/Click"]),
        ({"interactionWeights": {"Click": 0.001}}, ["/interactionWeights/Click"]),
        ({"newPieceHalfLifeDays": None}, ["/newPieceHalfLifeDays"]),
        ({"order": "sometimes"}, ["/order"]),
        ([], [""]),
        *(({"maxPerValue": {"director": most}}, ["/maxPerValue/director"]) for most in (0, 31, 1.5, "2", True)),
        *(({"publicExtras": extras}, ["/publicExtras"]) for extras in (False, "u", [1], ["u"] * 2, {"u": True}, None)),
        ({"words": []}, ["/words"]),
        *(({"words": {"from": texts}}, ["/words/from"]) for texts in ([], ["label"] * 2)),
        ({"words": {"from": ["label", *(f"extras.{number}" for number in range(8))]}}, ["/words/from"]),
        *(({"words": {"from": [text]}}, ["/words/from/0"]) for text in ("title", "extras.")),
        *(({"words": {"keep": count}}, ["/words/keep"]) for count in (0, 101)),
        ({"words": {"language": "xx"}}, ["/words/language"]),
        ({"words": {"stem": True}}, ["/words/stem"]),
        ({"vocabulary": []}, ["/vocabulary"]),
        ({"vocabulary": {"words": []}}, ["/vocabulary/words"]),
        ({"vocabulary": {"aliases": [ALIAS, {"from": ["a/y"], "to": "a/z"}]}}, ["/vocabulary/aliases/0/from/0"]),
        ({"vocabulary": {"aliases": [ALIAS | {"to": "a/x"}]}}, ["/vocabulary/aliases/0/from/0"]),
        ({"vocabulary": {"aliases": [ALIAS, ALIAS | {"to": "a/z"}]}}, ["/vocabulary/aliases/1/from/0"]),
        ({"vocabulary": {"aliases": [ALIAS | {"from": []}]}}, ["/vocabulary/aliases/0/from"]),
        ({"vocabulary": {"aliases": [ALIAS | {"from": ["noslash"]}]}}, ["/vocabulary/aliases/0/from/0"]),
        ({"vocabulary": {"aliases": [ALIAS], "ignore": ["a/x"]}}, ["/vocabulary/ignore/0"]),
        ({"vocabulary": {"ignore": [f"a/{number}" for number in range(20_001)]}}, ["/vocabulary"]),
    ),
    "PUT /s/users/kim/preferences": (
        ({"liked": []}, ["/liked"]),
        ({"keywords": ["x"]}, ["/keywords"]),
        ({"keywords": {"genre": ["x"]}}, ["/keywords/genre"]),
        ({"keywords": {"a//b": {"x": 1}}}, ["/keywords/a~1~1b"]),
        ({"keywords": {"genre": {"": 1}}}, ["/keywords/genre/"]),
        ({"keywords": {"genre": {"a/b": 1.5}}}, ["/keywords/genre/a~1b"]),
        ({"keywords": {"genre": {"x": True}}}, ["/keywords/genre/x"]),
        ({"keywords": {"genre": {"x": "1"}}}, ["/keywords/genre/x"]),
        ({"hidden": "a"}, ["/hidden"]),
        ({"hidden": [1]}, ["/hidden/0"]),
        ({"unusedCategories": [""]}, ["/unusedCategories/0"]),
        ({"unusedCategories": [{}]}, ["/unusedCategories/0"]),
    ),
    "POST /s/preview/settings": (
        ([], [""]),
        ({"setting": {}}, ["/setting"]),
        ({"settings": {"no": 1}}, ["/settings/no"]),
        ({"settings": {"blend": {"content": 101}}}, ["/settings/blend/content"]),
        ({"settings": 5}, ["/settings"]),
        ({"whitelist": ["a", "a"]}, ["/whitelist/1"]),
        ({"blacklist": "a"}, ["/blacklist"]),
        ({"pieces": ["a", 5], "users": [""]}, ["/pieces/1", "/users/0"]),
        *(({"take": take}, ["/take"]) for take in (0, True, 1.5)),
    ),
    "POST /s/preview/similar": (
        ([piece("a")], [""]),
        ({"id": "a"}, ["/categories"]),
        ({"id": 5, "categories": {"g": [{"key": "x", "weight": 1.5}]}}, ["/id", "/categories/g/0/weight"]),
        ({"id": "..", "categories": {}}, ["/id"]),
        ({"categories": {}, "filters": {"catalogs": "c"}}, ["/filters/catalogs"]),
    ),
    "POST /s/preview/recommendation": (
        ([], [""]),
        ({"likes": []}, ["/likes"]),
        ({"liked": "a"}, ["/liked"]),
        ({"liked": [1]}, ["/liked/0"]),
        ({"likedKeywords": ["a"]}, ["/likedKeywords"]),
        ({"likedKeywords": {"genre": "a"}}, ["/likedKeywords/genre"]),
        ({"likedKeywords": {"a//b": ["a"]}}, ["/likedKeywords/a~1~1b"]),
        ({"dislikedKeywords": {"genre": ["", 2]}}, ["/dislikedKeywords/genre/0", "/dislikedKeywords/genre/1"]),
    ),
    "POST /s/similar": (({"ids": ["a"]}, [""]), (["a", 1, ""], ["/1", "/2"]), ("a", [""])),
    "POST /s/recommendations": (({"users": ["u"]}, [""]), (["u", 7], ["/1"]), ([""], ["/0"])),
    "POST /s/interactions": (
        (
            [CLICK | {"value": value} for value in ODD_VALUES],
            [f"/{place}/value" for place in range(5)],
        ),
    ),
    "POST /s/users/u/rank": (
        ({}, ["/content"]),
        ({"content": ["a", "b", "a"]}, ["/content/2"]),
        *(({"content": ["a"], "weight": weight}, ["/weight"]) for weight in (1.5, True)),
        ({"content": ["a"], "take": 3}, ["/take"]),
    ),
    "PUT /s/placements/home": (
        ({}, ["/kind"]),
        ({"kind": "best"}, ["/kind"]),
        ({"kind": "new", "colour": 1}, ["/colour"]),
        ({"kind": "new", "rotation": 0.5}, ["/rotation"]),
        ({"kind": "new", "autoStop": 1}, ["/autoStop"]),
        ({"kind": "new", "autoStop": ["yes"]}, ["/autoStop"]),
        ({"kind": "new", "variants": [{"name": "a", "share": 1, "autoStop": True}]}, ["/variants/0/autoStop"]),
        ({"kind": "again", "whitelist": ["a"]}, ["/whitelist"]),
        ({"kind": "recommendations", "blend": {"content": 0, "audience": 0, "popularity": 0}}, ["/blend"]),
        ({"kind": "recommendations", "maxPerValue": {"a": 0}, "diversity": 2}, ["/maxPerValue/a", "/diversity"]),
        ({"kind": "recommendations", "calibration": 0.5}, ["/calibrationCategory"]),
        (
            {"kind": "recommendations", "calibration": -1, "calibrationCategory": ""},
            ["/calibration", "/calibrationCategory"],
        ),
        ({"kind": "popular", "calibration": 0.5, "calibrationCategory": "a"}, ["/calibration", "/calibrationCategory"]),
        (
            {"kind": "picks", "content": ["a"], "variants": [{"name": "a", "share": 1, "calibration": 1}]},
            ["/variants/0/calibrationCategory"],
        ),
        ({"kind": "similar", "algorithm": "cosine"}, ["/algorithm"]),
        ({"kind": "new", "blacklist": ["a", "a", 1]}, ["/blacklist/1", "/blacklist/2"]),
        ({"kind": "new", "catalogs": []}, ["/catalogs"]),
        ({"kind": "new", "variants": [{"share": 1}]}, ["/variants/0/name"]),
        ({"kind": "new", "variants": [{"name": "ä" * 28, "share": 1}]}, ["/variants/0/name"]),
        ({"kind": "new", "variants": [{"name": "base", "share": 1}]}, ["/variants/0/name"]),
        ({"kind": "new", "variants": [{"name": "a", "share": 0.12345}]}, ["/variants/0/share"]),
        ({"kind": "new", "variants": [{"name": "a", "share": 0.5, "kind": None}]}, ["/variants/0/kind"]),
        ({"kind": "popular", "variants": [{"name": "a", "share": 1, "catalogs": [""]}]}, ["/variants/0/catalogs/0"]),
        ({"kind": "new", "variants": [{"name": name, "share": 0.6} for name in "ab"]}, ["/variants"]),
        ({"kind": "new", "variants": [{"name": str(name), "share": 0.1} for name in range(9)]}, ["/variants"]),
        ({"kind": "new", "variants": [{"name": "a", "share": 0.5, "rotation": 1}]}, ["/variants/0/rotation"]),
        ({"kind": "picks"}, ["/content"]),
        ({"kind": "picks", "content": ["a", "a"]}, ["/content/1"]),
        ({"kind": "picks", "content": ["a"] * 501}, ["/content"]),
        ({"kind": "picks", "content": [], "order": "best"}, ["/order"]),
        ({"kind": "picks", "content": [], "whitelist": ["a"]}, ["/whitelist"]),
        ({"kind": "new", "fallback": "picks"}, ["/content"]),
        ({"kind": "new", "order": "given"}, ["/order"]),
        ({"kind": "new", "variants": [{"name": "b", "share": 0.1, "kind": "picks"}]}, ["/variants/0/content"]),
        (
            {"kind": "picks", "content": [], "variants": [{"name": "b", "share": 0.1, "content": None}]},
            ["/variants/0/content"],
        ),
        ({"kind": "because", "rows": 6}, ["/rows"]),
        ({"kind": "keyword", "rows": 0}, ["/rows"]),
        ({"kind": "keyword", "seriesCategory": "saga"}, ["/seriesCategory"]),
        ({"kind": "popular", "rows": 2}, ["/rows"]),
        ({"kind": "new", "pins": {}}, ["/pins"]),
        ({"kind": "new", "pins": [{"position": 1}]}, ["/pins/0/id"]),
        ({"kind": "new", "pins": [{"id": "a", "position": 0}]}, ["/pins/0/position"]),
        ({"kind": "new", "pins": [{"id": "a", "position": at} for at in (1, 2)]}, ["/pins/1/id"]),
        ({"kind": "new", "pins": [{"id": each, "position": 1} for each in "ab"]}, ["/pins/1/position"]),
        ({"kind": "new", "pins": [{"id": str(at), "position": at} for at in range(1, 12)]}, ["/pins"]),
        ({"kind": "new", "pins": [{"id": "a", "position": 1, "from": "now"}]}, ["/pins/0/from"]),
        ({"kind": "new", "pins": [{"id": "a", "position": 1} | MOMENTS]}, ["/pins/0/until"]),
        ({"kind": "new", "quotas": [{"filter": ENGLISH, "atLeast": 3, "of": 2}]}, ["/quotas/0/atLeast"]),
        ({"kind": "new", "quotas": [{"filter": ENGLISH, "atLeast": 1}]}, ["/quotas/0/of"]),
        (
            {"kind": "new", "quotas": [{"filter": ENGLISH | {"key": "no"}, "atLeast": 1, "of": 2}]},
            ["/quotas/0/filter/key"],
        ),
        ({"kind": "new", "quotas": [{"filter": ENGLISH, "atLeast": 1, "of": 2}] * 4}, ["/quotas"]),
    ),
    "POST /s/lists": (
        ({}, ["/lists"]),
        ({"lists": [1, {}]}, ["/lists/0", "/lists/1/placement"]),
        ({"lists": [{"placement": "a", "take": 0, "x": 1}]}, ["/lists/0/x", "/lists/0/take"]),
        ({"lists": [], "user": 1, "exclude": [2]}, ["/exclude/0", "/user"]),
        ({"lists": [], "exclude": 0}, ["/exclude"]),
        ({"lists": [], "exclude": ""}, ["/exclude"]),
        *(({"lists": [], "include": [name]}, ["/include/0"]) for name in ("title", "extras.", "Label", "")),
    ),
    "POST /s/preview/placement": (
        ({"name": 1, "placement": None}, ["/name", "/placement"]),
        (PLACEMENT | {"placement": {"kind": "new", "rotation": 3}}, ["/placement/rotation"] * 2),
        (PLACEMENT | {"variant": "c"}, ["/variant"]),
        (PLACEMENT | {"variant": {}}, ["/variant"]),
        (PLACEMENT | {"users": 0}, ["/users"]),
        (PLACEMENT | {"users": ["a", ""], "content": 1, "take": 0}, ["/users/1", "/content", "/take"]),
        (PLACEMENT | {"placement": {"kind": "new", "filter": {"key": "year", "gt": 1}}}, ["/placement/filter/key"]),
    ),
}
"""By operation the bodies of a wrong shape, each with the pointers of what is wrong."""

BOOSTS = (
    ENGLISH,
    *(ENGLISH | {"factor": factor} for factor in (0, 1.125, 101, True)),
    [ENGLISH | {"factor": "2"}],
    [ENGLISH | {"factor": 2}] * 5,
    ["en"],
)
LIST = ("take=0", "take=x", "limit=0", "algo=best", "at=now", "catalogs=", "take=1&take=2")
EXPLAIN = tuple(f"explain={text}" for text in ("2", "yes", "", "tRuE ", "on", "true&explain=true"))
QUERIES: dict[str, tuple[str, ...]] = {
    "GET /s/content/a/similar": (
        *LIST, *EXPLAIN, "take=-1", "take=1.5", "take=", "algo=", "algo=cosine&algo=cosine", "at=", "at=2020-13-01",
        "at=2020-1-1", "at=20200101", "at=2020-01-01T00:00:00Z", "by=people", "catalogs=a,", "catalogs=a,,b",
        "catalogs=,a", "catalogs[]=", "catalogs[0]=", "exclude=", "exclude[0]=",
        "&".join(f"exclude={number}" for number in range(1_001)),
        "include=title", "include=extras.", "include=Label", "include=",
    ),
    "GET /s/users/u/recommendation": (
        *LIST, *EXPLAIN, "include-seen=2", "fill=yes", "diversity=-0.1", "diversity=1.01", "diversity=x",
        "diversity=nan", "diversity=", "calibration=0.5", "calibration-category=genre",
        "calibration=1.01&calibration-category=genre", "calibration-category=&calibration=1",
    ),
    "GET /s/content/a/why/b": LIST,
    "GET /s/users/u/why/b": LIST,
    "POST /s/similar": EXPLAIN,
    "GET /s/popular": ("halfLifeDays=-1", "halfLifeDays=x", "limit=0", "at=tomorrow"),
    "GET /s/new": ("halfLifeDays=0", "catalogs=", *(f"boost={quote(json.dumps(each))}" for each in BOOSTS)),
    "GET /s/users/u/segments": ("category=", "take=0&category=genre"),
    "GET /s/users/u/again": ("limit=0",),
    "GET /s/content/a/audience": ("limit=0", "include-seen=maybe", "at=2026-02-30"),
    "GET /s/changes": ("since=-1", "since=x", "since=", "wait=-1", "wait=x", "since=1&since=2"),
    "GET /s/ids": ("limit=0", "min-version=x"),
    "GET /s/content": ("skip=-1",),
    "GET /s/users/u/interactions": ("type=watch",),
    "POST /s/users/u/interactions/Watch/content/a": (
        "timestamp=yesterday", "timestamp=2999-01-01T00:00:00Z", "timestamp=2026-01-01T00:00:00", "event-id=",
        "value=", "value=2", "value=0.125", "value=-1", "value=true", "value=0&value=1", "value=x", "value=1.01",
        "value=-0.1", "value=1e-1", "value=nan",
    ),
    "GET /s/placements/home/results": (
        "from=2020-01-01", "from=2026-01-02&to=2026-01-01", "from=yesterday", "to=1", "type=Look", "base=none",
    ),
}  # fmt: skip
"""By operation the queries that are refused for the parameter which they begin with."""

CODES: tuple[tuple[str, Any, int, str], ...] = (
    ("GET /none/new", None, 404, "unknown-source"),
    ("GET /none/popular", None, 404, "unknown-source"),
    ("GET /none/changes", None, 404, "unknown-source"),
    ("GET /none/users/u/again", None, 404, "unknown-source"),
    ("GET /none/content/a/audience", None, 404, "unknown-source"),
    ("GET /none/content/a/why/b", None, 404, "unknown-source"),
    ("POST /none/preview/similar", piece("a"), 404, "unknown-source"),
    ("PUT /none/users/kim/preferences", {}, 404, "unknown-source"),
    ("PUT /none/whitelist", [], 404, "unknown-source"),
    ("POST /none/users/u/interactions/Watch/content/a", None, 404, "unknown-source"),
    ("GET /s/placements/other/results", None, 404, "unknown-placement"),
    ("GET /s/content/none/similar", None, 404, "unknown-piece"),
    ("GET /s/content/none/similar?explain=true", None, 404, "unknown-piece"),
    ("GET /s/content/none/similar?by=audience", None, 404, "unknown-piece"),
    ("GET /s/content/none/audience", None, 404, "unknown-piece"),
    ("GET /s/content/none/why/a", None, 404, "unknown-piece"),
    ("GET /s/users/u/segments", None, 422, "invalid-input"),
    ("POST /s/users/u/interactions/watch/content/a", None, 422, "invalid-input"),
    ("POST /s/users/u/interactions/Watch/content/" + "x" * 501, None, 422, "invalid-input"),
    ("POST /s/users/" + "x" * 501 + "/interactions/Watch/content/a", None, 422, "invalid-input"),
    ("POST /s/similar", ["a"] * 101, 413, "too-many-entries"),
    ("POST /s/recommendations", ["u"] * 1_001, 413, "too-many-entries"),
    ("POST /s/lists", {"lists": [{"placement": "a"}] * 21}, 413, "too-many-entries"),
    ("POST /s/users/u/rank", {"content": ["a"] * 501}, 413, "too-many-entries"),
    ("POST /s/interactions", [CLICK] * 10_001, 413, "too-many-entries"),
    ("POST /s/preview/recommendation", {"liked": list(map(str, range(1_001)))}, 413, "too-many-entries"),
    ("POST /s/preview/settings", {"pieces": ["a"] * 12, "users": ["u"] * 9}, 413, "too-many-entries"),
    ("POST /s/preview/settings", {"whitelist": list(map(str, range(10_001)))}, 413, "too-many-entries"),
    ("PUT /s/whitelist", list(map(str, range(10_001))), 413, "too-many-entries"),
    ("PUT /s/blacklist", list(map(str, range(10_001))), 413, "too-many-entries"),
    ("GET /lone/content/a/similar", None, 409, "too-few-pieces"),
    ("GET /lone/content/a/similar?explain=true", None, 409, "too-few-pieces"),
    ("GET /lone/content/a/similar?by=audience", None, 409, "too-few-pieces"),
    ("POST /lone/similar", ["a"], 409, "too-few-pieces"),
)

CATALOGS = ("/s/content/a/similar", "/s/content/a/why/b", "/s/new", "/s/popular", "/s/users/u/recommendation")
FEATURES: dict[str, tuple[tuple[str, Any], ...]] = {
    "filters": (
        *(
            (f"GET {path}?{name}=x", None)
            for path in CATALOGS[:4]
            for name in ("catalogs", "catalogs[]", "catalogs[3]")
        ),
        ("POST /s/preview/similar?catalogs=c", piece("c", "x")),
        ("GET /s/new?filter=" + json.dumps({"key": "language", "any": ["en"]}), None),
    ),
    "personalized": (
        ("GET /s/users/u/recommendation", None),
        ("GET /s/users/u/recommendation?explain=true", None),
        ("GET /s/users/u/why/a", None),
        ("GET /s/users/u/preferences", None),
        ("POST /s/recommendations", ["u"]),
        ("POST /s/preview/settings", {"users": ["u"]}),
    ),
    "profile": (("GET /s/users/u/recommendation/profile", None),),
    "interactionsListing": (("GET /s/users/u/interactions", None),),
    "lists": (("GET /s/whitelist", None), ("PUT /s/blacklist", None), ("DELETE /s/blacklist", None)),
    "placements": (
        ("GET /s/placements/home", None),
        ("GET /s/placements/home/list", None),
        ("GET /s/placements/home/results", None),
        ("POST /s/impressions", []),
    ),
}
"""By feature what is asked for in vain under a plan without it."""


@pytest.fixture
def source(service: Service) -> Service:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    service.submit("lone", piece("a", "x"))
    attributes = {"language": {"pointer": "/language", "type": "keyword"}}
    assert service.put("/s/settings", json={"attributes": attributes}).status_code == 200
    assert service.put("/s/placements/home", json={"kind": "new"}).status_code == 200
    return service


def asked(service: Service, request: str, body: Any = None, **options: Any) -> Any:
    """Return the answer to a method and a path; without a body none is sent."""
    method, _, path = request.partition(" ")
    return service.request(method, path, **({} if body is None else {"json": body}), **options)


def stored(service: Service) -> list[Any]:
    """Return what would tell of a change."""
    paths = ("", "/settings", "/placements", "/users/kim/preferences", "/users/u/interactions", "/blacklist")
    return [service.get(f"/s{path}").json() for path in paths]


@pytest.mark.parametrize("request_line", BODIES)
def test_a_body_of_a_wrong_shape_is_refused_with_its_places(source: Service, request_line: str) -> None:
    before = stored(source)

    for body, pointers in BODIES[request_line]:
        answer = asked(source, request_line, body)

        assert answer.status_code == 422, body
        assert [fault["pointer"] for fault in answer.json()["errors"]] == pointers, body
    assert stored(source) == before


@pytest.mark.parametrize("request_line", QUERIES)
def test_a_value_that_is_unacceptable_is_refused_and_its_parameter_named(source: Service, request_line: str) -> None:
    body = ["a"] if request_line == "POST /s/similar" else None
    before = stored(source)

    for query in QUERIES[request_line]:
        answer = asked(source, f"{request_line}?{query}", body)

        assert answer.status_code == 422, query
        assert answer.json()["errors"][0]["parameter"] == re.split(r"[=\[]", query)[0], query
    assert stored(source) == before


@pytest.mark.slow
def test_what_is_not_there_and_what_is_too_much_has_its_code(source: Service) -> None:
    before = stored(source)

    for request_line, body, status, code in CODES:
        answer = asked(source, request_line, body)

        assert (answer.status_code, answer.json()["code"]) == (status, code), request_line
    place = source.post("/s/preview/settings", json={"pieces": ["a", "no"]}).json()
    assert (place["code"], place["errors"][0]["pointer"]) == ("unknown-piece", "/pieces/1")
    assert stored(source) == before


@pytest.mark.parametrize("path", ("/s/similar", "/s/preview/similar", "/s/recommendations"))
def test_bodies_of_lists_are_json_and_say_so(source: Service, path: str) -> None:
    for content, media_type, status in ((b"{", "application/json", 400), (b"[]", "text/plain", 415)):
        assert source.post(path, content=content, headers={"content-type": media_type}).status_code == status


@pytest.mark.parametrize("feature", FEATURES)
def test_the_basic_plan_lacks_each_feature(service: Service, feature: str) -> None:
    key = service.new_key(plan="basic", account="small")
    service.submit("s", piece("a", "x"), piece("b", "x"), key=key)

    for request_line, body in FEATURES[feature]:
        answer = asked(service, request_line, body, key=key)

        assert (answer.status_code, answer.json()["code"]) == (403, "feature-not-in-plan"), request_line
        assert f"'{feature}'" in answer.json()["detail"], request_line


def test_the_basic_plan_has_what_is_about_nobody(service: Service) -> None:
    key = service.new_key(plan="basic", account="small")
    service.submit("s", piece("a", "x"), piece("b", "x"), key=key)
    service.put("/s/settings", json={"attributes": {"l": {"pointer": "/l", "type": "keyword"}}}, key=key)

    for request_line, body in (
        *((f"GET {path}", None) for path in (*CATALOGS[:4], "/s/content/a/similar?explain=true", "/s/settings")),
        ("POST /s/similar", ["a"]),
        ("POST /s/preview/settings", {"pieces": ["a"], "blacklist": ["b"]}),
        ("POST /s/preview/similar", piece("c", "x")),
    ):
        assert asked(service, request_line, body, key=key).status_code == 200, request_line
