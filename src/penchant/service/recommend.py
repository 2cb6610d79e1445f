"""What is similar to a piece, what may a person like, and what is that person's taste?"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penchant import ranking
from penchant.errors import TooFewPieces, UnknownPiece
from penchant.index import Audience, Blending, Filter, FloatArray, Person, Wanted, recommended
from penchant.live.database import Database
from penchant.live.views import View, Views
from penchant.model import (
    DAY_MS,
    MAX_PROFILE_INTERACTIONS,
    MAX_TAKE,
    Algorithm,
    Interaction,
    SourceSettings,
    Term,
)
from penchant.profiles import seeds, seen, taste
from penchant.ranking import Ranked
from penchant.service.people import oldest_kept
from penchant.storage import InteractionQuery
from penchant.tracing import tracing
from penchant.wire import Profile, RecommendationResult, RecommendedPiece

MINIMUM_POOL = 2
"""Pieces that similar content needs in the source (specification, Limits)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarQuery:
    """A request for similar content; ``at`` is the last millisecond of a day, or ``None`` for now."""

    piece_id: str
    take: int = MAX_TAKE
    algorithm: Algorithm | None = None
    catalogs: frozenset[str] | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalQuery:
    """A request for recommendations; ``include_seen`` of ``None`` leaves it to the source's settings."""

    user_id: str
    take: int = MAX_TAKE
    algorithm: Algorithm | None = None
    catalogs: frozenset[str] | None = None
    at: int | None = None
    include_seen: bool | None = None
    fill: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    """What is known of a person at a moment: the interactions that count, and the taste they make."""

    interactions: Sequence[Interaction]
    profile: Mapping[Term, int]


