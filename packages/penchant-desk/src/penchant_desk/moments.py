"""Moments in the reader's zone: how pages write them, and what fields of their forms hold.

The interface knows UTC alone. The server writes pages in the zone of the source's setting `timeZone`; a script writes
them anew in that of the browser, and has forms say so, whose fields are then read in it.
"""

import re
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from markupsafe import Markup

ZONE = "zone"
"""The hidden field of forms that says in which zone their moments are."""


MAX_ZONE = 64
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", re.ASCII)


def clock_text(time: datetime | str, zone: tzinfo, *, seconds: bool = False) -> str:
    """Return a moment in a zone to the minute, or the second, with what the zone calls itself then."""
    local = _read(time).astimezone(zone)
    return f"{local.strftime('%Y-%m-%d %H:%M:%S' if seconds else '%Y-%m-%d %H:%M')} {local.tzname()}"


def time_element(time: datetime | str, zone: tzinfo, *, seconds: bool = False) -> Markup:
    """Return a moment as an element that scripts write anew in the zone of the browser."""
    text = clock_text(time, zone, seconds=seconds)
    return Markup('<time datetime="{}">{}</time>').format(f"{_read(time).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}", text)


def _read(time: datetime | str) -> datetime:
    return datetime.fromisoformat(time) if isinstance(time, str) else time


def zone_called(name: str) -> tzinfo | None:
    """Return the zone of this name; ``None`` where there is none."""
    try:
        return ZoneInfo(name) if _ZONE.fullmatch(name) else None
    # Names of folders and files that are none raise as reading them does.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def in_utc(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment in UTC; one without a zone is of ``zone``.

    Of an hour that clocks show twice it is the first one; what they leave out counts on from the hour before.
    """
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def interface_moment(text: str, zone: tzinfo) -> str:
    """Return a moment as the interface has it, of what a browser sends: a day stands for its beginning.

    What is none stays, so that the interface says what is wrong with it.
    """
    try:
        moment = in_utc(datetime.fromisoformat(text), zone)
    except (ValueError, OverflowError):
        return text
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").removesuffix("+00:00") + "Z"


def field_text(moment: datetime, zone: tzinfo) -> str:
    """Return a moment as browsers' fields have it: as short as it can be."""
    written = moment.astimezone(zone).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return written.rstrip("0").rstrip(".").removesuffix(":00")
