"""The dashboard's curves: what a source did day by day, and by month beside them."""

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest

from penchant.service.placements import curves as service_curves
from penchant.service.placements.curves import months_until
from penchant.web.dashboard.pictures import steps
from serving import Service
from shown import show
from visitors import Visitor, words


def interactions(service: Service, *ago: int) -> None:
    """Record interactions of so many days ago."""
    now = datetime.now(UTC)
    rows = [
        {
            "userId": f"u{number}",
            "type": "Click",
            "contentId": "a",
            "timestamp": (now - timedelta(days=days)).isoformat().replace("+00:00", "Z"),
        }
        for number, days in enumerate(ago)
    ]
    assert service.post("/s/interactions", json=rows).status_code == 200


def test_months_end_today() -> None:
    months = months_until(date(2024, 2, 29))

    assert [months[number].name for number in (0, 1, -1)] == ["2023-03", "2023-04", "2024-02"]
    assert len(months) == 12
    assert all(one.behind == other.first for one, other in itertools.pairwise(months))
    assert months[-1].behind - months[0].first == 366


def test_a_curve_is_as_high_as_its_chart() -> None:
    assert steps([0, 2, 1]) == "M0 60V60h1V0h1V30h1V60Z"
    assert steps([0, 0]) == "M0 60V60h1V60h1V60Z"
    assert "V59h1" in steps([1, 100_000])


@pytest.mark.slow
def test_interactions_are_told_by_day_and_month(visitor: Visitor, filled: Service) -> None:
    interactions(filled, 0, 0, 45)
    today = datetime.now(UTC).date()
    earlier = today - timedelta(days=45)

    page = visitor.get("history", source="s")
    days = words(visitor.get("history", source="s", month=f"{earlier:%Y-%m}"), "numbers")

    assert f"What people did a day: 6 in all, at most 5 on {today}" in page.text
    assert f"{today:%Y-%m} 5 0 0 0" in words(page, "numbers")
    assert f"{earlier:%Y-%m} 1 0 0 0" in words(page, "numbers")
    assert f"{earlier} 1 0 0 0" in days
    assert f"{today} " not in days


def test_what_placements_showed_and_led_to_is_told(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/home", json={"kind": "popular"})
    show(filled, 20, clicks={"base": 5})
    month = f"{datetime.now(UTC):%Y-%m}"
    listed = filled.get("/s/placements/home/results").json()["variants"][0]

    told = words(visitor.get("history", source="s"), "numbers")

    assert f" {listed['lists']} {listed['shown']} {listed['successes']} " in told.partition(month)[2]
    assert (listed["lists"] > 0, listed["successes"]) == (True, 5)


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_what_is_not_counted_in_time_comes_with_a_later_page(
    visitor: Visitor, filled: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    interactions(filled, 0)
    monkeypatch.setattr(service_curves, "COUNTING_S", -1)
    early = visitor.get("history", source="s")
    monkeypatch.undo()
    later = visitor.get("history", source="s")

    assert "still to be counted" in early.text
    assert "not counted yet" in words(early, "numbers")
    assert "still to be counted" not in later.text


@pytest.mark.usefixtures("alone")
def test_of_a_large_month_the_newest_are_counted(
    visitor: Visitor, filled: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_curves, "MAX_COUNTED", 2)
    interactions(filled, 0, 0)

    assert "only the newest interactions are counted" in visitor.get("history", source="s").text
