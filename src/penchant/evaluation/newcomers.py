"""Newcomers: people of whom little is known, and sources in which little has happened yet.

Each newcomer is judged as if alone in the source: what newcomers do counts for themselves and for nobody else, so that
a source of 200 interactions has 200, however many people are asked for.
"""

from dataclasses import dataclass, replace

import numpy as np

from penchant.evaluation.histories import Events
from penchant.evaluation.knowledge import Knowledge
from penchant.evaluation.splits import Split, SplitRule
from penchant.index import BoolArray, FloatArray, IntArray

SHARE = 2
"""At most one in so many of those who can be judged is a newcomer: the others make the source."""


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
        told = [] if self.history is None else [f"{self.history:,} interactions of others"]
        if self.likes is not None:
            told.append("one own like" if self.likes == 1 else f"{self.likes:,} own likes")
        return ", ".join(told)


def draw_newcomers(able: IntArray, most: int, person_count: int, seed: int) -> BoolArray:
    """Return who is a newcomer, shape (n_people,): at most ``most``, and one in `SHARE`, of those who can be judged."""
    count = min(most, len(able) // SHARE)
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
    places = np.flatnonzero(which)
    keys: tuple[IntArray | FloatArray, ...] = (places, order[places])
    if rule.kind == "random":
        turns = np.random.default_rng([rule.seed, 8]).random(int(events.people.max(initial=-1)) + 1)
        keys = (*keys, turns[events.people[places]])
    found = np.zeros(len(events), dtype=np.bool_)
    found[places[np.lexsort(keys)[:most]]] = True
    return found


def _first_likes(knowledge: Knowledge, own: BoolArray, most: int, order: IntArray | FloatArray) -> BoolArray:
    """Return those of some events that are with the first pieces that their person likes."""
    events, width = knowledge.history.events, len(knowledge.history.ids)
    owners = np.repeat(np.arange(knowledge.history.person_count), np.diff(knowledge.likes.starts))
    liked = owners * width + knowledge.likes.values
    pairs = events.people * width + events.pieces
    places = np.flatnonzero(own & np.isin(pairs, liked))
    places = places[np.lexsort((places, order[places], events.people[places]))]
    # In order of person and time: the first event of each pair says which like comes first.
    _, firsts = np.unique(pairs[places], return_index=True)
    firsts = np.sort(firsts)
    people = events.people[places[firsts]]
    ranks = np.arange(len(people)) - np.searchsorted(people, people)
    found: BoolArray = own & np.isin(pairs, pairs[places[firsts[ranks < most]]])
    return found


def _moved(knowledge: Knowledge, which: BoolArray) -> Events:
    """Return the known events, some of each person moved so that the latest of them is of the source's last moment."""
    events = knowledge.events
    latest = np.full(knowledge.history.person_count, np.iinfo(np.int64).min, dtype=np.int64)
    np.maximum.at(latest, events.people[which], events.times[which])
    times = events.times.copy()
    times[which] += knowledge.moment - latest[events.people[which]]
    return replace(events, times=times)
