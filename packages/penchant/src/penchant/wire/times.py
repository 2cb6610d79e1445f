"""Times: RFC 3339 in, milliseconds since 1970 UTC inside, always UTC out."""

import re
from datetime import UTC, date, datetime, timedelta

from penchant_engine.model import DAY_MS

MAX_AHEAD_MS = 5 * 60 * 1000
"""How far ahead an interaction's time may be: what clocks differ by (interface, section 6)."""
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ]((?!24)\d{2}:\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})\Z",
    re.ASCII,
)
_SENT_OFFSET = re.compile(r"([ +-])(\d{2}):?(\d{2})\Z", re.ASCII)
"""An offset as it may come in a request: without its colon, or with a plus that arrived as a space."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
_ACCEPTED = "an RFC 3339 time such as 2026-11-21T08:15:30.123Z is accepted"


def parse_timestamp(text: str) -> int:
    """Return the moment of an RFC 3339 time; digits past milliseconds are cut off, a leap second is the next one.

    Raises:
        ValueError: it is none, or has no offset from UTC.
    """
    # As machines write it, in a third of the time. Python takes a comma, and some of its releases hour 24.
    if len(text) in (20, 24) and text[4] + text[7] + text[10] + text[13] + text[16] + text[-1] == "--T::Z":
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
        since = (moment if is_utc else moment.astimezone(UTC)) - _EPOCH  # overflows outside years 1 to 9999
    except (ValueError, OverflowError):
        raise ValueError(f"Found a time that does not exist; {_ACCEPTED}.") from None
    milliseconds = since.days * DAY_MS + since.seconds * 1000
    if leap:
        milliseconds += 1000
        if milliseconds % DAY_MS or milliseconds > _LAST_MS:
            raise ValueError(f"Found a second 60 that is not the last of a UTC day; {_ACCEPTED}.")
        return milliseconds
    return milliseconds + int(fraction[:3].ljust(3, "0")) if fraction else milliseconds


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
    moment = parse_sent_timestamp(text)
    if moment > now + MAX_AHEAD_MS:
        raise ValueError("Found a time more than 5 minutes ahead; an interaction lies in the past.")
    return moment


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
