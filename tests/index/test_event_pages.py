"""Interactions that are counted page by page give the bytes of those that are counted one by one."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant.model import SourceSettings
from penchant_engine.index import Likes, Tally
from penchant_engine.index.people import event_pages, likes
from penchant_engine.index.people.event_pages import EventPages
from penchant_engine.model import DAY_MS, WHOLE, InteractionType, event_code
from strategies import examples

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["a", "z", "é", "😀", "aa"]),
        st.sampled_from(list(InteractionType)),
        st.integers(-2, 6).map(lambda half_days: half_days * DAY_MS // 2),
        st.sampled_from([WHOLE, WHOLE, 1, 50, 99]),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True, scope="module")
def small_ranges() -> Iterator[None]:
    """A few events make several ranges of people."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_pages, "EVENTS_IN_CACHE", 7)
        patch.setattr(likes, "EVENTS_AT_ONCE", 5)
        yield


def key_of(number: int) -> bytes:
    """Keys of which some share their first word, with bytes of 0."""
    return bytes([number % 3]).rjust(8, b"\0") + bytes([255 - number]).ljust(8, b"\0")


def columns(rows: list[tuple[int, tuple[int, str, InteractionType, int, int]]], ids: list[str]) -> tuple[Any, ...]:
    people = b"".join(key_of(person) for _, (person, *_) in rows)
    pieces = b"".join(key_of(ids.index(piece_id)) for _, (_, piece_id, *_) in rows)
    numbers = [(event_code(kind, portion), moment, version) for version, (_, _, kind, moment, portion) in rows]
    keys = (np.frombuffer(each, dtype=np.uint8).reshape(-1, 16) for each in (people, pieces))
    return (*keys, *np.asarray(numbers, dtype=np.int64).T)


@settings(max_examples=examples(200), deadline=None)
@given(
    events=EVENTS,
    cuts=st.lists(st.integers(1, 39), max_size=4),
    oldest_day=st.integers(-1, 2),
    threads=st.sampled_from([1, 2, 3]),
)
def test_pages_in_any_order_give_the_likes_of_a_tally(
    events: list[tuple[int, str, InteractionType, int, int]], cuts: list[int], oldest_day: int, threads: int
) -> None:
    rows = list(enumerate(events, start=1))
    ids = sorted({piece_id for _, piece_id, *_ in events}, key=hash)
    tally, pages = Tally.empty(oldest_day), EventPages(oldest_day)
    tally.record_all(
        (version, key_of(person), piece_id, kind, moment, portion)
        for version, (person, piece_id, kind, moment, portion) in rows
    )
    ends = [0, *sorted(cuts), len(rows)]
    for begin, end in reversed(list(itertools.pairwise(ends))):
        if rows[begin:end]:
            pages.add(*columns(rows[begin:end], ids))

    found = pages.likes(lambda versions: {version: events[version - 1][1] for version in versions}, threads=threads)

    assert arrays(found) == arrays(tally.compacted())
    matrix = found.matrix(found.ids, SourceSettings(), oldest_day, threads=threads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likes, "EVENTS_AT_ONCE", 1_000)
        whole = found.matrix(found.ids, SourceSettings(), oldest_day)
    assert [column.tolist() for column in matrix] == [column.tolist() for column in whole]


def arrays(likes: Likes) -> dict[str, tuple[str, list[int]]]:
    return {name: (array.dtype.char, array.tolist()) for name, array in likes.arrays().items()}
