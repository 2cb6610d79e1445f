"""Recommendation: what is similar to a piece, what a person may like, and what that person's taste is."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from penchant import ranking
from penchant.errors import TooFewPieces, UnknownPiece
from penchant.index import (
    Audience,
    BlendFactors,
    Filter,
    FloatArray,
    ListSpec,
    Neighbour,
    PersonVector,
    Popularity,
    Scan,
    SimilarityQuery,
    nearest_by,
    recommended,
)
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.model import (
    DAY_MS,
    MAX_PROFILE_INTERACTIONS,
    MAX_TAKE,
    Algorithm,
    Basis,
    GradedLike,
    IndexedPiece,
    InteractionType,
    SourceSettings,
    StoredInteraction,
    Term,
    most_likes,
)
from penchant.profiles import own_likes, seen, taste
from penchant.ranking import RankedPiece
from penchant.service.people import oldest_kept
from penchant.service.requests import PersonalRequest, SimilarRequest
from penchant.storage import InteractionQuery
from penchant.tracing import tracing
from penchant.wire import AnonymousResult, Profile, RecommendationResult, RecommendedPiece, StatedLikings

Result = TypeVar("Result")

CANDIDATES = 120
MORE_CANDIDATES = 4
"""How many of the best a varied list is chosen from, and by what this grows while too few of them may be listed."""
MINIMUM_POOL = 2
"""Pieces that similar content needs in the source (specification, Limits)."""


class PersonalResult(NamedTuple, Generic[Result]):
    """An answer about a person's list, and the version of the interactions that its weights were made from."""

    result: Result
    audience_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonHistory:
    """What is known of a person at a moment: the interactions that count, and the taste they make.

    ``now`` is the present of the request: whatever else its list is made from is of the same one, so that no list is
    half of one UTC day and half of the next.
    """

    interactions: Sequence[StoredInteraction]
    profile: Mapping[Term, int]
    now: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlendInputs:
    """What the blend of all parts is made from; ``alike`` is part a, owed to what ``audience`` has of the ``likes``."""

    person: PersonVector
    popular: Popularity
    alike: Sequence[FloatArray]
    audience: Audience
    likes: Sequence[GradedLike]
    wanted: ListSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationInputs:
    """What a person's list is made from; ``blended`` is ``None`` where only overlap with ``liked`` counts."""

    history: PersonHistory
    shown: Filter
    liked: tuple[Term, ...] = ()
    blended: BlendInputs | None = None


