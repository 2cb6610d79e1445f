"""Lists that are about no person, and those of many people in one request (interface, section 9)."""

from datetime import timedelta
from typing import Any

import pytest

from acceptance.processes import wait_until
from clocks import DayClock
from factories import piece
from serving import Service

pytestmark = pytest.mark.usefixtures("noon")


def listed(service: Service, path: str, **options: Any) -> list[tuple[str, float]]:
    answer = service.get(path, **options)
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] is None
    return [(entry["id"], entry["score"]) for entry in answer.json()["content"]]


def ids(service: Service, path: str) -> list[str]:
    return [piece_id for piece_id, _ in listed(service, path)]


def click(service: Service, user: str, piece_id: str, **options: Any) -> str:
    answer = service.post(f"/s/users/{user}/interactions/Click/content/{piece_id}", **options)
    assert answer.status_code == 200
    version: str = answer.headers["x-penchant-interactions-version"]
    return version


def test_lists_windows_and_parameters_hold_for_popular_pieces(service: Service) -> None:
    service.submit(
        "s",
        piece("a", "x", filters={"catalogs": ["c"]}),
        piece("b", "x", filters={"catalogs": ["c"]}),
        piece("c", "x"),
        piece("d", "x", filters={"availableFrom": "2999-01-01T00:00:00Z"}),
        piece("e", "x"),
    )
    for user, liked in (("1", "a"), ("2", "a"), ("3", "a"), ("1", "b"), ("2", "b"), ("1", "c"), ("1", "d")):
        click(service, user, liked)

    assert ids(service, "/s/popular") == ["a", "b", "c"]
    assert ids(service, "/s/popular?catalogs=c&limit=1") == ["a"]
    assert ids(service, "/s/popular?at=2999-01-01") == ["a", "b", "c", "d"]
    assert ids(service, "/s/popular?exclude=a") == ["b", "c"]
    service.put("/s/whitelist", json=["c", "e"])
    service.put("/s/blacklist", json=["b"])
    # Nobody likes e, so the whitelist does not lift it.
    assert ids(service, "/s/popular") == ["c", "a"]


@pytest.mark.nodes
def test_a_person_s_act_counts_for_what_is_popular(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    assert ids(service, "/s/popular") == []
    click(service, "u", "b")
    # A machine that is busy may count half a second later.
    wait_until(lambda: ids(service, "/s/popular") == ["b"])
    wait_until(lambda: ids(service, "/s/popular?halfLifeDays=3") == ["b"])
    version = click(service, "u", "a")
    answer = service.get("/s/popular", headers={"x-penchant-min-audience-version": version})
    assert int(answer.headers["x-penchant-audience-version"]) >= int(version)
    wait_until(lambda: set(ids(service, "/s/popular")) == {"a", "b"})


def test_new_pieces_come_by_the_moment_at_which_they_became_available(service: Service, clock: DayClock) -> None:
    def born(days_ago: float) -> dict[str, str]:
        return {"availableFrom": (clock.now() - timedelta(days=days_ago)).isoformat()}

    service.submit(
        "s",
        piece("old", filters=born(60)),
        piece("b", filters=born(10)),
        piece("a", filters=born(10)),
        piece("young", filters=born(1 / 24)),
        piece("unborn", filters=born(-2)),
    )
    found = listed(service, "/s/new")
    assert [each[0] for each in found] == ["young", "a", "b", "old"]
    # The setting is 30 days; the service's clock may have gone on by a moment since.
    assert found[1][1] == pytest.approx(10 / 40, abs=1e-4)
    assert found[3][1] == pytest.approx(60 / 90, abs=1e-4)
    assert listed(service, "/s/new?halfLifeDays=10")[1][1] == pytest.approx(0.5, abs=1e-4)
    later = (clock.today() + timedelta(days=3)).isoformat()
    assert ids(service, f"/s/new?at={later}&limit=2") == ["unborn", "young"]
    service.put("/s/whitelist", json=["old"])
    service.put("/s/blacklist", json=["young"])
    assert ids(service, "/s/new") == ["old", "a", "b"]


def test_a_list_that_stayed_the_same_is_not_sent_again(service: Service) -> None:
    service.submit("s", piece("a"), piece("b"))
    click(service, "u", "a")
    first = service.get("/s/popular")
    again = service.get("/s/popular", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "private, no-cache"


def test_an_empty_source_has_empty_lists(service: Service) -> None:
    service.submit("s")
    assert ids(service, "/s/popular") == ids(service, "/s/popular?halfLifeDays=2") == ids(service, "/s/new") == []


@pytest.mark.slow
def test_many_people_get_the_lists_that_each_of_them_gets(service: Service) -> None:
    service.submit("s", *[piece(f"p{number}", f"w{number % 5}") for number in range(40)])
    for number in range(30):
        click(service, f"u{number % 6}", f"p{number}")
    people = [*(f"u{number}" for number in range(6)), "nobody", "u0"]
    query = "?limit=7&exclude=p3&diversity=0.2"

    answer = service.post(f"/s/recommendations{query}", json=people)
    assert answer.status_code == 200
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == [service.get(f"/s/users/{user}/recommendation{query}").json() for user in people]
    assert service.post("/s/recommendations", json=[]).json() == []
