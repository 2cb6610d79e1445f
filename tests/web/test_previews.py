"""What lists would be: drafts, settings and lists that are not stored (interface, section 9)."""

import time
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import piece, weighted
from serving import Service, ok
from strategies import CATALOGUES, CATEGORY_WEIGHTS, INTERACTIONS, PIECE_IDS, PIECES, examples

TURN_S = 60.0
SLOWLY = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LISTS = st.lists(PIECE_IDS, max_size=3, unique=True)
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "settings": st.fixed_dictionaries(
            {},
            optional={
                "categoryWeights": CATEGORY_WEIGHTS,
                "interactionWeights": st.dictionaries(
                    st.sampled_from(["Click", "Watch", "RateDislike"]), st.sampled_from([-2, 0, 1.5]), max_size=2
                ),
                "halfLifeDays": st.sampled_from([0, 10]),
                "retentionDays": st.sampled_from([30, 500]),
                "excludeSeen": st.booleans(),
                "blend": st.just({"content": 1, "audience": 0}),
                "newPieceHalfLifeDays": st.sampled_from([0, 5]),
                "order": st.sampled_from(["auto", "on", "off"]),
            },
        ),
        "whitelist": LISTS,
        "blacklist": LISTS,
        "take": st.integers(1, 5),
    },
)


def lists(service: Service, pieces: list[str], users: list[str], take: int) -> dict[str, list[Any]]:
    """Return the lists as they are."""
    return {
        "pieces": [ok(service.get(f"/s/content/{each}/similar?take={take}"))["content"] for each in pieces],
        "users": [ok(service.get(f"/s/users/{each}/recommendation?take={take}"))["content"] for each in users],
    }


def previewed(service: Service, wish: dict[str, Any]) -> Any:
    """Return a preview; after one that took long, on a busy machine, its account's next turn comes later."""
    deadline = time.monotonic() + TURN_S
    while (answer := service.post("/s/preview/settings", json=wish)).status_code == 503:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return ok(answer)


@given(
    CATALOGUES,
    st.lists(INTERACTIONS, min_size=1, max_size=2),
    st.fixed_dictionaries({"categoryWeights": CATEGORY_WEIGHTS, "halfLifeDays": st.just(20)}),
    WISHES,
)
@SLOWLY
def test_a_preview_shows_the_lists_as_they_will_be(
    service: Service,
    pieces: list[dict[str, Any]],
    people: list[list[dict[str, Any]]],
    before: dict[str, Any],
    wish: dict[str, Any],
) -> None:
    service.delete("/s?confirm=s")
    service.submit("s", *pieces, {"id": "one-more", "categories": {"genre": ["a"]}})
    body = [
        {name: each[name] for name in ("type", "contentId", "value") if name in each} | {"userId": f"u{number}"}
        for number, own in enumerate(people)
        for each in own
    ]
    ok(service.post("/s/interactions", json=body))
    ok(service.put("/s/settings", json=before))
    asked, users, take = [each["id"] for each in pieces[:3]], ["u0", "nobody"], wish.get("take", 30)
    were = lists(service, asked, users, take)
    status = ok(service.get("/s"))

    preview = previewed(service, wish | {"pieces": asked, "users": users})

    assert {kind: [each["before"] for each in preview[kind]] for kind in were} == were
    assert ok(service.get("/s")) == status
    assert lists(service, asked, users, take) == were
    in_force = ok(service.get("/s/settings"))
    ok(service.put("/s/settings", json=in_force | wish.get("settings", {})))
    for kind in ("whitelist", "blacklist"):
        if kind in wish:
            ok(service.put(f"/s/{kind}", json=wish[kind]))
    now = lists(service, asked, users, take)
    assert {kind: [each["after"] for each in preview[kind]] for kind in now} == now


