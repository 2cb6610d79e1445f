"""Changes of settings that tuning tries: each of one thing, in one order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from penchant.evaluation.histories import TYPES, SourceHistory
from penchant.evaluation.knowledge import Knowledge
from penchant.model import Blend, InteractionType, SourceSettings
from penchant.words import CATEGORY

BLENDS = (
    (0.1, 0.8, 0.1), (0.0, 0.9, 0.1), (0.05, 0.9, 0.05), (0.1, 0.9, 0.0), (0.1, 0.6, 0.3), (0.1, 0.3, 0.6),
    (0.0, 0.6, 0.4), (0.2, 0.7, 0.1), (0.3, 0.6, 0.1), (0.3, 0.4, 0.3), (0.5, 0.4, 0.1), (0.7, 0.2, 0.1),
    (0.9, 0.0, 0.1),
)  # fmt: skip
"""Content, audience and popularity: a coarse net over what sources of all kinds may want."""
HALF_LIVES = (0.0, 30.0, 90.0, 365.0)
NEW_PIECE_HALF_LIVES = (0.0, 7.0, 30.0, 120.0)
CATEGORY_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0)
WORD_WEIGHTS = (0.0, 0.25, 0.5, 1.0)
"""Of words of texts: beside good tags more harms (D175 of docs/decisions.md)."""
MAX_CATEGORIES = 6
"""Categories that are tried: those with the most keywords in pieces."""
TYPE_FACTORS = (0.0, 0.33, 3.0)
"""What the weight of a type of interaction is tried to be multiplied by."""
MAX_TYPE_WEIGHT = 100
DELIBERATE = (
    InteractionType.PURCHASE,
    InteractionType.WATCH,
    InteractionType.RATE_LIKE,
    InteractionType.RATE_DISLIKE,
)
"""What people do on purpose, so that it has to count: who only rates would otherwise have an empty profile."""
NEARBY = 0.1
"""How far blends are drawn around the best, once the net is used up."""

Change = Callable[[SourceSettings], SourceSettings]


def changes(history: SourceHistory, knowledge: Knowledge, seed: int) -> Iterator[tuple[str, Change]]:
    """Give changes one after the other, each of one thing: first a coarse net, then draws near the best."""
    for content, audience, popularity in BLENDS:
        yield "blend", _blended(Blend(content=content, audience=audience, popularity=popularity))
    for kind in (TYPES[number] for number in np.unique(knowledge.events.types).tolist()):
        for factor in TYPE_FACTORS:
            yield f"weight of {kind.value}", _weighing(kind, factor)
    for days in HALF_LIVES:
        yield "half-life", _forgetting(days)
    for days in NEW_PIECE_HALF_LIVES:
        yield "half-life of new pieces", _ageing(days)
    for category in _categories(history):
        for weight in WORD_WEIGHTS if category == CATEGORY else CATEGORY_WEIGHTS:
            yield f"weight of {category}", _categorising(category, weight)
    # Without end: the caller stops by time, or by the number of candidates.
    random = np.random.default_rng([seed, 5])
    while True:
        yield "blend nearby", _nearby(random.normal(0, NEARBY, 3).tolist())


def _blended(blend: Blend) -> Change:
    return lambda settings: replace(settings, blend=blend)


def _forgetting(days: float) -> Change:
    return lambda settings: replace(settings, half_life_days=days)


def _ageing(days: float) -> Change:
    return lambda settings: replace(settings, new_piece_half_life_days=days)


def _nearby(steps: Sequence[float]) -> Change:
    """Return the change that moves the shares of the blend by these steps, down to 0 at least."""

    def change(settings: SourceSettings) -> SourceSettings:
        blend = settings.blend
        total = blend.content + blend.audience + blend.popularity
        shares = (blend.content / total, blend.audience / total, blend.popularity / total)
        content, audience, popularity = (
            round(max(0.0, share + step), 2) for share, step in zip(shares, steps, strict=True)
        )
        if not content + audience + popularity:
            return settings
        return replace(settings, blend=Blend(content=content, audience=audience, popularity=popularity))

    return change


def weight_faults(weights: Mapping[InteractionType, float]) -> list[str]:
    """Return which weights are not to be proposed, a sentence each.

    No act counts for its opposite, and what is `DELIBERATE` counts: its weight is not 0.
    """
    faults = []
    for kind, weight in weights.items():
        side = "above" if kind.default_weight > 0 else "below"
        strength = weight if kind.default_weight > 0 else -weight
        if kind in DELIBERATE and strength <= 0:
            faults.append(f"{kind.value} weighs {weight:g}; only weights {side} 0 are proposed for it.")
        elif strength < 0:
            faults.append(f"{kind.value} weighs {weight:g}; only 0 and weights {side} 0 are proposed for it.")
    return faults


def _weighing(kind: InteractionType, factor: float) -> Change:
    def change(settings: SourceSettings) -> SourceSettings:
        weight = round(min(MAX_TYPE_WEIGHT, max(-MAX_TYPE_WEIGHT, settings.interaction_weights[kind] * factor)), 2)
        # Settings as they were are not tried.
        if weight_faults({kind: weight}):
            return settings
        return replace(settings, interaction_weights={**settings.interaction_weights, kind: weight})

    return change


def _categorising(category: str, weight: float) -> Change:
    def change(settings: SourceSettings) -> SourceSettings:
        weights = {name: value for name, value in settings.category_weights.items() if name != category}
        usual = replace(settings, category_weights=weights).category_factors.get(category, 1)
        return replace(settings, category_weights=weights if weight == usual else {**weights, category: weight})

    return change


def _categories(history: SourceHistory) -> Sequence[str]:
    """Return the categories with the most keywords in pieces; of one category alone a weight changes nothing."""
    counts: dict[str, int] = {}
    for piece in history.pieces:
        for term in piece.weights:
            counts[term.category] = counts.get(term.category, 0) + 1
    if len(counts) < 2:
        return ()
    return sorted(counts, key=lambda name: (-counts[name], name))[:MAX_CATEGORIES]


def changed_members(before: Mapping[str, object], after: Mapping[str, object]) -> list[tuple[str, object, object]]:
    """Return which members of settings differ, inner ones by their path, with both values; ``None`` for none."""
    changed: list[tuple[str, object, object]] = []
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name), after.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            changed += [(f"{name}.{inner}", *both) for inner, *both in changed_members(one, other)]  # type: ignore[misc]
        elif one != other:
            changed.append((name, one, other))
    return changed
