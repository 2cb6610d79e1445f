"""Lists go by what people like soon after what, under the setting `order`, and say so (interface, section 6)."""

import random
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from factories import piece
from penchant.settings import NodeSettings
from serving import Applications, Service, ok
from visitors import Visitor, text_of, words

PARTS = [f"part-{number:02}" for number in range(20)]
HOUR_S = 3_600


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def course(people: int, *, gap_s: float | None = None) -> list[dict[str, Any]]:
    """Return what people did who go through the parts in their order, from somewhere on, at moments of chance."""
    chance, begin = random.Random(people), time.time() // HOUR_S * HOUR_S - 20 * 86_400
    events = []
    for number in range(people):
        first, at = chance.randrange(len(PARTS) - 9), begin
        for each in PARTS[first : first + 9]:
            at += gap_s or chance.uniform(1, 20 * HOUR_S)
            events.append({"userId": f"u{number}", "type": "RateLike", "contentId": each, "timestamp": moment(at)})
    return events


def record(service: Service, events: list[dict[str, Any]]) -> dict[str, str]:
    """Record interactions, and return the headers that wait until they count."""
    answer = service.post("/s/interactions", json=events)
    ok(answer)
    return {"x-penchant-min-audience-version": answer.headers["x-penchant-interactions-version"]}


def liking(user: str, piece_id: str, days_ago: float = 0.0) -> dict[str, Any]:
    at = moment(time.time() - days_ago * 86_400 - 60)
    return {"userId": user, "type": "RateLike", "contentId": piece_id, "timestamp": at}


