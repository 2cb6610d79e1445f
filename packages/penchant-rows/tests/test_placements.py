"""Placements: what is stored of them, by whom, and the lists that they show (interface, section 9)."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import DAY_CLOCK
from factories import piece
from serving import Service, ok
from shown import report
from strategies import examples

pytestmark = pytest.mark.usefixtures("noon")

NUMBERS = count()
KINDS = ("similar", "recommendations", "popular", "new", "again")
PEOPLE = ("ann", "bob", "cleo", "dan")
DIRECTORS = ("wilder", "lang", "tati")


def put(service: Service, placement: Any, name: str = "home", source: str = "s") -> Any:
    answer = service.put(f"/{source}/placements/{name}", json=placement)
    ok(answer)
    return answer


def listed(service: Service, query: str = "", name: str = "home", source: str = "s") -> Any:
    return ok(service.get(f"/{source}/placements/{name}/list{query}"))


def ids(result: Any) -> list[str]:
    return [entry["id"] for entry in result["content"]]


def assert_same(found: Any, expected: Any) -> None:
    """Compare two lists; what is new ages between two requests, where the clock does not stand still."""
    assert [entry["id"] for entry in found] == [entry["id"] for entry in expected]
    scores = [entry["score"] for entry in expected]
    assert [entry["score"] for entry in found] == (pytest.approx(scores, abs=1e-4) if DAY_CLOCK.is_real else scores)


def fill(service: Service, source: str = "s") -> None:
    """Make a source of a dozen pieces, and people who like some of them."""
    service.submit(
        source,
        *[
            {
                "id": f"p{number:02}",
                "categories": {
                    "genre": [f"g{number % 3}", f"g{number % 4}"],
                    "director": [DIRECTORS[number % len(DIRECTORS)]],
                },
                "filters": {"catalogs": [f"c{number % 2}"], "availableFrom": f"2026-01-{number + 1:02}T00:00:00Z"},
            }
            for number in range(12)
        ],
    )
    did = [
        {"userId": user, "type": kind, "contentId": f"p{(3 * place + number) % 12:02}"}
        for place, user in enumerate(PEOPLE)
        for number, kind in enumerate(["RateLike", "Watch", "Play", "Click"])
    ]
    assert service.post(f"/{source}/interactions", json=did).status_code == 200


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_person_has_hidden_is_in_no_list_of_any_kind(service: Service, kind: str) -> None:
    fill(service)
    put(service, {"kind": kind})
    before, others = (ids(listed(service, f"?user={user}&content=p05")) for user in ("ann", "bob"))
    assert before

    answer = service.put("/s/users/ann/preferences", json={"hidden": before[:2]})

    assert answer.status_code == 200
    assert ids(listed(service, "?user=ann&content=p05")) == before[2:]
    assert ids(listed(service, "?user=bob&content=p05")) == others


@pytest.fixture
def source(service: Service) -> Service:
    fill(service)
    return service


OWN_LISTS = st.lists(st.sampled_from([f"p{number:02}" for number in range(12)]), max_size=4, unique=True)
BLENDS = st.fixed_dictionaries(
    {"content": st.integers(0, 3), "audience": st.integers(0, 3), "popularity": st.integers(1, 3)}
)
WEIGHTS = st.dictionaries(st.sampled_from(["genre", "director"]), st.integers(0, 3), max_size=2)
SETTINGS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "similar": st.fixed_dictionaries({}, optional={"categoryWeights": WEIGHTS}),
    "recommendations": st.fixed_dictionaries(
        {},
        optional={
            "blend": BLENDS,
            "categoryWeights": WEIGHTS,
            "maxPerValue": st.fixed_dictionaries({"director": st.integers(1, 3)}),
            "excludeSeen": st.booleans(),
        },
    ),
}
"""The settings of which lists take account, by their kind."""


@st.composite
def placements(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a placement, the settings among its members, and the query that says the others at the plain address."""
    kind = draw(st.sampled_from(KINDS))
    own = draw(SETTINGS[kind]) if kind in SETTINGS else {}
    query: dict[str, Any] = {}
    # What all people like goes by the source's own category weights, so that these are compared without it.
    if "categoryWeights" in own and kind == "recommendations":
        own["blend"] = {"content": 1, "audience": 0, "popularity": 0}
    if kind == "similar" and "categoryWeights" not in own:
        query["by"] = draw(st.sampled_from(["content", "audience", "both"]))
    if kind == "recommendations":
        query["diversity"] = draw(st.sampled_from([0, 0.3, 1]))
        query |= {"calibration": draw(st.sampled_from([0, 0.3, 1])), "calibration-category": "director"}
    if draw(st.booleans()):
        query["catalogs"] = "c0"
    members = {"by": "algorithm", "calibration-category": "calibrationCategory"}
    given = {members.get(name, name): [text] if name == "catalogs" else text for name, text in query.items()}
    lists = {"whitelist": draw(OWN_LISTS), "blacklist": draw(OWN_LISTS)}
    return {"kind": kind, **own, **given, **(lists if kind != "again" else {})}, own, query


