"""Moments: milliseconds since 1970 UTC, as text, and text as moments."""

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # of UTC; without a zone, whose offset would be asked for each time
_UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS = 86_400_000
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - _UTC_EPOCH) // timedelta(milliseconds=1)
_ACCEPTED = "an RFC 3339 time such as 2026-11-21T08:15:30.123Z is accepted"
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ]((?!24)\d{2}:\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})\Z",
    re.ASCII,
)


def format_timestamp(moment: int) -> str:
    """Return a moment as RFC 3339 in UTC with milliseconds."""
    return f"{(_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec='milliseconds')}Z"


def parse_timestamp(text: str) -> int:
    """Return the moment of an RFC 3339 time; digits past milliseconds are cut off, a leap second is the next one.

    Raises:
        ValueError: it is none, or has no offset from UTC.
    """
    # As machines write it, in a third of the time. Python takes a comma, and some of its releases hour 24.
    if len(text) in (20, 24) and text[4:17:3] == "--T::" and text[-1] == "Z":
        try:
            if "," not in text and "T24" not in text:
                return round(datetime.fromisoformat(text).timestamp() * 1000)
        except ValueError:
            pass
    match = _MOMENT.match(text)
    if match is None:
        raise ValueError(f"Found a value that is no time with an offset; {_ACCEPTED}.")
    day, minute, second, fraction, zone = match.groups()
    is_utc = zone in "Zz"
    # Python has no second 60: it is read as 59, and a second is added.
    leap = second == "60"
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}:{'59' if leap else second}{'+00:00' if is_utc else zone}")
        since = (moment if is_utc else moment.astimezone(UTC)) - _UTC_EPOCH  # overflows outside years 1 to 9999
    except (ValueError, OverflowError):
        raise ValueError(f"Found a time that does not exist; {_ACCEPTED}.") from None
    milliseconds = since.days * _DAY_MS + since.seconds * 1000
    if leap:
        milliseconds += 1000
        if milliseconds % _DAY_MS or milliseconds > _LAST_MS:
            raise ValueError(f"Found a second 60 that is not the last of a UTC day; {_ACCEPTED}.")
        return milliseconds
    return milliseconds + int(fraction[:3].ljust(3, "0")) if fraction else milliseconds
