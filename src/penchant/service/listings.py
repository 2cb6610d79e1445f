"""What can be said of a list's entries, and of any piece beside it? One class for each kind of list.

Each computes from one view; nothing is read or awaited here. A search is made once, a full scan only where a piece is
not among those that a list can show.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from penchant.index import (
    DISTANCE_SCALE,
    Asked,
    Liked,
    Offer,
    Parts,
    Scan,
    SeedShare,
    TermShare,
    blended_parts,
    count_ahead,
    key_of,
    overlap_parts,
    scan_of,
    similarity_shares,
    tellable,
)
from penchant.live.views import View
from penchant.model import MAX_TAKE, Algorithm, Piece
from penchant.ranking import SCORE_SCALE, Ranked
from penchant.service.hurdles import Change, Hurdle, common_hurdles
from penchant.service.recommend import Gathered, PersonalQuery, Recommender, SimilarQuery
from penchant.wire import (
    KeywordShare,
    MovingRule,
    PartShare,
    PersonalWhy,
    PieceShare,
    SimilarWhy,
)

Entry = tuple[str, float]
"""A piece and its score."""


class Neighbourhood:
    """The list of pieces near a piece, or near a draft, whose own id is that of ``query``."""

    def __init__(self, recommender: Recommender, view: View, query: SimilarQuery, draft: Piece | None = None) -> None:
        self.view = view
        self.query = query
        self._recommender = recommender
        self._draft = draft
        self._keys: dict[str, int | None] = {}

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All that ``take`` is cut from, in order."""
        return [(each.id, each.distance) for each in self._recommender.neighbours(self.view, self.query, self._draft)]

    @cached_property
    def _asked(self) -> Asked:
        query, weights = self.query, self.view.settings.category_weights
        if self._draft is not None:
            return Asked.of_draft(self._draft, query.algorithm, weights)
        return self.view.snapshot.asked(query.piece_id, query.algorithm, weights)

    def score(self, piece_id: str) -> float:
        """Return the distance of any piece, as the list would show it; 1 where nothing is in common."""
        key = self._key(piece_id)
        return 1.0 if key is None else key / DISTANCE_SCALE

    def ahead(self, piece_id: str) -> int:
        """Return how many of the shown pieces are nearer than one that could be shown."""
        shown = self._recommender.shown_near(self.view, self.query, but=self.query.piece_id)
        key = self._key(piece_id)
        return 0 if key is None else count_ahead(self.view.snapshot, piece_id, key, shown, self._asked.scan)

    def hurdles(self, piece_id: str, offer: Offer) -> list[Hurdle[SimilarQuery]]:
        """Return what keeps a piece out of this list, whatever the others are."""
        now = self._recommender.now(self.view)
        found = list(common_hurdles(self.view, self.query, piece_id, offer, now))
        if self._key(piece_id) is None:
            found.append(self._nothing_in_common())
        return found

    def _key(self, piece_id: str) -> int | None:
        if piece_id not in self._keys:
            self._keys[piece_id] = key_of(self.view.snapshot, piece_id, self._asked.scan)
        return self._keys[piece_id]

    def _nothing_in_common(self) -> Hurdle[SimilarQuery]:
        code, detail = "nothing-in-common", "The two pieces share no keyword that counts."
        if self._asked.algorithm is Algorithm.JACCARD:
            return Hurdle(code=code, detail=detail)
        query = replace(self.query, algorithm=Algorithm.JACCARD)
        change = Change(remedy={"algo": Algorithm.JACCARD.value}, view=self.view, query=query)
        return Hurdle(code=code, detail=detail, change=change)

    def why(self, piece_id: str, *, shown: bool) -> SimilarWhy:
        """Return what makes a piece similar, and, of one that is shown, what moved it."""
        own = self._draft.weights if self._draft is not None else self.view.snapshot.terms_of(self.query.piece_id)
        other = self.view.snapshot.terms_of(piece_id)
        weights = self.view.settings.category_weights
        shares = similarity_shares(own or {}, other or {}, self._asked.algorithm, weights)
        return SimilarWhy(terms=_told(shares), rules=_raised(self.view, piece_id) if shown else [])


