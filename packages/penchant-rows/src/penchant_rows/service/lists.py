"""Placement lists: what a row of a page shows, made by the rankings of lists that have addresses of their own.

A placement is a set of settings in the place of the source's, and a choice of list: nothing here ranks anything.

    view of the source --`under_rules`--> view with the placement's settings and lists --> the ranking of its kind
                                                                                       '--> if that is empty, another

Variant guard: which variants of placements are certainly worse than the base, and so no longer shown.

It goes by the results of the version in force, as they are answered by default. They are read in the background, at
most once a minute for a placement that is asked for, so that no list waits for them; processes may differ for as long.

Previews of placements: lists of chosen people as they are, and as they would be under a draft; nothing is stored.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import Fault, InvalidInput, PenchantError, TooFewPieces, UnknownPiece
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.service.lists.kinds import list_kinds
from penchant.service.lists.previews import moves
from penchant.service.lists.serving import Lists
from penchant.service.shares import heavy_shares
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant.wire import StatedLikings, encode, format_timestamp
from penchant.wire.filters import read_boosts, read_filter
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import Filter
from penchant_engine.lists.arranging import clashing, quota_kinds
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import ListDemands, ListRequest, Pin, Quota
from penchant_engine.model import Basis
from penchant_engine.ranking import WorkBudget
from penchant_rows.errors import KindNotInstalled, UnknownPlacement
from penchant_rows.model import PickOrder, PlacementKind
from penchant_rows.service.answers import placed_of, unmet_of
from penchant_rows.service.inputs import PageInputs, RowInputs, StatedRowInputs, StoredRowInputs
from penchant_rows.service.kinds import SEEDED_KINDS, ListWish, PlacementRequest, rank_list
from penchant_rows.service.metrics import RowMetrics
from penchant_rows.service.results import noted_stops, worse_variants
from penchant_rows.service.seeds import Entries
from penchant_rows.service.versions import PlacementInForce, Placements, draft_over, placements_of
from penchant_rows.storage.placements import NoteStops, PlacementStore
from penchant_rows.wire.placement_answers import (
    ListSeed,
    PlacedPiece,
    PlacementResult,
    PreviewedPlacement,
    UnmetRule,
    VariantStop,
)
from penchant_rows.wire.placements import BASE, ListRules, PlacementSpec, PlacementWish

CHECK_INTERVAL_S = 60.0
"""How old what is known of a placement may be before it is read again: experiments run for days."""
MAX_REMEMBERED = 10_000
"""Placements, by version, of which it is remembered."""

_ID = attrgetter("id")
_NO_DEMANDS = ListDemands()
_Key = tuple[int, int, str, int]


class VariantGuard:
    """Knows which variants are stopped; for the event loop only."""

    def __init__(self, database: AsyncStorage, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._clock = clock
        self._stopped: BoundedCache[_Key, tuple[float, frozenset[str]]] = BoundedCache(MAX_REMEMBERED)
        self._reading: set[asyncio.Task[None]] = set()

    def variant_for(self, head: SourceHead, placement: PlacementInForce, user_id: str | None) -> str | None:
        """Return the variant that a person is shown: their own, unless it is stopped; ``None`` for the base."""
        variant = placement.variant_for(head.name, user_id)
        return None if variant in self.stopped(head, placement) else variant

    def stopped(self, head: SourceHead, placement: PlacementInForce) -> frozenset[str]:
        """Return the variants that were certainly worse when that was last looked at; none before the first look."""
        if not placement.runs:
            return frozenset()
        key = (head.source_id, head.incarnation, placement.name, placement.version)
        looked_at, stopped = self._stopped.get(key) or (-CHECK_INTERVAL_S, frozenset())
        now = self._clock.monotonic()
        if now - looked_at >= CHECK_INTERVAL_S:
            # Noted at once, so that those who come meanwhile begin no other look.
            self._stopped.put(key, (now, stopped))
            task = asyncio.create_task(self._look(head, placement, key))
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)
        return stopped

    async def _look(self, head: SourceHead, placement: PlacementInForce, key: _Key) -> None:
        today = self._clock.today()
        try:
            worse, stops = await self._database.in_thread(self._worse, head, placement, today)
            if stops:
                await self._database.change(
                    NoteStops(
                        account_id=head.account_id,
                        source=head.name,
                        name=placement.name,
                        version=placement.version,
                        stops=stops,
                    )
                )
        except PenchantError:
            # The database is away: what was known holds, and the next look is a minute away.
            return
        self._stopped.put(key, (self._clock.monotonic(), worse))

    def _worse(
        self, head: SourceHead, placement: PlacementInForce, today: int
    ) -> tuple[frozenset[str], Mapping[str, bytes]]:
        """Return the variants that are certainly worse, and the stops of those of which none is noted yet."""
        storage = self._database.storage
        worse = worse_variants(storage, head, placement, today)
        row = storage.store(PlacementStore).read(head.source_id, placement.name, placement.version) if worse else None
        new = () if row is None else worse.keys() - noted_stops(row).keys()
        now = format_timestamp(self._clock.now_ms())
        stops = {name: VariantStop(reason="worse", timestamp=now, difference=worse[name]) for name in new}
        return frozenset(worse), {name: encode(stop) for name, stop in stops.items()}


_FILTERED = (("filter", "filter"), ("boost", "boosts"))
"""What lists are filtered by, as metrics name it, and the members of rules that say it."""

Decoded = TypeVar("Decoded")


class PlacementAnswer(NamedTuple):
    """What is answered, the version of the interactions that it knows, and whether the list goes on.

    ``about`` tells which list of the placement it is, for who asks for what comes after it: the kind, and of a row its
    mark.
    """

    result: PlacementResult
    audience_version: int | None = None
    goes_on: bool = False
    about: str = ""


class PlacementLists:
    """Lists of placements, each from one view of a source."""

    def __init__(
        self, database: AsyncStorage, placements: Placements, lists: Lists, guard: VariantGuard, metrics: Metrics
    ) -> None:
        self._placements = placements
        self._lists = lists
        self._inputs = StoredRowInputs(database, lists.inputs)
        self.guard = guard
        self._metrics, self._row_metrics = metrics, metrics.of(RowMetrics)

    async def answer(self, view: View, request: PlacementRequest) -> PlacementAnswer:
        """Return the list of a placement in force, of several the first; raises as `answers`."""
        return (await self.answers(view, request))[0]

    async def answers(
        self, view: View, request: PlacementRequest, inputs: RowInputs | None = None
    ) -> list[PlacementAnswer]:
        """Return the lists that a placement in force gives a page, one at least; ``inputs`` are those of the page.

        Raises:
            UnknownPlacement: the source has none of this name.
            InvalidInput, UnknownPiece, TooFewPieces: it lists what is similar to a piece, which is not named, unknown,
                or alone; and no other list may take its place.
        """
        placement = await self._placements.in_force(view, request.placement)
        variant = self.guard.variant_for(view.head, placement, request.user_id)
        if variant != placement.variant_for(view.head.name, request.user_id):
            self._row_metrics.stopped_lists.inc()
        answers = await self.listed(view, placement, variant, request, inputs)
        for answer in answers:
            is_filled = answer.result.kind != placement.spec.rules_of(variant).kind
            outcome = "filled" if is_filled else "listed"
            outcome = outcome if answer.result.content else "empty"
            self._row_metrics.placement_lists.labels(answer.result.kind, outcome).inc()
        return answers

    async def page(
        self, view: View, requests: Sequence[PlacementRequest], likings: StatedLikings | None = None
    ) -> list[tuple[PlacementRequest, PlacementAnswer | PenchantError]]:
        """Return the lists of several placements, in which no piece comes twice; an error in the place of a list.

        Each is filled from what those before it have left. With ``likings`` they are those of somebody made up.
        """
        shown, work, inputs = set[str](), WorkBudget(), PageInputs(self._inputs, self.now(view))
        answers: list[tuple[PlacementRequest, PlacementAnswer | PenchantError]] = []
        for request in requests:
            try:
                left = replace(request, exclude=request.exclude | shown, work=work)
                if likings is None:
                    given = await self.answers(view, left, inputs)
                else:
                    given = await self._imagined(view, left, likings)
            except (InvalidInput, TooFewPieces, UnknownPiece, UnknownPlacement, KindNotInstalled) as error:
                answers.append((request, error))
                continue
            for answer in given:
                shown.update(map(_ID, answer.result.content))
            answers += [(request, answer) for answer in given]
        return answers

    async def _imagined(self, view: View, request: PlacementRequest, likings: StatedLikings) -> list[PlacementAnswer]:
        """Return the lists of a placement as somebody would see them of whom these likings alone are known."""
        placement = await self._placements.in_force(view, request.placement)
        inputs = StatedRowInputs(self._lists.inputs, likings)
        # By an id that nobody can have: rows that are for people are for this one, too.
        asked = replace(request, user_id="")
        return await answers_by(inputs, self.entries, view, placement, None, asked)

    async def listed(
        self,
        view: View,
        placement: PlacementInForce,
        variant: str | None,
        request: PlacementRequest,
        inputs: RowInputs | None = None,
    ) -> list[PlacementAnswer]:
        """Return the lists of a variant of any version of a placement, one at least; raises as `answer`."""
        for name, member in _FILTERED:
            if getattr(placement.spec.rules_of(variant), member) is not None:
                self._metrics.filtered_lists.labels(name).inc()
        return await answers_by(inputs or self._inputs, self.entries, view, placement, variant, request)

    def now(self, view: View) -> int:
        """Return the present of a source, in ms since 1970 UTC."""
        return self._lists.now(view)

    async def entries(self, ranking: ListRanking, *, explain: bool = False) -> Sequence[PlacedPiece]:
        """Return the entries of a list; raises as `Lists.answer`."""
        return await self._lists.written(ranking, placed_of, explain=explain)


async def answers_by(
    inputs: RowInputs,
    listed: Entries,
    view: View,
    placement: PlacementInForce,
    variant: str | None,
    request: PlacementRequest,
) -> list[PlacementAnswer]:
    """Return the lists of a variant, or the one that fills their place: one at least, several where it has rows.

    Raises:
        InvalidInput, UnknownPiece, TooFewPieces: as `PlacementLists.answer`.
    """
    work = (request.work or WorkBudget()).for_list()

    async def entries(ranking: ListRanking, *, explain: bool = False) -> Sequence[PlacedPiece]:
        ranking.work = work
        return await listed(ranking, explain=explain)

    rules = placement.spec.rules_of(variant)
    under, kind, fallback = under_rules(view, rules), rules.kind, rules.fallback
    if request.listed:
        # The list that has begun goes on, whatever another one would have by now.
        begun, _, mark = request.about.partition("\0")
        kind = fallback if fallback is not None and begun == fallback else kind
        request, fallback = replace(request, about=mark), None
    wish = ListWish(under, rules, request, wanted_of(view, rules, request))
    made: list[_MadeList] = []
    try:
        made = await _made(inputs, entries, kind, wish)
    except (InvalidInput, UnknownPiece, TooFewPieces, KindNotInstalled):
        if fallback is None:
            raise
    if not any(each.content for each in made) and fallback is not None and fallback != kind:
        kind = fallback
        made = await _made(inputs, entries, kind, wish)
    weights = dict(under.settings.category_factors) if request.explain else UNSET
    return [
        PlacementAnswer(
            PlacementResult(
                placement=placement.name,
                variant=variant or BASE,
                kind=kind,
                user_id=request.user_id,
                content_id=request.content_id,
                seed=each.seed,
                since=each.since,
                category_weights=weights,
                content=[*each.content],
                unmet=each.unmet,
            ),
            each.audience_version,
            each.goes_on,
            f"{kind}\0{each.mark}",
        )
        for each in made or [_MadeList()]
    ]


class _MadeList(NamedTuple):
    """A list that is made, what it knows of people, and what it is about where it is a row of several."""

    content: Sequence[PlacedPiece] = ()
    audience_version: int | None = None
    seed: ListSeed | UnsetType = UNSET
    since: str | UnsetType = UNSET
    unmet: list[UnmetRule] | UnsetType = UNSET
    goes_on: bool = False
    mark: str = ""


async def _made(inputs: RowInputs, entries: Entries, kind: PlacementKind, wish: ListWish) -> list[_MadeList]:
    """Return the lists of a kind: of one that has no rows, one."""
    if kind in SEEDED_KINDS:
        return [
            _MadeList(
                content,
                version,
                row.seed,
                UNSET if row.since is None else format_timestamp(row.since),
                unmet=unmet or UNSET,
                goes_on=goes_on,
                mark=row.mark,
            )
            for row, content, version, goes_on, unmet in await SEEDED_KINDS[kind].choose(inputs, wish, entries)
        ]
    ranked = list_kinds().get(kind)
    if ranked is None:
        raise KindNotInstalled(f"The placement shows the kind '{kind}', which no package that is installed brings.")
    ranking = await rank_list(inputs, ranked, wish)
    if ranking is None:
        return [_MadeList()]
    content = await entries(ranking, explain=wish.request.explain)
    return [_MadeList(content, ranking.audience_version, unmet=unmet_of(ranking) or UNSET, goes_on=ranking.goes_on)]


def wanted_of(view: View, rules: ListRules, request: PlacementRequest) -> ListRequest:
    """Return the request for a list under the rules of a placement.

    Raises:
        InvalidInput: the filter or the boosts no longer fit the attributes of the source.
    """
    return ListRequest(
        piece_id=request.content_id or "",
        user_id=request.user_id or "",
        content=rules.content or (),
        weight=1.0 if rules.order is PickOrder.PERSONAL else 0.0,
        by=rules.algorithm or Basis.CONTENT,
        half_life_days=rules.half_life_days,
        calibration=rules.calibration or 0.0,
        calibration_category=rules.calibration_category or "",
        take=request.take,
        catalogs=rules.catalogs,
        matching=None if rules.filter is None else _by_settings(view, rules.filter, "filter", read_filter),
        boosts=() if rules.boosts is None else _by_settings(view, rules.boosts, "boosts", read_boosts),
        exclude=request.exclude,
        diversity=rules.diversity or 0.0,
        demands=_demands(view, rules),
        listed=request.listed,
        min_audience_version=request.min_audience_version,
    )


def _demands(view: View, rules: ListRules) -> ListDemands:
    """Return what a list is to have beside the best; raises as `wanted_of`."""
    if not (rules.pins or rules.quotas or rules.max_per_value):
        return _NO_DEMANDS
    return ListDemands(
        pins=tuple(
            Pin(number=number, piece_id=each.piece_id, position=each.position, begins=each.begins, ends=each.ends)
            for number, each in enumerate(rules.pins or ())
        ),
        quotas=tuple(
            Quota(
                matching=_by_settings(view, each.filter, f"quotas/{number}/filter", read_filter),
                at_least=each.at_least,
                of=each.of,
            )
            for number, each in enumerate(rules.quotas or ())
        ),
        most=tuple((rules.max_per_value or {}).items()),
    )


def check_quotas(view: View, spec: PlacementSpec, now: int, where: str = "") -> None:
    """Raise `InvalidInput` for quotas of which, by the pieces of now, neither has all or none of another one's.

    A piece would count for the first of such two alone. Costs some passes over all pieces.
    """
    entries = {where: spec.rules}
    for number, each in enumerate(spec.variants):
        if each.rules.quotas is not spec.rules.quotas:
            entries[f"{where}/variants/{number}"] = each.rules
    detail = "The filter holds for some pieces of quota {}, but neither for all of them nor for those alone."
    faults = [
        Fault(pointer=f"{at}/quotas/{other}/filter", detail=detail.format(one))
        for at, rules in entries.items()
        if (quotas := _demands(view, rules).quotas)
        for one, other in clashing(quota_kinds(view, Filter(moment=now), quotas), len(quotas))
    ]
    if faults:
        raise InvalidInput("Quotas have to be for other pieces each, or one for pieces of another.", faults=faults)


def _by_settings(view: View, given: Any, name: str, read: Callable[[Any, SourceSettings, str], Decoded]) -> Decoded:
    """Return what a member says by the settings that a source has now, maybe others than when it was stored."""
    try:
        return read(given, view.source_settings, f"/{name}")
    except InvalidInput as error:
        detail = f"The placement's {name} no longer fits the attributes of the source: {error.detail}"
        raise InvalidInput(detail, faults=error.faults) from None


def under_rules(view: View, rules: ListRules) -> View:
    """Return a view with what a list is made by in the place of the source's own settings and lists."""
    settings = rules.settings(view.settings)
    if settings is view.settings and rules.whitelist is None and rules.blacklist is None:
        return view
    return msgspec.structs.replace(
        view,
        settings=settings,
        overridden=view.source_settings,
        whitelist=view.whitelist if rules.whitelist is None else rules.whitelist,
        blacklist=view.blacklist if rules.blacklist is None else rules.blacklist,
        blacklisted=view.blacklisted if rules.blacklisted is None else rules.blacklisted,
    )


