"""Every reason why a piece is not in a list, and every way to ask wrongly (interface, section 9)."""

from datetime import timedelta
from typing import Any

import pytest

from clocks import DAY_CLOCK
from factories import piece, weighted
from serving import Service, ok

pytestmark = pytest.mark.usefixtures("noon")


def codes(place: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(reason["code"], reason["remedy"]) for reason in place["reasons"]]


def test_of_an_outranked_piece_the_rank_among_all_is_told(service: Service) -> None:
    near = [piece(f"p{number:02}", "x", "y") for number in range(40)]
    service.submit("s", piece("q", "x", "y"), *near, piece("far", "x"), piece("further", "x", "z"))
    service.put("/s/blacklist", json=["p00"])

    far = ok(service.get("/s/content/q/why/far"))

    assert codes(far) == [("outranked", None)]
    assert far["reasons"][0]["detail"].endswith("number 40.")
    assert ok(service.get("/s/content/q/why/further"))["reasons"][0]["detail"].endswith("number 41.")
    assert codes(ok(service.get("/s/content/q/why/p31"))) == [("outranked", None)]
    assert codes(ok(service.get("/s/content/q/why/p30?take=3"))) == [("outranked", {"limit": 30})]
    assert ok(service.get("/s/content/q/why/p30"))["rank"] == 30


def test_of_an_outranked_recommendation_the_rank_among_all_is_told(service: Service) -> None:
    service.submit("s", *(piece(f"p{number:02}", "x") for number in range(40)))
    service.post("/s/users/u/interactions/Play/content/p39")

    assert ok(service.get("/s/users/u/why/p39"))["rank"] == 1
    last = ok(service.get("/s/users/u/why/p38"))
    assert codes(last) == [("outranked", None)]
    assert last["reasons"][0]["detail"].endswith("number 40.")
    assert codes(ok(service.get("/s/users/u/why/p09?take=5&algo=jaccard"))) == [("outranked", {"take": 10})]


def test_the_whitelist_is_named_and_counts_for_ranks(service: Service) -> None:
    service.submit("s", piece("q", "x", "y"), piece("a", "x", "y"), piece("b", "x"), piece("c", "y"))
    service.put("/s/whitelist", json=["no", "c"])

    explained = ok(service.get("/s/content/q/similar?explain=true"))["content"]

    assert [(each["id"], each["why"]["rules"]) for each in explained] == [
        ("c", [{"rule": "whitelist", "position": 1}]),
        ("a", []),
        ("b", []),
    ]
    assert ok(service.get("/s/content/q/why/c"))["rank"] == 1
    assert codes(ok(service.get("/s/content/q/why/a?take=1"))) == [("outranked", {"limit": 2})]


def test_a_change_that_is_not_enough_is_told_with_the_rank_after_it(service: Service) -> None:
    service.submit("s", piece("q", "x", "y"), piece("a", "x", "y"), piece("b", "x"))
    service.put("/s/blacklist", json=["b"])

    place = ok(service.get("/s/content/q/why/b?take=1"))

    assert codes(place) == [("blacklisted", None), ("outranked", None)]
    assert place["reasons"][1]["detail"].endswith("would then be number 2.")
    assert place["score"] == 0.5


def test_several_reasons_have_no_remedies(service: Service) -> None:
    service.submit("s", piece("q", "x"), piece("b", "y", filters={"catalogs": ["c"]}), piece("c", "x"))
    service.put("/s/blacklist", json=["b"])

    place = ok(service.get("/s/content/q/why/b?catalogs=d"))

    assert codes(place) == [("blacklisted", None), ("catalog", None), ("nothing-in-common", None)]
    assert (place["score"], place["why"]) == (1.0, {"terms": [], "rules": []})


def test_what_is_missing_is_told_and_what_is_asked_about_must_be_there(service: Service) -> None:
    service.submit("s", piece("q", "x"))

    assert codes(ok(service.get("/s/content/q/why/no"))) == [("unknown-piece", None)]
    assert codes(ok(service.get("/s/content/q/why/q"))) == [("same-piece", None)]
    assert codes(ok(service.get("/s/users/u/why/no"))) == [("unknown-piece", None)]
    assert ok(service.get("/s/users/u/why/no"))["score"] is None


