"""Similar content by what people like: `by=audience` and `by=both` (interface, section 9)."""

from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audience_reference import Reference
from factories import piece
from serving import Service
from strategies import CATALOGUES, examples

BASES = ("audience", "both")
UNIT = 1 << 20
KINDS = st.sampled_from(["Click", "Play", "Watch", "Purchase", "RateLike", "RateDislike"])
EVENTS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 10), KINDS), max_size=50)
NUMBERS = count()


def record(service: Service, source: str, events: list[tuple[str, str, str]]) -> dict[str, str]:
    """Record who did what with which piece, and return the headers that wait until it counts."""
    body = [{"userId": user, "contentId": piece_id, "type": kind} for user, piece_id, kind in events]
    answer = service.post(f"/{source}/interactions", json=body)
    return {"x-penchant-min-audience-version": answer.headers["x-penchant-interactions-version"]}


def liked_together(service: Service, *, people: int, liked: str = "qb") -> dict[str, str]:
    """Have so many people like the same pieces."""
    return record(service, "s", [(f"u{number}", each, "RateLike") for number in range(people) for each in liked])


def entries(service: Service, path: str, headers: dict[str, str]) -> list[tuple[str, float]]:
    answer = service.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    return [(entry["id"], entry["score"]) for entry in answer.json()["content"]]


def ids(service: Service, query: str, headers: dict[str, str]) -> list[str]:
    return [piece_id for piece_id, _ in entries(service, f"/s/content/q/similar{query}", headers)]


@pytest.fixture
def films(service: Service) -> Service:
    """Pieces of which ``a`` is like ``q`` by its keyword, ``b`` and ``c`` are not."""
    shown = {"catalogs": ["shown"]}
    service.submit("s", piece("q", "x"), piece("a", "x"), piece("b", "y", filters=shown), piece("c", "z"))
    return service


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(pieces=CATALOGUES.filter(lambda pieces: len(pieces) > 1), events=EVENTS)
def test_lists_are_those_of_the_words(
    service: Service, pieces: list[dict[str, Any]], events: list[tuple[int, int, str]]
) -> None:
    source = f"s{next(NUMBERS)}"
    for part in (pieces[::2], pieces[1::2]):
        service.submit(source, *part)
    names = sorted(each["id"] for each in pieces)
    done = [(f"u{user}", names[number % len(names)], kind) for user, number, kind in events]
    headers = record(service, source, done)

    told = [
        {"userId": user, "contentId": piece_id, "type": kind, "at": order}
        for order, (user, piece_id, kind) in enumerate(done)
    ]
    reference = Reference(pieces, told)
    for queried in names:
        path = f"/{source}/content/{queried}/similar"
        content = dict(entries(service, path, {}))
        likes = {j: row[queried] for j, row in reference.columns.items() if row.get(queried, 0) > 0}
        assert entries(service, f"{path}?by=audience", headers) == in_order(
            {j: 1 - Fraction(value, UNIT) for j, value in likes.items()}
        )
        assert entries(service, f"{path}?by=both", headers) == in_order(
            {
                j: (Fraction(str(content.get(j, 1))) + 1 - Fraction(min(UNIT, likes.get(j, 0)), UNIT)) / 2
                for j in content.keys() | likes.keys()
            }
        )


def in_order(distances: dict[str, Fraction]) -> list[tuple[str, float]]:
    keys = {piece_id: round(distance * 10**12) for piece_id, distance in distances.items()}
    return [(each, max(0, keys[each]) / 10**12) for each in sorted(keys, key=lambda each: (keys[each], each))]


def test_content_is_what_lists_go_by_unless_asked(films: Service) -> None:
    headers = liked_together(films, people=3)

    assert ids(films, "", headers) == ids(films, "?by=content", headers) == ["a"]
    assert ids(films, "?by=audience", headers) == ["b"]
    assert ids(films, "?by=both", headers) == ["a", "b"]


