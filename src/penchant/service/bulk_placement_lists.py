"""Bulk placement lists: the lists of a placement for a range of people, each as a request for it would be answered.

Who sees which variant, what fills an empty list and by which rules each is made is `placement_lists`; here are the
lists of all kinds from files. What a kernel makes for many people at once goes first.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import numpy as np

from penchant.live.views import View
from penchant.model import Basis, PlacementKind
from penchant.service.bulk_inputs import BulkInputs
from penchant.service.bulk_placement_inputs import PlacementFacts
from penchant.service.bulk_recommendations import RecommendationMaker
from penchant.service.nearest import similar_pieces
from penchant.service.placement_lists import (
    FOR_EVERYBODY,
    PlacementChoice,
    PlacementList,
    PlacementRequest,
    answer_by,
    choice_of,
    personal_request,
    result_of,
    similar_request,
    sinking_by,
    under_rules,
)
from penchant.service.placements import PlacementInForce
from penchant.service.plain_lists import counts_trend, newest_pieces, popular_pieces
from penchant.service.requests import PlainRequest
from penchant.service.revisits import revisited_pieces
from penchant.wire import ListRules, PlacementResult, RecommendedPiece


class PlacementMaker:
    """Makes the lists of a placement, each person's by the variant that the person sees."""

    def __init__(self, inputs: BulkInputs) -> None:
        placement, facts = inputs.context.placement, inputs.facts
        assert placement is not None  # noqa: S101  # who asks has one
        assert facts is not None  # noqa: S101  # written with it
        self._inputs = inputs
        self._in_force = placement.in_force
        self._stopped = placement.stopped
        variants = [None, *(each.name for each in self._in_force.spec.variants)]
        self._makers = {name: _VariantMaker(inputs, facts, self._in_force, name) for name in variants}

    def find(self, begin: int, end: int) -> Iterator[PlacementResult]:
        """Yield the lists of people from one number up to another."""
        ids, source = self._inputs.people.ids, self._inputs.context.head.name
        people: dict[str | None, list[int]] = defaultdict(list)
        for person in range(begin, end):
            variant = self._in_force.variant_for(source, ids[person])
            people[None if variant in self._stopped else variant].append(person)
        found: dict[int, PlacementResult] = {}
        for variant, numbers in people.items():
            found |= asyncio.run(self._makers[variant].find(numbers))
        return (found[person] for person in range(begin, end))


class _VariantMaker:
    """Makes the lists of those who see one variant."""

    def __init__(
        self, inputs: BulkInputs, facts: PlacementFacts, placement: PlacementInForce, variant: str | None
    ) -> None:
        self._inputs = inputs
        self._facts = facts
        self._placement = placement
        self._variant = variant
        self._rules = rules = placement.spec.rules_of(variant)
        self._plain: dict[PlacementKind, PlacementList] = {}
        self._recommended: RecommendationMaker | None = None
        if PlacementKind.RECOMMENDATIONS in rules.kinds:
            view = under_rules(inputs.view, rules)
            choice = choice_of(view, rules, self._request(None))
            self._recommended = RecommendationMaker(inputs, view, personal_request(rules, None, choice, {}))

    async def find(self, people: list[int]) -> dict[int, PlacementResult]:
        """Return the lists of people by their numbers."""
        made: list[list[RecommendedPiece] | None] = [None] * len(people)
        if self._rules.kind is PlacementKind.RECOMMENDATIONS and self._recommended is not None:
            made = self._recommended.find(np.asarray(people))
        found = {}
        for person, content in zip(people, made, strict=True):
            request = self._request(self._inputs.people.ids[person])
            if content and not (self._rules.rotation and self._facts.passed_over(person)):
                result = result_of(self._placement, self._variant, self._rules.kind, request, content)
            else:
                make = partial(self._make, person)
                result = (await answer_by(make, self._inputs.view, self._placement, self._variant, request)).result
            found[person] = result
        return found

    def _request(self, user_id: str | None) -> PlacementRequest:
        context = self._inputs.context
        content_id = None if context.placement is None else context.placement.content_id
        return PlacementRequest(
            placement=self._placement.name, user_id=user_id, content_id=content_id, take=context.take
        )

    async def _make(
        self,
        person: int,
        view: View,
        rules: ListRules,
        kind: PlacementKind,
        request: PlacementRequest,
        choice: PlacementChoice,
    ) -> PlacementList:
        """Return a person's list of some kind; nothing here ever waits."""
        hidden = frozenset(self._inputs.preferences(person).hidden)
        if kind in FOR_EVERYBODY:
            if hidden:
                return self._for_everybody(
                    view, rules, kind, request, {**choice, "exclude": choice["exclude"] | hidden}
                )
            if kind not in self._plain:
                self._plain[kind] = self._for_everybody(view, rules, kind, request, choice)
            return self._plain[kind]
        if kind is PlacementKind.AGAIN:
            did = self._facts.interactions(person, request.user_id or "")
            query = personal_request(rules, request.user_id, choice, {})
            again = revisited_pieces(view, query, did, hidden, self._inputs.context.now)
            return PlacementList([RecommendedPiece(id=each.id, score=each.score) for each in again.content])
        assert self._recommended is not None  # noqa: S101  # the rules have it among their kinds
        passed_over = self._facts.passed_over(person) if rules.rotation else {}
        return PlacementList(self._recommended.search(person, sinking_by(rules.rotation or 0.0, passed_over)))

    def _for_everybody(
        self, view: View, rules: ListRules, kind: PlacementKind, request: PlacementRequest, choice: PlacementChoice
    ) -> PlacementList:
        now, audience = self._inputs.context.now, self._inputs.audience
        if kind is PlacementKind.SIMILAR:
            query = similar_request(rules, request, choice)
            by = None if query.by is Basis.CONTENT else audience
            return PlacementList(similar_pieces(view, query, now, by).content)
        plain = PlainRequest(half_life_days=rules.half_life_days, **choice)
        if kind is PlacementKind.NEW:
            return PlacementList(newest_pieces(view, plain, now).content)
        counts = audience.counts
        if counts is None or counts_trend(rules.half_life_days):
            (part,) = view.snapshot.parts
            counts = self._facts.trend(rules.half_life_days or 0, part.segment)
        return PlacementList(popular_pieces(view, plain, now, audience, counts).content)