class Suggestions:
    """The list of what a person may like."""

    def __init__(self, recommender: Recommender, view: View, query: PersonalQuery, gathered: Gathered) -> None:
        self.view = view
        self.query = query
        self._recommender = recommender
        self._gathered = gathered
        self._others: dict[str, int] = {}

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All that ``take`` is cut from, in order."""
        return [(each.id, each.score) for each in self._ranked]

    @cached_property
    def _ranked(self) -> Sequence[Ranked]:
        return self._recommender.search(self.view, self.query, self._gathered)

    @cached_property
    def _scan(self) -> Scan:
        blended = self._gathered.blended
        if blended is None:
            return self.view.snapshot.overlap_scan(self._gathered.liked)
        return scan_of(self.view.snapshot, blended.person, blended.popular, blended.alike, blended.wanted)

    def score(self, piece_id: str) -> float:
        """Return what any piece's score is, as the list would show it."""
        return Ranked(piece_id, self._units(piece_id)).score

    def ahead(self, piece_id: str) -> int:
        """Return how many of the shown pieces suit better than one that could be shown."""
        key = -self._units(piece_id)
        return count_ahead(self.view.snapshot, piece_id, key, self._gathered.shown, self._scan)

    def hurdles(self, piece_id: str, offer: Offer) -> list[Hurdle[PersonalQuery]]:
        """Return what keeps a piece out of this list, whatever the others are."""
        view, query = self.view, self.query
        found = list(common_hurdles(view, query, piece_id, offer, self._recommender.now(view)))
        if piece_id in self._gathered.shown.seen - query.exclude:
            change = Change(remedy={"include-seen": True}, view=view, query=replace(query, include_seen=True))
            found.append(Hurdle(code="seen", detail="The person knows the piece already.", change=change))
        if not query.fill and self._units(piece_id) <= 0:
            change = Change(remedy={"fill": True}, view=view, query=replace(query, fill=True))
            found.append(
                Hurdle(code="no-fill", detail="Nothing speaks for the piece: its s is 0 or less.", change=change)
            )
        if not found and self._is_passed_over(piece_id):
            found.append(self._passed_over(piece_id))
        return found

    def _is_passed_over(self, piece_id: str) -> bool:
        """Return whether a piece is not listed that would be if scores alone counted."""
        if not (self.query.diversity or self.view.settings.max_per_value):
            return False
        return piece_id not in self._listed and self.ahead(piece_id) < MAX_TAKE

    def _passed_over(self, piece_id: str) -> Hurdle[PersonalQuery]:
        view, query, most = self.view, self.query, self.view.settings.max_per_value
        terms_of = view.snapshot.terms_of
        held = Counter(term for each in self._listed for term in terms_of(each) or ())
        own = [term for term in terms_of(piece_id) or () if term.category in most]
        full = [term for term in own if held[term] >= most[term.category]]
        if not full:
            detail = "The piece is too much like others of the list for the diversity asked for."
            change = Change(remedy={"diversity": 0}, view=view, query=replace(query, diversity=0.0))
            return Hurdle(code="alike", detail=detail, change=change)
        category, keyword = full[0]
        others = {name: number for name, number in most.items() if name != category}
        change = Change(
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
            rules = _raised(self.view, piece_id) if units > 0 else [MovingRule(rule="fill")]
            if piece_id in self._preferred:
                rules.append(MovingRule(rule="diversity"))
        return PersonalWhy(parts=_told_parts(self._parts(piece_id)), rules=rules)

    def _parts(self, piece_id: str) -> Parts:
        snapshot, blended = self.view.snapshot, self._gathered.blended
        if blended is None:
            return overlap_parts(self._gathered.liked, snapshot.terms_of(piece_id) or {})
        return blended_parts(
            snapshot, blended.person, blended.popular, blended.wanted, piece_id, liked=self._liked(piece_id)
        )

    def _liked(self, piece_id: str) -> Liked:
        """Return part a of a piece with the liked pieces that it is owed to."""
        blended, found = self._gathered.blended, self.view.snapshot.find(piece_id)
        if blended is None or found is None or self._owed is None:
            return Liked()
        value = float(blended.alike[self.view.snapshot.parts.index(found[0])][found[1]])
        return Liked(value=value, seeds=tuple(self._owed(piece_id)) if value else ())

    @cached_property
    def _owed(self) -> Callable[[str], Sequence[SeedShare]] | None:
        blended = self._gathered.blended
        return None if blended is None else blended.audience.owing(blended.seeds)

    @cached_property
    def _listed(self) -> Mapping[str, int]:
        return {each.id: each.units for each in self._ranked}

    @cached_property
    def _preferred(self) -> frozenset[str]:
        """The pieces that diversity has put before better ones."""
        raised, found, best = set(self.view.whitelist), set(), -SCORE_SCALE
        for each in reversed(self._ranked if self.query.diversity else ()):
            if each.units < best and each.id not in raised:
                found.add(each.id)
            best = max(best, each.units)
        return frozenset(found)

    def _units(self, piece_id: str) -> int:
        """Return a piece's s in its unit; one that is not listed costs a scan."""
        units = self._listed.get(piece_id, self._others.get(piece_id))
        if units is None:
            key = key_of(self.view.snapshot, piece_id, self._scan)
            units = self._others[piece_id] = 0 if key is None else -key
        return units


def _raised(view: View, piece_id: str) -> list[MovingRule]:
    if piece_id not in view.whitelist:
        return []
    return [MovingRule(rule="whitelist", position=view.whitelist.index(piece_id))]


def _told(shares: Sequence[TermShare]) -> list[KeywordShare]:
    return [KeywordShare(category=term.category, keyword=term.keyword, share=share) for term, share in shares]


def _told_parts(parts: Parts) -> list[PartShare]:
    pieces = [PieceShare(id=seed.id, share=seed.share) for seed in tellable(parts.seeds)]
    return [
        PartShare(part="content", share=parts.content, terms=_told(parts.terms)),
        PartShare(part="audience", share=parts.audience, pieces=pieces),
        PartShare(part="popularity", share=parts.popularity),
        PartShare(part="new", share=parts.new),
    ]
