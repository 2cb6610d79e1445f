"""Times: RFC 3339 in, milliseconds since 1970 UTC inside, always UTC out."""

import re
from datetime import UTC, date, datetime, timedelta

from penchant_engine.model import DAY_MS
from penchant_engine.moments import parse_timestamp

MAX_AHEAD_MS = 5 * 60 * 1000
"""How far ahead an interaction's time may be: what clocks differ by (interface, section 6)."""
_SENT_OFFSET = re.compile(r"([ +-])(\d{2}):?(\d{2})\Z", re.ASCII)
"""An offset as it may come in a request: without its colon, or with a plus that arrived as a space."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def complete_offset(text: str) -> str:
    """Return a time of a request with what its offset lacks: a colon, and the plus that arrived as a space."""
    match = None if text.endswith("Z") else _SENT_OFFSET.search(text)
    if match is None:
        return text
    sign, hours, minutes = match.groups()
    return f"{text[: match.start()]}{'+' if sign == ' ' else sign}{hours}:{minutes}"


def parse_sent_timestamp(text: str) -> int:
    """Return the moment of a time of a request, whose offset may be incomplete; raises as `parse_timestamp`."""
    return parse_timestamp(complete_offset(text))


def parse_interaction_timestamp(text: str, now: int) -> int:
    """Return the moment of an interaction.

    Raises:
        ValueError: as `parse_timestamp`, or more than five minutes after ``now``.
    """
    moment = parse_timestamp(text if text[-1:] == "Z" else complete_offset(text))
    if moment > now + MAX_AHEAD_MS:
        raise ValueError("Found a time more than 5 minutes ahead; an interaction lies in the past.")
    return moment


def format_day(day: int) -> str:
    """Return a UTC day, counted from 1970, as it is written."""
    return (_EPOCH.date() + timedelta(days=day)).isoformat()


def parse_date(text: str) -> int:
    """Return the last millisecond of a UTC day.

    Raises:
        ValueError: no day written as YYYY-MM-DD.
    """
    try:
        day = date.fromisoformat(text if _DATE.match(text) else "")
    except ValueError:
        raise ValueError("Found a value that is no day; YYYY-MM-DD is accepted.") from None
    return (day - _EPOCH.date()).days * DAY_MS + DAY_MS - 1
