"""Measures: values that are numbers, prices, amounts or sizes, and names as they are compared."""

import functools
import re

_RECBOLE_TYPE = re.compile(r":(?:token|float)(?:_seq)?\Z")
_SIZES = frozenset({"xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl", "small", "medium", "large", "onesize", "os"})
_MEASURE = re.compile(
    r"(?:US\$|[$€£¥₹]|(?:aud|brl|cad|chf|cny|czk|dkk|eur|gbp|inr|jpy|kr|mxn|nok|pln|rs|sek|usd)\.?\s)?\s*"
    r"[~+-]?\d[\d\s.,/'’]*"  # noqa: RUF001  # apostrophes part thousands in Switzerland
    r"(?:\s*(?:[$€£¥₹%°\"″'′]|[a-z²³µ°]{1,5}\.?))?"  # noqa: RUF001  # a unit or a currency, primes of feet and inches
    r"(?:\s*(?:x|×|-|–|to|/)\s*[~+-]?\d[\d\s.,/]*(?:\s*(?:[$€£¥₹%°\"″'′]|[a-z²³µ°]{1,5}\.?))?){0,3}",  # noqa: RUF001  # as above
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:[$€£¥₹]\s*)?[+-]?\d[\d\s.,]*(?:\s*[$€£¥₹%])?")
_MANY_X = re.compile(r"\d+x[sl]")
_MEASURE_LETTERS = 40
"""No amount or size is longer, and no longer text is tried."""


@functools.lru_cache(maxsize=1 << 14)
def is_measure(text: str) -> bool:
    """Return whether a text is a number, a price, an amount or a size, such as ``9.90 €``, ``5" x 7.2"`` or ``XL``."""
    if len(text) > _MEASURE_LETTERS:
        return False
    word = text.lower().replace(" ", "").replace("-", "")
    return word in _SIZES or _MANY_X.fullmatch(word) is not None or _MEASURE.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Return whether a text is a number or a price, without a unit: ``80s`` and ``3d`` are none."""
    # Most are words, and no number begins with a letter.
    return not text[:1].isalpha() and len(text) <= _MEASURE_LETTERS and _NUMBER.fullmatch(text) is not None


@functools.lru_cache(maxsize=1 << 12)
def normalize_name(name: str) -> str:
    """Return a column's name as it is compared: without a type behind a colon, small, letters and digits only."""
    return "".join(letter for letter in _RECBOLE_TYPE.sub("", name.lower()) if letter.isalnum())
