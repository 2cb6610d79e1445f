"""Listings: score, rank, hurdles and reasons of a list's entries and of any other piece; one class for each kind.

Each computes from one view; nothing is read or awaited here. A search is made once, a full scan only where a piece is
not among those that a list can show.

A scan orders pieces by a whole number, its key, the least one first: a distance, or an s with its sign turned. So
"how many are ahead" is one comparison of keys, with the tie rule of the search itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from msgspec import UNSET, UnsetType

from penchant.attributes import BOOST_SCALE
from penchant.index import (
    DISTANCE_SCALE,
    LEAST_PEOPLE,
    Audience,
    AudienceShares,
    Availability,
    Booster,
    LikeShare,
    ScoreParts,
    SimilarityQuery,
    Strings,
    TermShares,
    blended_parts,
    key_of,
    overlap_parts,
    similarity_shares,
    tellable,
    term_table,
)
from penchant.live.views import View
from penchant.model import MAX_TAKE, Basis, IndexedPiece, Term
from penchant.ranking import SCORE_SCALE, RankedPiece
from penchant.service.hurdles import Hurdle, Remedy, common_hurdles
from penchant.service.list_inputs import RecommendationInputs, hidden_pieces, left_out_as_seen
from penchant.service.nearest import Entry, asked_near, neighbours_of, query_near, shown_near
from penchant.service.personal_lists import ListSearch, gathered_search, listed
from penchant.service.recommend import Recommender
from penchant.service.requests import PersonalRequest, SimilarRequest
from penchant.wire import (
    KeywordShare,
    MovingRule,
    PartShare,
    PersonalWhy,
    PieceShare,
    SimilarWhy,
    TermRest,
)

_CONTENT_PART = {Basis.CONTENT: 1.0, Basis.AUDIENCE: 0.0, Basis.BOTH: 0.5}
"""How much of a similarity the keywords are."""
_NOTHING_IN_COMMON = {
    Basis.CONTENT: "The two pieces share no keyword that counts.",
    Basis.AUDIENCE: "That people like the one says nothing for the other.",
    Basis.BOTH: "The two pieces share no keyword that counts, and likes of the one say nothing for the other.",
}


class Standings:
    """How pieces stand by the search of a list, whatever keeps them out of it.

    Each answer takes a scan, which is made once: hurdles, score and rank of a piece are asked for one after the other.
    """

    def __init__(self, search: ListSearch, booster: Booster) -> None:
        self._search = search
        self._booster = booster
        self._keys: dict[str, int | None] = {}
        self._ahead: dict[str, int] = {}

    def key(self, piece_id: str) -> int | None:
        """Return the key of a piece without boosts; ``None`` where the search never finds it."""
        if piece_id not in self._keys:
            self._keys[piece_id] = key_of(self._booster.snapshot, piece_id, self._search.query.scan)
        return self._keys[piece_id]

    def boosted_key(self, piece_id: str) -> int | None:
        """Return the key of a piece as the list counts it; ``None`` as `key`."""
        key = self.key(piece_id)
        return None if key is None else self._booster.key(piece_id, key)

    def ahead(self, piece_id: str) -> int:
        """Return how many of the shown pieces are better than one; 0 where the search never finds that."""
        if piece_id not in self._ahead:
            key, (query, shown) = self.key(piece_id), self._search
            if key is None:
                return 0
            self._ahead[piece_id] = self._booster.count_ahead(piece_id, key, shown, query.scan)
        return self._ahead[piece_id]


class Neighbourhood:
    """The list of pieces near a piece, or near a draft, whose own id is that of ``query``.

    ``audience`` is there where the list goes by it.
    """

    def __init__(
        self,
        recommender: Recommender,
        view: View,
        query: SimilarRequest,
        draft: IndexedPiece | None = None,
        audience: Audience | None = None,
    ) -> None:
        self.view = view
        self.query = query
        self.audience = audience
        self._recommender = recommender
        self._draft = draft
        self.booster = Booster(query.boosts, DISTANCE_SCALE, view.snapshot)

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All that ``take`` is cut from, in order."""
        return neighbours_of(self.view, self.query, *self.search)

    @cached_property
    def asked(self) -> SimilarityQuery:
        """What pieces are near to by their keywords."""
        return asked_near(self.view, self.query, self._draft)

    @cached_property
    def search(self) -> ListSearch:
        """What the list is searched by, and which pieces may be listed."""
        shown = shown_near(self.view, self.query, self._recommender.now(self.view), but=self.query.piece_id)
        return ListSearch(query_near(self.query, self.asked, self.audience), shown)

    @cached_property
    def standings(self) -> Standings:
        """How near any piece is. One without a key has a hurdle, "nothing-in-common", and is never placed."""
        return Standings(self.search, self.booster)

    def score(self, piece_id: str) -> float:
        """Return the distance of any piece, as the list would show it; 1 where nothing is in common."""
        key = self.standings.boosted_key(piece_id)
        return 1.0 if key is None else max(0, key) / DISTANCE_SCALE

    def hurdles(self, piece_id: str, offer: Availability) -> list[Hurdle[SimilarRequest]]:
        """Return what keeps a piece out of this list, whatever the others are."""
        now = self._recommender.now(self.view)
        found = list(common_hurdles(self.view, self.query, piece_id, offer, now))
        if self.standings.key(piece_id) is None:
            detail = _NOTHING_IN_COMMON[self.query.by]
            found.append(Hurdle(code="nothing-in-common", detail=detail))
        return found

    def why(self, piece_id: str, *, shown: bool) -> SimilarWhy:
        """Return what makes a piece similar, and, of one that is shown, what moved it."""
        part = _CONTENT_PART[self.query.by]
        shares = similarity_shares(self.asked, self.view.snapshot, piece_id, part) if part else TermShares()
        terms, rest = _named(shares)
        return SimilarWhy(
            terms=terms,
            rest=rest,
            audience=self._audience_share(piece_id),
            rules=[
                *(raised_rules(self.view, piece_id) if shown else []),
                *boost_rules(piece_id, self.booster),
            ],
        )

    def _audience_share(self, piece_id: str) -> float | UnsetType:
        """Return what people add who like both pieces; not told of fewer than three."""
        likes = None if self.audience is None else self.audience.shared_with(self.query.piece_id).likes_of(piece_id)
        if likes is None or likes.people < LEAST_PEOPLE:
            return UNSET
        return min(1.0, likes.share) * (1 - _CONTENT_PART[self.query.by])


