"""A client that reads too slowly is known by what it takes in while it is waited for."""

from penchant.web.exchange import WINDOW_S, ReadingPace


def test_a_slow_reader_is_known_at_the_end_of_a_window() -> None:
    pace = ReadingPace(100)

    assert not pace.is_too_slow(50, WINDOW_S - 1)
    assert pace.is_too_slow(100, 1)
    assert not pace.is_too_slow(int(WINDOW_S * 100), WINDOW_S)
    assert pace.is_too_slow(int(WINDOW_S * 100) - 1, WINDOW_S)


def test_a_large_part_has_the_time_that_it_takes_at_the_least_pace() -> None:
    assert ReadingPace(100).patience_s(1_000, most_s=60) == WINDOW_S
    assert ReadingPace(100).patience_s(4_000, most_s=60) == 40
    assert ReadingPace(100).patience_s(40_000, most_s=60) == 60
    assert ReadingPace(100).patience_s(1, most_s=2) == 2


def test_without_a_least_pace_nobody_is_too_slow() -> None:
    assert ReadingPace(0).patience_s(1, most_s=60) == 60
    assert not ReadingPace(0).is_too_slow(0, WINDOW_S)
