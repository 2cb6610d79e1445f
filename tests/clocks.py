"""Clocks of tests: one of days, which stands still so that no test runs over midnight, and one that tests set."""

import time
from datetime import UTC, date, datetime, timedelta

import pytest

DAY_S = 86_400
DAYS_AHEAD = 7
"""Later than whatever is stored meanwhile by the real clock: a source's own clock never goes back."""


class DayClock:
    """A noon some days ahead, for as long as the tests run; ``is_real`` where services have clocks of their own."""

    def __init__(self) -> None:
        self.is_real = False
        self._noon_s = (time.time() // DAY_S + DAYS_AHEAD) * DAY_S + DAY_S / 2

    def __call__(self) -> float:
        return time.time() if self.is_real else self._noon_s

    def now(self) -> datetime:
        """Return its moment."""
        return datetime.fromtimestamp(self(), UTC)

    def today(self) -> date:
        """Return its UTC date."""
        return self.now().date()

    def midnight(self, days_ago: int = 0) -> str:
        """Return the first moment of a UTC day, as the interface writes it."""
        return f"{self.today() - timedelta(days=days_ago)}T00:00:00.000Z"


DAY_CLOCK = DayClock()


def set_back(monkeypatch: pytest.MonkeyPatch, day: date) -> None:
    """Have this process's clock go on from a day: what is kept of then has not become too old.

    What took `time.time` before for its clock goes by the real one still.
    """
    read = time.time_ns
    ahead_ns = read() - int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: read() - ahead_ns)
    monkeypatch.setattr(time, "time", lambda: time.time_ns() / 1e9)


class SetClock:
    """A clock that shows what a test sets, in seconds."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class TickingClock(SetClock):
    """A clock that a test sets, and that goes on by a millisecond each time it is read."""

    def __call__(self) -> float:
        self.now += 0.001
        return self.now