class Recommender:
    """Lists for pieces and for people, each from one view of a source."""

    def __init__(self, database: Database, views: Views, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._views = views
        self._clock = clock

    def similar(self, view: View, query: SimilarQuery) -> RecommendationResult:
        """Return the nearest pieces, whitelisted ones first.

        Raises:
            UnknownPiece: the source has no such piece.
            TooFewPieces: the source has fewer than two.
        """
        if view.snapshot.piece_count < MINIMUM_POOL:
            if query.piece_id not in view.snapshot:
                raise UnknownPiece("The source has no piece with this id.")
            raise TooFewPieces("The source has one piece only; similar content needs at least two.")
        shown = Filter(moment=_moment(query.at, self._now(view)), catalogs=query.catalogs, hidden=view.hidden)
        with tracing.span("search"):
            nearest = view.snapshot.nearest(
                query.piece_id,
                shown,
                algorithm=query.algorithm,
                category_weights=view.settings.category_weights,
                take=MAX_TAKE,
            )
        if view.whitelist:
            by_id = {neighbour.id: neighbour for neighbour in nearest}
            nearest = [by_id[each] for each in ranking.promoted(list(by_id), view.whitelist)]
        content = [RecommendedPiece(id=each, score=distance) for each, distance in nearest[: query.take]]
        return RecommendationResult(id=query.piece_id, content=content)

    async def recommend(self, view: View, query: PersonalQuery) -> RecommendationResult:
        """Return the pieces that a person may like, best first; an unknown person gets popular ones."""
        # In a thread: a person with thousands of interactions must not hold up everybody else.
        person = await self._database.promptly(self._person, view, query.user_id, query.at)
        own_version = max((each.version for each in person.interactions), default=0)
        audience = await self._views.audience(view, self._now(view) // DAY_MS, own_version)
        ranked = await self._database.promptly(self._ranked, view, query, person, audience)
        scores = {each.id: each.score for each in ranked}
        eligible = {each.id for each in ranked if each.units > 0}
        order = ranking.promoted(list(scores), [each for each in view.whitelist if each in eligible])
        return _result(query.user_id, scores, order[: query.take])

    async def profile(self, view: View, user_id: str) -> list[Profile]:
        """Return a person's taste: one profile, or none where no interaction counts."""
        person = await self._database.promptly(self._person, view, user_id, None)
        categories: dict[str, dict[str, int]] = {}
        for term, score in person.profile.items():
            categories.setdefault(term.category, {})[term.keyword] = score
        if not categories:
            return []
        return [Profile(source=view.head.name, user_id=user_id, categories=categories)]

    def _ranked(self, view: View, query: PersonalQuery, person: _History, audience: Audience) -> list[Ranked]:
        now = self._now(view)
        shown = Filter(
            moment=_moment(query.at, now),
            catalogs=query.catalogs,
            hidden=view.hidden,
            seen=_known(view.settings, query, person),
        )
        if query.algorithm is Algorithm.JACCARD:
            liked = [term for term, score in person.profile.items() if score > 0]
            with tracing.span("search"):
                found = view.snapshot.overlapping(liked, shown, take=MAX_TAKE, fill=query.fill)
        else:
            popular = audience.popular(view.snapshot.parts)
            wanted = Wanted(
                shown=shown,
                blending=_blending(view, query.algorithm, popular.median, shown.moment // DAY_MS),
                category_weights=view.settings.category_weights,
                take=MAX_TAKE,
                fill=query.fill,
            )
            with tracing.span("search"):
                alike = _liked_alike(view, wanted.blending, audience, person)
                found = recommended(view.snapshot, _weighted(view, person.profile), popular, alike, wanted)
        return [Ranked(piece_id, units) for units, piece_id in found]

    def _person(self, view: View, user_id: str, at: int | None) -> _History:
        now = self._now(view)
        moment = _moment(at, now)
        interactions = self._database.storage.user_interactions(
            view.head.source_id,
            InteractionQuery(
                user_id=user_id,
                since=oldest_kept(view, now),
                until=None if moment == now else moment,
                limit=MAX_PROFILE_INTERACTIONS,
            ),
        )
        profile = taste(
            interactions,
            terms_of=view.snapshot.terms_of,
            settings=view.settings,
            today=moment // DAY_MS,
        )
        return _History(interactions=interactions, profile=profile)

    def _now(self, view: View) -> int:
        """Return the present, by the source's own clock where this node's is behind: it hides no new piece."""
        return max(int(self._clock() * 1000), view.head.changed_at)


def _moment(at: int | None, now: int) -> int:
    """Return the moment that a day stands for: its end, but for today the present."""
    return now if at is None or at // DAY_MS == now // DAY_MS else at


def _weighted(view: View, profile: Mapping[Term, int]) -> Person:
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
    return Person(
        values={term: value * weights.get(term.category, 1) for term, value in rare.items()},
        norm=math.sqrt(math.fsum(value * value for value in rare.values())),
    )


def _liked_alike(view: View, blending: Blending, audience: Audience, person: _History) -> Sequence[FloatArray]:
    """Return part a of all pieces; nothing where it does not count."""
    chosen = seeds(person.interactions, view.settings, view.snapshot.__contains__) if blending.audience else ()
    return audience.liked_alike(view.snapshot.parts, chosen)


def _blending(view: View, algorithm: Algorithm | None, median: float, today: int) -> Blending:
    """Return what the parts are mixed with; the content alone where cosine is asked for."""
    if algorithm is not None:
        return Blending(1.0, 0.0, 0.0, total=1.0, median=0.0, credits=ranking.start_credits({}, today, 0), today=today)
    blend = view.settings.blend
    return Blending(
        content=float(blend.content),
        audience=float(blend.audience),
        popularity=float(blend.popularity),
        total=float(blend.content + blend.audience + blend.popularity),
        median=median,
        credits=ranking.start_credits(view.snapshot.day_counts(), today, view.settings.new_piece_half_life_days),
        today=today,
    )


def _known(settings: SourceSettings, query: PersonalQuery, person: _History) -> frozenset[str]:
    """Return the pieces to leave out since the person knows them."""
    include = query.include_seen if query.include_seen is not None else not settings.exclude_seen
    return frozenset() if include else seen(person.interactions)


def _result(asked: str, scores: Mapping[str, float], order: Sequence[str]) -> RecommendationResult:
    return RecommendationResult(id=asked, content=[RecommendedPiece(id=each, score=scores[each]) for each in order])
