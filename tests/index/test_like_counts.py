"""Likes are counted by the type that weighs most in each, and by day; those of up to a day are those of that time."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant.model import SourceSettings
from penchant_engine.index import Likes, Strings, Tally
from penchant_engine.index.layout import LikeMatrix
from penchant_engine.index.people.likes import LikeCounts
from penchant_engine.model import DAY_MS, InteractionType
from strategies import examples

SETTINGS = SourceSettings()
IDS = Strings.of(f"p{number}" for number in range(5))
KINDS = [kind for kind in InteractionType if kind is not InteractionType.RATE_DISLIKE]
# p5 is no piece of the source.
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 5), st.sampled_from(KINDS), st.integers(1, 9), st.sampled_from([40, 100])
    ),
    max_size=30,
)
Event = tuple[int, int, InteractionType, int, int]


def counted(events: list[Event]) -> Likes:
    tally = Tally.empty(0)
    for version, (person, piece, kind, day, portion) in enumerate(events, start=1):
        tally.record(bytes([person] * 16), f"p{piece}", kind, day * DAY_MS + version, version, portion)
    return tally.compacted()


@settings(max_examples=examples(100), deadline=None)
@given(EVENTS)
def test_each_like_counts_once_by_its_heaviest_type_and_its_latest_day(events: list[Event]) -> None:
    by_pair: dict[tuple[int, int], list[Event]] = {}
    for event in events:
        if event[1] < 5:
            by_pair.setdefault(event[:2], []).append(event)

    def weight(event: Event) -> tuple[float, int]:
        # Of what weighs the same the type of the least code.
        portion = 100 if event[2].is_rating else event[4]
        return SETTINGS.interaction_weights[event[2]] * portion / 100, -event[2].code

    types = Counter(max(own, key=weight)[2] for own in by_pair.values())
    days = Counter(max(each[3] for each in own) for own in by_pair.values())

    assert counted(events).counts(IDS, SETTINGS, 0) == LikeCounts(types, days)


@settings(max_examples=examples(60), deadline=None)
@given(EVENTS, st.integers(0, 9))
def test_likes_up_to_a_day_are_those_of_what_was_done_once_by_then(events: list[Event], last_day: int) -> None:
    once = list({(*event[:3], event[4]): event for event in events}.values())
    # What was done again, or more of it later, is known of the latest day alone.
    once = list({event[:3]: event for event in once}.values())

    then = counted([event for event in once if event[3] <= last_day]).matrix(IDS, SETTINGS, 0)
    known = counted(once).matrix(IDS, SETTINGS, 0, last_day=last_day)

    for name in LikeMatrix._fields:
        assert np.array_equal(getattr(then, name), getattr(known, name))
