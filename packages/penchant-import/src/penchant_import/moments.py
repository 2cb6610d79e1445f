"""Moments as other systems write them: seconds, milliseconds, ISO 8601 or a form that is given; RFC 3339 comes out."""

import math
import re
from datetime import UTC, datetime
from typing import Any

from penchant_engine.moments import format_timestamp, parse_timestamp
from penchant_import.placeholders import is_epoch, is_never, is_nothing

MILLISECONDS_FROM = 100_000_000_000
"""From here on a number is milliseconds: as seconds it would be the year 5138."""
_LAST_MS = 253_402_300_799_999
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e\+?\d+)?\Z", re.ASCII | re.IGNORECASE)
_ISO = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})(?:[Tt ](?P<time>\d{2}:\d{2})(?P<second>:\d{2}(?:\.\d+)?)?)?"
    r" ?(?P<zone>[Zz]|UTC|[+-]\d{2}(?::?\d{2})?)?(?: [A-Z]{3,5})?\Z",
    re.ASCII,
)
_FAR = re.compile(r"[+-]\d{5,}-\d\d-\d\d", re.ASCII)
"""How ISO 8601 writes years of more than four digits."""
_ACCEPTED = (
    "seconds or milliseconds since 1970 or an ISO 8601 time is accepted; say how others are written with --time-format,"
    " for instance '%d/%m/%Y %H:%M'."
)
_MAX_EXCERPT = 60


ZONES = {
    "UTC": 0, "GMT": 0, "UT": 0, "Z": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "CEST": 120, "MEZ": 60,
    "MESZ": 120, "MET": 60, "MEST": 120, "EET": 120, "EEST": 180, "MSK": 180, "SAST": 120, "HKT": 480, "SGT": 480,
    "AWST": 480, "JST": 540, "KST": 540, "ACST": 570, "ACDT": 630, "AEST": 600, "AEDT": 660, "NZST": 720, "NZDT": 780,
    "NST": -210, "NDT": -150, "AST": -240, "ADT": -180, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300,
    "MST": -420, "MDT": -360, "PST": -480, "PDT": -420, "AKST": -540, "AKDT": -480, "HST": -600,
}  # fmt: skip
"""Zones by name, in minutes east of UTC: those of RFC 822 and others that are one, with BST as XMLTV defines it."""


def zone_offset(name: str) -> str | None:
    """Return the offset of a zone that goes by a name, as ISO 8601 has it; ``None`` of one that is not known."""
    minutes = ZONES.get(name.upper())
    if minutes is None:
        return None
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def excerpt(value: Any) -> str:
    """Return a value of a file as messages show it: not all of a long one."""
    text = repr(value)
    return text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "…"


def read_moment(value: Any, form: str | None = None, *, is_end: bool = False) -> str | None:
    """Return a moment as RFC 3339; one without an offset is UTC. ``None`` where there is none, or a placeholder.

    ``form`` is how moments are written, in the words of `datetime.strptime`, where they are written otherwise. Of an
    end 1970 is no placeholder: what is hidden ends there.

    Raises:
        ValueError: it is no moment.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"Found {excerpt(value)}, which is no time; {_ACCEPTED}")  # noqa: TRY004  # a fault of the file
    if form is not None:
        if is_nothing(value) or is_never(str(value).strip(), of_work=True):
            return None
        return _unless_never(_read_form(str(value).strip(), form), is_end=is_end)
    if isinstance(value, str) and not _NUMBER.match(value.strip()):
        # Some of these days are none that a calendar has.
        if is_nothing(value) or is_never(value.strip(), of_work=True):
            return None
        return _unless_never(_read_iso(value.strip()), is_end=is_end)
    return _read_number(float(value), is_end=is_end)


def _unless_never(moment: str, *, is_end: bool) -> str | None:
    return None if is_never(moment, of_work=is_end) else moment


def _read_form(text: str, form: str) -> str:
    try:
        moment = datetime.strptime(text, form)  # noqa: DTZ007  # a zone is given below where there is none
        milliseconds = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except ValueError:
        raise ValueError(f"Found {excerpt(text)}; a time in the form {form} is accepted (--time-format).") from None
    return format_timestamp(milliseconds)


def _read_number(number: float, *, is_end: bool) -> str | None:
    if not math.isfinite(number):
        raise ValueError("Found a number that is no time.")
    milliseconds = round(number if abs(number) >= MILLISECONDS_FROM else number * 1000)
    if is_epoch(milliseconds) and not is_end:
        return None
    if not 0 <= milliseconds <= _LAST_MS:
        raise ValueError("Found a number that is no time between 1970 and 9999.")
    return format_timestamp(milliseconds)


def _read_iso(text: str) -> str:
    """Return an ISO 8601 time as RFC 3339; a missing time of day is midnight."""
    match = _ISO.match(text)
    if match is None and _FAR.match(text):
        raise ValueError(f"Found {excerpt(text)}, a time in no year from 1 to 9999; none other is accepted.")
    if match is None:
        raise ValueError(f"Found {excerpt(text)}, which is no time; {_ACCEPTED}")
    zone = match["zone"] or "Z"
    zone = f"{zone[:3]}:{zone[3:].removeprefix(':') or '00'}" if zone[0] in "+-" else "Z"
    moment = f"{match['date']}T{match['time'] or '00:00'}{match['second'] or ':00'}{zone}"
    return format_timestamp(parse_timestamp(moment))
