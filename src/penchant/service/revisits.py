"""Revisits: what a person began or keeps coming back to, from what that person did and nothing else."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from penchant.index import Booster, Filter
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import DAY_MS, MAX_PROFILE_INTERACTIONS, PlacementKind, StoredInteraction
from penchant.profiles import Revisit, revisits
from penchant.ranking import SCORE_SCALE
from penchant.service.list_inputs import moment_of, shown_by
from penchant.service.listings import boost_rules
from penchant.service.recommend import Recommender
from penchant.service.requests import PersonalRequest
from penchant.wire import (
    PartShare,
    PlacedPiece,
    PlacedWhy,
    RevisitPiece,
    RevisitResult,
    decode_preferences,
    format_timestamp,
)


class RevisitLists:
    """Lists of pieces that a person knows, to be taken up again."""

    def __init__(self, database: AsyncStorage, recommender: Recommender) -> None:
        self._database = database
        self._recommender = recommender

    async def again(self, view: View, query: PersonalRequest) -> RevisitResult[str]:
        """Return what a person began or came back to on another day, of what may be shown."""
        return await self._database.promptly(self._again, view, query)

    async def placed(self, view: View, query: PersonalRequest, *, explain: bool) -> list[PlacedPiece]:
        """Return the same as entries of a placement's list, with one part as their reason where that is asked for."""
        found = await self.again(view, query)
        if not explain:
            return [PlacedPiece(id=each.id, score=each.score) for each in found.content]
        # Scores before boosts, of all pieces that boosts may have put among the first.
        plain = await self.again(view, replace(query, boosts=(), take=MAX_PROFILE_INTERACTIONS))
        shares = {each.id: 1 - each.score for each in plain.content}
        booster = Booster(query.boosts, SCORE_SCALE, view.snapshot)

        def why(piece_id: str) -> PlacedWhy:
            part = PartShare(part=PlacementKind.AGAIN.value, share=shares.get(piece_id, 0.0))
            return PlacedWhy(parts=[part], rules=boost_rules(piece_id, booster))

        return [PlacedPiece(id=each.id, score=each.score, why=why(each.id)) for each in found.content]

    def _again(self, view: View, query: PersonalRequest) -> RevisitResult[str]:
        now = self._recommender.now(view)
        person = self._recommender.stored(view, query.user_id, query.at, now)
        hidden = frozenset(decode_preferences(person.preferences).hidden)
        return revisited_pieces(view, query, person.interactions, hidden, now)


def revisited_pieces(
    view: View, query: PersonalRequest, interactions: Sequence[StoredInteraction], hidden: frozenset[str], now: int
) -> RevisitResult[str]:
    """Return the list that a person's interactions make, newest first, without what the person has hidden."""
    moment = moment_of(query.at, now)
    known = revisits(interactions, view.settings, moment // DAY_MS)
    shown = shown_by(view, query, moment, query.exclude | hidden)
    # Beside the best one, whether that may be shown or not: a filter changes no score.
    greatest = max((each.value for each in known), default=1.0)
    by_id = {each.piece_id: each for each in known}
    scored = sorted((round((1 - each.value / greatest) * SCORE_SCALE), piece_id) for piece_id, each in by_id.items())

    def find(shown: Filter) -> list[tuple[int, str]]:
        allowed = (each for each in scored if view.snapshot.shows(each[1], shown))
        return list(itertools.islice(allowed, query.take))

    found = Booster(query.boosts, SCORE_SCALE, view.snapshot).best(find, shown, query.take)
    content = [_revisit(by_id[piece_id], max(0, key) / SCORE_SCALE) for key, piece_id in found]
    return RevisitResult(id=query.user_id, content=content)


def _revisit(known: Revisit, score: float) -> RevisitPiece[str]:
    timestamp = format_timestamp(known.latest)
    return RevisitPiece(id=known.piece_id, score=score, began=known.began, days=known.days, timestamp=timestamp)
