"""Moments: milliseconds since 1970 UTC, as text."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_timestamp(moment: int) -> str:
    """Return a moment as RFC 3339 in UTC with milliseconds."""
    return (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
