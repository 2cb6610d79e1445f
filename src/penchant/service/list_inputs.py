"""List inputs: what a person's list is made from, gathered from the person, all people, and one view of a source."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penchant import ranking
from penchant.index import (
    Audience,
    BlendFactors,
    CountedPreferences,
    Filter,
    IntArray,
    ListSpec,
    PersonFigures,
    PersonVector,
    PlacedTaste,
    Popularity,
    SparseShares,
    taste_length,
)
from penchant.live.views import View
from penchant.model import (
    DAY_MS,
    MAX_TAKE,
    NO_PREFERENCES,
    Algorithm,
    GradedLike,
    Preferences,
    SourceSettings,
    StoredInteraction,
    Term,
    most_likes,
)
from penchant.profiles import own_likes, seen, taste
from penchant.service.requests import ListRequest, PersonalRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonHistory:
    """What is known of a person at a moment: the interactions that count, and the taste they make.

    ``now`` is the present of the request: whatever else its list is made from is of the same one, so that no list is
    half of one UTC day and half of the next. ``stated`` are the keywords that count of those the person has named, with
    their weights; ``hidden`` are pieces that the person wants to see no more.
    """

    interactions: Sequence[StoredInteraction]
    profile: Mapping[Term, int]
    now: int
    stated: Mapping[Term, float] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlendSearch:
    """What the blend of all parts is searched by; ``alike`` is part a."""

    person: PersonVector | PlacedTaste
    popular: Popularity
    alike: Sequence[SparseShares]
    wanted: ListSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class BlendInputs:
    """What the blend of all parts is made from; ``alike`` is part a, owed to what ``audience`` has of the ``likes``."""

    person: PersonVector
    popular: Popularity
    alike: Sequence[SparseShares]
    audience: Audience
    likes: Sequence[GradedLike]
    wanted: ListSpec

    @property
    def search(self) -> BlendSearch:
        """What is searched by; the rest explains what is found."""
        return BlendSearch(person=self.person, popular=self.popular, alike=self.alike, wanted=self.wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationInputs:
    """What a person's list is made from; ``blended`` is ``None`` where only overlap with ``liked`` counts."""

    history: PersonHistory
    shown: Filter
    liked: tuple[Term, ...] = ()
    blended: BlendInputs | None = None


def history_of(
    view: View,
    interactions: Sequence[StoredInteraction],
    preferences: Preferences = NO_PREFERENCES,
    *,
    now: int,
    at: int | None = None,
) -> PersonHistory:
    """Return the history that interactions, newest first, and preferences make at the end of a day, or now."""
    snapshot = view.snapshot
    said = CountedPreferences.of(preferences, snapshot, view.settings)
    profile = taste(
        interactions[: taste_length(interactions, snapshot)],
        terms_of=snapshot.terms_of,
        settings=said.settings,
        today=moment_of(at, now) // DAY_MS,
        stated=said.stated,
    )
    return PersonHistory(
        interactions=interactions, profile=profile, now=now, stated=said.stated, hidden=frozenset(preferences.hidden)
    )


def gathered_at(view: View, query: PersonalRequest, history: PersonHistory, audience: Audience) -> RecommendationInputs:
    """Return what a person's list is made from at the moment of the history."""
    omitted = left_out_as_seen(view.settings, query, history) | hidden_pieces(query, history) | query.exclude
    shown = shown_by(view, query, moment_of(query.at, history.now), omitted)
    if query.algorithm is Algorithm.JACCARD:
        terms = tuple(term for term, score in history.profile.items() if score > 0)
        return RecommendationInputs(history=history, shown=shown, liked=terms)
    # A keyword that the person has named tells as much as a piece that the person has met.
    met = len({each.piece_id for each in history.interactions if each.piece_id in view.snapshot}) + len(history.stated)
    wanted = _spec(view, query, shown, audience.figures.content_factor(met))
    # Nothing of people where they do not count.
    liked: list[GradedLike] = []
    if wanted.blending.audience > 0:
        exists, most = view.snapshot.__contains__, most_likes(view.snapshot.piece_count)
        liked = own_likes(history.interactions, view.settings, exists, most)
    blended = BlendInputs(
        person=_weighted(view, history.profile),
        popular=popular_at(view, shown.moment, audience),
        alike=audience.liked_alike(view.snapshot.parts, liked),
        audience=audience,
        likes=liked,
        wanted=wanted,
    )
    return RecommendationInputs(history=history, shown=shown, blended=blended)


