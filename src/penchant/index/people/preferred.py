"""Preferred: what counts in a snapshot of what a person has said."""

from collections.abc import Mapping
from dataclasses import dataclass

from penchant.index.layout import IntArray
from penchant.index.masks import rows_of
from penchant.index.snapshot import Snapshot
from penchant.model import Preferences, SourceSettings, Term


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CountedPreferences:
    """What counts of a person's preferences.

    ``settings`` are those of the person's taste: categories never used weigh nothing. ``stated`` are the keywords that
    some piece has and that weigh something, ascending, with the person's weights. ``hidden`` are rows, ascending, for
    each part of the snapshot; none at all where nothing is hidden.
    """

    settings: SourceSettings
    stated: Mapping[Term, float]
    hidden: tuple[IntArray, ...] = ()

    @classmethod
    def of(cls, preferences: Preferences, snapshot: Snapshot, settings: SourceSettings) -> "CountedPreferences":
        """Return what counts of preferences under the settings of their source."""
        settings = settings.without(preferences.unused_categories)
        stated: dict[Term, float] = {}
        if preferences.stated:
            terms = sorted(preferences.stated)
            frequencies = snapshot.document_frequencies(terms).tolist()
            stated = {
                term: preferences.stated[term]
                for term, frequency in zip(terms, frequencies, strict=True)
                if frequency and settings.category_weights.get(term.category, 1)
            }
        pieces = frozenset(preferences.hidden)
        hidden = tuple(rows_of(part.segment, pieces) for part in snapshot.parts) if pieces else ()
        return cls(settings=settings, stated=stated, hidden=hidden)