def plain_path(kind: str, user: str, beside: str) -> str:
    """Return the address of the list that a kind stands for."""
    paths = {
        "similar": f"content/{beside}/similar",
        "recommendations": f"users/{user}/recommendation",
        "again": f"users/{user}/again",
    }
    return paths.get(kind, kind)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(placements())
def test_a_list_is_the_plain_one_under_the_same_settings(
    service: Service, chosen: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
) -> None:
    placement, own, query = chosen
    source = f"s{next(NUMBERS)}"
    fill(service, source)
    put(service, placement, source=source)

    found = listed(service, "?user=ann&content=p03", source=source)["content"]
    service.put(f"/{source}/settings", json=own)
    for name in ("whitelist", "blacklist"):
        service.put(f"/{source}/{name}", json=placement.get(name, []))
    path = f"/{source}/{plain_path(placement['kind'], 'ann', 'p03')}?{urlencode(query)}"
    plain = service.get(path).json()["content"]

    assert_same(found, plain)


def test_category_weights_of_a_placement_leave_what_people_like_as_the_source_has_it(source: Service) -> None:
    plain = source.get("/s/users/ann/recommendation").json()["content"]
    put(source, {"kind": "recommendations", "categoryWeights": {"genre": 3, "director": 0}}, "weighted")
    put(source, {"kind": "recommendations"})

    weighted = listed(source, "?user=ann", "weighted")["content"]

    assert weighted != plain
    # Asked for under other weights, nothing of the source's own is another one.
    assert listed(source, "?user=ann")["content"] == plain
    assert source.get("/s/users/ann/recommendation").json()["content"] == plain


def test_what_is_put_is_given_back_and_listed_by_name(source: Service) -> None:
    placement = {"kind": "popular", "halfLifeDays": 7, "variants": [{"name": "b", "share": 0.5, "kind": "new"}]}
    put(source, {"kind": "new"}, "z")
    answer = put(source, placement)

    assert answer.json() == source.get("/s/placements/home").json() == placement
    found = source.get("/s/placements").json()["placements"]
    assert [(each["name"], each["placement"]["kind"]) for each in found] == [("home", "popular"), ("z", "new")]
    assert found[0]["version"] == int(answer.headers["x-penchant-version"])
    assert found[0]["keyId"] == source.key.split("_")[1]


@pytest.mark.nodes
def test_a_changed_placement_is_in_force_in_the_next_request(source: Service) -> None:
    put(source, {"kind": "new"})
    first = listed(source, "?limit=1")
    put(source, {"kind": "popular", "fallback": "new"})

    assert (ids(first), first["kind"], first["variant"]) == (["p11"], "new", "base")
    assert listed(source)["kind"] == "popular"
    assert [source.delete("/s/placements/home").status_code for _ in range(2)] == [202, 202]
    assert source.get("/s/placements/home/list").json()["code"] == "unknown-placement"
    assert source.get("/s/placements/home/versions").json()["code"] == "unknown-placement"


