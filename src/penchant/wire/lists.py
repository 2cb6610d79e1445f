"""Is a body a list of ids? For deletions, the whitelist and the blacklist."""

from collections.abc import Sequence
from typing import Any

from penchant.model import MAX_LIST_LENGTH
from penchant.wire.pieces import decode_entries
from penchant.wire.syntax import Faults, fail_at, kind_of
from penchant.wire.text import id_problem, submitted_id_problem

MAX_IDS = 1_000_000
"""Ids in one deletion: no limit of the interface, the body's size ends it first."""


def decode_ids(body: bytes) -> tuple[str, ...]:
    """Return the ids of a deletion's body; an empty array is none.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: an empty body, or no array of ids.
    """
    if not body.strip():
        fail_at("", "Found an empty body where the content type announces JSON; an array of ids is accepted.")
    return _read(body, MAX_IDS, unique=False)


def decode_list(body: bytes) -> tuple[str, ...]:
    """Return the ids of a whitelist or blacklist, in order.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than a list may hold.
        InvalidInput: no array of ids, or an id twice.
    """
    return _read(body, MAX_LIST_LENGTH, unique=True)


def decode_asked(body: bytes, limit: int) -> tuple[str, ...]:
    """Return the ids that one request asks about; the same one may come twice.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than ``limit``.
        InvalidInput: no array of ids.
    """
    return _read(body, limit, unique=False)


def _read(body: bytes, limit: int, *, unique: bool) -> tuple[str, ...]:
    entries = decode_entries(body, limit, "ids")
    faults = Faults()
    check_ids(entries, "", faults, unique=unique)
    faults.raise_any()
    return tuple(entries)


def check_ids(entries: Sequence[Any], where: str, faults: Faults, *, unique: bool) -> None:
    """Note what is wrong with the ids of an array at this place; ``unique`` ones are those of lists."""
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        if not isinstance(entry, str):
            faults.add(f"{where}/{place}", f"Found {kind_of(entry)}; a string is accepted.")
            continue
        problem = submitted_id_problem(entry) if unique else id_problem(entry)
        if problem:
            faults.add(f"{where}/{place}", problem)
        if unique and entry in seen:
            faults.add(f"{where}/{place}", "Found an id for the second time; each is accepted once.")
        seen.add(entry)
