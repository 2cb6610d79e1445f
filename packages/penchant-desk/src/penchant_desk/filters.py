"""Filters of the templates: how pages write numbers, moments and long texts."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from penchant_desk.moments import clock_text, interface_moment, time_element

SHORT = 80
"""Characters of an id or label in a list; the page about the piece shows all of them."""


LANGUAGE_NAMES: Mapping[str, str] = {
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "hu": "Hungarian",
    "it": "Italian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
}
"""What the languages are called whose stop words are known."""


def path_words(where: str) -> Sequence[str]:
    """Return the names that a pointer leads by."""
    return [each.replace("~1", "/").replace("~0", "~") for each in where.split("/")[1:]]


def short(text: str, length: int = SHORT) -> str:
    """Return a text cut to a length, with an ellipsis where something is missing."""
    return text if len(text) <= length else text[: length - 1] + "…"


def number(value: float) -> str:
    """Return a number with its thousands apart."""
    return f"{value:,}"


def count_text(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def weekday(day: date) -> str:
    """Return a day as people say it."""
    return f"{day:%A}, {day.day} {day:%B}"


def percent(share: float) -> str:
    """Return a share in percent, without decimals unless it is small."""
    return f"{share:.1%}" if 0 < abs(share) < 0.1 else f"{share:.0%}"


def rate(share: float) -> str:
    """Return a rate in percent, as rates are compared."""
    return f"{share:.2%}"


def points(difference: float) -> str:
    """Return the difference of two rates in points of a percent, with its sign."""
    return f"{difference * 100:+.2f}".replace("-", "\N{MINUS SIGN}")


def score(value: float) -> str:
    """Return a score as it is compared by eye."""
    return f"{value:.4f}"


@pass_context
def moment(context: Context, time: datetime | str, *, seconds: bool = False) -> Markup:
    """Return a moment in the zone of the page (`time_element`)."""
    return time_element(time, context.get("zone", UTC), seconds=seconds)


@pass_context
def moment_text(context: Context, time: datetime | str) -> str:
    """Return a moment in the zone of the page, as a text for attributes."""
    return clock_text(time, context.get("zone", UTC))


@pass_context
def utc_of(context: Context, text: str) -> str | None:
    """Return the moment of a field of the page, as the interface has it; ``None`` of a blank one."""
    return interface_moment(text, context.get("zone", UTC)) if text else None


def day(number: int | str) -> str:
    """Return a UTC day by its number since 1970, or as the interface has written it."""
    return number if isinstance(number, str) else datetime.fromtimestamp(number * 86_400, UTC).strftime("%Y-%m-%d")


def language(code: str) -> str:
    """Return what the language of a text is called, whose stop words are left out."""
    return LANGUAGE_NAMES.get(code, "no language")


FILTERS: Mapping[str, Callable[..., Any]] = {
    "short": short,
    "number": number,
    "percent": percent,
    "rate": rate,
    "points": points,
    "score": score,
    "moment": moment,
    "moment_text": moment_text,
    "utc_of": utc_of,
    "weekday": weekday,
    "day": day,
    "language": language,
}
