"""Plain lists: what many people like and what is new, whoever asks; and what one person may take up again.

Each is ranked by one measure, a scan of all pieces, and its reasons have that one part.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from penchant_engine.computed import computed
from penchant_engine.index import Audience, PieceCounts
from penchant_engine.index.people.popularity import Popularity, shares_of
from penchant_engine.index.queries import PartQuery, ScanQuery, newness_scan, popularity_scan, score_scan
from penchant_engine.lists.personal import popular_at
from penchant_engine.lists.ranking import QUICK_PIECES, ListRanking
from penchant_engine.lists.reasons import PartReason, Reasons
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS, StoredInteraction
from penchant_engine.ranking import SCORE_SCALE
from penchant_engine.repeats import RepeatItem, repeat_items
from penchant_engine.views import CatalogueView

DEFAULT_NEWNESS_DAYS = 30
"""The half-life of what is new where the source's settings turn that off."""


class _MeasuredRanking(ListRanking):
    """A list by one measure."""

    measure: ClassVar[str]

    @property
    def is_quick(self) -> bool:
        """Whether the list is made within the event loop."""
        return not self.is_arranged and self.view.snapshot.piece_count <= QUICK_PIECES

    def why(self, piece_id: str, *, listed: bool) -> Reasons:
        """Return how much of the measure a piece has, and, of one that is listed, what moved it."""
        rules = self._moving_rules(piece_id, listed=listed)
        return Reasons(rules, parts=[PartReason(self.measure, self._share(piece_id))])

    def _share(self, piece_id: str) -> float:
        key = self.key(piece_id)
        return 0.0 if key is None else (self.zero - key) / self.zero


class PopularRanking(_MeasuredRanking):
    """What most people like, by counts that are the audience's or of another half-life; none where nobody does."""

    measure = "popular"

    def __init__(
        self, view: CatalogueView, request: ListRequest, now: int, audience: Audience, counts: PieceCounts | None
    ) -> None:
        super().__init__(view, request, now, audience.version)
        self._audience = audience
        self._counts = counts

    @computed
    def query(self) -> PartQuery:
        """What the list is searched by."""
        parts, audience, counts = self.view.snapshot.parts, self._audience, self._counts
        if counts is None:
            popular = Popularity.without_credits([np.zeros(len(part.segment)) for part in parts])
        elif counts is audience.counts:
            # Recommendations have worked them out already, for the same parts and day.
            popular = popular_at(self.view, self.now, audience)
        else:
            people = counts.by_part(parts, audience.figures.grades)
            popular = Popularity.without_credits(shares_of(parts, people, audience.figures.evenness))
        return ScanQuery(popularity_scan(parts, popular.keys))


class NewRanking(_MeasuredRanking):
    """What became available last."""

    measure = "new"

    @computed
    def query(self) -> PartQuery:
        """What the list is searched by."""
        half_life = self.request.half_life_days or self.view.settings.new_piece_half_life_days
        return ScanQuery(newness_scan(self.shown.moment, half_life or DEFAULT_NEWNESS_DAYS))


class RepeatRanking(_MeasuredRanking):
    """What a person began or keeps coming back to, from what that person did, newest first, and nothing else."""

    measure = "again"
    zero = SCORE_SCALE
    has_whitelist = False

    def __init__(
        self,
        view: CatalogueView,
        request: ListRequest,
        now: int,
        interactions: Sequence[StoredInteraction],
    ) -> None:
        super().__init__(view, request, now)
        self._interactions = interactions

    @computed
    def query(self) -> PartQuery:
        """What the list is searched by."""
        # Beside the best one, whether that may be shown or not: a filter changes no score.
        greatest = max((each.value for each in self.repeat_items.values()), default=1.0)
        keys = {key: round((1 - each.value / greatest) * SCORE_SCALE) for key, each in self.repeat_items.items()}
        return ScanQuery(score_scan(keys))

    @computed
    def repeat_items(self) -> dict[str, RepeatItem]:
        """What the person began or keeps coming back to, by piece."""
        known = repeat_items(self._interactions, self.view.settings, self.shown.moment // DAY_MS)
        return {each.piece_id: each for each in known}

    def _share(self, piece_id: str) -> float:
        key = self.key(piece_id)
        return 0.0 if key is None else 1 - key / SCORE_SCALE
