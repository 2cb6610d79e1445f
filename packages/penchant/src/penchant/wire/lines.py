"""Lines of JSON: of the change feed, and of what ``penchant export`` writes for an import."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from penchant.wire.pieces import Piece
from penchant.wire.placements import BUCKETS, PlacementSpec, placement_problem, read_placement
from penchant.wire.preferences import read_preferences
from penchant.wire.syntax import Faults, decode_object, encode, kind_of
from penchant.wire.text import id_problem
from penchant_engine.model import Preferences


class ChangeLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One line of the feed.

    ``begin`` comes first, with the version that the feed leads to, the ``history`` of which that version is, and
    whether it is ``complete``: then these are all pieces, and a follower forgets what it had. ``upsert`` has a piece,
    ``delete`` the id of one that is gone. A feed without ``end`` was cut.
    """

    type: Literal["begin", "upsert", "delete", "end"]
    source: str | None = None
    version: int | None = None
    complete: bool | None = None
    history: str | None = None
    piece: Piece | None = None
    id: str | None = None


def begin_line(source: str, version: int, history: str, *, complete: bool) -> bytes:
    """Return the first line."""
    return _line(type="begin", source=source, version=version, complete=complete, history=history)


def upsert_line(body: bytes) -> bytes:
    """Return the line of a piece by its stored JSON."""
    return b'{"type":"upsert","piece":%s}\n' % body


def delete_line(piece_id: str) -> bytes:
    """Return the line of a piece that is gone."""
    return _line(type="delete", id=piece_id)


def end_line(version: int) -> bytes:
    """Return the last line."""
    return _line(type="end", version=version)


def _line(**members: Any) -> bytes:
    return encode(members) + b"\n"


_NAME, _PLACEMENT, _BUCKETS, _USER_ID = "name", "placement", "buckets", "userId"

Runs = Sequence[tuple[int, int, str]]
"""Buckets from one until before another that are a variant's, ascending: who sees which variant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPlacement:
    """A placement with its name, and ``buckets``, by which people go on seeing the variants that they saw."""

    name: str
    spec: PlacementSpec
    buckets: Runs


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPreferences:
    """What one person has said."""

    user_id: str
    preferences: Preferences


def encode_exported_placement(name: str, body: bytes, assignment: bytes) -> bytes:
    """Return the value of a line ``{"placement":…}`` from a placement as it is stored."""
    return encode({_NAME: name, _PLACEMENT: msgspec.Raw(body), _BUCKETS: msgspec.Raw(assignment)})


def encode_stated_preferences(user_id: str, body: bytes) -> bytes:
    """Return the value of a line ``{"preferences":…}`` from preferences as they are stored: an object with members."""
    return b'{"userId":' + encode(user_id) + b"," + body[1:]


def decode_exported_placement(body: bytes) -> ExportedPlacement:
    """Return the placement in the value of a line.

    Raises:
        InvalidSyntax, InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    value = decode_object(body)
    spec = read_placement(value.get(_PLACEMENT), f"/{_PLACEMENT}")
    faults = Faults()
    faults.only(value, (_NAME, _PLACEMENT, _BUCKETS), "")
    name = value.get(_NAME)
    problem = placement_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a name is accepted."
    if problem:
        faults.add(f"/{_NAME}", problem)
    buckets = _read_buckets(value.get(_BUCKETS) or [], spec, faults)
    faults.raise_any()
    return ExportedPlacement(name=str(name), spec=spec, buckets=buckets)


def decode_stated_preferences(body: bytes) -> StatedPreferences:
    """Return whose preferences, and which, are in the value of a line.

    Raises:
        InvalidSyntax, TooManyEntries, InvalidInput: as `decode_preferences`, and where nobody is named.
    """
    value = decode_object(body)
    user_id = value.pop(_USER_ID, None)
    problem = id_problem(user_id) if isinstance(user_id, str) else f"Found {kind_of(user_id)}; an id is accepted."
    faults = Faults()
    if problem:
        faults.add(f"/{_USER_ID}", problem)
    faults.raise_any()
    return StatedPreferences(user_id=user_id, preferences=read_preferences(value))


def _read_buckets(value: Any, spec: PlacementSpec, faults: Faults) -> Runs:
    """Return the runs of buckets, which must be as many for each variant as its share says; faults are noted."""
    where = f"/{_BUCKETS}"
    try:
        runs = msgspec.convert(value, list[tuple[int, int, str]])
    except msgspec.ValidationError:
        faults.add(where, 'Found another shape; an array of arrays such as [0, 2000, "variant"] is accepted.')
        return ()
    bounds = [bound for run in runs for bound in run[:2]]
    if bounds != sorted(bounds) or not all(0 <= start < end <= BUCKETS for start, end, _ in runs):
        faults.add(where, f"Found runs that are empty, overlap or do not ascend within 0 to {BUCKETS}.")
    counts = Counter[str]()
    for start, end, variant in runs:
        counts[variant] += end - start
    shares = {each.name: each.share for each in spec.variants}
    for name in sorted({*counts, *shares}):
        if counts[name] != shares.get(name, 0):
            faults.add(where, f"Found {counts[name]} buckets of {name!r}; {shares.get(name, 0)} are its share.")
    return runs
