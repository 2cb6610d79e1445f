"""Moments as browsers write them."""

from datetime import UTC, datetime

from penchant_desk.problems import invalid


def moment_in(text: str) -> datetime:
    """Return the moment of what a browser's field for one holds, in UTC; raises `PageProblem` where it is none."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise invalid("Found no moment; a day and a time are accepted, in UTC.") from None