def shown_by(view: View, query: ListRequest, moment: int, omitted: frozenset[str]) -> Filter:
    """Return which pieces a request lets through at a moment, but for those that are omitted."""
    return Filter(
        moment=moment,
        catalogs=query.catalogs,
        matching=query.matching,
        blacklisted=view.blacklisted,
        omitted=omitted,
    )


def moment_of(at: int | None, now: int) -> int:
    """Return the moment that a day stands for: its end, but for today the present."""
    return now if at is None or at // DAY_MS == now // DAY_MS else at


def searched_by(view: View, query: PersonalRequest, person: PersonFigures, audience: Audience, now: int) -> BlendSearch:
    """Return what the list of a person is searched by now: what `gathered_at` gives, from what is known by number."""
    shown = shown_by(view, query, now, query.exclude)
    left_out = person.hidden if _includes_seen(view.settings, query) else person.seen
    wanted = _spec(view, query, shown, audience.figures.content_factor(person.met), left_out)
    parts = view.snapshot.parts
    # Nothing of people where they do not count.
    counts = wanted.blending.audience > 0
    alike = audience.alike(parts, person.liked, person.grades) if counts else audience.liked_alike(parts, ())
    return BlendSearch(
        person=person.taste, popular=popular_at(view, shown.moment, audience), alike=alike, wanted=wanted
    )


def _spec(
    view: View,
    query: PersonalRequest,
    shown: Filter,
    content_factor: float,
    left_out: tuple[IntArray, ...] = (),
) -> ListSpec:
    return ListSpec(
        shown=shown,
        blending=blending_of(view.settings, query.algorithm, content_factor),
        category_weights=view.settings.category_weights,
        take=MAX_TAKE,
        fill=query.fill,
        seen=left_out,
    )


def popular_at(view: View, moment: int, audience: Audience) -> Popularity:
    """Return part p of all pieces, with start credits as of a moment."""
    day, half_life = moment // DAY_MS, view.settings.new_piece_half_life_days
    return audience.popular(
        view.snapshot.parts,
        (day, half_life),
        lambda: ranking.start_credits(view.snapshot.day_counts(), day, half_life),
    )


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


def blending_of(settings: SourceSettings, algorithm: Algorithm | None, content_factor: float) -> BlendFactors:
    """Return what the parts are mixed with; the content alone where cosine is asked for."""
    if algorithm is not None:
        return BlendFactors(1.0, 0.0, 0.0, total=1.0)
    blend = settings.blend
    content = content_factor * float(blend.content)
    total = content + float(blend.audience) + float(blend.popularity)
    # ``or``: where content alone counts and nothing was met, no piece has a content part, and any divisor does.
    return BlendFactors(content, float(blend.audience), float(blend.popularity), total=total or 1.0)


def left_out_as_seen(settings: SourceSettings, query: PersonalRequest, history: PersonHistory) -> frozenset[str]:
    """Return the pieces to leave out since the person knows them."""
    return frozenset() if _includes_seen(settings, query) else seen(history.interactions)


def hidden_pieces(query: PersonalRequest, history: PersonHistory) -> frozenset[str]:
    """Return the pieces to leave out since the person wants to see them no more."""
    return history.hidden - query.unhidden


def _includes_seen(settings: SourceSettings, query: PersonalRequest) -> bool:
    return query.include_seen if query.include_seen is not None else not settings.exclude_seen