class Suggestions:
    """The list of what a person may like."""

    def __init__(
        self,
        view: View,
        query: PersonalRequest,
        gathered: RecommendationInputs,
        audience_version: int = 0,
    ) -> None:
        self.view = view
        self.query = query
        self.audience_version = audience_version
        self.gathered = gathered
        self.booster = Booster(query.boosts, 0, view.snapshot)

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All that ``take`` is cut from, in order."""
        return [(each.id, each.score) for each in self.ranked]

    @cached_property
    def ranked(self) -> Sequence[RankedPiece]:
        """The same with what each counts in units."""
        return listed(self.view, self.query, self.search)

    @cached_property
    def search(self) -> ListSearch:
        """What the list is searched by, and which pieces may be listed."""
        return gathered_search(self.view, self.query, self.gathered)

    @cached_property
    def standings(self) -> Standings:
        """How well any piece suits the person."""
        return Standings(self.search, self.booster)

    def score(self, piece_id: str) -> float:
        """Return what any piece's score is, as the list would show it."""
        return RankedPiece(piece_id, self._units(piece_id)).score

    def hurdles(self, piece_id: str, offer: Availability) -> list[Hurdle[PersonalRequest]]:
        """Return what keeps a piece out of this list, whatever the others are."""
        view, query = self.view, self.query
        found = list(common_hurdles(view, query, piece_id, offer, self.gathered.history.now))
        history = self.gathered.history
        if piece_id in hidden_pieces(query, history):
            change = Remedy(
                remedy={"remove": "hidden"}, view=view, query=replace(query, unhidden=query.unhidden | {piece_id})
            )
            found.append(Hurdle(code="hidden", detail="The person has hidden the piece.", change=change))
        # Of what is seen and excluded only the exclusion is reported, by `common_hurdles`.
        if piece_id in left_out_as_seen(view.settings, query, history) - query.exclude:
            change = Remedy(remedy={"include-seen": True}, view=view, query=replace(query, include_seen=True))
            found.append(Hurdle(code="seen", detail="The person knows the piece already.", change=change))
        if not query.fill and self._units(piece_id) <= 0:
            change = Remedy(remedy={"fill": True}, view=view, query=replace(query, fill=True))
            found.append(
                Hurdle(code="no-fill", detail="Nothing speaks for the piece: its s is 0 or less.", change=change)
            )
        # Last, and alone: only of a piece that nothing else keeps out can it be said that the choice among the
        # best left it out.
        if not found and self._is_passed_over(piece_id):
            found.append(self._passed_over(piece_id))
        return found

    def _is_passed_over(self, piece_id: str) -> bool:
        """Return whether a piece is not listed that would be if scores alone counted."""
        if not (self.query.diversity or self.view.settings.max_per_value):
            return False
        return piece_id not in self._listed and self.standings.ahead(piece_id) < MAX_TAKE

    def _passed_over(self, piece_id: str) -> Hurdle[PersonalRequest]:
        """Return why a piece that is good enough is not listed: a limit per value, or else the diversity."""
        view, query, most = self.view, self.query, self.view.settings.max_per_value
        terms_of = view.snapshot.terms_of
        held = Counter(term for each in self._listed for term in terms_of(each) or ())
        own = [term for term in terms_of(piece_id) or () if term.category in most]
        # Terms of the piece that as many listed pieces have as the limit of their category allows.
        full = [term for term in own if held[term] >= most[term.category]]
        if not full:
            detail = "The piece is too much like others of the list for the diversity asked for."
            change = Remedy(remedy={"diversity": 0}, view=view, query=replace(query, diversity=0.0))
            return Hurdle(code="alike", detail=detail, change=change)
        category, keyword = full[0]
        # A second limit may keep the piece out as well: then this remedy, tried out, fails and is not named.
        others = {name: number for name, number in most.items() if name != category}
        change = Remedy(
            remedy={"remove": "maxPerValue", "category": category},
            view=replace(view, settings=replace(view.settings, max_per_value=others)),
            query=query,
        )
        detail = f"{most[category]} of the listed pieces have {category} {keyword!r}, as many as may."
        return Hurdle(code="max-per-value", detail=detail, change=change)

    def why(self, piece_id: str, *, shown: bool) -> PersonalWhy:
        """Return what the parts add for a piece, and, of one that is shown, what moved it."""
        rules = []
        if shown:
            units = self._units(piece_id)
            # The whitelist raises only what something speaks for; the others are listed to fill up.
            rules = raised_rules(self.view, piece_id) if units > 0 else [MovingRule(rule="fill")]
            if piece_id in self._preferred:
                rules.append(MovingRule(rule="diversity"))
        rules += boost_rules(piece_id, self.booster)
        factor = self.query.sinking.get(piece_id, 1.0)
        if factor != 1:
            rules.append(MovingRule(rule="rotation", factor=factor))
        return PersonalWhy(parts=_part_shares(self._parts(piece_id), self.gathered.history.stated), rules=rules)

    def _parts(self, piece_id: str) -> ScoreParts:
        snapshot, blended = self.view.snapshot, self.gathered.blended
        if blended is None:
            return overlap_parts(self._liked_keys, snapshot, piece_id)
        return blended_parts(
            snapshot, blended.person, blended.popular, blended.wanted, piece_id, liked=self._liked(piece_id)
        )

    def _liked(self, piece_id: str) -> AudienceShares:
        """Return part a of a piece with the liked pieces that it is owed to."""
        blended, found = self.gathered.blended, self.view.snapshot.find(piece_id)
        if blended is None or found is None or self._owed is None:
            return AudienceShares()
        value = blended.alike[self.view.snapshot.parts.index(found[0])].of_row(found[1])
        return AudienceShares(value=value, likes=tuple(self._owed(piece_id)) if value else ())

    @cached_property
    def _liked_keys(self) -> Strings:
        return term_table(self.gathered.liked)

    @cached_property
    def _owed(self) -> Callable[[str], Sequence[LikeShare]] | None:
        blended = self.gathered.blended
        return None if blended is None else blended.audience.owing(blended.likes)

    @cached_property
    def _listed(self) -> Mapping[str, int]:
        return {each.id: each.units for each in self.ranked}

    @cached_property
    def _preferred(self) -> frozenset[str]:
        """The pieces that diversity has put before better ones."""
        raised, found, best = set(self.view.whitelist), set(), -SCORE_SCALE
        # From the end: a piece was preferred where a better one comes after it. Whitelisted ones have their own rule.
        for each in reversed(self.ranked if self.query.diversity else ()):
            if each.units < best and each.id not in raised:
                found.add(each.id)
            best = max(best, each.units)
        return frozenset(found)

    def _units(self, piece_id: str) -> int:
        """Return a piece's s in its unit; one that is not listed costs a scan."""
        units = self._listed.get(piece_id)
        if units is not None:
            return units
        return -(self.standings.boosted_key(piece_id) or 0)