def test_rules_of_lists_hold_by_whatever_they_go(films: Service) -> None:
    headers = liked_together(films, people=3, liked="qbc")
    films.put("/s/whitelist", json=["c"])

    assert ids(films, "?by=audience", headers) == ["c", "b"]
    assert ids(films, "?by=audience&limit=1", headers) == ["c"]
    assert ids(films, "?by=audience&catalogs=shown", headers) == ["b"]
    assert ids(films, "?by=both&exclude=a&exclude=c", headers) == ["b"]
    assert ids(films, "?by=audience&at=2000-01-01", headers) == []
    films.put("/s/blacklist", json=["c"])
    assert ids(films, "?by=audience", headers) == ["b"]


def test_a_piece_that_nobody_likes_has_no_audience(films: Service) -> None:
    assert ids(films, "?by=audience", {}) == []
    assert ids(films, "?by=both", {}) == ["a"]


@pytest.mark.parametrize("basis", BASES)
def test_new_likes_change_list_and_tag_without_a_new_version(films: Service, basis: str) -> None:
    path = f"/s/content/q/similar?by={basis}"
    before = films.get(path, headers=liked_together(films, people=3))
    after = films.get(path, headers=liked_together(films, people=4, liked="qc"))

    assert before.headers["x-penchant-version"] == after.headers["x-penchant-version"]
    assert before.content != after.content
    assert before.headers["etag"] != after.headers["etag"]
    assert films.get(path, headers={"if-none-match": after.headers["etag"]}).status_code == 304
    assert int(before.headers["x-penchant-audience-version"]) < int(after.headers["x-penchant-audience-version"])
    assert "x-penchant-audience-version" not in films.get("/s/content/q/similar").headers


def test_an_erased_person_leaves_the_list(films: Service) -> None:
    liked_together(films, people=1)
    erased = films.delete("/s/users/u0").headers["x-penchant-interactions-version"]

    assert ids(films, "?by=audience", {"x-penchant-min-audience-version": erased}) == []


@pytest.mark.parametrize("basis", BASES)
def test_shares_add_up_to_the_similarity(films: Service, basis: str) -> None:
    films.submit("s", piece("q", "x", "y"))
    headers = liked_together(films, people=3, liked="qab")

    content = films.get(f"/s/content/q/similar?by={basis}&explain=true", headers=headers).json()["content"]

    assert {entry["id"] for entry in content} == {"a", "b"}
    for entry in content:
        shares = [term["share"] for term in entry["why"]["terms"]]
        assert len(shares) == (basis == "both")
        assert sum(shares) + entry["why"]["audience"] == pytest.approx(1 - entry["score"])


def test_nothing_is_told_of_what_fewer_than_three_people_like(films: Service) -> None:
    def why(headers: dict[str, str]) -> dict[str, Any]:
        answer = films.get("/s/content/q/similar?by=audience&explain=true", headers=headers)
        return dict(answer.json()["content"][0]["why"])

    assert why(liked_together(films, people=2)) == {"terms": [], "rules": []}
    assert "audience" in why(liked_together(films, people=3))
    assert "audience" not in films.get("/s/content/q/similar?explain=true").json()["content"][0]["why"]


def test_why_goes_by_the_same(films: Service) -> None:
    headers = liked_together(films, people=3)
    (listed,) = entries(films, "/s/content/q/similar?by=audience", headers)

    found = films.get("/s/content/q/why/b?by=audience", headers=headers).json()
    missing = films.get("/s/content/q/why/a?by=audience", headers=headers).json()
    behind = films.get("/s/content/q/why/b?by=both&limit=1", headers=headers).json()

    assert (found["contentId"], found["score"], found["rank"]) == (*listed, 1)
    assert [reason["code"] for reason in missing["reasons"]] == ["nothing-in-common"]
    assert (missing["rank"], missing["score"]) == (None, 1.0)
    assert behind["reasons"][0]["remedy"] == {"limit": 2}


@pytest.mark.parametrize("basis", BASES)
def test_lists_for_many_are_those_for_one(films: Service, basis: str) -> None:
    headers = liked_together(films, people=3)

    many = films.post(f"/s/similar?by={basis}", json=["q", "b", "none"], headers=headers)

    one_by_one = [films.get(f"/s/content/{each}/similar?by={basis}", headers=headers).json() for each in "qb"]
    assert many.json()[:2] == one_by_one
    assert many.json()[2]["error"]["code"] == "unknown-piece"
    assert int(many.headers["x-penchant-audience-version"]) >= int(headers["x-penchant-min-audience-version"])