def test_an_empty_list_is_filled_by_another_one(source: Service) -> None:
    for kind, query in (("again", "?user=nobody"), ("similar", ""), ("similar", "?content=unknown")):
        put(source, {"kind": kind, "fallback": "popular", "whitelist": ["none"]})

        assert listed(source, query)["kind"] == "popular"
        assert ids(listed(source, query)) == ids(source.get("/s/popular").json())


def test_without_another_list_it_is_empty_or_an_error_of_the_plain_one(source: Service) -> None:
    put(source, {"kind": "again"})
    assert (ids(listed(source)), listed(source)["kind"]) == ([], "again")
    put(source, {"kind": "similar"})

    missing, unknown = (source.get(f"/s/placements/home/list{query}") for query in ("", "?content=unknown"))

    assert missing.json()["errors"][0]["parameter"] == "content"
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown-piece")


def test_nobody_is_recommended_what_a_stranger_is(source: Service) -> None:
    put(source, {"kind": "recommendations", "variants": [{"name": "b", "share": 1, "kind": "new"}]})

    assert (listed(source)["variant"], listed(source, "?user=x")["variant"]) == ("base", "b")
    assert ids(listed(source)) == ids(source.get("/s/users/stranger/recommendation").json())


def test_a_variant_has_what_it_does_not_give_itself_from_the_placement(source: Service) -> None:
    put(
        source,
        {
            "kind": "popular",
            "blacklist": ["p00"],
            "catalogs": ["c0"],
            "variants": [{"name": "all", "share": 1, "kind": "new", "catalogs": None}],
        },
    )

    assert ids(listed(source, "?user=ann")) == [f"p{number:02}" for number in range(11, 0, -1)]


@pytest.mark.nodes
def test_versions_tell_who_and_when_and_one_request_leads_back(source: Service) -> None:
    other = source.new_key()
    put(source, {"kind": "new"})
    source.put("/s/placements/home", json={"kind": "popular"}, key=other)

    history = source.get("/s/placements/home/versions").json()["versions"]
    assert [each["placement"]["kind"] for each in history] == ["popular", "new"]
    assert [each["keyId"] for each in history] == [key.split("_")[1] for key in (other, source.key)]

    assert source.post("/s/placements/home/rollback").json() == {"kind": "new"}
    assert listed(source)["kind"] == "new"
    back = source.post(f"/s/placements/home/rollback?version={history[0]['version']}")
    assert back.json() == source.get("/s/placements/home").json() == {"kind": "popular"}
    assert len(source.get("/s/placements/home/versions").json()["versions"]) == 4


@pytest.mark.nodes
@pytest.mark.slow
def test_a_rollback_gives_people_the_variants_that_they_had(source: Service) -> None:
    def seen() -> list[str]:
        return [listed(source, f"?user=u{number}&limit=1")["variant"] for number in range(40)]

    halves = [{"name": "a", "share": 0.3}, {"name": "b", "share": 0.4}]
    put(source, {"kind": "new", "variants": halves[:1]})
    put(source, {"kind": "new", "variants": halves})
    before = seen()
    put(source, {"kind": "new", "variants": [{"name": "b", "share": 0.9}]})
    assert seen() != before

    source.post("/s/placements/home/rollback")

    assert seen() == before


def test_a_rollback_needs_a_version_that_is_kept(source: Service) -> None:
    assert source.post("/s/placements/none/rollback").json()["code"] == "unknown-placement"
    put(source, {"kind": "new"})

    for query in ("", "?version=1"):
        answer = source.post(f"/s/placements/home/rollback{query}")
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-placement")


def test_a_key_that_may_read_sees_lists_for_nobody(source: Service) -> None:
    put(source, {"kind": "new"})
    reading = source.new_key(scopes=["read"])

    assert source.get("/s/placements/home/list", key=reading).status_code == 200
    assert source.get("/s/placements/home/list?user=ann", key=reading).json()["code"] == "outside-scope"


def page(service: Service, *rows: Any, **members: Any) -> Any:
    return ok(service.post("/s/lists", json={"lists": list(rows), **members}))["lists"]


