"""Text rules: which strings may be names, ids, keywords and labels."""

import re
from collections.abc import Sequence
from typing import Any

from penchant.model import MAX_ID_LENGTH, MAX_LABEL_LENGTH, MAX_NAME_LENGTH

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Unicode category Cc, all of it."""
_NUL = re.compile("\\x00")
RESERVED_IDS = frozenset({".", ".."})
"""What no piece can be called that is submitted."""


def _problem(text: str, limit: int, control: re.Pattern[str]) -> str | None:
    """Return what is wrong with a text of 1 to ``limit`` characters, or ``None``; ``control`` finds forbidden ones."""
    if 0 < len(text) <= limit and text.isprintable():
        return None  # by far the most frequent case, and printable texts hold no control
    if not text:
        return f"Found an empty text; 1 to {limit} characters are accepted."
    if len(text) > limit:
        return f"Found {len(text)} characters; 1 to {limit} are accepted."
    if control.search(text):
        return "Found a control character, which is not accepted here."
    return None


def id_problem(text: str) -> str | None:
    """Return what is wrong with an id or keyword, or ``None``."""
    return _problem(text, MAX_ID_LENGTH, _CONTROL)


def submitted_id_problem(text: str) -> str | None:
    """Return what is wrong with the id of a piece that is submitted, or ``None``."""
    if text in RESERVED_IDS:
        return "Found '.' or '..', which clients take for steps in a path; any other id is accepted."
    return id_problem(text)


def are_ids(entries: Sequence[Any], *, unique: bool) -> bool:
    """Return whether entries are ids without fault, told of all at once; ``False`` also of some that are.

    ``unique`` ones are those of pieces that may be submitted, each once.
    """
    try:
        joined = "".join(entries)
    except TypeError:
        return False
    lengths = set(map(len, entries))
    if not joined.isprintable() or 0 in lengths or max(lengths, default=0) > MAX_ID_LENGTH:
        return False
    distinct = set(entries) if unique else RESERVED_IDS
    return not unique or (len(distinct) == len(entries) and distinct.isdisjoint(RESERVED_IDS))


def name_problem(text: str) -> str | None:
    """Return what is wrong with the name of a category level or a catalog, or ``None``."""
    return _problem(text, MAX_NAME_LENGTH, _CONTROL)


def source_problem(text: str) -> str | None:
    """Return what is wrong with the name of a source, or ``None``."""
    if text == "-":
        return "A source cannot be called '-', which is the service's own."
    return name_problem(text)


def label_problem(text: str) -> str | None:
    """Return what is wrong with a label, or ``None``; it may be empty and hold any character but NUL."""
    return _problem(text, MAX_LABEL_LENGTH, _NUL) if text else None
