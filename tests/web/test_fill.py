"""What fills a list up, since nothing speaks for it or against it: the newest first, and within a day by chance."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clocks import DAY_CLOCK
from factories import piece
from fill_reference import DAY_MS, fill_place
from serving import Service, ok

pytestmark = pytest.mark.usefixtures("noon")

DAYS = ("2026-01-03", "2026-01-01", "2026-01-02")


def young(service: Service) -> dict[str, int]:
    """Store ninety pieces of three days that nobody has met; return from when each is shown, in ms since 1970 UTC."""
    shown = {f"p{number:02}": f"{DAYS[number % 3]}T00:00:00Z" for number in range(90)}
    service.submit("s", *[piece(key, "x", filters={"availableFrom": day}) for key, day in shown.items()])
    return {key: int(datetime.fromisoformat(day).timestamp() * 1000) for key, day in shown.items()}


def listed(service: Service, path: str, **params: Any) -> list[str]:
    return [each["id"] for each in ok(service.get(path, params=params))["content"]]


def expected(shown: dict[str, int], moment: int) -> list[str]:
    return sorted(shown, key=lambda each: fill_place(each, shown[each], moment))


def test_strangers_in_a_new_source_do_not_see_the_alphabet(service: Service) -> None:
    shown = young(service)

    found = listed(service, "/s/users/new/recommendation")

    assert found == expected(shown, int(DAY_CLOCK() * 1000))[:30]
    assert found != sorted(found)
    assert {shown[each] for each in found} == {max(shown.values())}


def test_within_a_day_it_is_another_order_on_another_date(service: Service) -> None:
    shown = young(service)
    dates = ("2026-02-01", "2026-02-02", "2026-01-01")

    lists = {each: listed(service, "/s/users/new/recommendation", at=each) for each in dates}

    for each in dates:
        moment = int(datetime.fromisoformat(each).replace(tzinfo=UTC).timestamp() * 1000) + DAY_MS - 1
        available = {key: begins for key, begins in shown.items() if begins <= moment}
        assert lists[each] == expected(available, moment)[:30]
    assert len({tuple(each) for each in lists.values()}) == 3


def test_what_something_speaks_for_stands_before_it_and_what_speaks_against_behind(service: Service) -> None:
    neutral = [f"n{number}" for number in range(4)]
    service.submit("s", *[piece(each, "other") for each in neutral])
    service.submit("s", piece("a", "x"), piece("z", "x"), piece("b", "y"), piece("d", "y"))
    ok(service.post("/s/users/u/interactions/RateLike/content/a"))
    ok(service.post("/s/users/u/interactions/RateDislike/content/b"))

    found = listed(service, "/s/users/u/recommendation", algo="cosine")

    begun = int(DAY_CLOCK() * 1000) // DAY_MS * DAY_MS
    assert found == ["z", *expected(dict.fromkeys(neutral, begun), begun), "d"]


def test_why_names_the_place_that_a_piece_has_in_the_list_or_would_have(service: Service) -> None:
    shown = young(service)
    order = expected(shown, int(DAY_CLOCK() * 1000))

    last, beyond = (ok(service.get(f"/s/users/new/why/{order[place]}")) for place in (29, 74))

    assert (last["rank"], last["why"]["rules"]) == (30, [{"rule": "fill"}])
    assert beyond["reasons"][0]["detail"] == "Others come before the piece: it would be number 75."