@pytest.mark.nodes
def test_no_piece_comes_twice_on_a_page_and_lists_stay_full(source: Service) -> None:
    put(source, {"kind": "recommendations", "excludeSeen": False}, "for-you")
    put(source, {"kind": "popular", "fallback": "new"}, "popular")
    put(source, {"kind": "new", "whitelist": ["p00", "p01"]}, "new")
    rows = [{"placement": name, "take": 4} for name in ("new", "for-you", "popular")]

    lists = page(source, *rows, user="ann", exclude=["p11"])

    shown = [piece_id for each in lists for piece_id in ids(each)]
    assert [len(each["content"]) for each in lists[:2]] == [4, 4]
    assert ids(lists[0]) == ["p00", "p01", "p10", "p09"]
    assert len(shown) == len(set(shown))
    assert "p11" not in shown
    alone = listed(
        source, f"?user=ann&take=4&exclude=p11&{'&'.join(f'exclude={each}' for each in shown[:4])}", "for-you"
    )
    assert lists[1]["content"] == alone["content"]


def test_a_list_that_cannot_be_made_leaves_the_others(source: Service) -> None:
    put(source, {"kind": "similar"}, "beside")
    put(source, {"kind": "new"}, "new")

    lists = page(
        source, {"placement": "beside", "content": "x"}, {"placement": "none"}, {"placement": "new", "take": 1}
    )

    assert [each["error"]["code"] for each in lists[:2]] == ["unknown-piece", "unknown-placement"]
    assert (lists[2]["kind"], ids(lists[2])) == ("new", ["p11"])


def test_each_list_has_an_id_that_says_whose_it_is(source: Service) -> None:
    put(source, {"kind": "new", "variants": [{"name": "b", "share": 1}]})

    alone = source.get("/s/placements/home/list?user=ann").headers["x-penchant-list"]
    beside = page(source, {"placement": "home"}, {"placement": "home"}, user="ann")

    assert len({alone, *(each["listId"] for each in beside)}) == 3


def previewed(service: Service, placement: Any, **members: Any) -> Any:
    return ok(service.post("/s/preview/placement", json={"name": "home", "placement": placement, **members}))["lists"]


@pytest.mark.slow
def test_a_preview_shows_the_lists_as_they_will_be(source: Service) -> None:
    put(source, {"kind": "new"})
    draft = {"kind": "popular", "halfLifeDays": 0, "variants": [{"name": "b", "share": 0.5, "kind": "new"}]}
    users = [f"u{number}" for number in range(12)]
    before = {user: listed(source, f"?user={user}&take=3") for user in users}

    found = previewed(source, draft, users=users, take=3)

    assert source.get("/s/placements/home").json() == {"kind": "new"}
    put(source, draft)
    after = {user: listed(source, f"?user={user}&take=3") for user in users}
    for side, lists in (("before", before), ("after", after)):
        for each, user in zip(found, users, strict=True):
            assert_same(each[side], lists[user]["content"])
    assert {each["variantAfter"] for each in found} == {"base", "b"}
    assert [each["moves"] == [] for each in found] == [each["variantAfter"] == "b" for each in found]


def test_a_preview_can_show_one_variant_to_everybody_and_begin_from_nothing(source: Service) -> None:
    draft = {"kind": "popular", "variants": [{"name": "b", "share": 0, "kind": "similar"}]}

    (found,) = previewed(source, draft, variant="b", content="p03", take=1)

    near = source.get("/s/content/p03/similar?limit=1").json()["content"]
    assert (found["userId"], found["variantBefore"], found["variantAfter"]) == (None, None, "b")
    assert (found["before"], found["after"]) == ([], near)
    assert found["moves"] == [{"id": near[0]["id"], "before": None, "after": 1}]


def of_years(service: Service) -> None:
    """Make a source with a piece of each of a dozen years, which is its attribute."""
    service.submit("s", *[piece(f"p{year}", "x", extras={"year": year}) for year in range(2000, 2012)])
    service.put("/s/settings", json={"attributes": {"year": {"pointer": "/year", "type": "integer"}}})


