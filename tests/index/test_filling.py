"""The first pieces that nothing speaks for, of sources far larger than a list, against a sort of all of them."""

from collections.abc import Sequence

import pytest

from answers import stored
from factories import piece
from fill_reference import DAY_MS, fill_place
from penchant_engine.index import Filter, Snapshot
from penchant_engine.index.filling import first_to_fill
from penchant_engine.index.queries import ScanQuery, score_scan

TODAY = 20_500
MOMENT = TODAY * DAY_MS
COUNT = 3_000


def catalogue(days: int) -> Snapshot:
    """Return a snapshot of pieces that have come on so many days, in two segments."""
    pieces = {}
    for number in range(COUNT):
        pieces[f"p{number:04}"] = stored(piece(f"p{number:04}", "x"), came(number, days))
    newer = {key: pieces.pop(key) for key in sorted(pieces)[2_500:]}
    return Snapshot.empty().apply(pieces).apply(newer, max_merged=0)


def came(number: int, days: int) -> int:
    return (TODAY - number * 7_919 % days) * DAY_MS


@pytest.mark.slow
@pytest.mark.parametrize("days", (1, 40, COUNT))
@pytest.mark.parametrize("neutral", (range(COUNT), range(0, COUNT, 17), range(COUNT - 5, COUNT)))
def test_the_first_to_fill_are_those_of_a_sort_of_all(days: int, neutral: Sequence[int]) -> None:
    names = {f"p{number:04}": came(number, days) for number in neutral}
    keys = {f"p{number:04}": 0 if number in neutral else -1 for number in range(COUNT)}
    hidden = set(sorted(names, key=lambda each: fill_place(each, names[each], MOMENT))[::3])
    shown = Filter(moment=MOMENT, blacklisted=frozenset(hidden))

    found = first_to_fill(catalogue(days).parts, ScanQuery(score_scan(keys)), shown, TODAY, 30)

    expected = sorted(names.keys() - hidden, key=lambda each: fill_place(each, names[each], MOMENT))
    assert [key[-1] for key in found] == expected[:30]
