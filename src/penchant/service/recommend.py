"""Recommendation: what is similar to a piece, what a person may like, and what that person's taste is."""

import time
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from penchant.index import Audience, Strings, keyword_counts
from penchant.live.database import AsyncStorage
from penchant.live.people_cache import PeopleCache
from penchant.live.views import View, Views
from penchant.model import (
    DAY_MS,
    MAX_PROFILE_INTERACTIONS,
    Algorithm,
    Basis,
    InteractionType,
    Preferences,
    StoredInteraction,
)
from penchant.ranking import RankedPiece
from penchant.service.list_inputs import (
    PersonHistory,
    RecommendationInputs,
    gathered_at,
    history_of,
    moment_of,
)
from penchant.service.nearest import similar_pieces
from penchant.service.people import oldest_kept
from penchant.service.personal_lists import gathered_search, listed, result_of, suited, variety_of
from penchant.service.requests import PersonalRequest, SimilarRequest
from penchant.service.shares import heavy_shares
from penchant.storage import InteractionQuery, StoredPerson
from penchant.wire import (
    AnonymousResult,
    Profile,
    RecommendationResult,
    StatedLikings,
    decode_preferences,
)

Result = TypeVar("Result")

MANY_KEYWORDS = 20_000
"""Keywords of a person's pieces beyond which the taste takes a turn of the account: a tenth of a second of a thread."""
QUICK_PIECES = 20_000
"""Of so many pieces a remembered person's list takes less than a millisecond: to hand it to a thread takes as long.

A varied one takes longer than that of however many.
"""


class PersonalResult(NamedTuple, Generic[Result]):
    """An answer about a person's list, and the version of the interactions that its weights were made from."""

    result: Result
    audience_version: int


