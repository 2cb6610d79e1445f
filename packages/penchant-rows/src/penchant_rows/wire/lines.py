"""Lines of JSON of placements, which ``penchant export`` writes for an import."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penchant.wire.syntax import Faults, decode_object, encode, kind_of
from penchant_rows.wire.placements import BUCKETS, PlacementSpec, placement_problem, read_placement

_NAME, _PLACEMENT, _BUCKETS = "name", "placement", "buckets"

Runs = Sequence[tuple[int, int, str]]
"""Buckets from one until before another that are a variant's, ascending: who sees which variant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPlacement:
    """A placement with its name, and ``buckets``, by which people go on seeing the variants that they saw."""

    name: str
    spec: PlacementSpec
    buckets: Runs


def encode_exported_placement(name: str, body: bytes, assignment: bytes) -> bytes:
    """Return the value of a line ``{"placement":…}`` from a placement as it is stored."""
    return encode({_NAME: name, _PLACEMENT: msgspec.Raw(body), _BUCKETS: msgspec.Raw(assignment)})


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
