"""Pins, quotas and variety of placements: the same for every kind of list, and told where they can't be met."""

from typing import Any

import pytest

from clocks import DAY_CLOCK
from factories import piece
from serving import Service, ok

pytestmark = pytest.mark.usefixtures("noon")

KINDS = ("recommendations", "popular", "new", "similar")
LIKED = [f"p{number:02}" for number in range(40)]
LANGUAGE = {"language": {"pointer": "/language", "type": "keyword"}}
GERMAN = {"key": "language", "any": ["de"]}


@pytest.fixture
def shop(service: Service) -> Service:
    """Forty pieces, each newer, more popular and more like q than the next one; every fifth from p10 on is German."""
    keywords = [f"k{number}" for number in range(40)]
    pieces = [
        piece(
            each,
            *keywords[number:],
            filters={"availableFrom": f"{2020 - number}-01-01T00:00:00Z"},
            extras={"language": "de" if number >= 10 and number % 5 == 0 else "en"},
        )
        for number, each in enumerate(LIKED)
    ]
    service.submit("s", piece("q", *keywords, filters={"availableFrom": "1900-01-01T00:00:00Z"}), *pieces)
    ok(service.put("/s/settings", json={"attributes": LANGUAGE}))
    events = [
        {"userId": f"u{person}", "type": "RateLike", "contentId": each}
        for number, each in enumerate(LIKED)
        for person in range(41 - number)
    ]
    ok(service.post("/s/interactions", json=events))
    return service


def put(service: Service, **members: Any) -> None:
    ok(service.put("/s/placements/home", json=members))