def listed(service: Service, user: str, headers: dict[str, str], query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(service.get(f"/s/users/{user}/recommendation{query}", headers=headers))["content"]
    return found


def audience_of(entry: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in entry["why"]["parts"] if each["part"] == "audience")


@pytest.fixture
def parts(service: Service) -> Service:
    service.submit("s", *(piece(each, each[-1], filters={"availableFrom": "2020-01-01T00:00:00Z"}) for each in PARTS))
    return service


def test_the_next_part_comes_first_with_its_reason(parts: Service) -> None:
    headers = record(parts, [*course(150), *(liking("ada", each, 5 - place) for place, each in enumerate(PARTS[2:6]))])

    first = listed(parts, "ada", headers, "?explain=true")[0]

    part = audience_of(first)
    after = next(each for each in part["pieces"] if each.get("soonAfter"))
    assert (first["id"], after["id"]) == ("part-06", "part-05")
    assert sum(each["share"] for each in part["pieces"]) == pytest.approx(part["share"], abs=1e-9)
    assert ok(parts.get("/s/users/ada/why/part-06", headers=headers))["why"] == first["why"]


def test_the_same_likes_give_the_same_bytes_in_both_databases(parts: Service, postgresql: str, tmp_path: Path) -> None:
    """Beside the service of the other tests, of either kind, one on PostgreSQL, to which all of it comes backwards."""
    events = [*course(150), *(liking("ada", each, 5 - place) for place, each in enumerate(PARTS[2:6]))]
    found = everybody(parts, record(parts, events))
    other = Applications(postgresql)

    with closing(other), other.service(NodeSettings(data=str(tmp_path / "other"))) as service:
        for each in reversed(PARTS):
            service.submit("s", piece(each, each[-1], filters={"availableFrom": "2020-01-01T00:00:00Z"}))
        again = everybody(service, record(service, events[::-1]))

    assert any(b"soonAfter" in each for each in found)
    assert again == found


def everybody(service: Service, headers: dict[str, str]) -> list[bytes]:
    people = ("ada", *(f"u{number}" for number in range(0, 150, 10)))
    paths = [f"/s/users/{user}/recommendation?explain=true&at={yesterday()}" for user in people]
    return [service.get(path, headers=headers).content for path in paths]


def yesterday() -> str:
    """Return a day that is over, so that no list is of another one."""
    return moment(time.time() - 86_400)[:10]


def test_without_order_nothing_is_said_to_be_liked_soon_after(parts: Service) -> None:
    headers = record(parts, [*course(150), liking("ada", "part-05")])
    ok(parts.put("/s/settings", json={"order": "off"}))

    assert not any(
        each.get("soonAfter")
        for entry in listed(parts, "ada", headers, "?explain=true")
        for each in audience_of(entry)["pieces"]
    )


@pytest.mark.parametrize(("use", "counts"), (("auto", False), ("on", True)))
def test_even_times_count_where_the_setting_is_on(parts: Service, use: str, *, counts: bool) -> None:
    ok(parts.put("/s/settings", json={"order": use}))
    headers = record(parts, [*course(150, gap_s=1), liking("ada", "part-05")])

    found = listed(parts, "ada", headers, "?explain=true")

    assert counts == any(each.get("soonAfter") for entry in found for each in audience_of(entry)["pieces"])


@pytest.mark.parametrize(("people", "is_named"), ((2, False), (3, True)))
def test_what_few_people_like_soon_after_is_not_named(parts: Service, people: int, *, is_named: bool) -> None:
    parts.submit("s", piece("rare", "rare"), piece("rarer", "rarer"))
    own = [liking(f"v{number}", each, days) for number in range(people) for each, days in (("rare", 2), ("rarer", 1))]
    headers = record(parts, [*course(150), *own, liking("ada", "rare")])

    entry = next(each for each in listed(parts, "ada", headers, "?explain=true") if each["id"] == "rarer")

    named = [each for each in audience_of(entry)["pieces"] if each.get("soonAfter")]
    assert [each["id"] for each in named] == ["rare"] * is_named
    assert audience_of(entry)["share"] > 0


def test_likes_until_a_day_are_ranked_among_themselves(parts: Service) -> None:
    own = [("part-03", 9.0), ("part-04", 8.0)]
    later = ("part-15", 1.0)
    events = [liking("ada", *each) for each in (*own, later)] + [liking("bob", *each) for each in own]
    headers = record(parts, [*course(150), *events])
    day = moment(time.time() - 4 * 86_400)[:10]

    ada, bob = (listed(parts, user, headers, f"?include-seen=true&at={day}") for user in ("ada", "bob"))

    assert ada == bob
    assert listed(parts, "ada", headers) != listed(parts, "bob", headers)


def test_what_is_recorded_late_counts_from_its_own_moment(parts: Service) -> None:
    own = [("part-03", 3.0), ("part-10", 2.0), ("part-07", 1.0)]
    record(parts, course(150))
    record(parts, [liking("ada", *each) for each in own])

    headers = record(parts, [liking("bob", *each) for each in reversed(own)])

    assert listed(parts, "ada", headers) == listed(parts, "bob", headers)


def test_who_is_erased_leaves_no_order_behind(parts: Service) -> None:
    events = course(150)
    gone = [liking("gone", each, 12 - place) for place, each in enumerate(reversed(PARTS[:9]))]
    headers = record(parts, [*events, liking("ada", "part-05")])
    before = listed(parts, "ada", headers)
    headers = record(parts, gone)
    assert listed(parts, "ada", headers) != before

    answer = parts.delete("/s/users/gone")

    headers = {"x-penchant-min-audience-version": answer.headers["x-penchant-interactions-version"]}
    assert listed(parts, "ada", headers) == before


def test_a_preview_shows_lists_without_order(parts: Service) -> None:
    headers = record(parts, [*course(150), *(liking("ada", each, 5 - place) for place, each in enumerate(PARTS[2:6]))])
    before = listed(parts, "ada", headers)

    shown = ok(parts.post("/s/preview/settings", json={"settings": {"order": "off"}, "users": ["ada"]}))["users"][0]

    ok(parts.put("/s/settings", json={"order": "off"}))
    assert shown["before"] == before
    assert shown["after"] == listed(parts, "ada", headers) != before


@pytest.mark.slow
def test_whom_a_piece_suits_is_what_their_own_lists_say(parts: Service) -> None:
    headers = record(parts, course(150))

    people = ok(parts.get("/s/content/part-12/audience?take=30", headers=headers))["people"]

    assert people
    for each in people:
        own = {entry["id"]: entry["score"] for entry in listed(parts, each["id"], headers)}
        assert own["part-12"] == each["score"]


@pytest.mark.parametrize(
    ("use", "gap_s", "said"),
    (
        ("auto", None, "it depends strongly on what they liked last"),
        ("auto", 1, "they look made up. Lists do not go by it; where the order is real all the same"),
        ("on", 1, "Lists go by it: what is often liked soon after somebody's latest likes comes first."),
        ("off", None, "Lists do not go by it."),
    ),
)
def test_the_page_of_health_tells_of_the_order_of_likes(
    parts: Service, use: str, gap_s: float | None, said: str
) -> None:
    ok(parts.put("/s/settings", json={"order": use}))
    listed(parts, "ada", record(parts, course(150, gap_s=gap_s)))

    assert said in words(Visitor(parts, parts.key).get("health", source="s"), "order")


@pytest.mark.slow
def test_the_page_of_a_person_says_what_is_often_liked_soon_after(parts: Service) -> None:
    listed(parts, "ada", record(parts, [*course(150), liking("ada", "part-05")]))

    visitor = Visitor(parts, parts.key)
    pages = [text_of(visitor.get("user", source="s", id="ada", **view).text) for view in ({}, {"view": "numbers"})]

    assert ["liked soon after part-05" in page for page in pages] == [True, True]
    assert "often liked soon after part-05" in pages[1]
