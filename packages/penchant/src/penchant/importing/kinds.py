"""Line kinds: what packages keep of a source and bring along as lines of JSON, out of it and into another one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from penchant.errors import InvalidInput
from penchant.hooks import packages
from penchant.storage import Command, Storage

OWN_LINES = ("whitelist", "blacklist", "settings", "preferences")
PARTS_BEFORE, PARTS_AFTER = ("interactions", "lists", "settings"), ("preferences",)
"""What is exported beside pieces; between these are the parts that packages bring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineKind:
    """Lines ``{"NAME":…}``, which ``penchant export --with PART`` writes.

    ``values`` returns the JSON of each value of a source, given a connection and the source's number; ``read`` what is
    in one, or raises what a request would be told. ``command`` stores what was read, given the storage and whose source
    it is, as members of a `SourceCommand`; ``None`` where that is there already.
    """

    name: str
    part: str
    values: Callable[[Any, int], Iterable[bytes]]
    read: Callable[[bytes], Any]
    command: Callable[[Storage, Mapping[str, Any], Any], Command[Any] | None]


LINE = "line"
"""What imports call a whole line of any of these kinds."""


@cache
def line_kinds() -> Mapping[str, LineKind]:
    """Return the kinds of lines that packages bring, by name."""
    return {kind.name: kind for kind in packages().lines(OWN_LINES)}


def split_line(line: bytes) -> tuple[LineKind, bytes]:
    """Return the kind of a line that holds what a package keeps, and its value.

    Raises:
        InvalidInput: no package that is installed has such lines.
    """
    members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    name, value = next(iter(members.items()))
    if name not in line_kinds():
        raise InvalidInput(f"No installed package has lines of {name}; a piece has an id and categories.")
    return line_kinds()[name], bytes(value)


def export_parts() -> tuple[str, ...]:
    """Return the names of what is exported beside pieces, in the order in which it is written but interactions."""
    brought = dict.fromkeys(kind.part for kind in line_kinds().values())
    return (*PARTS_BEFORE, *brought, *PARTS_AFTER)