def test_a_window_that_opens_later_today_has_tomorrow_as_remedy(service: Service) -> None:
    now = DAY_CLOCK.now()
    soon = now + timedelta(seconds=50)
    opening = {"availableFrom": soon.isoformat()}
    service.submit("s", piece("q", "x"), piece("soon", "x", filters=opening))

    remedy = {"at": str((soon if soon.date() > now.date() else soon + timedelta(days=1)).date())}

    assert codes(ok(service.get("/s/content/q/why/soon"))) == [("window", remedy)]
    assert ok(service.get(f"/s/content/q/why/soon?at={remedy['at']}"))["rank"] == 1


@pytest.mark.parametrize(
    ("begins", "ends", "query", "remedy"),
    (
        ("2020-01-01T10:00:00Z", "2020-01-01T12:00:00Z", "", None),
        ("2020-01-01T10:00:00Z", "2020-01-02T00:00:00Z", "", {"at": "2020-01-01"}),
        ("2020-01-01T10:00:00Z", "2020-01-03T12:00:00Z", "", {"at": "2020-01-02"}),
        ("2020-01-01T10:00:00Z", None, "?at=2019-12-31", {"remove": "at"}),
        ("2020-01-01T10:00:00Z", "2020-01-03T12:00:00Z", "?at=2019-01-01", {"at": "2020-01-01"}),
        ("9999-12-31T23:59:59.999Z", None, "", {"at": "9999-12-31"}),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z", "", None),
        ("0001-01-01T00:00:00Z", "0001-01-01T23:59:59.999Z", "", None),
    ),
)
def test_of_a_closed_window_the_nearest_day_is_told(
    service: Service, begins: str, ends: str | None, query: str, remedy: Any
) -> None:
    service.submit("s", piece("q", "x"), piece("a", "x", filters={"availableFrom": begins, "availableUntil": ends}))

    assert codes(ok(service.get(f"/s/content/q/why/a{query}"))) == [("window", remedy)]
    assert codes(ok(service.get(f"/s/users/u/why/a{query}"))) == [("window", remedy)]


def test_a_piece_in_no_catalog_is_shown_without_any_asked_for(service: Service) -> None:
    service.submit("s", piece("q", "x"), piece("a", "x"), piece("b", "x", filters={"catalogs": ["one,two", "c"]}))

    assert codes(ok(service.get("/s/content/q/why/a?catalogs=c"))) == [("catalog", {"remove": "catalogs"})]
    assert codes(ok(service.get("/s/content/q/why/b?catalogs=d"))) == [("catalog", {"catalogs": ["c", "one,two"]})]


