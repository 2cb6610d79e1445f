"""Splits: a part of each person's interactions is held out, or all after a moment; methods know the rest.

They know less of newcomers, and in young sources. Each newcomer is judged as if alone in the source: what newcomers do
counts for themselves and for nobody else, so that a source of 200 interactions has 200, however many people are asked
for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from penchant.model import SourceSettings
from penchant_engine.index import FloatArray, IntArray
from penchant_engine.index.layout import BoolArray
from penchant_engine.model import InteractionType, OrderUse
from penchant_lab.histories import Events, Knowledge

Kind = Literal["time", "random", "cut", "next"]
KINDS: tuple[str, ...] = get_args(Kind)
RELEVANT = (InteractionType.PURCHASE, InteractionType.RATE_LIKE, InteractionType.BOOKMARK)
"""What counts as liked later: what people do with pieces that they want, not what they do to find out."""
HELD_OUT = 0.2
"""The share that is held out."""
NEWCOMER_SHARE = 2
"""At most one in so many of those who can be judged is a newcomer: the others make the source."""
_ROUNDING = 1e-9
"""So that a fifth of 15 is 3, whatever doubles make of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRule:
    """How to split: by time or at random for each person, at one moment for all, or before each person's next like.

    ``cold`` is the share of pieces, and of people, of which everything is held out.
    """

    kind: Kind = "time"
    share: float = HELD_OUT
    cold: float = 0.0
    seed: int = 0


class Split(NamedTuple):
    """Which events are known, and which are held out; shapes (n_events,). None is both."""

    known: BoolArray
    held_out: BoolArray


def judged_settings(settings: SourceSettings, rule: SplitRule) -> SourceSettings:
    """Return the settings by which a source is judged on a split: held out at random, times say nothing of order."""
    return replace(settings, order=OrderUse.OFF) if rule.kind == "random" else settings


def split(events: Events, request: SplitRule, relevant: Sequence[InteractionType] = RELEVANT) -> Split:
    """Return a split of events, the same for the same request.

    By time or at random a person's latest, or some, ``share`` of the interactions are held out, rounded down: of
    less than five none for a fifth. A cut holds out what happened after the moment by which the rest had happened.
    The next like is a person's latest ``relevant`` interaction with a piece that is new to them, with something before
    it; it alone is held out, and what follows it is neither known nor held out. Of one moment chance says what comes
    first.
    """
    dropped = np.zeros(len(events), dtype=np.bool_)
    if request.kind == "next":
        held_out, dropped = _next_likes(events, relevant, np.random.default_rng([request.seed, 10]))
    elif request.kind == "cut":
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
    return Split(~held_out & ~dropped, held_out)


def _next_likes(
    events: Events, relevant: Sequence[InteractionType], random: np.random.Generator
) -> tuple[BoolArray, BoolArray]:
    """Return each person's latest relevant event with a piece new to them, and which events come after it."""
    order = np.lexsort((random.random(len(events)), events.times, events.people))
    people, pieces = events.people[order], events.pieces[order]
    # The first of each pair, in order; and not the first of its person, so that something is known.
    is_new = np.zeros(len(events), dtype=np.bool_)
    is_new[np.unique(people * (int(pieces.max(initial=0)) + 1) + pieces, return_index=True)[1]] = True
    able = np.flatnonzero(is_new & events.are(relevant)[order] & (np.diff(people, prepend=-1) == 0))
    chosen = able[np.diff(people[able], append=-1) != 0]
    latest = np.full(int(people.max(initial=-1)) + 1, len(events), dtype=np.int64)
    latest[people[chosen]] = chosen
    held_out, dropped = np.zeros((2, len(events)), dtype=np.bool_)
    held_out[order[chosen]] = True
    dropped[order] = np.arange(len(events)) > latest[people]
    return held_out, dropped


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


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeLimits:
    """How little is known: of the source the first ``history`` interactions, of each newcomer the first ``likes``.

    ``None`` is all that is not held out.
    """

    history: int | None = None
    likes: int | None = None

    @property
    def title(self) -> str:
        """What is known, in words."""
        words = [] if self.history is None else [f"{self.history:,} interactions of others"]
        if self.likes is not None:
            words.append("one own like" if self.likes == 1 else f"{self.likes:,} own likes")
        return ", ".join(words)