def test_a_placement_filters_by_the_attributes_that_the_source_has(service: Service) -> None:
    of_years(service)
    recent = {"key": "year", "gte": 2009}
    put(service, {"kind": "new", "filter": recent, "variants": [{"name": "all", "share": 1, "filter": None}]})

    assert sorted(ids(listed(service))) == ["p2009", "p2010", "p2011"]
    assert len(ids(listed(service, "?user=ann"))) == 12
    refused = service.put("/s/placements/home", json={"kind": "new", "filter": {"key": "year", "any": ["x"]}})
    assert refused.json()["errors"][0]["pointer"] == "/filter/any/0"

    service.put("/s/settings", json={})
    answer = service.get("/s/placements/home/list")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/filter/key")


@pytest.mark.slow
def test_a_piece_sinks_each_time_that_it_is_shown_and_passed_over(service: Service) -> None:
    def expected(times: dict[str, int]) -> list[tuple[int, str]]:
        # s in units of 1e-9, as the ranking has it.
        plain = [(round((1 - each["score"]) * 1e9), each["id"]) for each in before["content"]]
        return sorted((-round(units * 0.5 ** times.get(piece_id, 0)), piece_id) for units, piece_id in plain)

    def units(result: Any) -> list[tuple[int, str]]:
        return [(-round((1 - each["score"]) * 1e9), each["id"]) for each in result["content"]]

    fill(service)
    put(service, {"kind": "recommendations", "rotation": 0.5, "excludeSeen": False})
    before = listed(service, "?user=ann")
    times: dict[str, int] = {}
    for number in (3, 2, 1):
        answer = service.get(f"/s/placements/home/list?user=ann&take={number}")
        report(service, {"listId": answer.headers["x-penchant-list"], "content": ids(answer.json())})
        times |= {each: times.get(each, 0) + 1 for each in ids(answer.json())}

        assert units(listed(service, "?user=ann")) == expected(times)
    assert listed(service, "?user=bob") == listed(service, "?user=bob")
    assert max(times.values()) == 1


def test_what_is_shown_again_and_again_gives_way_to_what_was_never_listed(service: Service) -> None:
    service.submit("s", *[piece(f"p{number:02}", "x", f"k{number}") for number in range(70)], piece("liked", "x"))
    service.post("/s/users/ann/interactions/RateLike/content/liked")
    put(service, {"kind": "recommendations", "rotation": 0.9, "blend": {"content": 1, "audience": 0, "popularity": 0}})

    shown = [service.get("/s/placements/home/list?user=ann")]
    for _ in range(2):
        report(service, {"listId": shown[-1].headers["x-penchant-list"], "content": ids(shown[-1].json())})
        shown.append(service.get("/s/placements/home/list?user=ann"))

    first, second, third = (ids(each.json()) for each in shown)
    assert (first, second) == ([f"p{number:02}" for number in range(30)], [f"p{number:02}" for number in range(30, 60)])
    assert third == [f"p{number:02}" for number in (*range(60, 70), *range(20))]


def test_a_placement_boosts_as_a_request_does(service: Service) -> None:
    of_years(service)
    for user, year in (("ann", 2003), ("bob", 2003), ("cleo", 2005)):
        service.post(f"/s/users/{user}/interactions/RateLike/content/p{year}")
    boosts = [{"key": "year", "gte": 2005, "factor": 3}]
    put(service, {"kind": "popular", "boosts": boosts, "variants": [{"name": "plain", "share": 1, "boosts": None}]})

    boosted = service.get(f"/s/popular?{urlencode({'boost': json.dumps(boosts)})}").json()["content"]

    assert listed(service)["content"] == boosted
    assert (ids(listed(service))[0], ids(listed(service, "?user=ann"))[0]) == ("p2005", "p2003")
    refused = service.put("/s/placements/home", json={"kind": "new", "boosts": [{"key": "year", "gte": 1}]})
    assert refused.json()["errors"][0]["pointer"].startswith("/boosts/0")


def variants_of(service: Service, *placements: str, people: int = 40) -> list[tuple[str, ...]]:
    """Return which variants of some placements each of so many people sees."""
    rows = [{"placement": each, "take": 1} for each in placements]
    return [tuple(each["variant"] for each in page(service, *rows, user=f"u{number}")) for number in range(people)]


