"""Pages: lists go on after a cursor, to 300 entries, as the one long list that they are parts of."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import DAY_CLOCK
from factories import piece
from nodes import Nodes, service_on_nodes
from serving import Service, ok
from strategies import examples

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("noon")]

COUNT = 330
PIECES = [f"p{number:03}" for number in range(COUNT)]
ATTRIBUTES = {
    "language": {"pointer": "/language", "type": "keyword"},
    "number": {"pointer": "/number", "type": "integer"},
}
KINDS = ("recommendations", "popular", "new", "similar", "again", "picks", "because", "keyword")
TAKES = st.lists(st.integers(1, 30), min_size=1, max_size=4)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "pins": st.lists(
            st.tuples(st.sampled_from(PIECES), st.integers(1, 30)),
            max_size=4,
            unique_by=(lambda pin: pin[0], lambda pin: pin[1]),
        ).map(lambda pins: [{"id": each, "position": position} for each, position in pins]),
        "quotas": st.just(
            [{"filter": {"key": "language", "any": ["de"]}, "atLeast": 3, "of": 10}],
        ),
        "maxPerValue": st.sampled_from([{"genre": 2}, {"genre": 20}]),
        "diversity": st.sampled_from([0.2, 0.9]),
        "whitelist": st.lists(st.sampled_from(PIECES[:60]), max_size=5, unique=True),
        "boosts": st.just([{"key": "language", "any": ["de"], "factor": 2}]),
        "filter": st.just({"key": "number", "lt": 200}),
    },
)


def kind_of(number: int) -> str:
    """What somebody does with all pieces."""
    return "RateLike" if number % 50 == 7 else "Play"


def likes_of(number: int) -> float:
    """How many like a piece: one person, so many days ago, and another, today; a play is a quarter of a like."""
    return 2 ** (-number / 30) + {"RateLike": 1, "Play": 0.25}[kind_of(number)]


POPULAR = [PIECES[number] for number in sorted(range(COUNT), key=lambda each: -likes_of(each))]


@pytest.fixture
def shop(service: Service) -> Service:
    """Hundreds of pieces of many genres, liked by one person each, and somebody who likes some and clicked on all."""
    service.submit(
        "s",
        *[
            piece(
                each,
                f"g{number * 7 % 40}",
                f"h{number % 9}",
                "all",
                filters={"availableFrom": f"{2020 - number % 300}-01-01T00:00:00Z"},
                extras={"language": "de" if number % 11 == 5 else "en", "number": number},
            )
            for number, each in enumerate(PIECES)
        ],
    )
    ok(service.put("/s/settings", json={"attributes": ATTRIBUTES, "retentionDays": 3650, "excludeSeen": False}))
    midnight = DAY_CLOCK.midnight
    events = [
        {
            "userId": f"u{number}",
            "type": "RateLike",
            "contentId": each,
            "timestamp": midnight(days_ago=number),
        }
        for number, each in enumerate(PIECES)
    ]
    events += [
        {"userId": "ann", "type": kind_of(number), "contentId": each, "timestamp": midnight()}
        for number, each in enumerate(PIECES)
    ]
    ok(service.post("/s/interactions", json=events))
    return service


def pages(service: Service, path: str, takes: Iterable[int], **params: Any) -> Iterator[dict[str, Any]]:
    """Yield the pages of a list, of so many entries in turn."""
    cursor: dict[str, str] = {}
    for take in itertools.islice(itertools.cycle(takes), COUNT):
        answer = service.get(path, params=params | {"take": take} | cursor)
        yield ok(answer)
        if "x-penchant-next" not in answer.headers:
            return
        cursor = {"after": answer.headers["x-penchant-next"]}
    pytest.fail("the list goes on without end")


def joined(service: Service, path: str, takes: Iterable[int], **params: Any) -> list[dict[str, Any]]:
    return [each for page in pages(service, path, takes, **params) for each in page["content"]]


def placed(entries: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["id"], each.get("rule"), each.get("displaced")) for each in entries]


def ids(entries: Iterable[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in entries]


def test_pages_of_a_person_are_the_one_long_list(shop: Service) -> None:
    path = "/s/users/ann/recommendation"
    for query in ({}, {"diversity": 0.3}, {"algo": "cosine"}, {"filter": '{"key":"number","gte":20}'}):
        long = joined(shop, path, [30], **query)

        assert len(set(ids(long))) == len(long) == 300
        assert joined(shop, path, [7, 1, 30, 23], **query) == long
        assert joined(shop, path, [30, 4], **query) == long


def test_the_long_list_is_in_the_order_in_which_all_pieces_are_ranked(shop: Service) -> None:
    for user in ("ann", "u3", "nobody"):
        ranked = ok(shop.post(f"/s/users/{user}/rank", json={"content": PIECES}))

        assert joined(shop, f"/s/users/{user}/recommendation", [11, 30]) == ranked["content"][:300]


@pytest.mark.parametrize("kind", KINDS)
def test_pages_end_where_300_pieces_are_listed(shop: Service, kind: str) -> None:
    ok(shop.put("/s/placements/row", json={"kind": kind} | ({"content": PIECES} if kind == "picks" else {})))

    assert len(joined(shop, "/s/placements/row/list", [29], user="ann", content="p000"))


def test_pages_of_plain_lists_ascend_by_score_and_id(shop: Service) -> None:
    for path in ("/s/popular", "/s/new", "/s/users/ann/again"):
        found = joined(shop, path, [13, 30])

        assert found == sorted(found, key=lambda each: (each["score"], each["id"]))
        assert len(set(ids(found))) == len(found) == 300


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(KINDS), rules=RULES, takes=TAKES)
def test_pages_of_placements_are_the_one_long_list(
    shop: Service, kind: str, rules: dict[str, Any], takes: list[int]
) -> None:
    members = {"kind": kind} | rules
    members |= {"content": PIECES[::-1]} if kind == "picks" else {}
    if kind in {"because", "keyword"} and rules.get("maxPerValue") == {"genre": 2}:
        # All pieces have one genre in common: no row would be long enough.
        del members["maxPerValue"]
    answer = shop.put("/s/placements/row", json=members)
    if answer.status_code == 422:
        members = {name: each for name, each in members.items() if name not in {"pins", "quotas", "whitelist"}}
        ok(shop.put("/s/placements/row", json=members))
    path, whose = "/s/placements/row/list", {"user": "ann", "content": "p000"}

    long = joined(shop, path, [30], **whose)
    parts = [*pages(shop, path, takes, **whose)]

    # But for scores: where the clock goes on, those of what is new move.
    assert placed(each for part in parts for each in part["content"]) == placed(long)
    assert len(set(ids(long))) == len(long) <= 300
    assert {len(part["content"]) for part in parts[: len(takes)][:-1]} <= set(takes)
    for pin in members.get("pins", []):
        unmet = [each["rule"] for part in parts for each in part.get("unmet", [])]
        assert unmet or long[pin["position"] - 1]["id"] == pin["id"]


def test_a_pin_at_7_is_on_the_second_page_of_five(shop: Service) -> None:
    ok(shop.put("/s/placements/row", json={"kind": "popular", "pins": [{"id": "p200", "position": 7}]}))

    first, second, *_ = pages(shop, "/s/placements/row/list", [5])

    assert ids(first["content"]) == POPULAR[:5]
    assert [(each["id"], each.get("rule"), each.get("displaced")) for each in second["content"]] == [
        (POPULAR[5], None, None),
        ("p200", "pin", POPULAR[6]),
        *[(each, None, None) for each in POPULAR[6:9]],
    ]


def test_limits_per_keyword_are_of_all_pages(shop: Service) -> None:
    ok(shop.put("/s/placements/few", json={"kind": "popular", "maxPerValue": {"genre": 13}}))

    # Every piece has the genre "all".
    assert ids(joined(shop, "/s/placements/few/list", [5])) == POPULAR[:13]


def test_nothing_comes_twice_though_scores_move(shop: Service) -> None:
    path = "/s/users/ann/recommendation"
    answer = shop.get(path, params={"take": 20})
    seen = ids(ok(answer)["content"])
    for number in range(100, 140):
        ok(shop.post(f"/s/users/ann/interactions/RateLike/content/p{number}"))
    shop.submit("s", *[piece(f"new{number}", "g1", "all") for number in range(40)])
    ok(shop.put("/s/whitelist", json=[seen[3], "p100"]))

    while "x-penchant-next" in answer.headers:
        answer = shop.get(path, params={"take": 25, "after": answer.headers["x-penchant-next"]})
        seen += ids(ok(answer)["content"])

    assert len(seen) == len(set(seen)) == 300


@pytest.mark.nodes
def test_a_cursor_of_one_node_goes_on_at_another(nodes: Nodes) -> None:
    with service_on_nodes(nodes) as service:
        service.submit("s", *(piece(f"p{number}", "g") for number in range(12)))
        # The nodes are asked in turn: the cursor comes from one of them, and is taken to both.
        first = service.get("/s/new", params={"take": 5})
        after = {"take": 5, "after": first.headers["x-penchant-next"]}
        second, again = (service.get("/s/new", params=after) for _ in range(2))

    assert ids(ok(second)["content"]) == ids(ok(again)["content"])
    assert len({*ids(ok(first)["content"]), *ids(ok(second)["content"])}) == 10
    assert second.headers["x-penchant-next"] == again.headers["x-penchant-next"]


def test_what_was_listed_counts_for_variety_though_scores_moved(shop: Service) -> None:
    ok(shop.put("/s/settings", json={"maxPerValue": {"genre": 3}, "excludeSeen": False}))
    path = "/s/users/ann/recommendation"
    answer = shop.get(path, params={"take": 2})
    ok(shop.post("/s/users/ann/interactions/RateLike/content/p300"))

    rest = ok(shop.get(path, params={"after": answer.headers["x-penchant-next"]}))

    # All have the genre "all", of which two were listed.
    assert len(rest["content"]) == 1


def test_the_last_page_has_no_next_one(shop: Service) -> None:
    thirty = {"filter": '{"key":"number","lt":30}'}
    exact = shop.get("/s/popular", params=thirty)

    assert "x-penchant-next" in shop.get("/s/popular", params=thirty | {"take": 29}).headers
    assert len(ok(exact)["content"]) == 30
    assert "x-penchant-next" not in exact.headers


def test_similar_content_has_no_pages(shop: Service) -> None:
    answer = shop.get("/s/content/p000/similar?after=x")

    assert "x-penchant-next" not in answer.headers
    assert answer.headers["x-penchant-ignored"] == "after"


def test_people_of_whom_nothing_is_stored_have_cursors_of_their_own(shop: Service) -> None:
    cursors = {}
    for user, other in (("new", "newer"), ("newer", "new"), ("new", "newer")):
        path = f"/s/users/{user}/recommendation"
        first = shop.get(path, params={"take": 5})
        cursors[user] = first.headers["x-penchant-next"]
        second = shop.get(path, params={"take": 5, "after": cursors[user]})

        assert ok(first)["id"] == ok(second)["id"] == user
        assert ids(ok(first)["content"]) + ids(ok(second)["content"]) == ids(ok(shop.get(path))["content"])[:10]
        # Word for word the request that was answered: what is kept is shared by strangers, the cursor is not.
        assert refused(shop.get(f"/s/users/{other}/recommendation", params={"take": 5, "after": cursors[user]}))
    assert refused(shop.get("/s/users/new/recommendation", params={"after": cursors["newer"]}))


def refused(answer: Any) -> bool:
    assert answer.status_code == 422, answer.text
    (fault,) = answer.json()["errors"]
    return "after" in (fault.get("parameter"), fault.get("pointer", "").rpartition("/")[2])


def test_a_cursor_is_of_its_request_alone(shop: Service) -> None:
    shop.submit("t", *[piece(each, "all") for each in PIECES[:50]])
    path = "/s/users/ann/recommendation"
    cursor = shop.get(path, params={"take": 5}).headers["x-penchant-next"]
    other = {"x-api-key": shop.new_key(account="other")}
    shop.submit("s", *[piece(each, "all") for each in PIECES[:50]], key=other["x-api-key"])

    assert refused(shop.get(path, params={"after": cursor, "fill": "false"}))
    assert refused(shop.get(path, params={"after": cursor, "exclude": "p001"}))
    assert refused(shop.get("/s/users/bob/recommendation", params={"after": cursor}))
    assert refused(shop.get("/s/users/ann/again", params={"after": cursor}))
    assert refused(shop.get("/t/users/ann/recommendation", params={"after": cursor}))
    assert refused(shop.get(path, params={"after": cursor}, key=other["x-api-key"]))
    free = {"limit": 3, "include": "label", "explain": "true", "nonsense": "1"}
    assert len(ok(shop.get(path, params={"after": cursor} | free))["content"]) == 3


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_cursor_is_refused(shop: Service, data: st.DataObject) -> None:
    cursor = shop.get("/s/popular", params={"take": 5}).headers["x-penchant-next"]
    place = data.draw(st.integers(0, len(cursor) - 1))
    letters = st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=é")
    damaged = cursor[:place] + data.draw(letters) + cursor[place + data.draw(st.integers(0, 1)) :]

    if damaged != cursor:
        assert refused(shop.get("/s/popular", params={"after": damaged}))
    assert refused(shop.get("/s/popular", params={"after": cursor[:place] or "A"}))


def test_a_cursor_of_299_pieces_fits_into_a_header_and_hides_them(shop: Service) -> None:
    *_, last = itertools.accumulate(
        [30] * 9 + [29],
        lambda answer, take: shop.get("/s/new", params={"take": take, "after": answer.headers["x-penchant-next"]}),
        initial=shop.get("/s/new", params={"take": 1}),
    )
    assert "x-penchant-next" not in last.headers
    cursor = shop.get("/s/new", params={"take": 30}).headers["x-penchant-next"]

    assert len(cursor) < 320
    assert cursor == shop.get("/s/new", params={"take": 30}).headers["x-penchant-next"]


def test_rows_of_a_page_go_on_and_show_nothing_that_the_page_shows(shop: Service) -> None:
    ok(shop.put("/s/placements/new", json={"kind": "new"}))
    ok(shop.put("/s/placements/why", json={"kind": "because", "rows": 2, "fallback": "popular"}))
    wish = {"user": "ann", "lists": [{"placement": "new", "take": 6}, {"placement": "why", "take": 6}]}
    page = ok(shop.post("/s/lists", json=wish))["lists"]
    shown = [each for row in page for each in ids(row["content"])]
    assert len(page) == 3

    wishes = [{"placement": row["placement"], "take": 9, "after": row["next"]} for row in page]
    more = {"user": "ann", "lists": wishes}
    rows = ok(shop.post("/s/lists", json=more))["lists"]

    assert [row.get("seed") for row in rows] == [row.get("seed") for row in page]
    found = [each for row in rows for each in ids(row["content"])]
    assert len({*shown, *found}) == len(shown) + 27
    # The same cursor is good for the list alone.
    alone = shop.get("/s/placements/new/list", params={"user": "ann", "take": 9, "after": page[0]["next"]})
    assert ids(ok(alone)["content"]) == ids(rows[0]["content"])
    wishes[1]["after"] = page[0]["next"]
    assert refused(shop.post("/s/lists", json=more))


def test_each_page_is_a_list_whose_id_proves_what_it_showed(shop: Service) -> None:
    ok(shop.put("/s/placements/row", json={"kind": "popular"}))
    first = shop.get("/s/placements/row/list", params={"take": 5})
    second = shop.get("/s/placements/row/list", params={"take": 5, "after": first.headers["x-penchant-next"]})
    report = {"listId": second.headers["x-penchant-list"], "content": ids(ok(second)["content"])}

    assert shop.post("/s/impressions", json=[report]).status_code == 202
    assert shop.post("/s/impressions", json=[report | {"content": ["p000"]}]).status_code == 422
