"""What the desk makes of counts: what is usual, how a row fares, and who is better."""

import pytest

from penchant_desk.pages.weeks import DAYS, RowVerdict, WeekFigure, verdict_of, week_figure


def figure(*weeks: int, today: int = 0) -> WeekFigure:
    """Return the figure of counts by day that have a week's count, this week first, on its last day."""
    counts = [0] * (DAYS - 1) + [today]
    for number, count in enumerate(weeks):
        counts[-2 - 7 * number] = count
    return week_figure(counts)


def test_a_week_is_the_seven_days_before_today() -> None:
    counts = [0] * (DAYS - 9) + [40, 20, 0, 0, 0, 0, 0, 10, 5]

    found = week_figure(counts)

    assert (found.week, found.today, found.before) == (30, 5, 40)
    assert (len(found.days), found.days[-1]) == (14, 10)
    assert found.change == pytest.approx(-0.25)


@pytest.mark.parametrize(
    ("counts", "is_usual"),
    (
        ((100, 100, 100, 100), True),
        ((108, 100, 100, 100, 100), True),
        ((120, 100, 100, 100, 100), False),
        ((120, 80, 130, 90, 110), True),
        ((40, 100, 110, 90, 105), False),
        ((100, 100, 100), None),
        ((100,), None),
        ((), None),
    ),
)
def test_what_is_usual_goes_by_the_weeks_before(counts: tuple[int, ...], is_usual: bool | None) -> None:  # noqa: FBT001
    assert figure(*counts).is_usual is is_usual


def test_nothing_before_is_no_week_to_compare_with() -> None:
    assert figure(100, today=3).before is None
    assert figure(100).change is None
    assert figure(100, 0, 50).before == 0


@pytest.mark.parametrize(
    ("shown", "succeeded", "verdict"),
    (
        ((0,), (0,), RowVerdict.UNSEEN),
        ((1_000,), (100,), RowVerdict.EARLY),
        ((1_000, 1_000), (5, 4), RowVerdict.EARLY),
        ((10_000, 10_000), (600, 590), RowVerdict.STEADY),
        ((10_000, 10_000), (900, 500), RowVerdict.ROSE),
        ((10_000, 10_000), (300, 600), RowVerdict.FELL),
    ),
)
def test_a_row_fares_by_its_rate_of_two_weeks(
    shown: tuple[int, ...], succeeded: tuple[int, ...], verdict: RowVerdict
) -> None:
    assert verdict_of(figure(*shown), figure(*succeeded)) is verdict


def test_a_row_that_was_shown_today_alone_is_too_young() -> None:
    assert verdict_of(figure(today=5), figure()) is RowVerdict.EARLY