def boost_rules(piece_id: str, booster: Booster) -> list[MovingRule]:
    """Return the boosts that count for a piece."""
    return [
        MovingRule(rule="boost", position=place, factor=boost.factor / BOOST_SCALE)
        for place, boost in booster.held(piece_id)
    ]


def raised_rules(view: View, piece_id: str) -> list[MovingRule]:
    """Return that the whitelist raised a piece, if it did."""
    if piece_id not in view.whitelist:
        return []
    return [MovingRule(rule="whitelist", position=view.whitelist.index(piece_id))]


def _named(
    shares: TermShares, stated: Mapping[Term, float] = MappingProxyType({})
) -> tuple[list[KeywordShare], TermRest | UnsetType]:
    """Return the terms that an explanation names, those marked that the person stated, and what the others add."""

    def told(term: Term) -> Literal["liked", "disliked"] | UnsetType:
        weight = stated.get(term)
        return UNSET if weight is None else "liked" if weight > 0 else "disliked"

    named = [
        KeywordShare(category=term.category, keyword=term.keyword, share=share, stated=told(term))
        for term, share in shares.named
    ]
    return named, TermRest(count=shares.others, share=shares.rest) if shares.others else UNSET


def _part_shares(parts: ScoreParts, stated: Mapping[Term, float]) -> list[PartShare]:
    pieces = [
        PieceShare(id=like.id, share=like.share, through=UNSET if like.through is None else like.through)
        for like in tellable(parts.likes)
    ]
    terms, rest = _named(parts.terms, stated)
    return [
        PartShare(part="content", share=parts.content, terms=terms, rest=rest),
        PartShare(part="audience", share=parts.audience, pieces=pieces),
        PartShare(part="popularity", share=parts.popularity),
        PartShare(part="new", share=parts.new),
    ]