def agree(service: Service, *placements: str) -> bool:
    """Return whether everybody sees the same variant of some placements."""
    return all(len(set(seen)) == 1 for seen in variants_of(service, *placements, people=20))


def experiment(*shares: tuple[str, float]) -> dict[str, Any]:
    variants = [{"name": name, "share": share, "kind": "new"} for name, share in shares]
    return {"kind": "popular", "experiment": "rows", "variants": variants}


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    (
        ((("a", 0.2),), (("a", 0.4),), (("a", 0.6),)),
        ((("a", 0.5), ("b", 0.2)), (("a", 0.2), ("b", 0.5)), (("a", 0.3), ("b", 0.3), ("c", 0.3))),
    ),
)
def test_placements_of_one_experiment_show_a_person_the_same_variant(service: Service, steps: Any) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    for shares in steps:
        put(service, experiment(*shares), "one")
    # Made with the shares that the other one has come to.
    put(service, experiment(*steps[-1]), "two")
    assert agree(service, "one", "two")

    for shares in (*reversed(steps), steps[-1]):
        put(service, experiment(*shares), "two")
        put(service, experiment(*shares), "one")
        assert agree(service, "one", "two")
    assert service.post("/s/placements/two/rollback").status_code == 200
    assert service.post("/s/placements/two/rollback").status_code == 200
    assert agree(service, "one", "two")


@pytest.mark.slow
def test_of_unequal_shares_who_sees_a_variant_sees_it_where_it_has_more(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    for name, share in (("small", 0.2), ("large", 0.5), ("middle", 0.3)):
        put(service, experiment(("a", share)), name)

    seen = variants_of(service, "small", "middle", "large")
    small, middle, large = ({n for n, each in enumerate(seen) if each[place] == "a"} for place in range(3))

    assert small < middle < large


@pytest.mark.nodes
@pytest.mark.slow
def test_placements_of_one_experiment_that_are_put_at_once_agree(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    names = [f"p{n}" for n in range(6)]
    for round_number in range(3):
        shares = (("a", 0.1 + round_number / 5), ("b", 0.3))
        with ThreadPoolExecutor(6) as together:
            sent = [together.submit(service.put, f"/s/placements/{name}", json=experiment(*shares)) for name in names]
        statuses = [each.result(timeout=120).status_code for each in sent]
        for name, status in zip(names, statuses, strict=True):
            # Whoever was overtaken again and again is told to send it once more.
            assert status in {200, 409}
            if status == 409:
                put(service, experiment(*shares), name)

    assert agree(service, *names)


def test_a_preview_gives_the_variants_that_the_draft_would_give(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    for share in (0.2, 0.5):
        put(service, experiment(("a", share)), "one")
    users = [f"u{n}" for n in range(20)]
    wish = {"name": "two", "placement": experiment(("a", 0.5)), "users": users}

    previewed = service.post("/s/preview/placement", json=wish).json()["lists"]

    assert [(each["variantAfter"],) for each in previewed] == variants_of(service, "one")[:20]


def test_a_preview_tells_how_many_pieces_fit(service: Service) -> None:
    service.submit("s", piece("a", "x", filters={"catalogs": ["c"]}), piece("b", "x"), piece("c", "y"))

    def fitting(**members: Any) -> int:
        wish = {"name": "home", "placement": {"kind": "new"} | members}
        return int(ok(service.post("/s/preview/placement", json=wish))["fitting"])

    assert (fitting(), fitting(catalogs=["c"]), fitting(catalogs=["other"])) == (3, 1, 0)


def test_a_page_is_for_somebody_made_up_who_likes_pieces(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"), piece("c", "y"))
    put(service, {"kind": "recommendations"})
    lists = [{"placement": "home"}]

    liking = ok(service.post("/s/lists", json={"lists": lists, "liked": ["a"]}))
    both = service.post("/s/lists", json={"lists": lists, "liked": ["a"], "user": "ann"})

    assert (liking["userId"], ids(liking["lists"][0])[:1]) == (None, ["b"])
    assert (both.status_code, both.json()["errors"][0]["pointer"]) == (422, "/liked")
