"""Line kinds: what packages keep of a source and bring along as lines of JSON, out of it and into another one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

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


@cache
def line_kinds() -> Mapping[str, LineKind]:
    """Return the kinds of lines that packages bring, by name."""
    return {kind.name: kind for kind in packages().lines(OWN_LINES)}


def export_parts() -> tuple[str, ...]:
    """Return the names of what is exported beside pieces, in the order in which it is written but interactions."""
    brought = dict.fromkeys(kind.part for kind in line_kinds().values())
    return (*PARTS_BEFORE, *brought, *PARTS_AFTER)
