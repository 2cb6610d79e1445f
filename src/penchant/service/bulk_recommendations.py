"""Bulk recommendations: what many people may like under one request, by one kernel for all of them where it can."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from penchant.index import BlendFactors, IntArray, ManyListsSpec, PeopleLists
from penchant.live.views import View
from penchant.model import MAX_TAKE
from penchant.ranking import SCORE_SCALE, RankedPiece
from penchant.service.bulk_inputs import BulkInputs
from penchant.service.list_inputs import blending_of, popular_at, shown_by
from penchant.service.personal_lists import promoted_first, result_of, suited
from penchant.service.requests import PersonalRequest
from penchant.wire import RecommendedPiece


class RecommendationMaker:
    """Makes the lists of people under one request: by one kernel for all, or each as a request's is made.

    ``request`` is for nobody in particular. Beside a view under other rules than the source's own the kernel is the
    same: what people did is counted by the settings of the source anyway.
    """

    def __init__(self, inputs: BulkInputs, view: View, request: PersonalRequest) -> None:
        self._inputs = inputs
        self._view = view
        self._request = request
        self._lists: PeopleLists | None = None
        # Pieces that are to be unlike each other depend on those that are listed already; the kernel knows no boosts.
        if not (view.settings.max_per_value or request.diversity or request.boosts):
            self._lists = PeopleLists(inputs.people, view.snapshot, inputs.weights, self._spec())

    def find(self, people: IntArray) -> list[list[RecommendedPiece] | None]:
        """Return the lists of people, by their numbers, in order; ``None`` where only `search` can make one."""
        table, (begin, end) = self._inputs.people, (0, len(people))
        lists = self._lists
        if lists is not None and end and people[-1] - people[0] == end - 1:
            begin, end = int(people[0]), int(people[-1]) + 1
        elif lists is not None:
            lists = lists.among(table.take(people))
        # The whitelist raises from the same pieces, however few of them are asked for.
        take = MAX_TAKE if self._view.whitelist else self._request.take
        found = None if lists is None else lists.find(begin, end, take)
        if found is None:
            return [None] * len(people)
        scores = ((SCORE_SCALE - np.clip(found.units, 0, SCORE_SCALE)) / SCORE_SCALE).tolist()
        return [
            # The kernel knows nothing of preferences.
            None if ids is None or person in self._inputs.said else self._listed(ids, found.units[number], own)
            for number, (person, ids, own) in enumerate(zip(people.tolist(), found.ids, scores, strict=True))
        ]

    def search(self, person: int, sinking: Mapping[str, float] | None = None) -> list[RecommendedPiece]:
        """Return a person's list as a request's is made, with pieces that sink for that person."""
        inputs = self._inputs
        figures = inputs.people.figures(person, self._view.snapshot, self._view.settings, inputs.preferences(person))
        query = replace(self._request, sinking=sinking or {})
        return suited(self._view, query, figures, inputs.audience, inputs.context.now).content

    def _listed(self, ids: list[str], units: IntArray, scores: list[float]) -> list[RecommendedPiece]:
        if self._view.whitelist:
            ranked = list(map(RankedPiece, ids, units.tolist()))
            return result_of(self._request, promoted_first(self._view, ranked)).content
        return list(map(_entry, ids, scores))

    def _spec(self) -> ManyListsSpec:
        """Return what `list_inputs.searched_by` makes of the request."""
        view, now, audience = self._view, self._inputs.context.now, self._inputs.audience

        def blending(met: int) -> BlendFactors:
            return blending_of(view.settings, None, audience.figures.content_factor(met))

        return ManyListsSpec(
            shown=shown_by(view, self._request, now, self._request.exclude),
            settings=view.settings,
            excludes_seen=view.settings.exclude_seen,
            popular=popular_at(view, now, audience).lifted[0],
            blending=blending,
        )


def _entry(piece_id: str, score: float) -> RecommendedPiece:
    return RecommendedPiece(id=piece_id, score=score)
