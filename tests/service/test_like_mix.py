"""What a full like is where likes are of such types, in words."""

import pytest

from penchant.model import SourceSettings
from penchant.service.like_mix import mix_of_likes, mix_sentence
from penchant_engine.index.people.statistics import FullLike
from penchant_engine.model import WHOLE, InteractionType

SETTINGS = SourceSettings()
SHARED = "A like counts by its grade: here "


def full_of(counts: dict[InteractionType, int]) -> FullLike:
    """Return the full like by its definition: the sum and the number of the heavier half."""
    weights = (SETTINGS.like_weights[kind][WHOLE] for kind, count in counts.items() for _ in range(count))
    heavier = sorted(weights, reverse=True)[: -(-sum(counts.values()) // 2)]
    return FullLike(sum(heavier), len(heavier)) if heavier else FullLike()


@pytest.mark.parametrize(
    ("likes", "told"),
    (
        ({}, ""),
        ({"Click": 9}, "clicks are what people do, so a click is a full one."),
        ({"Play": 1}, "plays are what people do, so a play is a full one."),
        ({"Purchase": 2, "RateLike": 5}, "good ratings and purchases are what people do, so each is a full one."),
        (
            {"Purchase": 5, "Click": 4},
            "most likes are purchases; a purchase is a full one and a click a sixteenth of one.",
        ),
        ({"Purchase": 1, "Click": 9}, "most likes are clicks; a purchase is a full one and a click a quarter of one."),
        (
            {"Purchase": 4, "Watch": 1, "Bookmark": 1, "Click": 2},
            "a purchase is a full one, a watch or a bookmark 9 sixteenths of one and a click a sixteenth of one.",
        ),
    ),
)
def test_a_full_like_is_told_by_what_people_do(likes: dict[str, int], told: str) -> None:
    counts = {InteractionType(name): count for name, count in likes.items()}

    assert mix_sentence(mix_of_likes(counts, full_of(counts), SETTINGS)) == (SHARED + told if told else "")


def test_likes_that_are_newer_than_their_full_like_are_not_told() -> None:
    assert mix_sentence(mix_of_likes({InteractionType.CLICK: 1}, FullLike(), SETTINGS)) == ""
