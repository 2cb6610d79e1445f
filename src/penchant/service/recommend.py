"""What is similar to a piece, what may a person like, and what is that person's taste?"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penchant import ranking
from penchant.errors import TooFewPieces, UnknownPiece
from penchant.index import Filter, PopularityView, Snapshot
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
from penchant.profiles import seen, taste
from penchant.ranking import Candidates, Ranked
from penchant.service.people import oldest_kept
from penchant.storage import InteractionQuery
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
class _Person:
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
        if query.piece_id not in view.snapshot:
            raise UnknownPiece("The source has no piece with this id.")
        if view.snapshot.piece_count < MINIMUM_POOL:
            raise TooFewPieces("The source has one piece only; similar content needs at least two.")
        shown = Filter(moment=_moment(query.at, self._now()), catalogs=query.catalogs, hidden=frozenset(view.blacklist))
        nearest = view.snapshot.nearest(
            query.piece_id,
            shown,
            algorithm=query.algorithm,
            category_weights=view.settings.category_weights,
            take=MAX_TAKE,
        )
        scores = {neighbour.id: neighbour.distance for neighbour in nearest}
        return _result(query.piece_id, scores, ranking.promoted(list(scores), view.whitelist)[: query.take])

    async def recommend(self, view: View, query: PersonalQuery) -> RecommendationResult:
        """Return the pieces that a person may like, best first; an unknown person gets popular ones."""
        popularity = await self._views.popularity(view)
        # In a thread: a person with thousands of interactions must not hold up everybody else.
        ranked = await self._database.in_thread(self._ranked, view, query, popularity)
        scores = {each.id: each.score for each in ranked}
        eligible = {each.id for each in ranked if each.units > 0}
        order = ranking.promoted(list(scores), [each for each in view.whitelist if each in eligible])
        return _result(query.user_id, scores, order[: query.take])

    async def profile(self, view: View, user_id: str) -> list[Profile]:
        """Return a person's taste: one profile, or none where no interaction counts."""
        person = await self._database.in_thread(self._person, view, user_id, None)
        categories: dict[str, dict[str, int]] = {}
        for term, score in person.profile.items():
            categories.setdefault(term.category, {})[term.keyword] = score
        if not categories:
            return []
        return [Profile(source=view.head.name, user_id=user_id, categories=categories)]

    def _ranked(self, view: View, query: PersonalQuery, popularity: PopularityView) -> list[Ranked]:
        person = self._person(view, query.user_id, query.at)
        now = self._now()
        shown = Filter(
            moment=_moment(query.at, now),
            catalogs=query.catalogs,
            hidden=frozenset(view.blacklist) | _known(view.settings, query, person),
        )
        oldest_day = oldest_kept(view, now) // DAY_MS
        contents = self._contents(view, query.algorithm, person.profile)
        candidates = [
            Candidates(
                ids=part.segment.ids,
                allowed=part.allowed(shown),
                live=part.live,
                content=content,
                people=popularity.array(part.segment, now // DAY_MS, oldest_day),
                age_days=shown.moment // DAY_MS - part.segment.available_day,
            )
            for part, content in zip(view.snapshot.parts, contents, strict=True)
        ]
        settings = view.settings
        scores = (
            contents
            if query.algorithm is not None
            else ranking.blended(candidates, settings.blend, settings.new_piece_half_life_days)
        )
        return ranking.best(candidates, scores, MAX_TAKE, fill=query.fill)

    @staticmethod
    def _contents(view: View, algorithm: Algorithm | None, profile: Mapping[Term, int]) -> list[ranking.FloatArray]:
        """Return how well each piece fits a taste, for every part of the snapshot."""
        snapshot = view.snapshot
        if algorithm is Algorithm.JACCARD:
            liked = [term for term, score in profile.items() if score > 0]
            return [ranking.overlap_part(*snapshot.overlaps(part, liked), len(liked)) for part in snapshot.parts]
        weights = view.settings.category_weights
        rare = _with_rarity(snapshot, profile)
        taste_norm = math.sqrt(math.fsum(value * value for value in rare.values()))
        weighted = {term: value * weights.get(term.category, 1) for term, value in rare.items()}
        mean_norm = snapshot.mean_norm(weights)
        return [
            ranking.content_part(
                snapshot.root_dots(part, weighted), snapshot.root_norms(part, weights), taste_norm, mean_norm
            )
            for part in snapshot.parts
        ]

    def _person(self, view: View, user_id: str, at: int | None) -> _Person:
        now = self._now()
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
        return _Person(interactions=interactions, profile=profile)

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _moment(at: int | None, now: int) -> int:
    """Return the moment that a day stands for: its end, but for today the present."""
    return now if at is None or at // DAY_MS == now // DAY_MS else at


def _with_rarity(snapshot: Snapshot, profile: Mapping[Term, int]) -> dict[Term, float]:
    """Return f x P: each term's score times ln(1 + pieces / pieces that have the term)."""
    terms = sorted(profile)
    frequencies = snapshot.document_frequencies(terms).tolist()
    count = snapshot.piece_count
    return {
        term: math.log(1 + count / frequency) * profile[term]
        for term, frequency in zip(terms, frequencies, strict=True)
        if frequency
    }


def _known(settings: SourceSettings, query: PersonalQuery, person: _Person) -> frozenset[str]:
    """Return the pieces to leave out since the person knows them."""
    include = query.include_seen if query.include_seen is not None else not settings.exclude_seen
    return frozenset() if include else seen(person.interactions)


def _result(asked: str, scores: Mapping[str, float], order: Sequence[str]) -> RecommendationResult:
    return RecommendationResult(id=asked, content=[RecommendedPiece(id=each, score=scores[each]) for each in order])
