"""Recommendations: the pieces that a person may like, by the blend of all parts or by overlap with the taste alone.

A list follows from the person's figures, the audience, the source's version, the request, the day and the availability
windows.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import filterfalse, repeat
from operator import attrgetter, itemgetter
from weakref import ref

import msgspec
import numpy as np
from msgspec.structs import replace

from penchant_engine import ranking
from penchant_engine.computed import computed
from penchant_engine.index import Audience, Filter, IntArray, Strings, UserFeatures
from penchant_engine.index.boosting import Availability
from penchant_engine.index.filling import FillKey, count_before, fill_keys, first_to_fill
from penchant_engine.index.layout import NO_SHARES, BlendFactors
from penchant_engine.index.masks import rows_of
from penchant_engine.index.people.audience import LikeShare
from penchant_engine.index.people.explaining import ScoreParts, blended_parts, overlap_parts
from penchant_engine.index.people.personal import BlendQuery, OverlapQuery, PersonBlend, keyword_parts, liked_terms
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.index.queries import PartQuery
from penchant_engine.lists.exclusions import ExclusionReason, Remedy
from penchant_engine.lists.ranking import NOTHING_BESIDE, QUICK_PIECES, ListRanking
from penchant_engine.lists.reasons import LikeReason, PartReason, Reasons, RuleReason, reasons_of_parts
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS, MAX_TAKE, Algorithm, RankingSettings
from penchant_engine.ranking import RankedPiece
from penchant_engine.views import CatalogueView


def blending_of(settings: RankingSettings, algorithm: Algorithm | None, content_factor: float) -> BlendFactors:
    """Return what the parts are mixed with; the content alone where cosine is asked for."""
    if algorithm is not None:
        return BlendFactors(1.0, 0.0, 0.0, total=1.0)
    blend = settings.blend
    content = content_factor * float(blend.content)
    total = content + float(blend.audience) + float(blend.popularity)
    # ``or``: where content alone counts and nothing was met, no piece has a content part, and any divisor does.
    return BlendFactors(content, float(blend.audience), float(blend.popularity), total=total or 1.0)


def popular_at(view: CatalogueView, moment: int, audience: Audience) -> Popularity:
    """Return part p of all pieces, with start credits as of a moment."""
    day, half_life = moment // DAY_MS, view.settings.new_piece_half_life_days
    return audience.popular(
        view.snapshot.parts,
        (day, half_life),
        lambda: ranking.start_credits(view.snapshot.day_counts(), day, half_life),
    )


def _neutral(ordered: Sequence[RankedPiece]) -> slice:
    """Return where those of pieces by s stand that nothing speaks for or against."""
    units = list(map(attrgetter("units"), ordered))
    begin = units.index(0) if 0 in units else len(units)
    return slice(begin, begin + units.count(0))


class PersonalRanking(ListRanking):
    """What a person may like; ``is_known`` is false of one of whom nothing is stored, and who has no id."""

    zero = 0

    def __init__(
        self,
        view: CatalogueView,
        request: ListRequest,
        now: int,
        person: UserFeatures,
        audience: Audience,
        *,
        is_known: bool = True,
    ) -> None:
        super().__init__(view, request, now, audience.version)
        self.person = person
        self.audience = audience
        self.is_known = is_known
        self._fill_keys: dict[str, FillKey] = {}

    @property
    def is_quick(self) -> bool:
        """Whether the list is made within the event loop."""
        is_plain = self.request.algorithm is not Algorithm.JACCARD and not self.is_arranged
        return is_plain and self.view.snapshot.piece_count <= QUICK_PIECES

    @computed
    def query(self) -> PartQuery:
        """What the list is searched by."""
        request, view = self.request, self.view
        if request.algorithm is Algorithm.JACCARD:
            return OverlapQuery(view.snapshot, self._liked_terms, fill=request.fill, left_out=self._left_out())
        # All that it is made of: the rows of a page mostly have the same. Weakly, so that who is forgotten is gone.
        chosen = (request.algorithm, request.fill, request.unhidden, self._includes_seen)
        wish = (ref(self.person), view.snapshot, view.settings, self._today, *chosen)
        return self.audience.query_of(wish, self._blended)

    def _blended(self) -> BlendQuery:
        return BlendQuery(self.view.snapshot, self._blend, fill=self.request.fill, left_out=self._left_out())

    def score(self, piece_id: str) -> float:
        """Return what any piece's score is, as the list would show it."""
        return self._score_of(self._units(piece_id))

    def units_of(self, piece_id: str) -> int:
        """Return a piece's s in its unit, which costs a scan."""
        found = RankedPiece(piece_id, -(self.boosted_key(piece_id) or 0))
        return ranking.demoted([found], self.request.sinking)[0].units

    def ahead(self, piece_id: str) -> int:
        """Return how many of the shown pieces are better than one."""
        if self.boosted_key(piece_id) != 0:
            return super().ahead(piece_id)
        snapshot = self.view.snapshot
        better = self.booster.count_ahead("", 0, self.shown, self.query)
        (place,) = fill_keys(snapshot, [piece_id], self._today)
        return better + count_before(snapshot.parts, self.query, self.shown, self._today, place)

    def hard_exclusions(self, piece_id: str, offer: Availability) -> Iterator[ExclusionReason]:
        """Yield what forbids to show a piece in this list, whatever the list is by."""
        view, request = self.view, self.request
        yield from super().hard_exclusions(piece_id, offer)
        if piece_id not in request.unhidden and self._is_among(self.person.hidden, piece_id):
            unhidden = request.unhidden | {piece_id}
            yield ExclusionReason(
                code="hidden",
                detail="The person has hidden the piece.",
                change=lambda: Remedy(
                    remedy={"remove": "hidden"}, view=view, query=replace(request, unhidden=unhidden)
                ),
            )
        # Of what is seen and excluded only the exclusion is reported, by `common_exclusions`.
        if not self._includes_seen and piece_id not in request.exclude and self._is_among(self.person.seen, piece_id):
            yield ExclusionReason(
                code="seen",
                detail="The person knows the piece already.",
                change=lambda: Remedy(
                    remedy={"include-seen": True}, view=view, query=replace(request, include_seen=True)
                ),
            )

    def exclusions(self, piece_id: str, offer: Availability) -> Iterator[ExclusionReason]:
        """Yield what keeps a piece out of this list, whatever the others are."""
        is_free = True
        for each in self._own_exclusions(piece_id, offer):
            is_free = False
            yield each
        # Last, and alone: only of a piece that nothing else keeps out can it be said that the choice among the
        # best left it out.
        if is_free and self._is_passed_over(piece_id):
            yield from self._passed_over(piece_id)

    def _own_exclusions(self, piece_id: str, offer: Availability) -> Iterator[ExclusionReason]:
        """Yield what keeps a piece out that is told of the piece alone."""
        view, request = self.view, self.request
        yield from super().exclusions(piece_id, offer)
        if not request.fill and self._units(piece_id) <= 0:
            yield ExclusionReason(
                code="no-fill",
                detail="Nothing speaks for the piece: its s is 0 or less.",
                change=lambda: Remedy(remedy={"fill": True}, view=view, query=replace(request, fill=True)),
            )

    def why(self, piece_id: str, *, listed: bool) -> Reasons:
        """Return what the parts add for a piece, and, of one that is listed, what moved it."""
        rules = list[RuleReason]()
        if listed:
            # The whitelist raises only what something speaks for; the others are listed to fill up.
            if self._units(piece_id) > 0:
                rules += self._whitelist_rules(piece_id)
            elif piece_id not in self.arrangement.moved:
                rules.append(RuleReason("fill"))
            rules += self._order_rules(piece_id)
        rules += self._boost_rules(piece_id)
        factor = self.request.sinking.get(piece_id, 1.0)
        if factor != 1:
            rules.append(RuleReason("rotation", factor=factor))
        return Reasons(rules, parts=self._part_reasons(piece_id))

    @computed
    def variety(self) -> ranking.Diversity:
        """What the list is to have beside the best."""
        return self.varied(self.view.settings.max_per_value)

    def varied(self, most: Mapping[str, int]) -> ranking.Diversity:
        """Return what the request and the person's tastes make of a list, with so many of the same at most."""
        request, tastes = self.request, dict[str, int]()
        if not (request.diversity or request.calibration or most):
            return NOTHING_BESIDE
        if request.calibration:
            tastes = keyword_parts(
                self.view.snapshot.parts, self.person.likes, request.calibration_category, ranking.WHOLE_PIECE
            )
        # Of nobody and of one who likes nothing there are no shares to keep.
        calibration = ranking.Calibration(
            category=request.calibration_category, strength=request.calibration, tastes=tastes
        )
        return ranking.Diversity(diversity=request.diversity, most=most, calibration=calibration if tastes else None)

    @property
    def _includes_seen(self) -> bool:
        wanted = self.request.include_seen
        return wanted if wanted is not None else not self.view.settings.exclude_seen

    @property
    def _today(self) -> int:
        """The UTC day that the list is of."""
        return self.shown.moment // DAY_MS

    def _left_out(self) -> tuple[IntArray, ...]:
        """Return the rows that are left out for the person, ascending, for each part of the snapshot."""
        person, unhidden = self.person, self.request.unhidden
        if unhidden and person.hidden:
            parts = zip(self.view.snapshot.parts, person.hidden, strict=True)
            hidden = tuple(np.setdiff1d(rows, rows_of(part.segment, unhidden)) for part, rows in parts)
            person = msgspec.structs.replace(person, hidden=hidden)
        return person.left_out(with_seen=self._includes_seen)

    @computed
    def _blend(self) -> PersonBlend:
        view, person, audience = self.view, self.person, self.audience
        factors = blending_of(view.settings, self.request.algorithm, audience.figures.content_factor(person.met))
        parts = view.snapshot.parts
        # Nothing of people where they do not count.
        none = (NO_SHARES,) * len(parts)
        return PersonBlend(
            taste=person.taste,
            popular=popular_at(view, self.shown.moment, audience),
            liked=audience.alike(parts, person.likes, view.settings.order) if factors.audience > 0 else none,
            factors=factors,
            category_weights=view.settings.category_factors,
        )

    @computed
    def _liked_terms(self) -> Strings:
        return liked_terms(self.view.snapshot, self.person.taste)

    def _is_among(self, rows: Sequence[IntArray], piece_id: str) -> bool:
        """Return whether a piece is among rows for each part; no rows at all are none."""
        place = self.view.snapshot.find(piece_id)
        if place is None or not rows:
            return False
        part, row = place
        return row in rows[self.view.snapshot.parts.index(part)]

    def ranked_in(self, shown: Filter, count: int) -> list[RankedPiece]:
        """Return so many of the best pieces, by their s in units, under boosts and after some sank."""
        sinking = self.request.sinking
        # Whatever else is among the best is found by so many, and what is not would not rise.
        searched = count + len(sinking)
        best = super().ranked_in(shown, searched)
        if len(best) == searched and best[-1].units == 0:
            # Searches order by id, and cut off others of this s that come before these.
            del best[_neutral(best).start :]
            found = first_to_fill(self.view.snapshot.parts, self.query, shown, self._today, searched - len(best))
            best += self._filling(found)
        return self.settled(ranking.demoted(best, sinking))[:count]

    def in_order(self, pieces: Sequence[RankedPiece]) -> list[RankedPiece]:
        """Return pieces as the list has them."""
        return self.settled(super().in_order(pieces))

    def settled(self, ordered: list[RankedPiece]) -> list[RankedPiece]:
        """Return pieces that stand by s with what nothing speaks for or against in the order of the day."""
        if ordered and ordered[-1].units > 0:
            return ordered
        cut = _neutral(ordered)
        if cut.stop - cut.start > 1:
            ids = list(map(attrgetter("id"), ordered[cut]))
            missing = list(filterfalse(self._fill_keys.__contains__, ids))
            found = fill_keys(self.view.snapshot, missing, self._today) if missing else []
            known = map(self._fill_keys.__getitem__, self._fill_keys.keys() & ids)
            ordered[cut] = self._filling(sorted([*found, *known]))
        return ordered

    def _filling(self, keys: Sequence[FillKey]) -> list[RankedPiece]:
        """Return pieces that nothing speaks for or against, and remember where they stand."""
        # Without a step of Python's for each: of given pieces most may be such.
        ids = list(map(itemgetter(-1), keys))
        self._fill_keys.update(zip(ids, keys, strict=True))
        return list(map(RankedPiece, ids, repeat(0)))

    def raised(self, best: Sequence[RankedPiece]) -> list[RankedPiece]:
        """Return those on the whitelist that something speaks for, in its order."""
        return super().raised([each for each in best if each.units > 0]) if self.view.whitelist else []

    scores_of = staticmethod(ranking.scores_of)

    def _is_passed_over(self, piece_id: str) -> bool:
        """Return whether a piece is not listed that would be if scores alone counted."""
        return bool(self.variety) and piece_id not in self._listed and self.ahead(piece_id) < MAX_TAKE

    def _passed_over(self, piece_id: str) -> Iterator[ExclusionReason]:
        """Yield why a piece that is good enough is not listed: a limit per value, or else diversity, or calibration."""
        view, request, most = self.view, self.request, self.view.settings.max_per_value
        terms_of = view.snapshot.terms_of
        counts = Counter(term for each in self._listed for term in terms_of(each) or ())
        own = [term for term in terms_of(piece_id) or () if term.category in most]
        # Terms of the piece that as many listed pieces have as the limit of their category allows.
        full = [term for term in own if counts[term] >= most[term.category]]
        if not full:
            yield from self._mixed_out()
            return
        category, keyword = full[0]
        # A second limit may keep the piece out as well: then this remedy, tried out, fails and is not named.
        others = {name: number for name, number in most.items() if name != category}
        change = Remedy(
            remedy={"remove": "maxPerValue", "category": category},
            view=msgspec.structs.replace(view, settings=dataclasses.replace(view.settings, max_per_value=others)),
            query=request,
        )
        detail = f"{most[category]} of the listed pieces have {category} {keyword!r}, as many as may."
        yield ExclusionReason(code="max-per-value", detail=detail, change=lambda: change)

    def _mixed_out(self) -> Iterator[ExclusionReason]:
        """Yield what has put others before a piece that is as good; of two each alone may be no remedy."""
        view, request = self.view, self.request
        if request.diversity:
            yield ExclusionReason(
                code="alike",
                detail="The piece is too much like others of the list for the diversity asked for.",
                change=lambda: Remedy(remedy={"diversity": 0}, view=view, query=replace(request, diversity=0.0)),
            )
        if self.variety.calibration:
            yield ExclusionReason(
                code="calibrated",
                detail=f"Of the piece's {request.calibration_category} the list has as much as the person's tastes.",
                change=lambda: Remedy(remedy={"calibration": 0}, view=view, query=replace(request, calibration=0.0)),
            )

    def _part_reasons(self, piece_id: str) -> list[PartReason]:
        """Return what the parts add for a piece.

        A piece of which who asks does not know goes unnamed; its share stays within that of the part.
        """
        reasons = reasons_of_parts(self._parts(piece_id), self.person.stated)
        if self.view.known_at is None:
            return reasons

        def is_known(like: LikeReason) -> bool:
            return all(self.view.knows(named) for named in (like.id, like.through or like.id))

        return [
            each if each.pieces is None else each._replace(pieces=[like for like in each.pieces if is_known(like)])
            for each in reasons
        ]

    def _parts(self, piece_id: str) -> ScoreParts:
        snapshot = self.view.snapshot
        if self.request.algorithm is Algorithm.JACCARD:
            return overlap_parts(self._liked_terms, snapshot, piece_id)
        return blended_parts(snapshot, self._blend, piece_id, owed=self._owed)

    @computed
    def _owed(self) -> Callable[[str], Sequence[LikeShare]]:
        return self.audience.like_shares_of(self.view.snapshot.parts, self.person.likes, self.view.settings.order)

    @computed
    def _listed(self) -> Mapping[str, int]:
        return {each.id: each.units for each in self.arrangement.pieces}

    def _units(self, piece_id: str) -> int:
        """Return a piece's s in its unit; one that is not listed costs a scan."""
        units = self._listed.get(piece_id)
        return units if units is not None else self.units_of(piece_id)
