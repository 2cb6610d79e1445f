"""Given pieces, as they suit a person: in the order of recommendations, or nearer to the given one."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import piece
from serving import Service, ok
from strategies import examples

PIECES = [f"p{number:02}" for number in range(24)]
PEOPLE = ("ann", "bob", "nobody", "said")
UNKNOWN = ("gone", "never")
TYPES = ("Click", "RateLike", "Play", "RateDislike", "Watch")
WAYS = {
    "catalogs": st.sampled_from(["c0", "c0,c1"]),
    "filter": st.just('{"key":"year","lte":2010}'),
    "boost": st.just('{"key":"year","gte":1998,"factor":3}'),
    "include-seen": st.sampled_from(["true", "false"]),
    "at": st.sampled_from(["2020-01-01", "2026-02-01"]),
}
QUERIES = st.fixed_dictionaries({}, optional=WAYS).map(lambda ways: "&".join(f"{k}={v}" for k, v in ways.items()))
GIVEN = st.permutations((*PIECES, *UNKNOWN)).flatmap(
    lambda ids: st.integers(0, len(ids)).map(lambda count: list(ids[:count]))
)

WEIGHTS = st.integers(0, 10).map(lambda tenths: tenths / 10)


@pytest.fixture
def shop(service: Service) -> Service:
    """A source whose pieces differ in all that decides about a list, and people who did and said different things."""
    service.submit(
        "s",
        *[
            piece(
                each,
                f"g{number % 3}",
                f"h{number % 5}",
                filters={
                    "catalogs": [f"c{number % 3}"],
                    "availableFrom": f"{2018 + number // 3}-01-05T00:00:00Z",
                },
                extras={"year": 1990 + number},
            )
            for number, each in enumerate(PIECES)
        ],
    )
    ok(service.put("/s/settings", json={"attributes": {"year": {"pointer": "/year", "type": "integer"}}}))
    did = [
        {"userId": user, "type": TYPES[(place + step) % 5], "contentId": PIECES[(7 * place + step * step) % 24]}
        for place, user in enumerate(("ann", "bob", "cid", "dan"))
        for step in range(3 + 2 * place)
    ]
    ok(service.post("/s/interactions", json=did))
    ok(service.put("/s/users/said/preferences", json={"keywords": {"genre": {"g1": 1}}, "hidden": ["p04", "p10"]}))
    ok(service.put("/s/blacklist", json=["p13"]))
    return service


def rank(service: Service, user: str, ids: list[str], query: str = "", **body: Any) -> Any:
    return ok(service.post(f"/s/users/{user}/rank?{query}", json={"content": ids, **body}))


def ids_of(answer: Any) -> list[str]:
    return [each["id"] for each in answer["content"]]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(user=st.sampled_from(PEOPLE), query=QUERIES, ids=st.permutations((*PIECES, *UNKNOWN)))
def test_all_pieces_of_a_source_rank_as_they_are_recommended(
    shop: Service, user: str, query: str, ids: list[str]
) -> None:
    ranked = rank(shop, user, ids, query)

    assert ranked["content"] == ok(shop.get(f"/s/users/{user}/recommendation?{query}"))["content"]
    for each in ranked["left"]:
        why = ok(shop.get(f"/s/users/{user}/why/{each['id']}?{query}"))
        assert each["why"] == why["reasons"][0]["code"], each


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(user=st.sampled_from(PEOPLE), query=QUERIES, ids=GIVEN, weight=WEIGHTS)
def test_a_weight_leads_from_the_given_order_to_the_order_of_recommendations(
    shop: Service, user: str, query: str, ids: list[str], weight: float
) -> None:
    every = ok(shop.get(f"/s/users/{user}/recommendation?{query}"))["content"]

    ranked = rank(shop, user, ids, query, weight=weight)

    share = Fraction(str(weight))
    by_score = [each for each in every if each["id"] in ids]
    shown = [each for each in ids if each in {entry["id"] for entry in by_score}]
    places = {
        entry["id"]: (share * r + (1 - share) * shown.index(entry["id"]), shown.index(entry["id"]))
        for r, entry in enumerate(by_score)
    }
    assert ranked["content"] == sorted(by_score, key=lambda entry: places[entry["id"]])
    assert [each["id"] for each in ranked["left"]] == [each for each in ids if each not in shown]
    assert ranked["id"] == user


def test_rules_of_lists_move_nothing(shop: Service) -> None:
    plain = rank(shop, "ann", PIECES)

    ok(shop.put("/s/whitelist", json=[ids_of(plain)[-1], ids_of(plain)[5]]))
    attributes = ok(shop.get("/s/settings"))["attributes"]
    ok(shop.put("/s/settings", json={"attributes": attributes, "maxPerValue": {"genre": 1}}))

    assert rank(shop, "ann", PIECES) == plain


def test_more_than_a_list_holds_is_ranked(service: Service) -> None:
    ids = [f"p{number:03}" for number in range(500)]
    service.submit("s", *[piece(each, f"g{number % 9}") for number, each in enumerate(ids)])
    ok(service.post("/s/users/u/interactions/RateLike/content/p008"))

    ranked = ids_of(rank(service, "u", ids[::-1]))

    assert sorted(ranked) == [each for each in ids if each != "p008"]
    assert ranked[:30] == ids_of(ok(service.get("/s/users/u/recommendation")))
    assert rank(service, "u", ["p499", "p008"], "include-seen=1")["left"] == []


def test_reasons_name_the_place_at_which_a_piece_was_given(shop: Service) -> None:
    ids = ["p20", "p13", "p03", "p21"]
    boost = 'boost={"key":"year","gte":2010,"factor":2}'

    for weight, rules in ((1, {"p20": ["boost"], "p03": []}), (0, {"p20": ["given", "boost"], "p03": ["given"]})):
        explained = {
            each["id"]: each for each in rank(shop, "ann", ids, f"explain=true&{boost}", weight=weight)["content"]
        }
        for key, names in rules.items():
            assert [rule["rule"] for rule in explained[key]["why"]["rules"]] == names
            whole = ok(shop.get(f"/s/users/ann/why/{key}?{boost}"))
            assert explained[key]["why"]["parts"] == whole["why"]["parts"]
    assert explained["p03"]["why"]["rules"] == [{"rule": "given", "position": 2}]


def test_entries_carry_what_is_asked_for(shop: Service) -> None:
    (entry,) = rank(shop, "ann", ["p20"], "include=extras")["content"]

    assert entry["extras"] == {"year": 2010}


def test_nothing_given_is_nothing_ranked(service: Service) -> None:
    service.submit("s", piece("a"))

    assert rank(service, "u", []) == {"id": "u", "content": [], "left": []}


def test_what_is_left_out_has_the_code_that_why_has(service: Service) -> None:
    service.submit("s", piece("a"), piece("later", filters={"availableFrom": "2999-01-01T00:00:00Z"}))

    assert rank(service, "u", ["later", "a", "gone"])["left"] == [
        {"id": "later", "why": "window"},
        {"id": "gone", "why": "unknown-piece"},
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("order", "weight"), ((None, 0), ("given", 0), ("personal", 1)))
@pytest.mark.parametrize("user", PEOPLE)
def test_a_placement_of_picks_is_their_rank(shop: Service, user: str, order: str | None, weight: int) -> None:
    picked = ["p20", "p13", "p10", "gone", *PIECES[:8:-2]]
    named = {} if order is None else {"order": order}
    ok(shop.put("/s/placements/desk", json={"kind": "picks", "content": list(dict.fromkeys(picked)), **named}))

    ranked = rank(shop, user, list(dict.fromkeys(picked)), "explain=true", weight=weight)
    listed = ok(shop.get(f"/s/placements/desk/list?user={user}&explain=true"))

    assert (listed["content"], listed["kind"]) == (ranked["content"], "picks")
    wish = {"user": user, "exclude": ids_of(listed)[:1], "lists": [{"placement": "desk"}]}
    page = ok(shop.post("/s/lists", json=wish))
    assert ids_of(page["lists"][0]) == ids_of(listed)[1:]
    draft = {"kind": "picks", "content": picked[:1]}
    previewed = {"name": "desk", "placement": draft, "users": [user]}
    (preview,) = ok(shop.post("/s/preview/placement", json=previewed))["lists"]
    assert [ids_of({"content": preview[side]}) for side in ("before", "after")] == [
        ids_of(listed),
        [each for each in ids_of(listed) if each == "p20"],
    ]


def test_picks_for_nobody_are_those_for_a_stranger_and_none_are_filled(shop: Service) -> None:
    ok(shop.put("/s/placements/desk", json={"kind": "picks", "content": ["p20", "p10"], "order": "personal"}))
    assert ids_of(ok(shop.get("/s/placements/desk/list"))) == ids_of(rank(shop, "stranger", ["p20", "p10"]))

    ok(shop.put("/s/placements/desk", json={"kind": "picks", "content": ["p13", "gone"], "fallback": "new"}))
    assert ok(shop.get("/s/placements/desk/list?user=ann"))["kind"] == "new"
