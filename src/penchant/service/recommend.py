"""What is similar to a piece, what may a person like, and what is that person's taste?"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penchant import ranking
from penchant.errors import TooFewPieces, UnknownPiece
from penchant.index import (
    Asked,
    Audience,
    Blending,
    Filter,
    FloatArray,
    Neighbour,
    Person,
    Popular,
    Wanted,
    recommended,
)
from penchant.live.database import Database
from penchant.live.views import View, Views
from penchant.model import (
    DAY_MS,
    MAX_PROFILE_INTERACTIONS,
    MAX_TAKE,
    Algorithm,
    Interaction,
    InteractionType,
    Piece,
    Seed,
    SourceSettings,
    Term,
)
from penchant.profiles import seeds, seen, taste
from penchant.ranking import Ranked
from penchant.service.people import oldest_kept
from penchant.storage import InteractionQuery
from penchant.tracing import tracing
from penchant.wire import AnonymousResult, Likings, Profile, RecommendationResult, RecommendedPiece

CANDIDATES = 120
MORE_CANDIDATES = 4
"""How many of the best a varied list is chosen from, and by what this grows while too few of them may be listed."""
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
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalQuery:
    """A request for recommendations; ``include_seen`` of ``None`` leaves it to the source's settings.

    ``diversity`` from 0 to 1 tells how much pieces are to be unlike each other.
    """

    user_id: str
    take: int = MAX_TAKE
    algorithm: Algorithm | None = None
    catalogs: frozenset[str] | None = None
    at: int | None = None
    include_seen: bool | None = None
    fill: bool = True
    exclude: frozenset[str] = frozenset()
    diversity: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is known of a person at a moment: the interactions that count, and the taste they make."""

    interactions: Sequence[Interaction]
    profile: Mapping[Term, int]

    @property
    def version(self) -> int:
        """The number of the latest interaction."""
        return max((each.version for each in self.interactions), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blended:
    """What the blend of all parts is made from; ``alike`` is part a, owed to what ``audience`` has of the ``seeds``."""

    person: Person
    popular: Popular
    alike: Sequence[FloatArray]
    audience: Audience
    seeds: Sequence[Seed]
    wanted: Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a person's list is made from; ``blended`` is ``None`` where only overlap with ``liked`` counts."""

    history: History
    shown: Filter
    liked: tuple[Term, ...] = ()
    blended: Blended | None = None


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
        self.require_neighbours(view, query.piece_id)
        nearest = self.neighbours(view, query)[: query.take]
        content = [RecommendedPiece(id=each, score=distance) for each, distance in nearest]
        return RecommendationResult(id=query.piece_id, content=content)

    @staticmethod
    def require_neighbours(view: View, piece_id: str) -> None:
        """Raise `UnknownPiece` or `TooFewPieces` where a source with too few pieces has no list for one."""
        if view.snapshot.piece_count < MINIMUM_POOL:
            if piece_id not in view.snapshot:
                raise UnknownPiece("The source has no piece with this id.")
            raise TooFewPieces("The source has one piece only; similar content needs at least two.")

    def neighbours(self, view: View, query: SimilarQuery, draft: Piece | None = None) -> list[Neighbour]:
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
                asked = Asked.of_draft(draft, query.algorithm, weights)
            shown = self.shown_near(view, query, but=None if draft is None else draft.id)
            nearest = snapshot.nearest_to(asked, shown, MAX_TAKE)
        if not view.whitelist:
            return nearest
        by_id = {neighbour.id: neighbour for neighbour in nearest}
        return [by_id[each] for each in ranking.promoted(list(by_id), view.whitelist)]

    def shown_near(self, view: View, query: SimilarQuery, *, but: str | None = None) -> Filter:
        """Return which pieces may be shown beside a piece, ``but`` for one."""
        return Filter(
            moment=moment_of(query.at, self.now(view)),
            catalogs=query.catalogs,
            hidden=view.hidden,
            seen=query.exclude if but is None else query.exclude | {but},
        )

    async def recommend(
        self, view: View, query: PersonalQuery, likings: Likings | None = None
    ) -> RecommendationResult | AnonymousResult:
        """Return the pieces that a person may like, best first; an unknown person gets popular ones.

        With ``likings``, what somebody may like of whom nothing else is known.
        """
        history = await self.known(view, query, likings)
        audience = await self.audience(view, history)
        result = await self._database.promptly(self.recommended, view, query, history, audience)
        return result if likings is None else AnonymousResult(id=None, content=result.content)

    async def known(self, view: View, query: PersonalQuery, likings: Likings | None) -> History:
        """Return what is known of a person, or what likings tell of somebody."""
        # In a thread: a person with thousands of interactions must not hold up everybody else.
        if likings is None:
            return await self._database.promptly(self.history, view, query.user_id, query.at)
        return await self._database.promptly(self._told, view, likings)

    async def audience(self, view: View, *histories: History) -> Audience:
        """Return who likes what, all that these histories have included."""
        own_version = max((each.version for each in histories), default=0)
        return await self._views.audience(view, self.now(view) // DAY_MS, own_version)

    async def profile(self, view: View, user_id: str) -> list[Profile]:
        """Return a person's taste: one profile, or none where no interaction counts."""
        person = await self._database.promptly(self.history, view, user_id, None)
        categories: dict[str, dict[str, int]] = {}
        for term, score in person.profile.items():
            categories.setdefault(term.category, {})[term.keyword] = score
        if not categories:
            return []
        return [Profile(source=view.head.name, user_id=user_id, categories=categories)]

    def recommended(
        self, view: View, query: PersonalQuery, history: History, audience: Audience
    ) -> RecommendationResult:
        """Return a person's list from what is known of them; in a thread."""
        ranked = self.search(view, query, self.gather(view, query, history, audience))
        content = [RecommendedPiece(id=each.id, score=each.score) for each in ranked[: query.take]]
        return RecommendationResult(id=query.user_id, content=content)

    def gather(self, view: View, query: PersonalQuery, history: History, audience: Audience) -> Gathered:
        """Return what a person's list is made from."""
        return gathered_at(view, query, history, audience, self.now(view))

    @staticmethod
    def search(view: View, query: PersonalQuery, gathered: Gathered) -> list[Ranked]:
        """Return the best pieces for a person, whitelisted ones that something speaks for first."""
        variety = ranking.Variety(diversity=query.diversity, most=view.settings.max_per_value)
        count = CANDIDATES if variety else MAX_TAKE
        while True:
            found = _best(view, query, gathered, count)
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

    def history(self, view: View, user_id: str, at: int | None) -> History:
        """Return what is known of a person at a moment, read from storage."""
        now = self.now(view)
        moment = moment_of(at, now)
        interactions = self._database.storage.user_interactions(
            view.head.source_id,
            InteractionQuery(
                user_id=user_id,
                since=oldest_kept(view, now),
                until=None if moment == now else moment,
                limit=MAX_PROFILE_INTERACTIONS,
            ),
        )
        return history_of(view, interactions, moment // DAY_MS)

    def _told(self, view: View, likings: Likings) -> History:
        """Return likings as if they were ratings of this moment."""
        now, weights = self.now(view), view.settings.interaction_weights
        rated = dict.fromkeys(likings.disliked, InteractionType.RATE_DISLIKE)
        rated |= dict.fromkeys(likings.liked, InteractionType.RATE_LIKE)
        named = dict.fromkeys(likings.disliked_terms, float(weights[InteractionType.RATE_DISLIKE]))
        named |= dict.fromkeys(likings.liked_terms, float(weights[InteractionType.RATE_LIKE]))
        interactions = [
            Interaction(user_id="", type=kind, piece_id=piece_id, occurred_at=now) for piece_id, kind in rated.items()
        ]
        profile = taste(
            interactions,
            terms_of=view.snapshot.terms_of,
            settings=view.settings,
            today=now // DAY_MS,
            named=named,
        )
        return History(interactions=interactions, profile=profile)

    def now(self, view: View) -> int:
        """Return the present, by the source's own clock where this node's is behind: it hides no new piece."""
        return max(int(self._clock() * 1000), view.head.changed_at)


def history_of(view: View, interactions: Sequence[Interaction], today: int) -> History:
    """Return what a person's interactions, newest first, tell on a UTC day."""
    profile = taste(interactions, terms_of=view.snapshot.terms_of, settings=view.settings, today=today)
    return History(interactions=interactions, profile=profile)


def gathered_at(view: View, query: PersonalQuery, history: History, audience: Audience, now: int) -> Gathered:
    """Return what a person's list is made from at a moment, which is the present of the source."""
    shown = Filter(
        moment=moment_of(query.at, now),
        catalogs=query.catalogs,
        hidden=view.hidden,
        seen=_known(view.settings, query, history) | query.exclude,
    )
    if query.algorithm is Algorithm.JACCARD:
        terms = tuple(term for term, score in history.profile.items() if score > 0)
        return Gathered(history=history, shown=shown, liked=terms)
    popular = audience.popular(view.snapshot.parts)
    wanted = Wanted(
        shown=shown,
        blending=_blending(view, query.algorithm, popular.median, shown.moment // DAY_MS),
        category_weights=view.settings.category_weights,
        take=MAX_TAKE,
        fill=query.fill,
    )
    # Nothing of people where they do not count.
    counted = wanted.blending.audience > 0
    liked = seeds(history.interactions, view.settings, view.snapshot.__contains__) if counted else []
    blended = Blended(
        person=_weighted(view, history.profile),
        popular=popular,
        alike=audience.liked_alike(view.snapshot.parts, liked),
        audience=audience,
        seeds=liked,
        wanted=wanted,
    )
    return Gathered(history=history, shown=shown, blended=blended)


def _best(view: View, query: PersonalQuery, gathered: Gathered, count: int) -> list[Ranked]:
    """Return so many pieces, best first, whatever the lists say."""
    blended = gathered.blended
    with tracing.span("search"):
        if blended is None:
            found = view.snapshot.overlapping(gathered.liked, gathered.shown, take=count, fill=query.fill)
        else:
            wanted = replace(blended.wanted, take=count)
            found = recommended(view.snapshot, blended.person, blended.popular, blended.alike, wanted)
    return [Ranked(piece_id, units) for units, piece_id in found]


def _raised(view: View, found: Sequence[Ranked]) -> list[Ranked]:
    """Return those on the whitelist that something speaks for, in its order."""
    if not view.whitelist:
        return []
    ranked = {each.id: each for each in found if each.units > 0}
    return [ranked[each] for each in view.whitelist if each in ranked]


def moment_of(at: int | None, now: int) -> int:
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


def _known(settings: SourceSettings, query: PersonalQuery, history: History) -> frozenset[str]:
    """Return the pieces to leave out since the person knows them."""
    include = query.include_seen if query.include_seen is not None else not settings.exclude_seen
    return frozenset() if include else seen(history.interactions)