def listed(service: Service, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = ok(service.get("/s/placements/home/list", params={"content": "q", "limit": 10} | params))
    return found


def ids(answer: dict[str, Any]) -> list[str]:
    return [each["id"] for each in answer["content"]]


def plain(service: Service, kind: str) -> list[str]:
    put(service, kind=kind)
    return ids(listed(service))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pin_stands_at_its_place_and_the_others_go_on_around_it(shop: Service, kind: str) -> None:
    before = plain(shop, kind)
    put(shop, kind=kind, pins=[{"id": "p35", "position": 3}, {"id": before[8], "position": 1}])

    found = listed(shop)

    rest = [each for each in before if each != before[8]]
    assert ids(found) == [before[8], rest[0], "p35", *rest[1:8]]
    assert {each["id"]: each["displaced"] for each in found["content"] if each.get("rule") == "pin"} == {
        before[8]: before[0],
        "p35": rest[1],
    }
    assert "unmet" not in found


@pytest.mark.slow
def test_a_pin_that_may_not_be_shown_is_told_and_leaves_its_place(shop: Service) -> None:
    before = plain(shop, "new")
    ok(shop.put("/s/blacklist", json=["p35"]))
    ok(shop.put("/s/users/kim/preferences", json={"hidden": ["p34"]}))
    pins = [{"id": each, "position": at} for at, each in enumerate(["nobody", "p35", "p34", "p33"], start=1)]
    put(shop, kind="recommendations", pins=pins, fallback="new")
    ok(shop.post("/s/users/kim/interactions/Watch/content/p33"))

    found = listed(shop, user="kim")

    assert [(each["rule"], each["why"]) for each in found["unmet"]] == [
        ("/pins/0", "unknown-piece"),
        ("/pins/1", "blacklisted"),
        ("/pins/2", "hidden"),
        ("/pins/3", "seen"),
    ]
    assert ids(found) != before
    assert not any("rule" in each for each in found["content"])


def test_outside_of_its_time_there_is_no_pin(shop: Service) -> None:
    before = plain(shop, "new")
    day, next_day = DAY_CLOCK.midnight(), DAY_CLOCK.midnight(-1)
    put(
        shop,
        kind="new",
        pins=[{"id": "p35", "position": 1, "from": next_day}, {"id": "p34", "position": 2, "until": day}],
    )
    assert (ids(listed(shop)), "unmet" in listed(shop)) == (before, False)

    put(shop, kind="new", pins=[{"id": "p35", "position": 1, "from": day, "until": next_day}])

    assert ids(listed(shop)) == ["p35", *before[:9]]


def test_a_list_too_short_for_a_pin_ends_with_it(shop: Service) -> None:
    put(shop, kind="new", filter=GERMAN, pins=[{"id": "p10", "position": 9}])

    found = listed(shop)

    assert ids(found) == ["p15", "p20", "p25", "p30", "p35", "p10"]
    assert found["unmet"] == [{"rule": "/pins/0", "why": "list-too-short"}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_quota_that_can_t_be_met_is_met_as_far_as_it_can(shop: Service, kind: str) -> None:
    before = plain(shop, kind)
    put(shop, kind=kind, quotas=[{"filter": GERMAN, "atLeast": 8, "of": 10}])

    found = listed(shop)

    assert ids(found) == [*before[:4], "p10", "p15", "p20", "p25", "p30", "p35"]
    assert found["unmet"] == [{"rule": "/quotas/0", "why": "too-few"}]


def test_of_quotas_that_can_t_all_be_met_the_first_counts_first(shop: Service) -> None:
    english = {"key": "language", "any": ["en"]}
    quotas = [{"filter": GERMAN, "atLeast": 3, "of": 4}, {"filter": english, "atLeast": 2, "of": 4}]
    put(shop, kind="new", quotas=quotas)
    first = listed(shop)

    put(shop, kind="new", quotas=quotas[::-1])

    assert ids(first)[:4] == ["p00", "p10", "p15", "p20"]
    assert first["unmet"] == [{"rule": "/quotas/1", "why": "no-place"}]
    assert ids(listed(shop))[:4] == ["p00", "p01", "p10", "p15"]


def test_reasons_name_the_rules(shop: Service) -> None:
    put(shop, kind="new", pins=[{"id": "p35", "position": 1}], quotas=[{"filter": GERMAN, "atLeast": 2, "of": 2}])

    found = listed(shop, explain="true")

    assert [each["why"]["rules"] for each in found["content"][:3]] == [[{"rule": "pin"}], [{"rule": "quota"}], []]


def test_a_variant_has_rules_of_its_own_and_a_preview_shows_them(shop: Service) -> None:
    before = plain(shop, "new")
    variants = [{"name": "none", "share": 0.5, "pins": None}]
    draft = {"kind": "new", "pins": [{"id": "p35", "position": 1}, {"id": "no", "position": 2}], "variants": variants}

    preview = ok(shop.post("/s/preview/placement", json={"name": "home", "placement": draft, "take": 3}))["lists"][0]
    other = ok(
        shop.post("/s/preview/placement", json={"name": "home", "placement": draft, "take": 3, "variant": "none"})
    )["lists"][0]

    assert preview["after"][0] == {
        "id": "p35",
        "score": preview["after"][0]["score"],
        "rule": "pin",
        "displaced": "p00",
    }
    assert preview["unmet"] == [{"rule": "/pins/1", "why": "unknown-piece"}]
    assert [each["id"] for each in other["after"]] == before[:3]


def test_a_page_has_them_too_and_no_piece_twice(shop: Service) -> None:
    put(shop, kind="new", pins=[{"id": "p35", "position": 1}])

    rows = ok(shop.post("/s/lists", json={"lists": [{"placement": "home", "take": 2}] * 2}))["lists"]

    assert [[each["id"] for each in row["content"]] for row in rows] == [["p35", "p00"], ["p01", "p02"]]
    assert rows[1]["unmet"] == [{"rule": "/pins/0", "why": "excluded"}]


def test_quotas_for_some_of_each_other_s_pieces_are_refused_and_the_first_counts_where_they_come_to_be(
    shop: Service,
) -> None:
    year = {"year": {"pointer": "/year", "type": "integer"}}
    ok(shop.put("/s/settings", json={"attributes": LANGUAGE | year}))
    new = {"key": "year", "gte": 1}
    quotas = [{"filter": GERMAN, "atLeast": 1, "of": 2}, {"filter": new, "atLeast": 1, "of": 3}]
    put(shop, kind="new", quotas=quotas)
    both = piece("both", filters={"availableFrom": "1950-01-01T00:00:00Z"}, extras={"language": "de", "year": 2})
    shop.submit("s", both)
    put(shop, kind="new", quotas=quotas)
    nested = ids(listed(shop))
    shop.submit("s", both | {"id": "other", "extras": {"year": 2}})

    own = {"variants": [{"name": "v", "share": 0.5, "quotas": quotas}]}
    for members, place in (({"quotas": quotas}, ""), (own, "/variants/0")):
        answer = shop.put("/s/placements/home", json={"kind": "new"} | members)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"{place}/quotas/1/filter")
    assert nested[:3] == ["p00", "p10", "both"]
    assert ids(listed(shop))[:3] == ["p00", "p10", "other"]


def test_a_pin_may_be_of_a_piece_that_was_not_picked(service: Service) -> None:
    service.submit("s", *(piece(each, "x", each) for each in "abcd"))
    pins = [{"id": "d", "position": 1}]
    rules = {"kind": "picks", "content": ["c", "a"], "pins": pins}
    assert service.put("/s/placements/row", json=rules).status_code == 200

    content = service.get("/s/placements/row/list?explain=true").json()["content"]
    assert [(each["id"], each.get("rule")) for each in content] == [("d", "pin"), ("c", None), ("a", None)]
    assert content[0]["displaced"] == "c"


def test_a_better_piece_behind_a_hundred_of_one_author_is_found_beside_a_quota(service: Service) -> None:
    authors = [*["one"] * 150, "two", *(f"other {number}" for number in range(40))]
    pieces = [
        {
            "id": f"p{number:03}",
            "categories": {"author": [author]},
            "filters": {"availableFrom": f"{2020 - number}-01-01T00:00:00Z"},
            "extras": {"language": "de" if author.startswith("other") else "en"},
        }
        for number, author in enumerate(authors)
    ]
    service.submit("s", *pieces)
    ok(service.put("/s/settings", json={"attributes": LANGUAGE}))
    put(service, kind="new", maxPerValue={"author": 1}, quotas=[{"filter": GERMAN, "atLeast": 1, "of": 10}])

    assert ids(listed(service))[:4] == ["p000", "p150", "p151", "p152"]


@pytest.mark.slow
def test_rows_that_cannot_be_met_are_full_and_leave_others_of_the_page_theirs(service: Service) -> None:
    """Of 60 pieces each the best share a series, of which a list may have one: much is looked at."""
    pieces = [
        piece(
            f"p{number:04}",
            categories={"series": [f"s{number // 60}"], "genre": [f"k{number % 9}", f"m{number % 7}"]},
            extras={"language": ("de", "fr", "it", "en")[number % 4]},
            filters={"availableFrom": f"2020-01-01T00:00:00.{999 - number // 4:03}Z"},
        )
        for number in range(2_000)
    ]
    for begin in range(0, len(pieces), 1_000):
        service.submit("s", *pieces[begin : begin + 1_000])
    ok(service.put("/s/settings", json={"attributes": LANGUAGE}))
    quotas = [{"filter": {"key": "language", "any": [each]}, "atLeast": 5, "of": 10} for each in ("de", "fr", "it")]
    hard = {"kind": "new", "maxPerValue": {"series": 1, "genre": 9}, "quotas": quotas}
    names = [f"hard-{number}" for number in range(19)]
    for name in names:
        ok(service.put(f"/s/placements/{name}", json=hard))
    ok(service.put("/s/placements/easy", json={"kind": "new", "maxPerValue": {"genre": 9}, "quotas": quotas[:2]}))
    alone = ok(service.get("/s/placements/easy/list"))
    wish = {"lists": [{"placement": each} for each in [*names, "easy"]]}

    page, again = (ok(service.post("/s/lists", json=wish))["lists"] for _ in range(2))

    # Scores of what is new go by the moment.
    assert [ids(each) for each in page] == [ids(each) for each in again]
    assert all(row["unmet"] for row in page[:-1])
    assert {len(row["content"]) for row in page} == {30}
    assert "unmet" not in alone
    assert "unmet" not in page[-1]
