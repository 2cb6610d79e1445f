"""True tastes: people made from a source's history, and what each of them likes of every piece, which nobody tells.

A taste theta is a sum of four parts, each of mean 0 and variance 1 over a person's pieces, as is their sum:

    what people agree on   the person's reactions, smoothed by what other people's have in common (`RANK` components)
    keywords               how alike a piece is to the pieces that the person really likes
    popularity             the logarithm of how many people like a piece
    noise                  what nothing tells

Where a history has less than `MANY_PEOPLE` to take after, what people agree on cannot be told from chance. It is then
made up: `GROUPS` of people, each with a taste of its own that no keyword shows; and so is what makes a piece popular.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from penchant.errors import InvalidInput
from penchant_engine.index import FloatArray, IntArray
from penchant_engine.model import InteractionType
from penchant_lab.histories import Knowledge, SourceHistory
from penchant_lab.served import vectors_of

LEAST_LIKES, LEAST_PEOPLE = 5, 5
"""Likes of somebody to take after, and how many such people there have to be."""
MANY_PEOPLE, MOST_PEOPLE = 100, 5_000
RANK, GROUPS = 8, 8
_ROUNDING = 6
"""Decimals of tastes: linear algebra of other machines differs in later ones."""


class Mixture(NamedTuple):
    """How much each part of a taste counts; the rest of the variance is noise."""

    agreed: float
    keywords: float
    popular: float


# Those of many people were chosen among five, so that popularity, content and the best list for all came near to what
# loops gave that were simulated apart from this code; lists of the service had been seen by then.
FROM_MANY = Mixture(0.65, 0.62, 0.3)
FROM_FEW = Mixture(0.6, 0.65, 0.35)


def most_met(history: SourceHistory, count: int) -> SourceHistory:
    """Return the history of so many pieces only, those that most people have met, ties by ascending id."""
    met = _all_of(history).met
    kept = np.sort(np.argsort(-met, kind="stable")[:count])
    numbers = np.full(len(history.ids), -1, dtype=np.int64)
    numbers[kept] = np.arange(len(kept))
    events = history.events.take(numbers[history.events.pieces] >= 0)
    return replace(
        history,
        pieces=[history.pieces[number] for number in kept.tolist()],
        ids=[history.ids[number] for number in kept.tolist()],
        events=replace(events, pieces=numbers[events.pieces]),
    )


def draw_tastes(history: SourceHistory, count: int, seed: int) -> FloatArray:
    """Return the tastes of so many people, (n_people, n_pieces), each of whom takes after people of a history.

    Nobody is taken after twice where there are as many.

    Raises:
        InvalidInput: fewer than `LEAST_PEOPLE` like `LEAST_LIKES` pieces.
    """
    random = np.random.default_rng([seed, 12])
    knowledge = _all_of(history)
    counts = np.diff(knowledge.likes.starts)
    able = np.flatnonzero(counts >= LEAST_LIKES)
    if len(able) < LEAST_PEOPLE:
        raise InvalidInput(
            f"{history.name} has {len(able):,} people with {LEAST_LIKES} liked pieces; tastes are made from "
            f"{LEAST_PEOPLE} at least."
        )
    is_many = len(able) >= MANY_PEOPLE
    if is_many:
        able = random.permutation(able)[:MOST_PEOPLE]
        models = able[np.arange(count) % len(able)][:, None]
        agreed = _agreed(knowledge, able)[np.arange(count) % len(able)]
        popular = np.log1p(knowledge.liked_counts)
    else:
        models = random.choice(able, (count, 2))
        agreed = random.normal(size=(GROUPS, history.piece_count))[random.integers(0, GROUPS, count)]
        popular = random.normal(size=history.piece_count)
    mixture = FROM_MANY if is_many else FROM_FEW
    noise = float(np.sqrt(1 - np.square(mixture).sum()))
    tastes = (
        mixture.agreed * _scaled(agreed)
        + mixture.keywords * _scaled(_by_keywords(knowledge, models, random))
        + mixture.popular * _scaled(popular[None, :])
        + noise * random.normal(size=(count, history.piece_count))
    )
    return np.round(_scaled(tastes), _ROUNDING)


def _all_of(history: SourceHistory) -> Knowledge:
    return Knowledge.of(history, np.ones(len(history.events), dtype=np.bool_), history.settings)


def _agreed(knowledge: Knowledge, people: IntArray) -> FloatArray:
    """Return what people's reactions have in common with those of others, without what all of them share."""
    reactions = np.zeros((len(people), knowledge.piece_count))
    rows = np.full(knowledge.history.person_count, -1, dtype=np.int64)
    rows[people] = np.arange(len(people))
    events = knowledge.events.take(knowledge.events.are((InteractionType.RATE_DISLIKE,)))
    disliked = events.take(rows[events.people] >= 0)
    reactions[rows[disliked.people], disliked.pieces] = -1
    reactions[knowledge.likes.pairs(people)] = 1
    reactions /= np.sqrt(np.maximum(1, np.abs(reactions).sum(axis=1, keepdims=True)))
    # A projection: unlike the components themselves it has no sign that an algorithm chooses.
    _, components = np.linalg.eigh(reactions.T @ reactions)
    space = components[:, -RANK:]
    smooth = reactions @ space @ space.T
    found: FloatArray = smooth - smooth.mean(axis=0)
    return found


def _by_keywords(knowledge: Knowledge, models: IntArray, random: np.random.Generator) -> FloatArray:
    """Return how alike pieces are to what people's models like, half of it where there are two; (n_people, n_pieces).

    By the sum of cosines, less the mean of all people.
    """
    vectors = vectors_of(knowledge.history)
    owners = np.repeat(np.arange(knowledge.piece_count), np.diff(vectors.starts))
    term_count = int(vectors.terms.max(initial=0)) + 1
    likeness = np.empty((len(models), knowledge.piece_count))
    for row, own in enumerate(models.tolist()):
        runs = [knowledge.likes[model] for model in own]
        liked = np.concatenate([random.permutation(each)[: -(-len(each) // len(own))] for each in runs])
        is_liked = np.isin(owners, liked)
        profile = np.bincount(vectors.terms[is_liked], vectors.entries[is_liked], term_count)
        likeness[row] = np.bincount(owners, vectors.entries * profile[vectors.terms], knowledge.piece_count)
    found: FloatArray = likeness - likeness.mean(axis=0)
    return found


def _scaled(values: FloatArray) -> FloatArray:
    """Return rows of mean 0 and variance 1; of one value each 0."""
    apart = values - values.mean(axis=1, keepdims=True)
    spread = apart.std(axis=1, keepdims=True)
    scaled: FloatArray = apart / np.where(spread > 0, spread, 1)
    return scaled
