"""Placeholders: what systems write where there is nobody, nothing or no time; one table for all foreign formats.

Tracking scripts write what a variable held before anybody had signed in, so that one such "person" would have the
tastes of all strangers. Databases and languages write their first moment where there is none. The project's own shape
(``ndjson``, ``specification``) is taken as it is.
"""

from typing import Any

_NOTHING = frozenset({
    "", "null", "(null)", "<null>", "\\n", "undefined", "(not set)", "(other)", "none", "nil", "nan", "nat", "<na>",
    "n/a", "#n/a", "-", "--", "\N{EN DASH}", "\N{EM DASH}",
})  # fmt: skip
"""Words for no value, in small letters; servers and reports write dashes."""
_NOBODY = _NOTHING | {"0", "0.0", "false", "anonymous"}
"""Words for no person: 0 is whoever is logged out of WordPress."""
_MOST_LETTERS = max(map(len, _NOBODY))
_DIGITS = frozenset("123456789")

_NEVER = (
    "0000-00-00",  # MySQL
    "0001-01-01",  # Go and .NET
    "0101-01-01",  # Calibre
    "1601-01-01",  # Windows and Kodi
)
_EPOCHS = ("1970-01-01", "1899-12-30")
"""The day 0 of Unix and of spreadsheets, which may be that of a work, but of nothing that somebody did on a site."""
_BEFORE = {
    "0001-01-01": "0000-12-31",
    "0101-01-01": "0100-12-31",
    "1601-01-01": "1600-12-31",
    "1970-01-01": "1969-12-31",
    "1899-12-30": "1899-12-29",
}
"""What a time zone west of Greenwich makes of these days."""
_NEVER_DAYS = frozenset({*_NEVER, *(_BEFORE[day] for day in _NEVER if day in _BEFORE)})
_EPOCH_DAYS = frozenset({*_EPOCHS, *(_BEFORE[day] for day in _EPOCHS)})
_DAY_LETTERS = len("1970-01-01")
_SHIFT_MS, _SHIFT_STEP_MS = 14 * 3_600_000, 900_000
"""How far a time zone moves a moment at most, and in what steps."""


def is_nothing(value: Any) -> bool:
    """Return whether a value is none, or a word that stands for none."""
    return value is None or _is_word(value, _NOTHING)


def is_nobody(value: Any) -> bool:
    """Return whether a value that should name a person stands for nobody."""
    return value is None or _is_word(value, _NOBODY)


def _is_word(value: Any, words: frozenset[str]) -> bool:
    text = value if isinstance(value, str) else str(value)
    # Each row comes here, and no word ends in a digit but 0.
    if len(text) > _MOST_LETTERS or text[-1:] in _DIGITS:
        return False
    text = text.strip()
    # R writes NA; in small letters it may be a name.
    return text == "NA" or text.lower() in words


def is_never(day: str, *, of_work: bool = False) -> bool:
    """Return whether a time that begins with an ISO day says that there is none; of a work 1970 may be the year."""
    day = day[:_DAY_LETTERS]
    return day in _NEVER_DAYS or (not of_work and day in _EPOCH_DAYS)


def is_epoch(milliseconds: int) -> bool:
    """Return whether a number of milliseconds since 1970 is 0, or what a time zone makes of it."""
    return abs(milliseconds) <= _SHIFT_MS and milliseconds % _SHIFT_STEP_MS == 0