def fitting_pieces(view: View, spec: PlacementSpec, now: int) -> int:
    """Return how many pieces may stand in a placement at a moment, by its catalogs and its filter; for a thread."""
    rules = spec.rules
    matching = None if rules.filter is None else read_filter(rules.filter, view.settings)
    shown = Filter(moment=now, catalogs=rules.catalogs, matching=matching)
    return sum(int(part.allowed(shown).sum()) for part in view.snapshot.parts)


class PlacementPreviews:
    """Lists of placements before and after a change that is not made."""

    def __init__(self, placements: Placements, lists: PlacementLists) -> None:
        self._placements = placements
        self._lists = lists
        self._shares = heavy_shares("previews of placements are being made")

    async def preview(self, view: View, wish: PlacementWish) -> list[PreviewedPlacement]:
        """Return the requested lists under what is in force, none where nothing is, and under the draft.

        Raises:
            InvalidInput, UnknownPiece, TooFewPieces: as `PlacementLists.answer`, of either of the two.
            Overloaded: too many previews are being made.
        """
        in_force = [await self._placements.in_force(view, name) for name in placements_of(view)]
        before = next((each for each in in_force if each.name == wish.name), None)
        after = draft_over(in_force, wish.name, wish.spec)
        # What lists of one side use up the other one has as well, so that the same rules make the same list.
        works = WorkBudget(), WorkBudget()
        async with self._shares.turn(view.head.account_id):
            return [await self._previewed(view, (before, after), works, wish, each) for each in wish.users or (None,)]

    async def _previewed(
        self,
        view: View,
        sides: tuple[PlacementInForce | None, PlacementInForce],
        works: tuple[WorkBudget, WorkBudget],
        wish: PlacementWish,
        user: str | None,
    ) -> PreviewedPlacement:
        before, after = sides

        async def listed(placement: PlacementInForce, variant: str | None) -> PlacementAnswer:
            request = PlacementRequest(
                placement=wish.name,
                user_id=user,
                content_id=wish.content_id,
                take=wish.take,
                work=works[placement is after],
            )
            return (await self._lists.listed(view, placement, variant, request))[0]

        source = view.head.name
        old = None
        if before is not None:
            # What is seen now: of a variant that is stopped, the base. A draft begins anew.
            old = (await listed(before, self._lists.guard.variant_for(view.head, before, user))).result
        chosen = after.variant_for(source, user) if wish.variant is None else wish.variant
        new = (await listed(after, chosen)).result
        return previewed(user, old, new)


def previewed(user: str | None, old: PlacementResult | None, new: PlacementResult) -> PreviewedPlacement:
    """Return a person's list of a placement before, where there was one, beside that after."""
    content = [] if old is None else old.content
    return PreviewedPlacement(
        user_id=user,
        variant_before=None if old is None else old.variant,
        variant_after=new.variant,
        before=[*content],
        after=[*new.content],
        moves=moves(content, new.content),
        unmet=new.unmet,
    )