def test_what_a_person_knows_and_what_nothing_speaks_for_can_be_let_in(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"))
    service.post("/s/users/u/interactions/RateLike/content/a")

    assert codes(ok(service.get("/s/users/u/why/a"))) == [("seen", {"include-seen": True})]
    assert codes(ok(service.get("/s/users/u/why/b?fill=false&algo=cosine"))) == [("no-fill", {"fill": True})]
    filled = ok(service.get("/s/users/u/why/b?algo=cosine"))
    assert (filled["rank"], filled["score"], filled["why"]["rules"]) == (1, 1.0, [{"rule": "fill"}])


def test_a_disliked_keyword_has_a_negative_share(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x", "y"), piece("c", "y"))
    service.post("/s/users/u/interactions/RateDislike/content/a")

    place = ok(service.get("/s/users/u/why/b?algo=cosine"))

    content = place["why"]["parts"][0]
    assert [(each["keyword"], each["share"] < 0) for each in content["terms"]] == [("x", True)]
    assert content["share"] == pytest.approx(content["terms"][0]["share"])
    assert (place["score"], place["rank"]) == (1.0, 2)


def test_liked_pieces_are_named_where_three_people_like_both(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"), piece("c", "z"), piece("d", "z"))
    body = [
        {"userId": user, "type": "Play", "contentId": liked}
        for user, own in (("1", "ab"), ("2", "ab"), ("3", "abc"), ("4", "ac"), ("u", "a"))
        for liked in own
    ]
    ok(service.post("/s/interactions", json=body))

    places = {name: ok(service.get(f"/s/users/u/why/{name}")) for name in "bcd"}

    audience = {name: place["why"]["parts"][1] for name, place in places.items()}
    assert [each["id"] for each in audience["b"]["pieces"]] == ["a"]
    assert audience["b"]["pieces"][0]["share"] == pytest.approx(audience["b"]["share"])
    assert (audience["c"]["share"] > 0, audience["c"]["pieces"]) == (True, [])
    # Only c, which stands in for d, is liked with a: by two people.
    assert (audience["d"]["share"] > 0, audience["d"]["pieces"]) == (True, [])
    for place in places.values():
        assert 1 - sum(part["share"] for part in place["why"]["parts"]) == pytest.approx(place["score"], abs=1e-9)


def test_what_a_stand_in_lends_names_the_like_and_the_stand_in(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"), piece("new", "y"))
    body = [{"userId": user, "type": "RateLike", "contentId": liked} for user in ("1", "2", "3", "u") for liked in "ab"]
    ok(service.post("/s/interactions", json=body))

    audience = ok(service.get("/s/users/u/why/new"))["why"]["parts"][1]

    named = {(each["id"], each.get("through")): each["share"] for each in audience["pieces"]}
    assert named.keys() == {("a", "b"), ("b", "b")}
    assert sum(named.values()) == pytest.approx(audience["share"])


def test_answers_with_reasons_have_a_tag_of_their_own(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))

    plain = service.get("/s/content/a/similar")
    false = service.get("/s/content/a/similar?explain=false")
    explained = service.get("/s/content/a/similar?explain=true")

    assert plain.content == false.content == b'{"id":"a","content":[{"id":"b","score":0.0}]}'
    assert plain.headers["etag"] == false.headers["etag"] != explained.headers["etag"]
    unchanged = service.get("/s/content/a/similar?explain=true", headers={"if-none-match": explained.headers["etag"]})
    assert unchanged.status_code == 304


def test_ids_in_paths_are_decoded_once(service: Service) -> None:
    service.submit("s", piece("a/b", "x"), piece("why/?", "x"))

    place = ok(service.get("/s/content/a%2Fb/why/why%2F%3F"))

    assert (place["id"], place["contentId"], place["rank"]) == ("a/b", "why/?", 1)
    assert service.get("/s/content/a%2Fb/why/").status_code == 404
    assert service.get("/s/content/a%2Fb/why/%zz").status_code == 400
    assert service.get(f"/s/content/a%2Fb/why/{'x' * 501}").status_code == 422
    assert service.post("/s/content/a%2Fb/why/x").headers["allow"] == "GET, HEAD"


def test_lists_for_several_pieces_are_those_one_by_one(service: Service) -> None:
    service.submit("s", piece("a", "x", "y"), piece("b", "x"), piece("c", "y", "z"), weighted("d", x=2))

    several = ok(service.post("/s/similar?limit=2&algo=jaccard", json=["c", "no", "a", "c"]))

    assert [each["id"] for each in several] == ["c", "no", "a", "c"]
    for entry in (several[0], several[2], several[3]):
        one = ok(service.get(f"/s/content/{entry['id']}/similar?limit=2&algo=jaccard"))
        assert entry == one
    assert several[1]["error"] == service.get("/s/content/no/similar").json()
    explained = ok(service.post("/s/similar?explain=true", json=["c"]))
    assert explained == [ok(service.get("/s/content/c/similar?explain=true"))]
    assert ok(service.post("/s/similar", json=[])) == []


def test_beside_a_lone_piece_an_unknown_one_is_told_among_several(service: Service) -> None:
    service.submit("s", piece("a", "x"))

    assert ok(service.post("/s/similar", json=["no"]))[0]["error"]["code"] == "unknown-piece"
