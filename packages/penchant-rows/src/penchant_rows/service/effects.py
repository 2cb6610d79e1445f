"""Effects of drafts: lists as they are and as they would be, by the rankings of requests, within bounds of time.

The view after a draft is made as previews make theirs, with its pieces beside: nothing of it is stored or remembered.
What would take reading all pieces anew (words, the vocabulary, attributes) is left out of it, and told.
"""

import asyncio
import dataclasses
import functools
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from penchant.enrichment import read_anew, read_as
from penchant.errors import Fault, InvalidInput, PreviewTooLarge, TooFewPieces, UnknownPiece
from penchant.findings import spread_ids
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import ListKind, SourceSettings
from penchant.service.lists.previews import Previews, TwoSides, view_under
from penchant.service.shares import heavy_shares
from penchant.wire.explanations import PreviewedList
from penchant.wire.syntax import pointer
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.similar import MINIMUM_POOL, SimilarRanking
from penchant_engine.model import DAY_MS
from penchant_rows.service.cards import NEW_DAYS, newness_of, variety_of
from penchant_rows.service.inputs import StoredRowInputs
from penchant_rows.service.kinds import PlacementRequest
from penchant_rows.service.lists import PlacementLists, answers_by, previewed
from penchant_rows.service.versions import PlacementInForce, Placements, placements_of, planned
from penchant_rows.wire.drafts import DraftEffect, EffectFigures, PlacementEffect, ReachEffect, SideFigures
from penchant_rows.wire.edits import MAX_EFFECT, DraftEdits, EffectWish
from penchant_rows.wire.placement_answers import PlacementResult, PreviewedPlacement

NEWEST_INTERACTIONS = 20_000
"""Interactions by which it is told who is most active: some tens of milliseconds."""
LISTS_S = 2.0
"""How long lists of a sort (pieces, people, people in placements) are made; those left then are counted."""
REACH_S = 2.0
"""How long all pieces are looked at, evenly: of 1,000 and some every list is."""
REACH_TAKE = 10
"""Entries of a list that count (interface, section 10)."""
PEOPLE_IN_PLACEMENTS = 10
"""People whose lists of each placement are shown."""
MAX_SPREAD = 5_000
"""Pieces of which there are lists in that time, about: as many are spread over the catalogue."""

Made = TypeVar("Made")
Subject = TypeVar("Subject")


class EffectSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Whose lists an effect shows, and how long; of ``active`` people, and how long all pieces are looked at."""

    users: Sequence[str]
    pieces: Sequence[str]
    take: int
    active: int = 0
    reach_s: float = REACH_S


class DraftEffects:
    """What publishing drafts would change."""

    def __init__(
        self, database: AsyncStorage, lists: PlacementLists, placements: Placements, previews: Previews
    ) -> None:
        self._database = database
        self._lists = lists
        self._placements = placements
        self._previews = previews
        self._shares = heavy_shares("effects of drafts are being worked out")

    async def subject(self, view: View, wish: EffectWish, *, with_people: bool) -> EffectSubject:
        """Return whose lists are to be shown: those named, or the most active ones, people only ``with_people``."""
        users, pieces, people = wish.users, wish.pieces, 0
        if users is None or pieces is None:
            active = await self._database.promptly(
                self._database.storage.people.list_active,
                view.head.source_id,
                limit=MAX_EFFECT,
                newest=NEWEST_INTERACTIONS,
            )
            if users is None:
                people = len(active[0]) if with_people else 0
                users = tuple(active[0][: min(people, wish.most)])
            if pieces is None:
                known = [each for each in active[1] if view.knows(each)]
                # Where nobody did anything yet: some pieces of all of them.
                pieces = tuple(known or islice(spread_ids(view.snapshot, MAX_EFFECT), MAX_EFFECT))[: wish.most]
        reach_s = REACH_S if wish.reach else 0.0
        return EffectSubject(users=users, pieces=pieces, take=wish.take, active=people, reach_s=reach_s)

    async def effect(self, view: View, edits: DraftEdits, subject: EffectSubject) -> DraftEffect:
        """Return what publishing edits would change.

        Raises:
            UnknownPiece: the source has no such piece, and the draft brings none.
            Overloaded: too many effects are being worked out.
        """
        async with self._shares.turn(view.head.account_id):
            settings, without = _comparable(view, edits)
            now, after = self._lists.now(view), view
            # Placements alone change no list but their own.
            if edits.settings is not None or edits.lists or edits.content:
                after = await self._database.in_thread(
                    view_under,
                    view,
                    settings,
                    whitelist=edits.listed(ListKind.WHITELIST, view.whitelist),
                    blacklist=edits.listed(ListKind.BLACKLIST, view.blacklist),
                    pieces=edits.content or (),
                    now=now,
                )
            _require_pieces(view, after, subject.pieces)
            with_people = bool(subject.users) or bool(edits.placements)
            try:
                sides = await self._previews.sides(view, after, with_people=with_people)
            except PreviewTooLarge:
                # Which interactions count stays as it is: these would have to be counted anew.
                kept = dataclasses.replace(
                    after.settings,
                    interaction_weights=view.settings.interaction_weights,
                    retention_days=view.settings.retention_days,
                )
                without += ["/settings/interactionWeights", "/settings/retentionDays"]
                sides = await self._previews.sides(view, replace(after, settings=kept), with_people=with_people)
            return await self._worked_out(view, sides, edits, subject, without)

    async def _worked_out(
        self, view: View, sides: TwoSides, edits: DraftEdits, subject: EffectSubject, without: list[str]
    ) -> DraftEffect:
        async def near(piece_id: str) -> PreviewedList:
            try:
                return await sides.similar(piece_id, subject.take)
            except TooFewPieces:
                return PreviewedList(id=piece_id, before=[], after=[], moves=[])

        async def suited(user_id: str) -> PreviewedList:
            return await sides.personal(user_id, subject.take)

        pieces = await _in_time(near, subject.pieces)
        users = await _in_time(suited, subject.users)
        placements, missing = await self._in_placements(sides, edits, subject, without)
        now = self._lists.now(sides.views[0])
        reach = await self._database.in_thread(_reach, sides, edits, now, subject.reach_s)
        left = missing + len(subject.pieces) - len(pieces) + len(subject.users) - len(users)
        lists: list[PreviewedList | PreviewedPlacement] = [*users]
        lists += (each for placed in placements for each in placed.lists)
        # By keywords as they are.
        figures = await self._database.in_thread(_figures, view, lists, self._lists.now(view))
        return DraftEffect(
            users=users,
            pieces=pieces,
            placements=placements,
            reach=reach,
            left=left,
            without=without,
            active=subject.active,
            figures=figures,
        )

    async def _in_placements(
        self, sides: TwoSides, edits: DraftEdits, subject: EffectSubject, without: list[str]
    ) -> tuple[list[PlacementEffect], int]:
        """Return what people see in the placements that are edited, and how many lists there was no time for."""
        view = sides.views[0]
        in_force = {name: await self._placements.in_force(view, name) for name in placements_of(view)}
        people = subject.users[:PEOPLE_IN_PLACEMENTS] or (None,)
        found, left = list[PlacementEffect](), 0
        for made in planned(list(in_force.values()), edits.placements or {}):
            # One that is removed shows nothing.
            if isinstance(made, str):
                continue
            compare = functools.partial(self._placed, sides, subject, in_force.get(made.name), made)
            try:
                lists = await _in_time(compare, people)
            except (InvalidInput, UnknownPiece, TooFewPieces):
                # By attributes that the source has not yet, or beside a piece that only one side has.
                without.append(f"/placements{pointer(made.name)}")
                continue
            left += len(people) - len(lists)
            found.append(PlacementEffect(placement=made.name, lists=lists))
        return found, left

    async def _placed(
        self,
        sides: TwoSides,
        subject: EffectSubject,
        old: PlacementInForce | None,
        new: PlacementInForce,
        user: str | None,
    ) -> PreviewedPlacement:
        """Return the list of a placement for a person on both sides; beside the first piece of the effect, if any."""
        beside = next(iter(subject.pieces), None)

        async def listed(side: int, placement: PlacementInForce) -> PlacementResult:
            view, inputs = sides.views[side], sides.inputs[side]
            variant = placement.variant_for(view.head.name, user)
            request = PlacementRequest(
                placement=new.name, user_id=user, content_id=beside, take=subject.take, work=inputs.work
            )
            own = StoredRowInputs(self._database, inputs)
            return (await answers_by(own, self._lists.entries, view, placement, variant, request))[0].result

        return previewed(user, None if old is None else await listed(0, old), await listed(1, new))


def _figures(view: View, lists: Sequence[PreviewedList | PreviewedPlacement], now: int) -> EffectFigures:
    before = [[piece.id for piece in each.before] for each in lists]
    after = [[piece.id for piece in each.after] for each in lists]
    counts = [Counter(itertools.chain.from_iterable(side)) for side in (before, after)]
    moves = sorted(len(each.moves) for each in lists if each.moves)
    gaining = [each for each, count in counts[1].items() if count > counts[0][each]]
    return EffectFigures(
        lists=len(lists),
        moved=len(moves),
        moves=moves[len(moves) // 2] if moves else 0,
        gaining=len(gaining),
        risen=sum(each not in counts[0] for each in gaining),
        before=_side(view, before, now),
        after=_side(view, after, now),
    )


def _side(view: View, lists: Sequence[Sequence[str]], now: int) -> SideFigures:
    counts = Counter(itertools.chain.from_iterable(lists))
    return SideFigures(
        pieces=len(counts), variety=variety_of(view, lists), newness=newness_of(view, counts, now - NEW_DAYS * DAY_MS)
    )


async def _in_time(make: Callable[[Subject], Awaitable[Made]], subjects: Sequence[Subject]) -> list[Made]:
    """Return what is made of the subjects, in their order, of one at least and as many as there is time for."""
    loop = asyncio.get_running_loop()
    deadline, made = loop.time() + LISTS_S, list[Made]()
    for subject in subjects:
        if made and loop.time() >= deadline:
            break
        made.append(await make(subject))
        # What is quick is made without waiting for anything: let others in between.
        await asyncio.sleep(0)
    return made


def _comparable(view: View, edits: DraftEdits) -> tuple[SourceSettings, list[str]]:
    """Return the settings under which lists can be compared, and what of the edits that leaves out."""
    current, wanted = view.settings, edits.settings or view.settings
    return read_as(current, wanted), [f"/settings/{name}" for name in read_anew(current, wanted)]


def _require_pieces(before: View, after: View, pieces: Sequence[str]) -> None:
    detail = "Neither the source nor the draft has a piece with this id."
    faults = [
        Fault(pointer=f"/pieces/{number}", detail=detail)
        for number, piece_id in enumerate(pieces)
        if not (before.knows(piece_id) or after.knows(piece_id))
    ]
    if faults:
        raise UnknownPiece(f"{faults[0].pointer}: {detail}", faults=faults)


def _reach(sides: TwoSides, edits: DraftEdits, now: int, seconds: float) -> ReachEffect:
    """Return what becomes of all pieces in the first entries of others' lists; for a thread.

    Where there is no time for all lists those that are looked at are spread evenly over the catalogue.
    """
    before, after = sides.views
    count = after.snapshot.piece_count
    if min(before.snapshot.piece_count, count) < MINIMUM_POOL or _keep_neighbours(before, after, edits):
        return ReachEffect(into=0, out=0, moved=0, lists=count, of=count)
    old, new, moved, looked_at = set[str](), set[str](), 0, 0
    deadline = time.monotonic() + seconds
    for piece_id in spread_ids(after.snapshot, MAX_SPREAD):
        if looked_at and time.monotonic() >= deadline:
            break
        lists = [_first_ids(view, piece_id, now) if piece_id in view.snapshot else [] for view in sides.views]
        old.update(lists[0])
        new.update(lists[1])
        moved += lists[0] != lists[1]
        looked_at += 1
    return ReachEffect(into=len(new - old), out=len(old - new), moved=moved, lists=looked_at, of=count)


def _keep_neighbours(before: View, after: View, edits: DraftEdits) -> bool:
    """Return whether similar content is the same on both sides, whatever the piece."""
    return (
        not edits.content
        and before.settings.category_factors == after.settings.category_factors
        and (before.whitelist, before.blacklist) == (after.whitelist, after.blacklist)
    )


def _first_ids(view: View, piece_id: str, now: int) -> list[str]:
    ranking = SimilarRanking(view, ListRequest(piece_id=piece_id, take=REACH_TAKE), now)
    return ranking.listed_ids
