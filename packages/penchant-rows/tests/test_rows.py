"""Rows of a page about what a person likes, against a plain definition: which seeds, and what stands in each row."""

import hashlib
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import DAY_CLOCK
from serving import Service, ok
from strategies import examples

pytestmark = pytest.mark.usefixtures("noon")

NUMBERS = count()
PIECES = {
    f"p{number:02}": {"genre": [f"g{number % 4}", f"h{number % 7}"], "saga": [f"s{number % 3}"] if number % 2 else []}
    for number in range(36)
}
POSITIVE = {"Click": 1, "Play": 4, "Watch": 9, "RateLike": 16, "Purchase": 16}
"""Grades of likes by type (interface, section 6)."""
VALUES = {"Click": 1, "Play": 2, "Watch": 3, "RateLike": 4, "Purchase": 5}
DID = st.lists(
    st.tuples(st.sampled_from(sorted(POSITIVE)), st.sampled_from(sorted(PIECES))),
    max_size=9,
    unique_by=lambda each: each[1],
)


@pytest.fixture
def shop(service: Service) -> Service:
    """A source of three dozen pieces, and a placement beside the rows."""
    service.submit("s", *[{"id": each, "categories": categories} for each, categories in PIECES.items()])
    ok(service.put("/s/placements/newest", json={"kind": "new"}))
    return service


def acting(service: Service, did: list[tuple[str, str]]) -> str:
    """Let a new person do some things now, and return the person's id."""
    user = f"u{next(NUMBERS)}"
    now = f"{datetime.fromtimestamp(DAY_CLOCK(), UTC):%Y-%m-%dT%H:%M:%S}.000Z"
    sent = [{"userId": user, "type": kind, "contentId": each, "timestamp": now} for kind, each in did]
    answer = service.post("/s/interactions", json=sent)
    assert answer.status_code == 200, answer.text
    # What all people like is known then: otherwise it may become so between two lists that are compared.
    version = answer.headers["x-penchant-interactions-version"]
    ok(service.get("/s/popular", headers={"x-penchant-min-audience-version": version}))
    return user


def ids_of(entry: Any) -> list[str]:
    return [each["id"] for each in entry["content"]]


def page(service: Service, user: str | None, *placements: str, take: int = 30, **more: Any) -> list[Any]:
    wish = {"lists": [{"placement": each, "take": take} for each in placements], **more}
    found = ok(service.post("/s/lists", json=wish | ({} if user is None else {"user": user})))["lists"]
    assert all("error" not in each for each in found), found
    return list(found)


def day_hash(user: str, mark: str) -> bytes:
    day = f"{datetime.fromtimestamp(DAY_CLOCK(), UTC):%Y-%m-%d}"
    return hashlib.blake2b(f"{day}\0{user}\0{mark}".encode(), digest_size=8).digest()


def rows_by_definition(user: str, seeds: list[Any], count: int, take: int, listed: Any) -> list[tuple[str, list[str]]]:
    """Return marks and pieces of the rows; ``seeds`` are marks in order with their series, ``listed`` makes a list."""
    pool: list[tuple[str, frozenset[str]]] = []
    passed: set[str] = set()
    while True:
        pool = []
        for mark, series in seeds:
            is_new = not series or all(not series <= other for _, other in pool)
            if mark not in passed and is_new and len(listed(mark, set())) >= 5 and len(pool) < 3 * count:
                pool.append((mark, series))
        today = sorted(pool, key=lambda each: day_hash(user, each[0]))[:count]
        shown: set[str] = set()
        rows: list[tuple[str, list[str]]] = []
        for mark, _ in (each for each in pool if each in today):
            content = listed(mark, shown)
            if len(content) < 5:
                passed.add(mark)
                break
            rows.append((mark, content[:take]))
            shown.update(content[:take])
        else:
            return rows


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(did=DID, rows=st.integers(1, 4), take=st.sampled_from([3, 6, 30]), seen=st.booleans())
def test_because_rows_are_what_is_similar_to_liked_pieces(
    shop: Service, *, did: list[tuple[str, str]], rows: int, take: int, seen: bool
) -> None:
    user = acting(shop, did)
    wanted = {"kind": "because", "rows": rows, "excludeSeen": not seen, "fallback": "new"}
    ok(shop.put("/s/placements/since", json=wanted))
    known = {each for kind, each in did if kind not in {"Click", "Play"} and not seen}
    similar = {each: ids_of(ok(shop.get(f"/s/content/{each}/similar?take=30"))) for _, each in did}
    every = {
        each: ids_of(ok(shop.get(f"/s/content/{each}/similar?take=30&" + "&".join(f"exclude={k}" for k in known))))
        for each in similar
    }

    def listed(mark: str, shown: set[str]) -> list[str]:
        query = "&".join(f"exclude={each}" for each in known | shown)
        return every[mark] if not shown else ids_of(ok(shop.get(f"/s/content/{mark}/similar?take=30&{query}")))

    found = page(shop, user, "since", take=take)

    order = sorted(did, key=lambda each: (-POSITIVE[each[0]], -VALUES[each[0]], each[1]))
    expected = rows_by_definition(user, [(each, frozenset()) for _, each in order], rows, take, listed)
    if not expected:
        assert [(each["kind"], "seed" in each) for each in found] == [("new", False)]
        return
    assert [(each["seed"]["contentId"], ids_of(each)) for each in found] == expected
    assert {each["since"][:10] for each in found} == {f"{datetime.fromtimestamp(DAY_CLOCK(), UTC):%Y-%m-%d}"}
    one = ok(shop.get(f"/s/placements/since/list?user={user}&take={take}"))
    assert (one["seed"], one["content"]) == (found[0]["seed"], found[0]["content"])


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(did=DID, rows=st.integers(1, 4), take=st.sampled_from([3, 6, 30]))
def test_keyword_rows_are_the_best_pieces_that_have_a_liked_keyword(
    shop: Service, did: list[tuple[str, str]], rows: int, take: int
) -> None:
    user = acting(shop, did)
    ok(shop.put("/s/placements/words", json={"kind": "keyword", "rows": rows}))
    best = [each["id"] for each in rank_of_all(shop, user)]

    def listed(mark: str, shown: set[str]) -> list[str]:
        category, keyword = mark.split("\0")
        return [each for each in best if keyword in PIECES[each][category] and each not in shown]

    found = page(shop, user, "words", take=take)

    profile = ok(shop.get(f"/s/users/{user}/recommendation/profile"))
    scores = {
        (category, keyword): score
        for category, keywords in (profile[0]["categories"] if profile else {}).items()
        for keyword, score in keywords.items()
        if score > 0
    }
    order = sorted(scores, key=lambda term: (-scores[term], term))
    seeds = [("\0".join(term), frozenset[str]()) for term in order]
    expected = rows_by_definition(user, seeds, rows, take, listed)
    shown = [("\0".join(each["seed"].values()), ids_of(each)) for each in found if "seed" in each]
    assert shown == expected
    assert bool(expected) or found[0]["content"] == []
    assert all("since" not in each for each in found)


