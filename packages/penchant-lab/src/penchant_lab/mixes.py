"""Mixes: what is known of a source as if it had been recorded by other types, so that anybody sees what types cost.

Only how it was recorded changes: people are judged by what they really did, and what they know stays left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from penchant_engine.index import IntArray
from penchant_engine.index.layout import BoolArray
from penchant_engine.model import WHOLE, InteractionType
from penchant_lab.histories import NUMBERS, Events, Knowledge

NOISE = 0.3
"""Chance clicks for each click of the mix of this name."""
BUYERS = 0.1
"""The share of likes that a shop hears of."""
LIKES_OF_FEW = 0.2


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _EventMix:
    """Known events, which of them are likes, who is asked for, and what draws chance."""

    events: Events
    likes: BoolArray
    asked: IntArray
    piece_count: int
    random: np.random.Generator

    def typed(
        self, which: BoolArray | slice = slice(None), kind: InteractionType = InteractionType.CLICK
    ) -> "_EventMix":
        """Return the record with some events, or all, of another type, whole."""
        types, portions = self.events.types.copy(), self.events.portions.copy()
        types[which], portions[which] = NUMBERS[kind], WHOLE
        return replace(self, events=replace(self.events, types=types, portions=portions))

    def with_chance_clicks(self, count: int) -> "_EventMix":
        """Return the record with clicks of its people, at its moments, on pieces drawn at random."""
        drawn = self.random.integers(0, max(1, len(self.events)), count if len(self.events) else 0)
        added = replace(
            self.events.take(drawn),
            pieces=self.random.integers(0, max(1, self.piece_count), len(drawn)),
            types=np.full(len(drawn), NUMBERS[InteractionType.CLICK], dtype=np.int8),
            portions=np.full(len(drawn), WHOLE, dtype=np.int8),
        )
        names = [column.name for column in fields(Events)]
        both = {name: np.concatenate([getattr(each, name) for each in (self.events, added)]) for name in names}
        order = np.argsort(both["times"], kind="stable")
        return replace(self, events=Events(**{name: column[order] for name, column in both.items()}))

    def people(self, share: float, among: BoolArray | None = None) -> BoolArray:
        """Return the events of a share of people, drawn at random, of those that a mask chooses."""
        count = int(self.events.people.max(initial=-1)) + 1
        chosen = self.random.random(count) < share
        return (chosen if among is None else chosen & among)[self.events.people]


def _noise(record: _EventMix) -> _EventMix:
    return record.typed().with_chance_clicks(int(NOISE * len(record.events)))


def _plays(record: _EventMix) -> _EventMix:
    return record.typed(~record.likes).typed(record.likes, InteractionType.PLAY)


def _shop(record: _EventMix) -> _EventMix:
    return record.typed(~(record.likes & (record.random.random(len(record.events)) < BUYERS)))


def _mixed(record: _EventMix) -> _EventMix:
    return record.typed(~record.likes)


def _few(record: _EventMix) -> _EventMix:
    wanted = int(np.count_nonzero(record.likes) / LIKES_OF_FEW)
    return _mixed(record).with_chance_clicks(max(0, wanted - len(record.events)))


def _lurkers(record: _EventMix) -> _EventMix:
    others = np.ones(int(record.events.people.max(initial=-1)) + 1, dtype=np.bool_)
    others[record.asked[record.asked < len(others)]] = False
    lurking = record.people(0.5, others)
    pieces = record.events.pieces.copy()
    pieces[lurking] = record.random.integers(0, max(1, record.piece_count), int(np.count_nonzero(lurking)))
    return replace(record, events=replace(record.events, pieces=pieces)).typed(lurking)


MIXES: Mapping[str, tuple[str, Callable[[_EventMix], _EventMix]]] = {
    "noise": ("all clicks, and three chance ones for each ten", _noise),
    "plays": ("likes as plays, all else as clicks", _plays),
    "p90": ("of nine people in ten all as clicks", lambda record: record.typed(record.people(0.9))),
    "p99": ("of 99 people in a hundred all as clicks", lambda record: record.typed(record.people(0.99))),
    "shop": ("a chance tenth of likes as it is, all else as clicks", _shop),
    "mixed": ("likes as they are, all else as clicks", _mixed),
    "few": ("likes as they are, all else as clicks, and chance clicks until likes are a fifth", _few),
    "lurkers": ("half of those who are not asked for click at random", _lurkers),
}
"""By name what a mix makes of what is known, in words and by a function; likes are of the relevant types."""


def describe(recorded: str) -> str:
    """Return how what is known counts as recorded, in words: by a mix, or all by one type."""
    return MIXES[recorded][0] if recorded in MIXES else f"all as {recorded}"


def record_as(
    knowledge: Knowledge, recorded: str, asked: IntArray, relevant: Sequence[InteractionType], seed: int
) -> Knowledge:
    """Return what is known as if it had been recorded by a mix, or all by the type of this name."""
    events = knowledge.events
    record = _EventMix(
        events=events,
        likes=events.are(relevant),
        asked=asked,
        piece_count=knowledge.piece_count,
        random=np.random.default_rng([seed, 11]),
    )
    made = MIXES[recorded][1](record) if recorded in MIXES else record.typed(kind=InteractionType(recorded))
    return replace(knowledge, events=made.events, truth=events)
