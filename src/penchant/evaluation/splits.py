"""Splits: a part of each person's interactions is held out, or all after a moment; methods know the rest."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from penchant.evaluation.histories import Events
from penchant.index import BoolArray, FloatArray, IntArray

Kind = Literal["time", "random", "cut"]
KINDS: tuple[str, ...] = get_args(Kind)
HELD_OUT = 0.2
"""The share that is held out."""
_ROUNDING = 1e-9
"""So that a fifth of 15 is 3, whatever doubles make of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRule:
    """How to split: by time or at random for each person, or at one moment for all.

    ``cold`` is the share of pieces, and of people, of which everything is held out.
    """

    kind: Kind = "time"
    share: float = HELD_OUT
    cold: float = 0.0
    seed: int = 0


class Split(NamedTuple):
    """Which events are known, and which are held out; shapes (n_events,). Each is one of the two."""

    known: BoolArray
    held_out: BoolArray


def split(events: Events, request: SplitRule) -> Split:
    """Return a split of events, the same for the same request.

    By time or at random a person's latest, or some, ``share`` of the interactions are held out, rounded down: of
    less than five none for a fifth. A cut holds out what happened after the moment by which the rest had happened.
    """
    if request.kind == "cut":
        held_out = _after_cut(events.times, request.share)
    elif request.kind == "random":
        held_out = _last(events.people, np.random.default_rng([request.seed, 0]).random(len(events)), request.share)
    else:
        held_out = _last(events.people, events.times, request.share)
    if request.cold:
        # Streams of their own: another share of cold ones changes nothing of what was drawn above.
        random = np.random.default_rng([request.seed, 1])
        held_out |= _some(events.people, request.cold, random)
        held_out |= _some(events.pieces, request.cold, random)
    return Split(~held_out, held_out)


def _last(people: IntArray, keys: IntArray | FloatArray, share: float) -> BoolArray:
    """Return which events are the last of their person, by key and then by place."""
    if not len(people):
        return np.zeros(0, dtype=np.bool_)
    # Sorted by person and then by key: an event's position less that of its person's first one is its rank.
    order = np.lexsort((keys, people))
    counts = np.bincount(people)
    ranks = np.empty(len(people), dtype=np.int64)
    ranks[order] = np.arange(len(people)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = counts - np.floor(counts * share + _ROUNDING).astype(np.int64)
    held_out: BoolArray = ranks >= kept[people]
    return held_out


def _after_cut(times: IntArray, share: float) -> BoolArray:
    if not len(times):
        return np.zeros(0, dtype=np.bool_)
    # What happened at the very moment of the cut is known, so that no moment is on both sides.
    kept = max(1, len(times) - int(len(times) * share + _ROUNDING))
    held_out: BoolArray = times > np.sort(times)[kept - 1]
    return held_out


def _some(numbers: IntArray, share: float, random: np.random.Generator) -> BoolArray:
    chosen: BoolArray = random.random(int(numbers.max(initial=-1)) + 1) < share
    return chosen[numbers]
