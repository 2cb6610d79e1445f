"""That kappa has halved within a week is found from the likes themselves, with the days that did it."""

import random

import pytest

from answers import snapshot_of
from penchant.findings import KappaFall, kappa_fall
from penchant.model import SourceSettings
from penchant_engine.index import Tally
from penchant_engine.model import DAY_MS, InteractionType

TODAY, SETTINGS = 20_000, SourceSettings()
PIECES = [{"id": f"p{number:02d}", "categories": {"theme": [f"t{number % 4}"]}} for number in range(40)]
CATALOGUE = snapshot_of(PIECES).merged()
Liked = tuple[str, int, int]


def fans(day: int, people: int = 40) -> list[Liked]:
    """Return likes of people who like pieces of one theme each."""
    return [(f"fan{person}", number, day) for person in range(people) for number in range(person % 4, 40, 4)]


def crowd(day: int, people: int, name: str = "c") -> list[Liked]:
    """Return likes at random."""
    draw = random.Random(day)
    return [(f"{name}{person}", number, day) for person in range(people) for number in draw.sample(range(40), 20)]


def found(likes: list[Liked], kind: InteractionType = InteractionType.RATE_LIKE) -> KappaFall | None:
    tally = Tally.empty(0)
    for version, (person, number, day) in enumerate(likes, start=1):
        tally.record(person.encode().rjust(16), f"p{number:02d}", kind, day * DAY_MS, version)
    counted = tally.compacted()
    days = counted.counts(CATALOGUE.ids, SETTINGS, 0).days
    return kappa_fall(counted, days, CATALOGUE, SETTINGS, TODAY)


def test_the_day_of_a_crowd_is_named_with_its_likes() -> None:
    fall = found([*fans(TODAY - 20), *crowd(TODAY - 2, 60), *crowd(TODAY - 4, 1, "d")])

    assert fall is not None
    assert 2 * fall.now <= fall.before
    assert [(each.day, each.likes) for each in fall.days] == [(TODAY - 2, 1_200)]


def test_several_days_are_named_where_it_took_them() -> None:
    fall = found([*fans(TODAY - 20), *(each for day in (1, 2, 3, 4, 5) for each in crowd(TODAY - day, 14, f"{day}"))])

    assert fall is not None
    assert 1 < len(fall.days) <= 3
    assert list(fall.days) == sorted(fall.days)


@pytest.mark.parametrize(
    "likes",
    (
        fans(TODAY - 20),
        [*fans(TODAY - 20), *crowd(TODAY - 2, 2)],
        # Longer ago than a week it is how things are.
        [*fans(TODAY - 20), *crowd(TODAY - 8, 60)],
        # So few likes had drawn kappa hardly away from where it begins.
        [*fans(TODAY - 20, people=8), *crowd(TODAY - 2, 60)],
        [],
    ),
)
def test_what_has_not_halved_is_not_told(likes: list[Liked]) -> None:
    assert found(likes) is None


def test_the_last_day_is_today_with_what_is_a_little_ahead() -> None:
    fall = found([*fans(TODAY - 20), *crowd(TODAY, 60)], InteractionType.CLICK)

    assert fall is not None
    assert [each.day for each in fall.days] == [TODAY]