def test_a_preview_of_a_lighter_type_has_the_lists_of_its_full_like(service: Service) -> None:
    # Six likes in ten are clicks: as plays they are a quarter of a full like, as nothing they are none.
    service.submit("s", *(piece(f"p{number}", f"k{number % 3}") for number in range(9)))
    kinds = ("Click", "Click", "Click", "RateLike", "RateLike")
    rows = [
        {"userId": f"u{person}", "type": kinds[(person * place) % 5], "contentId": f"p{(person * place) % 9}"}
        for person in range(8)
        for place in range(1, 6)
    ]
    ok(service.post("/s/interactions", json=rows))
    users = [f"u{person}" for person in range(8)]

    for weight in (2, 4, 0.5, 0):
        wish = {"settings": {"interactionWeights": {"Click": weight}}, "users": users}
        after = [each["after"] for each in previewed(service, wish)["users"]]
        in_force = ok(service.get("/s/settings"))
        in_force["interactionWeights"]["Click"] = weight
        ok(service.put("/s/settings", json=in_force))
        assert lists(service, [], users, 30)["users"] == after


def test_moves_are_the_pieces_whose_rank_differs(service: Service) -> None:
    service.submit("s", piece("q", "x", "y"), piece("a", "x", "y"), piece("b", "x"), piece("c", "y", "z"))

    wish = {"whitelist": ["c"], "blacklist": ["a"], "pieces": ["q"], "take": 3}
    (found,) = ok(service.post("/s/preview/settings", json=wish))["pieces"]

    assert ok(service.post("/s/preview/settings", json={})) == {"pieces": [], "users": []}
    assert ok(service.post("/s/preview/settings", json={"users": ["u"], "take": 99}))["users"][0]["id"] == "u"
    assert [each["id"] for each in found["before"]] == ["a", "b", "c"]
    assert [each["id"] for each in found["after"]] == ["c", "b"]
    assert found["moves"] == [{"id": "c", "before": 3, "after": 1}, {"id": "a", "before": 1, "after": None}]


def test_members_left_out_stay_and_those_given_are_taken_as_put_takes_them(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    service.post("/s/users/u/interactions/Watch/content/a")
    ok(service.put("/s/settings", json={"excludeSeen": False, "blend": {"content": 5, "popularity": 7}}))

    wish = {"settings": {"halfLifeDays": 1}, "users": ["u"]}
    (kept,) = ok(service.post("/s/preview/settings", json=wish))["users"]
    (changed,) = ok(service.post("/s/preview/settings", json={"settings": {"blend": {}}, "users": ["u"]}))["users"]

    assert [each["id"] for each in kept["after"]] == ["a", "b"]
    ok(service.put("/s/settings", json={"excludeSeen": False}))
    assert changed["after"] == ok(service.get("/s/users/u/recommendation"))["content"]


@given(CATALOGUES, PIECES, st.sampled_from(["", "&algo=jaccard", "&algo=cosine&limit=2"]), CATEGORY_WEIGHTS)
@SLOWLY
def test_a_draft_has_the_neighbours_that_it_has_once_submitted(
    service: Service, pieces: list[dict[str, Any]], draft: dict[str, Any], query: str, weights: dict[str, float]
) -> None:
    service.delete("/s?confirm=s")
    service.submit("s", *pieces, {"id": "one-more", "categories": {}})
    ok(service.put("/s/settings", json={"categoryWeights": weights}))
    ok(service.put("/s/whitelist", json=["p3", "p1"]))
    status = ok(service.get("/s"))

    preview = ok(service.post(f"/s/preview/similar?{query}", json=draft))
    nameless = ok(service.post(f"/s/preview/similar?{query}", json={"categories": draft["categories"]}))

    assert ok(service.get("/s")) == status
    assert nameless["id"] is None
    if draft["id"] not in {each["id"] for each in pieces}:
        assert nameless["content"] == preview["content"]
    service.submit("s", draft)
    stored = f"/s/content/{draft['id']}/similar?explain=true{query}"
    assert preview == ok(service.get(stored))


def test_a_draft_may_be_the_second_piece(service: Service) -> None:
    service.submit("s")

    assert ok(service.post("/s/preview/similar", json={"id": None, "categories": {}})) == {"id": None, "content": []}
    service.submit("s", weighted("a", x=3))
    found = ok(service.post("/s/preview/similar", json=weighted("b", x=1)))
    assert [(each["id"], each["score"]) for each in found["content"]] == [("a", 0.0)]
    assert ok(service.post("/s/preview/similar", json=weighted("a", x=1)))["content"] == []
    assert service.post("/no/preview/similar", json=piece("a")).status_code == 404
