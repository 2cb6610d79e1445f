"""Bulk recommendations: what many people may like under one request, by one kernel for all of them where it can."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from penchant.index import BlendFactors, FloatArray, FoundLists, IntArray, ManyListsSpec, PeopleLists
from penchant.live.views import View
from penchant.model import MAX_TAKE
from penchant.ranking import SCORE_SCALE, RankedPiece
from penchant.service.bulk_inputs import BulkInputs
from penchant.service.list_inputs import blending_of, popular_at, shown_by
from penchant.service.personal_lists import promoted_first, result_of, suited
from penchant.service.requests import PersonalRequest
from penchant.wire import ListLines, RecommendationResult, RecommendedPiece, encode


class RecommendationMaker:
    """Makes the lists of people under one request: by one kernel for all, or each as a request's is made.

    ``request`` is for nobody in particular. Beside a view under other rules than the source's own the kernel is the
    same: what people did is counted by the settings of the source anyway.
    """

    def __init__(self, inputs: BulkInputs, view: View, request: PersonalRequest) -> None:
        self._inputs = inputs
        self._view = view
        self._request = request
        (part,) = view.snapshot.parts
        self._ids = part.segment.ids
        self._lines = ListLines(self._ids.__getitem__)
        self._lists: PeopleLists | None = None
        # Pieces that are to be unlike each other depend on those that are listed already; the kernel knows no boosts.
        if not (view.settings.max_per_value or request.diversity or request.boosts):
            self._lists = PeopleLists(inputs.people, view.snapshot, inputs.weights, self._spec())

    def find(self, people: IntArray) -> list[list[RecommendedPiece] | None]:
        """Return the lists of people, by their numbers, in order; ``None`` where only `search` can make one."""
        found = self._found(people)
        if found is None:
            return [None] * len(people)
        lists = zip(people.tolist(), found.lengths.tolist(), found.inexact.tolist(), strict=True)
        scores = _scores(found.units).tolist()
        return [
            None if is_inexact or person in self._inputs.said else self._listed(found, number, length, scores[number])
            for number, (person, length, is_inexact) in enumerate(lists)
        ]

    def lines(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield the lists of people from one number up to another as lines of JSON, as a request is answered."""
        ids = self._inputs.people.ids.take(range(begin, end))
        found = None if self._view.whitelist else self._found(np.arange(begin, end))
        if found is None:
            for person, user_id, content in zip(range(begin, end), ids, self.find(np.arange(begin, end)), strict=True):
                yield _line(user_id, self.search(person) if content is None else content)
            return
        is_listed = np.arange(found.rows.shape[1]) < found.lengths[:, np.newaxis]
        lines = self._lines.encode(
            ids, found.lengths.tolist(), found.rows[is_listed].tolist(), _scores(found.units[is_listed]).tolist()
        )
        for number, line in enumerate(lines):
            is_own = found.inexact[number] or begin + number in self._inputs.said
            yield _line(ids[number], self.search(begin + number)) if is_own else line

    def search(self, person: int, sinking: Mapping[str, float] | None = None) -> list[RecommendedPiece]:
        """Return a person's list as a request's is made, with pieces that sink for that person."""
        inputs = self._inputs
        figures = inputs.people.figures(person, self._view.snapshot, self._view.settings, inputs.preferences(person))
        query = replace(self._request, sinking=sinking or {})
        return suited(self._view, query, figures, inputs.audience, inputs.context.now).content

    def _found(self, people: IntArray) -> FoundLists | None:
        """Return the lists that the kernel makes, which knows nothing of preferences; ``None`` where it cannot."""
        table, (begin, end) = self._inputs.people, (0, len(people))
        lists = self._lists
        if lists is not None and end and people[-1] - people[0] == end - 1:
            begin, end = int(people[0]), int(people[-1]) + 1
        elif lists is not None:
            lists = lists.among(table.take(people))
        # The whitelist raises from the same pieces, however few of them are asked for.
        take = MAX_TAKE if self._view.whitelist else self._request.take
        return None if lists is None else lists.find(begin, end, take)

    def _listed(self, found: FoundLists, number: int, length: int, scores: list[float]) -> list[RecommendedPiece]:
        ids = self._ids.take(found.rows[number, :length])
        if self._view.whitelist:
            ranked = list(map(RankedPiece, ids, found.units[number].tolist()))
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


def _line(user_id: str, content: list[RecommendedPiece]) -> bytes:
    return encode(RecommendationResult(id=user_id, content=content)) + b"\n"


def _scores(units: IntArray) -> FloatArray:
    scores: FloatArray = (SCORE_SCALE - np.clip(units, 0, SCORE_SCALE)) / SCORE_SCALE
    return scores
