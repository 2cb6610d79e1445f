"""Preferences: what a person has said, as a body, as an answer and as it is stored, all in one form."""

from collections.abc import Mapping
from typing import Any

from penchant.errors import TooManyEntries
from penchant.model import NO_PREFERENCES, Preferences, Term
from penchant.wire.answers import PersonPreferences
from penchant.wire.encoding import encode
from penchant.wire.stated import read_categories, read_ids, read_names
from penchant.wire.syntax import Faults, decode_object, kind_of, pointer
from penchant.wire.text import id_problem

MAX_SAID = 1_000
"""Keywords, pieces and categories together that a person may name."""
_KEYWORDS, _HIDDEN, _UNUSED = "keywords", "hidden", "unusedCategories"


def decode_preferences(body: bytes) -> Preferences:
    """Return the preferences in a body, or in what is stored, where nothing stands for none.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more is said than is accepted.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    if not body:
        return NO_PREFERENCES
    return read_preferences(decode_object(body))


def read_preferences(value: Mapping[str, Any]) -> Preferences:
    """Return the preferences in a decoded object; raises as `decode_preferences`."""
    faults = Faults()
    faults.only(value, (_KEYWORDS, _HIDDEN, _UNUSED), "")
    found = Preferences(
        stated=_weights(value, faults),
        hidden=read_ids(value, _HIDDEN, faults),
        unused_categories=read_names(value, _UNUSED, faults),
    )
    if len(found) > MAX_SAID:
        raise TooManyEntries(
            f"Found {len(found)} keywords, pieces and categories; up to {MAX_SAID} together are accepted."
        )
    faults.raise_any()
    return found


def preferences_answer(preferences: Preferences) -> PersonPreferences:
    """Return preferences as they are answered."""
    keywords: dict[str, dict[str, float]] = {}
    for (category, keyword), weight in preferences.stated.items():
        keywords.setdefault(category, {})[keyword] = weight
    return PersonPreferences(
        keywords=keywords, hidden=list(preferences.hidden), unused_categories=list(preferences.unused_categories)
    )


def encode_preferences(preferences: Preferences) -> bytes:
    """Return preferences as they are stored; nothing for none."""
    return encode(preferences_answer(preferences)) if preferences else b""


def _weights(value: Mapping[str, Any], faults: Faults) -> dict[Term, float]:
    """Return the weights of the keywords; one of 0 says nothing. Faults are noted."""
    found: dict[Term, float] = {}
    for where, category, keywords in read_categories(value, _KEYWORDS, faults):
        if not isinstance(keywords, dict):
            faults.add(where, f"Found {kind_of(keywords)}; an object of keywords with their weights is accepted.")
            continue
        for keyword, weight in keywords.items():
            problem = id_problem(keyword) or _weight_problem(weight)
            if problem:
                faults.add(where + pointer(keyword), problem)
            elif weight:
                found[Term(category, keyword)] = float(weight)
    return found


def _weight_problem(weight: Any) -> str | None:
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if is_number and -1 <= weight <= 1:
        return None
    return f"Found {weight if is_number else kind_of(weight)}; a number from -1 (disliked) to 1 (liked) is accepted."