class Recommender:
    """Lists for pieces and for people, each from one view of a source."""

    def __init__(self, database: AsyncStorage, views: Views, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._views = views
        self._clock = clock

    def similar(self, view: View, query: SimilarRequest, audience: Audience | None = None) -> RecommendationResult:
        """Return the nearest pieces, whitelisted ones first; ``audience`` is that of `audience_near`.

        Raises:
            UnknownPiece: the source has no such piece.
            TooFewPieces: the source has fewer than two.
        """
        self.require_neighbours(view, query.piece_id)
        nearest = self.neighbours(view, query, audience=audience)[: query.take]
        content = [RecommendedPiece(id=each, score=distance) for each, distance in nearest]
        return RecommendationResult(id=query.piece_id, content=content)

    @staticmethod
    def require_neighbours(view: View, piece_id: str) -> None:
        """Raise `UnknownPiece` or `TooFewPieces` where a source with too few pieces has no list for one."""
        if view.snapshot.piece_count < MINIMUM_POOL:
            if piece_id not in view.snapshot:
                raise UnknownPiece("The source has no piece with this id.")
            raise TooFewPieces("The source has one piece only; similar content needs at least two.")

    async def similar_by(self, view: View, query: SimilarRequest, audience: Audience) -> RecommendationResult:
        """Return the same, found in a thread."""
        return await self._database.in_thread(self.similar, view, query, audience)

    async def audience_near(self, view: View, query: SimilarRequest) -> Audience | None:
        """Return what all people like now where a list of similar pieces goes by it, otherwise ``None``."""
        if query.by is Basis.CONTENT:
            return None
        today = self.now(view) // DAY_MS
        return await self._views.audience(view, today, min_version=query.min_audience_version)

    def neighbours(
        self,
        view: View,
        query: SimilarRequest,
        draft: IndexedPiece | None = None,
        audience: Audience | None = None,
    ) -> list[Neighbour]:
        """Return the nearest pieces, whitelisted ones first: all that ``take`` is cut from.

        With a draft, its neighbours: ``query`` gives its id, which no neighbour has.

        Raises:
            UnknownPiece: the source has no such piece.
        """
        snapshot, weights = view.snapshot, view.settings.category_weights
        with tracing.span("search"):
            if draft is None:
                asked = snapshot.asked(query.piece_id, query.algorithm, weights)
            else:
                asked = SimilarityQuery.of_draft(draft, query.algorithm, weights)
            if audience is None:
                shown = self.shown_near(view, query, but=None if draft is None else draft.id)
                nearest = snapshot.nearest_to(asked, shown, MAX_TAKE)
            else:
                shown = self.shown_near(view, query, but=query.piece_id)
                nearest = nearest_by(snapshot, scan_near(query, asked, audience), shown, MAX_TAKE)
        if not view.whitelist:
            return nearest
        by_id = {neighbour.id: neighbour for neighbour in nearest}
        return [by_id[each] for each in ranking.promoted(list(by_id), view.whitelist)]

    def shown_near(self, view: View, query: SimilarRequest, *, but: str | None = None) -> Filter:
        """Return which pieces may be shown beside a piece, ``but`` for one."""
        return Filter(
            moment=moment_of(query.at, self.now(view)),
            catalogs=query.catalogs,
            blacklisted=view.blacklisted,
            omitted=query.exclude if but is None else query.exclude | {but},
        )

    async def recommend(
        self, view: View, query: PersonalRequest, likings: StatedLikings | None = None
    ) -> PersonalResult[RecommendationResult | AnonymousResult]:
        """Return the pieces that a person may like, best first; an unknown person gets popular ones.

        With ``likings``, what somebody may like of whom nothing else is known.
        """
        history = await self.known(view, query, likings)
        audience = await self.audience(view, history, query.min_audience_version)
        result = await self._database.promptly(self.recommended, view, query, history, audience)
        found = result if likings is None else AnonymousResult(id=None, content=result.content)
        return PersonalResult(found, audience.version)

    async def known(self, view: View, query: PersonalRequest, likings: StatedLikings | None) -> PersonHistory:
        """Return the history of a person, or the one that stated likings make."""
        # In a thread: a person with thousands of interactions must not hold up everybody else.
        if likings is None:
            return await self._database.promptly(self.history, view, query.user_id, query.at, self.now(view))
        return await self._database.promptly(self._told, view, likings)

    async def audience(self, view: View, history: PersonHistory, min_version: int = 0) -> Audience:
        """Return what all people like at the moment of a history, as of this version of the interactions at least."""
        return await self._views.audience(view, history.now // DAY_MS, min_version=min_version)

    async def profile(self, view: View, user_id: str) -> list[Profile]:
        """Return a person's taste: one profile, or none where no interaction counts."""
        person = await self._database.promptly(self.history, view, user_id, None, self.now(view))
        categories: dict[str, dict[str, int]] = {}
        for term, score in person.profile.items():
            categories.setdefault(term.category, {})[term.keyword] = score
        if not categories:
            return []
        return [Profile(source=view.head.name, user_id=user_id, categories=categories)]

    def recommended(
        self, view: View, query: PersonalRequest, history: PersonHistory, audience: Audience
    ) -> RecommendationResult:
        """Return a person's list from what is known of them; to be called in a thread."""
        ranked = self.search(view, query, self.gather(view, query, history, audience))
        content = [RecommendedPiece(id=each.id, score=each.score) for each in ranked[: query.take]]
        return RecommendationResult(id=query.user_id, content=content)

    def gather(
        self, view: View, query: PersonalRequest, history: PersonHistory, audience: Audience
    ) -> RecommendationInputs:
        """Return what a person's list is made from."""
        return gathered_at(view, query, history, audience)

    @staticmethod
    def search(view: View, query: PersonalRequest, gathered: RecommendationInputs) -> list[RankedPiece]:
        """Return the best pieces for a person, whitelisted ones that something speaks for first."""
        variety = ranking.Diversity(diversity=query.diversity, most=view.settings.max_per_value)
        count = CANDIDATES if variety else MAX_TAKE
        while True:
            found = _best(view, query, gathered, count)
            # The whitelist raises from the same pieces, however many candidates a varied list looks at.
            raised = _raised(view, found[:MAX_TAKE])
            if not variety:
                return raised + [each for each in found if each not in raised]
            others = [each for each in found if each not in raised]
            terms = {each.id: frozenset(view.snapshot.terms_of(each.id) or ()) for each in found}
            listed = ranking.varied(raised, others, terms, variety, MAX_TAKE)
            if len(listed) == MAX_TAKE or len(found) < count:
                return listed
            # Too many were left out: as many candidates more as it takes to fill the list.
            count *= MORE_CANDIDATES

    def history(self, view: View, user_id: str, at: int | None, now: int) -> PersonHistory:
        """Return the history of a person at the end of a day, or now, read from storage."""
        moment = moment_of(at, now)
        interactions = self._database.storage.people.list_interactions(
            view.head.source_id,
            InteractionQuery(
                user_id=user_id,
                since=oldest_kept(view, now),
                until=None if moment == now else moment,
                limit=MAX_PROFILE_INTERACTIONS,
            ),
        )
        return history_of(view, interactions, at=at, now=now)

    def _told(self, view: View, likings: StatedLikings) -> PersonHistory:
        """Return likings as if they were ratings of this moment."""
        now, weights = self.now(view), view.settings.interaction_weights
        rated = dict.fromkeys(likings.disliked, InteractionType.RATE_DISLIKE)
        rated |= dict.fromkeys(likings.liked, InteractionType.RATE_LIKE)
        named = dict.fromkeys(likings.disliked_terms, float(weights[InteractionType.RATE_DISLIKE]))
        named |= dict.fromkeys(likings.liked_terms, float(weights[InteractionType.RATE_LIKE]))
        interactions = [
            StoredInteraction(user_id="", type=kind, piece_id=piece_id, occurred_at=now)
            for piece_id, kind in rated.items()
        ]
        profile = taste(
            interactions,
            terms_of=view.snapshot.terms_of,
            settings=view.settings,
            today=now // DAY_MS,
            named=named,
        )
        return PersonHistory(interactions=interactions, profile=profile, now=now)

    def now(self, view: View) -> int:
        """Return the present, by the source's own clock where this node's is behind: it hides no new piece."""
        return max(int(self._clock() * 1000), view.head.changed_at)


def scan_near(query: SimilarRequest, asked: SimilarityQuery, audience: Audience | None) -> Scan:
    """Return the measure of a request for similar content: content alone without an audience."""
    if audience is None:
        return asked.scan
    shared = audience.shared_with(query.piece_id)
    return shared.scan if query.by is Basis.AUDIENCE else shared.beside(asked.scan)


def history_of(
    view: View, interactions: Sequence[StoredInteraction], *, now: int, at: int | None = None
) -> PersonHistory:
    """Return the history that interactions, newest first, make at the end of a day, or now."""
    today = moment_of(at, now) // DAY_MS
    profile = taste(interactions, terms_of=view.snapshot.terms_of, settings=view.settings, today=today)
    return PersonHistory(interactions=interactions, profile=profile, now=now)


def gathered_at(view: View, query: PersonalRequest, history: PersonHistory, audience: Audience) -> RecommendationInputs:
    """Return what a person's list is made from at the moment of the history."""
    shown = Filter(
        moment=moment_of(query.at, history.now),
        catalogs=query.catalogs,
        blacklisted=view.blacklisted,
        omitted=_known(view.settings, query, history) | query.exclude,
    )
    if query.algorithm is Algorithm.JACCARD:
        terms = tuple(term for term, score in history.profile.items() if score > 0)
        return RecommendationInputs(history=history, shown=shown, liked=terms)
    day, half_life = shown.moment // DAY_MS, view.settings.new_piece_half_life_days
    popular = audience.popular(
        view.snapshot.parts,
        (day, half_life),
        lambda: ranking.start_credits(view.snapshot.day_counts(), day, half_life),
    )
    met = len({each.piece_id for each in history.interactions if each.piece_id in view.snapshot})
    wanted = ListSpec(
        shown=shown,
        blending=_blending(view, query.algorithm, audience.figures.content_factor(met)),
        category_weights=view.settings.category_weights,
        take=MAX_TAKE,
        fill=query.fill,
    )
    # Nothing of people where they do not count.
    liked: list[GradedLike] = []
    if wanted.blending.audience > 0:
        exists, most = view.snapshot.__contains__, most_likes(view.snapshot.piece_count)
        liked = own_likes(history.interactions, view.settings, exists, most)
    blended = BlendInputs(
        person=_weighted(view, history.profile),
        popular=popular,
        alike=audience.liked_alike(view.snapshot.parts, liked),
        audience=audience,
        likes=liked,
        wanted=wanted,
    )
    return RecommendationInputs(history=history, shown=shown, blended=blended)


def _best(view: View, query: PersonalRequest, gathered: RecommendationInputs, count: int) -> list[RankedPiece]:
    """Return so many pieces, best first, whatever the lists say."""
    blended = gathered.blended
    with tracing.span("search"):
        if blended is None:
            found = view.snapshot.overlapping(gathered.liked, gathered.shown, take=count, fill=query.fill)
        else:
            wanted = replace(blended.wanted, take=count)
            found = recommended(view.snapshot, blended.person, blended.popular, blended.alike, wanted)
    return [RankedPiece(piece_id, units) for units, piece_id in found]


def _raised(view: View, found: Sequence[RankedPiece]) -> list[RankedPiece]:
    """Return those on the whitelist that something speaks for, in its order."""
    if not view.whitelist:
        return []
    ranked = {each.id: each for each in found if each.units > 0}
    return [ranked[each] for each in view.whitelist if each in ranked]


def moment_of(at: int | None, now: int) -> int:
    """Return the moment that a day stands for: its end, but for today the present."""
    return now if at is None or at // DAY_MS == now // DAY_MS else at


def _weighted(view: View, profile: Mapping[Term, int]) -> PersonVector:
    """Return f x P x category weight by term: f is ln(1 + pieces / pieces that have the term)."""
    terms = sorted(profile)
    frequencies = view.snapshot.document_frequencies(terms).tolist()
    count = view.snapshot.piece_count
    rare = {
        term: math.log(1 + count / frequency) * profile[term]
        for term, frequency in zip(terms, frequencies, strict=True)
        if frequency
    }
    weights = view.settings.category_weights
    return PersonVector(
        values={term: value * weights.get(term.category, 1) for term, value in rare.items()},
        # Category weights change what counts, not how long the taste is: the norm is without them.
        norm=math.sqrt(math.fsum(value * value for value in rare.values())),
    )


def _blending(view: View, algorithm: Algorithm | None, content_factor: float) -> BlendFactors:
    """Return what the parts are mixed with; the content alone where cosine is asked for."""
    if algorithm is not None:
        return BlendFactors(1.0, 0.0, 0.0, total=1.0)
    blend = view.settings.blend
    content = content_factor * float(blend.content)
    total = content + float(blend.audience) + float(blend.popularity)
    # ``or``: where content alone counts and nothing was met, no piece has a content part, and any divisor does.
    return BlendFactors(content, float(blend.audience), float(blend.popularity), total=total or 1.0)


def _known(settings: SourceSettings, query: PersonalRequest, history: PersonHistory) -> frozenset[str]:
    """Return the pieces to leave out since the person knows them."""
    include = query.include_seen if query.include_seen is not None else not settings.exclude_seen
    return frozenset() if include else seen(history.interactions)
