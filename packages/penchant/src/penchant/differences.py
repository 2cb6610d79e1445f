"""Differences of what steers a source between two moments: settings member by member, lists id by id, as JSON.

What is told is short: `MAX_CHANGES` of them, then how many ``more``, and of long values only that they changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

MAX_CHANGES = 20
"""Changes that are told one by one."""
MAX_VALUE = 60
"""Bytes, as JSON, of a value that is told."""
MAX_POINTER = 200
"""Characters of a pointer; of a member with a longer one its parent is told to have changed."""

Change = dict[str, Any]


def differences(before: Any, now: Any) -> list[Change]:
    """Return what differs between settings (mappings) or lists of ids (sequences)."""
    found = _setting_changes(before, now) if isinstance(now, Mapping) else _list_changes(before, now)
    told = [*islice(found, MAX_CHANGES)]
    more = sum(1 for _ in found)
    return [*told, {"more": more}] if more else told


def _setting_changes(before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> Iterator[Change]:
    """Yield each member that differs, by its pointer; null is what was not there."""
    is_long = False
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        pointer = f"{within}/{name.replace('~', '~0').replace('/', '~1')}"
        if old == new:
            continue
        if len(pointer) > MAX_POINTER:
            is_long = True
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _setting_changes(old, new, pointer)
        else:
            is_short = all(len(msgspec.json.encode(each)) <= MAX_VALUE for each in (old, new))
            yield {"pointer": pointer} | ({"before": old, "after": new} if is_short else {})
    if is_long:
        yield {"pointer": within}


def _list_changes(before: Sequence[str], now: Sequence[str]) -> Iterator[Change]:
    """Yield each id that came and each that went, and at last whether those that stayed have another order."""
    # Most changes are of one id of many: what both begin and end with is no part of them.
    first = _same(before, now)
    rest = min(_same(before[::-1], now[::-1]), min(len(before), len(now)) - first)
    before, now = before[first : len(before) - rest], now[first : len(now) - rest]
    old, new = set(before), set(now)
    yield from ({"added": each} for each in now if each not in old)
    yield from ({"removed": each} for each in before if each not in new)
    if [each for each in before if each in new] != [each for each in now if each in old]:
        yield {"reordered": True}


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many ids two lists begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
