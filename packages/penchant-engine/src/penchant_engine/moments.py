"""Moments: milliseconds since 1970 UTC, as text."""

from datetime import datetime, timedelta

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # of UTC; without a zone, whose offset would be asked for each time


def format_timestamp(moment: int) -> str:
    """Return a moment as RFC 3339 in UTC with milliseconds."""
    return f"{(_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec='milliseconds')}Z"
