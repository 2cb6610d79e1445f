"""Previews of placements: lists of chosen people as they are, and as they would be under a draft; nothing is stored."""

from penchant.live.views import View
from penchant.service.lists.kinds import PlacementRequest
from penchant.service.lists.previews import moves
from penchant.service.placements.lists import PlacementAnswer, PlacementLists
from penchant.service.placements.versions import PlacementInForce, Placements, draft_over
from penchant.service.shares import heavy_shares
from penchant.wire import BASE, PlacementPreview, PlacementWish, PreviewedPlacement


class PlacementPreviews:
    """Lists of placements before and after a change that is not made."""

    def __init__(self, placements: Placements, lists: PlacementLists) -> None:
        self._placements = placements
        self._lists = lists
        self._shares = heavy_shares("previews of placements are being made")

    async def preview(self, view: View, wish: PlacementWish) -> PlacementPreview:
        """Return the requested lists under what is in force, none where nothing is, and under the draft.

        Raises:
            InvalidInput, UnknownPiece, TooFewPieces: as `PlacementLists.answer`, of either of the two.
            Overloaded: too many previews are being made.
        """
        in_force = [await self._placements.in_force(view, name) for name in view.placements]
        before = next((each for each in in_force if each.name == wish.name), None)
        after = draft_over(in_force, wish.name, wish.spec)
        async with self._shares.turn(view.head.account_id):
            lists = [await self._previewed(view, (before, after), wish, each) for each in wish.users or (None,)]
        return PlacementPreview(lists=lists)

    async def _previewed(
        self, view: View, sides: tuple[PlacementInForce | None, PlacementInForce], wish: PlacementWish, user: str | None
    ) -> PreviewedPlacement:
        before, after = sides
        request = PlacementRequest(placement=wish.name, user_id=user, content_id=wish.content_id, take=wish.take)

        async def listed(placement: PlacementInForce, variant: str | None) -> PlacementAnswer:
            return await self._lists.listed(view, placement, variant, request)

        source = view.head.name
        old = None
        if before is not None:
            # What is seen now: of a variant that is stopped, the base. A draft begins anew.
            old = (await listed(before, self._lists.guard.variant_for(view.head, before, user))).result
        chosen = after.variant_for(source, user) if wish.variant is None else wish.variant
        new = (await listed(after, chosen)).result
        old_content = [] if old is None else old.content
        return PreviewedPlacement(
            user_id=user,
            variant_before=None if old is None else old.variant,
            variant_after=chosen or BASE,
            before=[*old_content],
            after=[*new.content],
            moves=moves(old_content, new.content),
        )
