"""Placement lists: what a row of a page shows, made by the lists that have addresses of their own.

A placement is a set of settings in the place of the source's, and a choice of list: nothing here ranks anything.

    view of the source --`under_rules`--> view with the placement's settings and lists --> the plain list of its kind
                                                                                       '--> if that is empty, another
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypedDict, TypeVar

import msgspec

from penchant.attributes import Attribute, AttributeFilter, Boost
from penchant.errors import InvalidInput, PenchantError, TooFewPieces, UnknownPiece, UnknownPlacement, invalid_parameter
from penchant.live.views import View
from penchant.model import DAY_MS, IMPRESSION_DAYS, MAX_TAKE, Basis, PlacementKind
from penchant.service.explanations import Explanations
from penchant.service.placements import PlacementInForce, Placements
from penchant.service.plain_lists import PlainLists
from penchant.service.recommend import Recommender
from penchant.service.requests import PersonalRequest, PlainRequest, SimilarRequest
from penchant.service.revisits import RevisitLists
from penchant.service.variant_guard import VariantGuard
from penchant.telemetry import Metrics
from penchant.wire import (
    BASE,
    ExplainedPiece,
    ListRules,
    PlacedPiece,
    PlacedWhy,
    PlacementResult,
    RecommendedPiece,
    StatedLikings,
    read_boosts,
    read_filter,
)

FOR_EVERYBODY = frozenset({PlacementKind.SIMILAR, PlacementKind.POPULAR, PlacementKind.NEW})
"""Lists that know nothing of a person: for one, they are without what the person has hidden."""
_FILTERED = (("filter", "filter"), ("boost", "boosts"))
"""What lists are filtered by, as metrics name it, and the members of rules that say it."""

Decoded = TypeVar("Decoded")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """A request for the list of a placement, for a person, beside a piece, for both or for nobody.

    ``explain`` adds reasons to its entries.
    """

    placement: str
    user_id: str | None = None
    content_id: str | None = None
    take: int = MAX_TAKE
    exclude: frozenset[str] = frozenset()
    min_audience_version: int = 0
    explain: bool = False


class PlacementChoice(TypedDict):
    """What the lists of all kinds are chosen by."""

    take: int
    catalogs: frozenset[str] | None
    matching: AttributeFilter | None
    boosts: tuple[Boost, ...]
    exclude: frozenset[str]
    min_audience_version: int


class PlacementList(NamedTuple):
    """A list, and the version of the interactions that it knows; ``None`` where it does not go by them."""

    content: Sequence[RecommendedPiece]
    audience_version: int | None = None


class ListMakers(NamedTuple):
    """What makes the lists that placements show."""

    recommender: Recommender
    explanations: Explanations
    plain_lists: PlainLists
    revisits: RevisitLists


MakeList = Callable[[View, ListRules, PlacementKind, PlacementRequest, "PlacementChoice"], Awaitable[PlacementList]]
"""Makes a list of some kind, from a view that is under the rules; raises what the plain list of this kind does."""


class PlacementAnswer(NamedTuple):
    """What is answered, and the version of the interactions, as in `PlacementList`."""

    result: PlacementResult
    audience_version: int | None = None


class PlacementLists:
    """Lists of placements, each from one view of a source."""

    def __init__(
        self,
        placements: Placements,
        makers: ListMakers,
        guard: VariantGuard,
        metrics: Metrics,
    ) -> None:
        self._placements = placements
        self._recommender = makers.recommender
        self._explanations = makers.explanations
        self._plain_lists = makers.plain_lists
        self._revisits = makers.revisits
        self.guard = guard
        self._metrics = metrics

    async def answer(self, view: View, request: PlacementRequest) -> PlacementAnswer:
        """Return the list of a placement in force.

        Raises:
            UnknownPlacement: the source has none of this name.
            InvalidInput, UnknownPiece, TooFewPieces: it lists what is similar to a piece, which is not named, unknown,
                or alone; and no other list may take its place.
        """
        placement = await self._placements.in_force(view, request.placement)
        variant = self.guard.variant_for(view.head, placement, request.user_id)
        if variant != placement.variant_for(view.head.name, request.user_id):
            self._metrics.stopped_lists.inc()
        answer = await self.listed(view, placement, variant, request)
        is_filled = answer.result.kind is not placement.spec.rules_of(variant).kind
        outcome = "filled" if is_filled else "listed"
        self._metrics.placement_lists.labels(answer.result.kind, outcome if answer.result.content else "empty").inc()
        return answer

    async def page(self, view: View, requests: Sequence[PlacementRequest]) -> list[PlacementAnswer | PenchantError]:
        """Return the lists of several placements, in which no piece comes twice; an error in the place of a list.

        Each is filled from what those before it have left.
        """
        shown: set[str] = set()
        answers: list[PlacementAnswer | PenchantError] = []
        for request in requests:
            try:
                answer = await self.answer(view, replace(request, exclude=request.exclude | shown))
            except (InvalidInput, TooFewPieces, UnknownPiece, UnknownPlacement) as error:
                answers.append(error)
                continue
            shown.update(each.id for each in answer.result.content)
            answers.append(answer)
        return answers

    async def listed(
        self, view: View, placement: PlacementInForce, variant: str | None, request: PlacementRequest
    ) -> PlacementAnswer:
        """Return the list of a variant of any version of a placement; raises as `answer`."""
        for name, member in _FILTERED:
            if getattr(placement.spec.rules_of(variant), member) is not None:
                self._metrics.filtered_lists.labels(name).inc()
        return await answer_by(self._list, view, placement, variant, request)

    async def _list(
        self, view: View, rules: ListRules, kind: PlacementKind, request: PlacementRequest, choice: PlacementChoice
    ) -> PlacementList:
        if request.user_id is not None and kind in FOR_EVERYBODY:
            hidden = await self._recommender.hidden(view, request.user_id)
            choice = {**choice, "exclude": choice["exclude"] | hidden}
        match kind:
            case PlacementKind.SIMILAR:
                query = similar_request(rules, request, choice)
                return await self._similar(view, query, explain=request.explain)
            case PlacementKind.RECOMMENDATIONS:
                return await self._recommended(view, rules, request, choice)
            case PlacementKind.POPULAR:
                plain = PlainRequest(half_life_days=rules.half_life_days, explain=request.explain, **choice)
                popular = await self._plain_lists.popular(view, plain)
                return PlacementList(popular.result.content, popular.audience_version)
            case PlacementKind.NEW:
                plain = PlainRequest(half_life_days=rules.half_life_days, explain=request.explain, **choice)
                return PlacementList((await self._plain_lists.newest(view, plain)).content)
            case PlacementKind.AGAIN:
                if request.user_id is None:
                    return PlacementList(())
                person = PersonalRequest(user_id=request.user_id, **choice)
                return PlacementList(await self._revisits.placed(view, person, explain=request.explain))

    async def _recommended(
        self, view: View, rules: ListRules, request: PlacementRequest, choice: PlacementChoice
    ) -> PlacementList:
        user_id, sinking = request.user_id, dict[str, float]()
        if user_id is not None and rules.rotation:
            sinking = await self._sinking(view, request.placement, user_id, rules.rotation)
        query = personal_request(rules, user_id, choice, sinking)
        # Nothing is known of nobody.
        likings = StatedLikings() if user_id is None else None
        makes = self._explanations.recommend if request.explain else self._recommender.recommend
        found = await makes(view, query, likings)
        return PlacementList(placed(found.result.content), found.audience_version)

    async def _sinking(self, view: View, placement: str, user_id: str, rotation: float) -> dict[str, float]:
        """Return by which factor each piece sinks for a person who was shown it in lists of a placement."""
        since = shown_since(view, self._recommender.now(view))
        return sinking_by(rotation, await self._placements.passed_over(view.head, placement, user_id, since))

    async def _similar(self, view: View, query: SimilarRequest, *, explain: bool) -> PlacementList:
        audience = await self._recommender.audience_near(view, query)
        version = None if audience is None else audience.version
        if explain:
            return PlacementList(placed((await self._explanations.similar(view, query, audience)).content), version)
        return PlacementList((await self._recommender.similar_by(view, query, audience)).content, version)


async def answer_by(
    make: MakeList, view: View, placement: PlacementInForce, variant: str | None, request: PlacementRequest
) -> PlacementAnswer:
    """Return the list of a variant as ``make`` makes lists, or the one that fills its place; raises as it does."""
    rules = placement.spec.rules_of(variant)
    shown, kind = under_rules(view, rules), rules.kind
    choice = choice_of(view, rules, request)
    found = PlacementList(())
    try:
        found = await make(shown, rules, kind, request, choice)
    except (InvalidInput, UnknownPiece, TooFewPieces):
        if rules.fallback is None:
            raise
    if not found.content and rules.fallback not in {None, kind}:
        kind = rules.fallback or kind
        found = await make(shown, rules, kind, request, choice)
    result = result_of(placement, variant, kind, request, found.content)
    if request.explain:
        result = msgspec.structs.replace(result, category_weights=dict(shown.settings.category_weights))
    return PlacementAnswer(result, found.audience_version)


def result_of(
    placement: PlacementInForce,
    variant: str | None,
    kind: PlacementKind,
    request: PlacementRequest,
    content: Sequence[RecommendedPiece],
) -> PlacementResult:
    """Return a list of a placement as it is answered."""
    return PlacementResult(
        placement=placement.name,
        variant=variant or BASE,
        kind=kind,
        user_id=request.user_id,
        content_id=request.content_id,
        content=placed(content),
    )


def choice_of(view: View, rules: ListRules, request: PlacementRequest) -> PlacementChoice:
    """Return what a list is chosen by.

    Raises:
        InvalidInput: the filter or the boosts no longer fit the attributes of the source.
    """
    return PlacementChoice(
        take=request.take,
        catalogs=rules.catalogs,
        matching=None if rules.filter is None else _by_attributes(view, rules.filter, "filter", read_filter),
        boosts=() if rules.boosts is None else _by_attributes(view, rules.boosts, "boosts", read_boosts),
        exclude=request.exclude,
        min_audience_version=request.min_audience_version,
    )


def similar_request(rules: ListRules, request: PlacementRequest, choice: PlacementChoice) -> SimilarRequest:
    """Return the request for what is similar to the piece of a request.

    Raises:
        InvalidInput: it names none.
    """
    if request.content_id is None:
        raise invalid_parameter("content", "The placement lists what is similar to a piece; say which one.")
    return SimilarRequest(piece_id=request.content_id, by=rules.algorithm or Basis.CONTENT, **choice)


def personal_request(
    rules: ListRules, user_id: str | None, choice: PlacementChoice, sinking: Mapping[str, float]
) -> PersonalRequest:
    """Return the request for what a person, or nobody, may like."""
    return PersonalRequest(user_id=user_id or "", diversity=rules.diversity or 0.0, sinking=sinking, **choice)


def shown_since(view: View, now: int) -> int:
    """Return since when it counts for rotation what somebody was shown."""
    return now - min(view.settings.retention_days, IMPRESSION_DAYS) * DAY_MS


def sinking_by(rotation: float, passed_over: Mapping[str, int]) -> dict[str, float]:
    """Return by which factor each piece sinks that was so often shown and passed over."""
    return {piece_id: (1 - rotation) ** count for piece_id, count in passed_over.items()}


def placed(content: Sequence[RecommendedPiece | ExplainedPiece]) -> list[PlacedPiece]:
    """Return the entries of any list as those of a placement, with the reasons that they have."""
    return [each if isinstance(each, PlacedPiece) else _placed_piece(each) for each in content]


def _placed_piece(piece: RecommendedPiece | ExplainedPiece) -> PlacedPiece:
    if not isinstance(piece, ExplainedPiece):
        return PlacedPiece(id=piece.id, score=piece.score)
    return PlacedPiece(id=piece.id, score=piece.score, why=PlacedWhy(**msgspec.structs.asdict(piece.why)))


def _by_attributes(
    view: View, given: Any, name: str, read: Callable[[Any, Mapping[str, Attribute], str], Decoded]
) -> Decoded:
    """Return what a member says by the attributes that a source has now, maybe others than when it was stored."""
    try:
        return read(given, view.source_settings.attributes, f"/{name}")
    except InvalidInput as error:
        detail = f"The placement's {name} no longer fits the attributes of the source: {error.detail}"
        raise InvalidInput(detail, faults=error.faults) from None


def under_rules(view: View, rules: ListRules) -> View:
    """Return a view with what a list is made by in the place of the source's own settings and lists."""
    settings = rules.settings(view.settings)
    return replace(
        view,
        settings=settings,
        overridden=view.source_settings,
        whitelist=view.whitelist if rules.whitelist is None else rules.whitelist,
        blacklist=view.blacklist if rules.blacklist is None else rules.blacklist,
        blacklisted=view.blacklisted if rules.blacklisted is None else rules.blacklisted,
    )