class Recommender:
    """Lists for pieces and for people, each from one view of a source."""

    def __init__(
        self,
        database: AsyncStorage,
        views: Views,
        *,
        people: PeopleCache | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._views = views
        self._people = people or PeopleCache(database, limit_bytes=0)
        self._clock = clock
        self.tastes = heavy_shares("tastes of many keywords are being worked out")

    def similar(self, view: View, query: SimilarRequest, audience: Audience | None = None) -> RecommendationResult:
        """Return the nearest pieces, whitelisted ones first; ``audience`` is that of `audience_near`.

        Raises:
            UnknownPiece: the source has no such piece.
            TooFewPieces: the source has fewer than two.
        """
        return similar_pieces(view, query, self.now(view), audience)

    async def similar_by(
        self, view: View, query: SimilarRequest, audience: Audience | None = None
    ) -> RecommendationResult:
        """Return the nearest pieces, as `similar`: by what people like, from a thread."""
        if audience is None:
            return self.similar(view, query)
        return await self._database.in_thread(self.similar, view, query, audience)

    async def audience_near(self, view: View, query: SimilarRequest) -> Audience | None:
        """Return what all people like now where a list of similar pieces goes by it, otherwise ``None``."""
        if query.by is Basis.CONTENT:
            return None
        today = self.now(view) // DAY_MS
        return await self._views.audience(view, today, min_version=query.min_audience_version)

    async def recommend(
        self, view: View, query: PersonalRequest, likings: StatedLikings | None = None
    ) -> PersonalResult[RecommendationResult | AnonymousResult]:
        """Return the pieces that a person may like, best first; an unknown person gets popular ones.

        With ``likings``, what somebody may like of whom nothing else is known.
        """
        now = self.now(view)
        # What people are remembered by is of the present, by the source's own category weights, and by numbers of
        # which overlap alone knows nothing.
        is_present = moment_of(query.at, now) == now and not view.stale
        is_present &= view.settings.category_weights == view.source_settings.category_weights
        if likings is None and is_present and query.algorithm is not Algorithm.JACCARD:
            return await self._recommend_remembered(view, query, now)
        history = await self.known(view, query, likings)
        audience = await self.audience(view, history, query.min_audience_version)
        result = await self.recommend_by(view, query, history, audience)
        found = result if likings is None else AnonymousResult(id=None, content=result.content)
        return PersonalResult(found, audience.version)

    async def _recommend_remembered(
        self, view: View, query: PersonalRequest, now: int
    ) -> PersonalResult[RecommendationResult | AnonymousResult]:
        """Return the same list as `recommended` makes of the history of now, from what is remembered of the person."""
        today = now // DAY_MS
        person = await self._people.figures(view, query.user_id, today)
        audience = await self._views.audience(view, today, min_version=query.min_audience_version)
        if view.snapshot.piece_count <= QUICK_PIECES and not variety_of(view, query):
            result = suited(view, query, person, audience, now)
        else:
            result = await self._database.in_thread(suited, view, query, person, audience, now)
        return PersonalResult(result, audience.version)

    async def known(self, view: View, query: PersonalRequest, likings: StatedLikings | None) -> PersonHistory:
        """Return the history of a person, or the one that stated likings make.

        Raises:
            Overloaded: their pieces have very many keywords, and too many such tastes are being worked out.
        """
        if likings is None:
            return await self._stored_history(view, query.user_id, query.at)
        rated = {*likings.liked, *likings.disliked}
        if await self._database.promptly(_keyword_count, view, rated) <= MANY_KEYWORDS:
            return await self._database.promptly(self._told, view, likings)
        async with self.tastes.turn(view.head.account_id):
            return await self._database.in_thread(self._told, view, likings)

    async def _stored_history(self, view: View, user_id: str, at: int | None) -> PersonHistory:
        # In a thread: a person with thousands of interactions must not hold up everybody else.
        now = self.now(view)
        found = await self._database.promptly(self._quick_history, view, user_id, at, now)
        if isinstance(found, PersonHistory):
            return found
        async with self.tastes.turn(view.head.account_id):
            return await self._database.in_thread(_history, view, found, at, now)

    def _quick_history(self, view: View, user_id: str, at: int | None, now: int) -> PersonHistory | StoredPerson:
        """Return the history of a person, or what is stored alone where it takes long to make."""
        person = self.stored(view, user_id, at, now)
        if _keyword_count(view, {each.piece_id for each in person.interactions}) > MANY_KEYWORDS:
            return person
        return _history(view, person, at, now)

    async def audience(self, view: View, history: PersonHistory, min_version: int = 0) -> Audience:
        """Return what all people like at the moment of a history, as of this version of the interactions at least."""
        return await self._views.audience(view, history.now // DAY_MS, min_version=min_version)

    async def profile(self, view: View, user_id: str) -> list[Profile]:
        """Return a person's taste: one profile, or none where no interaction counts.

        Raises:
            Overloaded: as `known`.
        """
        person = await self._stored_history(view, user_id, None)
        categories: dict[str, dict[str, int]] = {}
        for term, score in person.profile.items():
            categories.setdefault(term.category, {})[term.keyword] = score
        if not categories:
            return []
        return [Profile(source=view.head.name, user_id=user_id, categories=categories)]

    async def recommend_by(
        self, view: View, query: PersonalRequest, history: PersonHistory, audience: Audience
    ) -> RecommendationResult:
        """Return a person's list from what is known of them, as `recommended`, from a thread where there is one."""
        return await self._database.promptly(self.recommended, view, query, history, audience)

    def recommended(
        self, view: View, query: PersonalRequest, history: PersonHistory, audience: Audience
    ) -> RecommendationResult:
        """Return a person's list from what is known of them; to be called in a thread."""
        return result_of(query, self.search(view, query, gathered_at(view, query, history, audience)))

    @staticmethod
    def search(view: View, query: PersonalRequest, gathered: RecommendationInputs) -> list[RankedPiece]:
        """Return the best pieces for a person, whitelisted ones that something speaks for first."""
        return listed(view, query, gathered_search(view, query, gathered))

    def history(self, view: View, user_id: str, at: int | None, now: int) -> PersonHistory:
        """Return the history of a person at the end of a day, or now, read from storage."""
        return _history(view, self.stored(view, user_id, at, now), at, now)

    async def hidden(self, view: View, user_id: str) -> frozenset[str]:
        """Return the pieces that a person wants to see no more."""
        read = self._database.storage.people.read_preferences
        return frozenset(decode_preferences(await self._database.read(read, view.head.source_id, user_id)).hidden)

    def stored(self, view: View, user_id: str, at: int | None, now: int) -> StoredPerson:
        """Return what counts of a person at the end of a day, or now: preferences are those of now anyway."""
        moment = moment_of(at, now)
        return self._database.storage.people.read(
            view.head.source_id,
            InteractionQuery(
                user_id=user_id,
                since=oldest_kept(view, now),
                until=None if moment == now else moment,
                limit=MAX_PROFILE_INTERACTIONS,
            ),
        )

    def _told(self, view: View, likings: StatedLikings) -> PersonHistory:
        """Return likings as if pieces were rated at this moment, and keywords preferred."""
        now = self.now(view)
        rated = dict.fromkeys(likings.disliked, InteractionType.RATE_DISLIKE)
        rated |= dict.fromkeys(likings.liked, InteractionType.RATE_LIKE)
        interactions = [
            StoredInteraction(user_id="", type=kind, piece_id=piece_id, occurred_at=now)
            for piece_id, kind in rated.items()
            if view.knows(piece_id)
        ]
        stated = dict.fromkeys(likings.disliked_keywords, -1.0) | dict.fromkeys(likings.liked_keywords, 1.0)
        return history_of(view, interactions, Preferences(stated=stated), now=now)

    def now(self, view: View) -> int:
        """Return the present, by the source's own clock where this node's is behind: it hides no new piece."""
        return max(int(self._clock() * 1000), view.head.changed_at)


def _history(view: View, person: StoredPerson, at: int | None, now: int) -> PersonHistory:
    return history_of(view, person.interactions, decode_preferences(person.preferences), now=now, at=at)


def _keyword_count(view: View, piece_ids: Iterable[str]) -> int:
    """Return how many keywords the pieces of these ids, each given once, have all together."""
    return int(keyword_counts(Strings.of(sorted(piece_ids)), view.snapshot).sum())