def rank_of_all(service: Service, user: str) -> list[Any]:
    return list(ok(service.post(f"/s/users/{user}/rank", json={"content": sorted(PIECES)}))["content"])


def test_no_piece_comes_twice_on_a_page_with_rows(shop: Service) -> None:
    user = acting(shop, [("RateLike", "p01"), ("RateLike", "p02"), ("Watch", "p07"), ("Play", "p12")])
    ok(shop.put("/s/placements/since", json={"kind": "because", "rows": 3}))
    ok(shop.put("/s/placements/words", json={"kind": "keyword", "rows": 2}))

    found = page(shop, user, "newest", "since", "words", take=3, exclude=["p20"])

    shown = [each for one in found for each in ids_of(one)]
    assert [each["placement"] for each in found] == ["newest", *["since"] * 3, *["words"] * 2]
    assert len(set(shown)) == len(shown)
    assert "p20" not in shown
    assert len({each["listId"] for each in found}) == len(found)


def test_of_a_series_one_piece_has_a_row(shop: Service) -> None:
    # p01, p07 and p13 are of one saga, p02 is of none.
    user = acting(shop, [("RateLike", "p01"), ("RateLike", "p07"), ("RateLike", "p13"), ("Click", "p02")])
    rows = {"kind": "because", "rows": 5}
    ok(shop.put("/s/placements/all", json=rows))
    ok(shop.put("/s/placements/one", json=rows | {"seriesCategory": "saga"}))

    def seeds(name: str) -> list[str]:
        return [each["seed"]["contentId"] for each in page(shop, user, name, take=1)]

    assert seeds("all") == ["p01", "p07", "p13", "p02"]
    assert seeds("one") == ["p01", "p02"]


def test_nobody_and_who_likes_nothing_have_no_rows(shop: Service) -> None:
    disliking = acting(shop, [])
    ok(shop.post(f"/s/users/{disliking}/interactions/RateDislike/content/p01"))
    for kind in ("because", "keyword"):
        ok(shop.put("/s/placements/empty", json={"kind": kind}))
        ok(shop.put("/s/placements/filled", json={"kind": kind, "fallback": "new"}))
        for user in (None, disliking, "stranger"):
            empty, filled = page(shop, user, "empty", "filled")
            assert (empty["kind"], empty["content"]) == (kind, [])
            assert (filled["kind"], "seed" in filled, len(filled["content"])) == ("new", False, 30)


def test_rows_have_reasons_and_are_previewed(shop: Service) -> None:
    user = acting(shop, [("RateLike", "p01"), ("Watch", "p06")])
    for kind in ("because", "keyword"):
        ok(shop.put("/s/placements/row", json={"kind": kind, "rows": 2}))
        listed = ok(shop.get(f"/s/placements/row/list?user={user}&explain=true"))
        assert listed["content"]
        assert all("why" in each for each in listed["content"])
        wish = {"name": "row", "placement": {"kind": kind, "rows": 2}, "users": [user]}
        (preview,) = ok(shop.post("/s/preview/placement", json=wish))["lists"]
        assert ids_of({"content": preview["after"]}) == ids_of(listed)
