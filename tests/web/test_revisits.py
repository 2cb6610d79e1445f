"""What a person began or keeps coming back to."""

from collections import defaultdict
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import DayClock
from factories import piece
from serving import Service
from strategies import examples

pytestmark = pytest.mark.usefixtures("noon")

NUMBERS = count()
TYPES = ("Click", "Play", "Watch", "Bookmark", "RateLike", "RateDislike")
SEEN = {"Watch", "Bookmark", "Purchase", "RateLike", "RateDislike"}
WEIGHTS = {"Click": 1, "Play": 2, "Watch": 3, "Bookmark": 3, "RateLike": 4, "RateDislike": -4}
HALF_LIFE = 90
PIECES = 5
EVENTS = st.lists(st.tuples(st.integers(0, PIECES), st.sampled_from(TYPES), st.integers(0, 200)), max_size=14)


def record(service: Service, clock: DayClock, source: str, *events: tuple[str, str, int]) -> None:
    """Record what a person ``u`` did, by piece, type and days ago."""
    body = [
        {"userId": "u", "contentId": each, "type": kind, "timestamp": (clock.now() - timedelta(days=days)).isoformat()}
        for each, kind, days in events
    ]
    assert service.post(f"/{source}/interactions", json=body).status_code == 200


def again(service: Service, query: str = "", source: str = "s") -> list[dict[str, Any]]:
    answer = service.get(f"/{source}/users/u/again{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] == "u"
    content: list[dict[str, Any]] = answer.json()["content"]
    return content


def ids(service: Service, query: str = "") -> list[str]:
    return [entry["id"] for entry in again(service, query)]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(events=EVENTS)
def test_the_list_is_that_of_the_words(service: Service, clock: DayClock, events: list[tuple[int, str, int]]) -> None:
    source = f"s{next(NUMBERS)}"
    service.submit(source, *[piece(f"p{number}", "x") for number in range(PIECES)])
    record(service, clock, source, *[(f"p{number}", kind, days) for number, kind, days in events])

    # Newest first; of one moment the later recorded first.
    done: dict[str, list[tuple[int, str]]] = defaultdict(list)
    newest = events[::-1]
    newest.sort(key=lambda event: event[2])
    for number, kind, days in newest:
        done[f"p{number}"].append((days, kind))
    values = {}
    for piece_id, own in done.items():
        rating = next((kind for _, kind in own if kind.startswith("Rate")), None)
        rated = [each for each in own if each[1].startswith("Rate")][:1]
        counted = [each for each in own if not each[1].startswith("Rate")] + rated
        value = sum(WEIGHTS[kind] * 2 ** (-days / HALF_LIFE) for days, kind in counted)
        last = next((kind for _, kind in own if kind == "Play" or kind in SEEN), None)
        days = len({day for day, _ in own})
        if value > 0 and rating != "RateDislike" and (last == "Play" or days > 1):
            values[piece_id] = (value, last == "Play", days)
    # The last piece does not exist: what may not be shown has its part in the scores all the same.
    greatest = max((value for value, _, _ in values.values()), default=1.0)
    expected = sorted(
        (1 - value / greatest, piece_id, began, days)
        for piece_id, (value, began, days) in values.items()
        if piece_id != f"p{PIECES}"
    )

    found = again(service, source=source)
    assert sorted((each["id"], each["began"], each["days"]) for each in found) == sorted(each[1:] for each in expected)
    assert [each["score"] for each in found] == pytest.approx([each[0] for each in expected], abs=2e-9)
    assert found == sorted(found, key=lambda each: (each["score"], each["id"]))


def test_why_and_when_are_told(service: Service, clock: DayClock) -> None:
    service.submit("s", piece("begun", "x"), piece("seen", "x"), piece("loved", "x"))
    record(service, clock, "s", ("begun", "Play", 0), ("seen", "Play", 0), ("seen", "Watch", 0))
    record(service, clock, "s", ("loved", "Watch", 3), ("loved", "Watch", 2))

    loved, begun = again(service)
    assert loved == {"id": "loved", "score": 0.0, "began": False, "days": 2, "timestamp": loved["timestamp"]}
    assert loved["timestamp"].startswith(str(clock.today() - timedelta(days=2)))
    assert (begun["id"], begun["began"], begun["days"]) == ("begun", True, 1)
    # What is watched to its end is not taken up again, until it is begun once more.
    record(service, clock, "s", ("seen", "Play", 0))
    assert set(ids(service)) == {"loved", "begun", "seen"}


def test_windows_lists_and_parameters_hold(service: Service, clock: DayClock) -> None:
    service.submit(
        "s",
        piece("a", "x", filters={"catalogs": ["c"]}),
        piece("b", "x"),
        piece("c", "x", filters={"availableFrom": "2999-01-01T00:00:00Z"}),
        piece("d", "x", filters={"availableFrom": "2020-01-01T00:00:00Z"}),
        piece("e", "x", filters={"availableFrom": "2020-01-01T00:00:00Z"}),
    )
    record(service, clock, "s", *[(each, "Play", days) for days, each in enumerate("abcde")])

    assert ids(service) == ["a", "b", "d", "e"]
    assert ids(service, "?limit=2") == ["a", "b"]
    assert ids(service, "?catalogs=c") == ["a"]
    assert ids(service, "?exclude=a&exclude=d") == ["b", "e"]
    assert ids(service, f"?at={clock.today() - timedelta(days=3)}") == ["d", "e"]
    service.put("/s/blacklist", json=["a"])
    service.put("/s/whitelist", json=["e"])
    assert [(each["id"], each["score"] > 0) for each in again(service)] == [("b", True), ("d", True), ("e", True)]


def test_nobody_has_nothing_and_an_erased_person_neither(service: Service, clock: DayClock) -> None:
    service.submit("s", piece("a", "x"))
    assert again(service) == []
    record(service, clock, "s", ("a", "Play", 0))
    assert ids(service) == ["a"]
    assert service.delete("/s/users/u").status_code == 202
    assert again(service) == []