def draw_newcomers(able: IntArray, most: int, person_count: int, seed: int) -> BoolArray:
    """Return who is a newcomer, (n_people,): at most ``most``, and one in `NEWCOMER_SHARE`, of those who are able."""
    count = min(most, len(able) // NEWCOMER_SHARE)
    newcomers = np.zeros(person_count, dtype=np.bool_)
    newcomers[np.random.default_rng([seed, 6]).choice(able, count, replace=False)] = True
    return newcomers


def known_within(
    knowledge: Knowledge, parts: Split, limits: KnowledgeLimits, rule: SplitRule, newcomers: BoolArray
) -> tuple[Knowledge, BoolArray]:
    """Return what is known within limits, and which events of newcomers are held out.

    ``knowledge`` is what ``parts`` leave. With ``likes`` all else that a newcomer did is held out. Newcomers' known
    events are moved in time, so that the latest of each is of the source's last moment: they come when it is as it is.
    So are everybody's in a young source whose times are made up (``rule`` splits by chance).
    """
    events = knowledge.history.events
    is_own = newcomers[events.people]
    order = _order(events, rule)
    own, shared = parts.known & is_own, parts.known & ~is_own
    if limits.likes is not None:
        own = _first_likes(knowledge, own, limits.likes, order)
    if limits.history is not None:
        shared = _first(events, shared, limits.history, order, rule)
    known = own | shared
    begun = replace(knowledge, events=events.take(known), newcomers=newcomers)
    # A young source is young in time as well; made-up times would spread its few interactions over all of it.
    moves = is_own[known] if rule.kind != "random" or limits.history is None else np.ones(len(begun.events), np.bool_)
    return replace(begun, events=_moved(begun, moves)), is_own & ~own


def _order(events: Events, rule: SplitRule) -> IntArray | FloatArray:
    """Return what events are ordered by: their time, or by chance where times are made up."""
    if rule.kind == "random":
        return np.random.default_rng([rule.seed, 7]).random(len(events))
    return events.times


def _first(events: Events, which: BoolArray, most: int, order: IntArray | FloatArray, rule: SplitRule) -> BoolArray:
    """Return the first of some events, in order; by chance one person after the other."""
    rows = np.flatnonzero(which)
    keys: tuple[IntArray | FloatArray, ...] = (rows, order[rows])
    if rule.kind == "random":
        turns = np.random.default_rng([rule.seed, 8]).random(int(events.people.max(initial=-1)) + 1)
        keys = (*keys, turns[events.people[rows]])
    mask = np.zeros(len(events), dtype=np.bool_)
    mask[rows[np.lexsort(keys)[:most]]] = True
    return mask


def _first_likes(knowledge: Knowledge, own: BoolArray, most: int, order: IntArray | FloatArray) -> BoolArray:
    """Return those of some events that are with the first pieces that their person likes."""
    events, width = knowledge.history.events, len(knowledge.history.ids)
    owners = np.repeat(np.arange(knowledge.history.person_count), np.diff(knowledge.likes.starts))
    liked = owners * width + knowledge.likes.values
    pairs = events.people * width + events.pieces
    mask: BoolArray = own & np.isin(pairs, _first_pairs(events, pairs, own & np.isin(pairs, liked), most, order))
    return mask


def first_asked(
    knowledge: Knowledge, held_out: BoolArray, relevant: Sequence[InteractionType], most: int, rule: SplitRule
) -> BoolArray:
    """Return those of the held-out events that are with each person's first pieces among the relevant new ones."""
    events, width = knowledge.history.events, len(knowledge.history.ids)
    pairs = events.people * width + events.pieces
    owners = np.repeat(np.arange(knowledge.history.person_count), np.diff(knowledge.seen.starts))
    is_new = ~np.isin(pairs, owners * width + knowledge.seen.values) & (events.pieces < knowledge.piece_count)
    # Of one moment chance says what comes first: rows of an import are often sorted.
    chance = np.random.default_rng([rule.seed, 12]).permutation(len(events))
    order = np.empty(len(events), dtype=np.int64)
    order[np.lexsort((chance, _order(events, rule)))] = np.arange(len(events))
    asked = held_out & events.are(relevant) & is_new
    mask: BoolArray = asked & np.isin(pairs, _first_pairs(events, pairs, asked, most, order))
    return mask


def _first_pairs(
    events: Events, pairs: IntArray, which: BoolArray, most: int, order: IntArray | FloatArray
) -> IntArray:
    """Return the first so many ``pairs`` of each person among some events."""
    rows = np.flatnonzero(which)
    rows = rows[np.lexsort((rows, order[rows], events.people[rows]))]
    # In order of person and time: the first event of each pair says which comes first.
    _, firsts = np.unique(pairs[rows], return_index=True)
    firsts = np.sort(firsts)
    people = events.people[rows[firsts]]
    ranks = np.arange(len(people)) - np.searchsorted(people, people)
    return pairs[rows[firsts[ranks < most]]]


def _moved(knowledge: Knowledge, which: BoolArray) -> Events:
    """Return the known events, some of each person moved so that the latest of them is of the source's last moment."""
    events = knowledge.events
    latest = np.full(knowledge.history.person_count, np.iinfo(np.int64).min, dtype=np.int64)
    np.maximum.at(latest, events.people[which], events.times[which])
    times = events.times.copy()
    times[which] += knowledge.moment - latest[events.people[which]]
    return replace(events, times=times)
