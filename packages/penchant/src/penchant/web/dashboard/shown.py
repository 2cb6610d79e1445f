"""Filters of the templates: how pages write numbers, moments and long texts.

Images of pieces: which addresses a page may show.

The browser loads them, never the service. An address comes from whoever submitted the piece, so a page names only what
is plainly one of an allowed host; the page's policy holds the browser to the same hosts.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from penchant.settings import image_host, is_own_host


def image_sources(hosts: Collection[str]) -> str:
    """Return the sources of pictures in a page's policy, for pictures of these hosts."""
    schemes = [(host, "https") for host in hosts] + [(host, "http") for host in hosts if is_own_host(host)]
    return " ".join(["'self'", *(f"{scheme}://{host}" for host, scheme in schemes)])


def is_shown(address: str, hosts: Collection[str]) -> bool:
    """Return whether a page may show the picture at an address: it is one of these hosts, by HTTPS."""
    return image_host(address) in hosts


SHORT = 80
"""Characters of an id or label in a list; the page about the piece shows all of them."""


def short(text: str, length: int = SHORT) -> str:
    """Return a text cut to a length, with an ellipsis where something is missing."""
    return text if len(text) <= length else text[: length - 1] + "…"


def number(value: float) -> str:
    """Return a number with its thousands apart."""
    return f"{value:,}"


def count_text(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def weekday(number: int) -> str:
    """Return a UTC day by its number since 1970 as people say it."""
    day = datetime.fromtimestamp(number * 86_400, UTC)
    return f"{day:%A}, {day.day} {day:%B}"


def moment(milliseconds: int) -> str:
    """Return a moment to the minute, UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")


FILTERS: Mapping[str, Callable[..., Any]] = {
    "short": short,
    "number": number,
    "moment": moment,
    "weekday": weekday,
}
