"""Drafts: edits of a source that are kept, looked at by others, and put in force together, at once or at a moment.

Checked when one is written and once more when it is published, by what is in force then: both by the readers and rules
of the routes that make such a change. What was read for that is named in the command, whose transaction does nothing
where any of it is another by then (`storage.drafts`).
"""

import functools
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from msgspec import UNSET

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import (
    DraftChanged,
    Fault,
    IndexNotReady,
    InvalidInput,
    NotYetVisible,
    Overloaded,
    PenchantError,
    StorageUnavailable,
    Unauthenticated,
    UnknownDraft,
    UnknownSource,
    WrongDraftState,
    invalid_parameter,
)
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.live.word_writer import WordTasks
from penchant.model import EncodedPiece, ListChange, ListKind, PieceLimits, SourceSettings
from penchant.service.access import Access, AccessControl
from penchant.service.content import WORDS_TIMEOUT_S, Curation
from penchant.service.four_eyes import settings_now
from penchant.service.placements.lists import check_quotas
from penchant.service.placements.versions import PlacementInForce, planned, read_row
from penchant.storage import (
    DeleteDraft,
    DraftAct,
    DraftBasis,
    DraftRow,
    DueDraft,
    MoveDraft,
    Outcome,
    PlacementEdit,
    PlacementRow,
    PublishDraft,
    ReplacedState,
    SaveDraft,
    source_id,
)
from penchant.telemetry import Metrics, logger
from penchant.wire import (
    MAX_DRAFTS,
    MAX_PLACEMENT_VERSIONS,
    MAX_PLACEMENTS,
    DraftEdits,
    DraftEvent,
    DraftSummary,
    check_filters,
    decode_stored_edits,
    decode_stored_settings,
    encode,
    encode_edits,
    encode_placement,
    encode_settings,
    encode_word_rule,
    format_timestamp,
    placement_problem,
    pointer,
)

ATTEMPTS = 5
"""How often a draft is published whose source others change at the same moment."""
DUE_DRAFTS = 100
"""Scheduled drafts that one look publishes, of all sources."""
_STORED_LIMITS = PieceLimits(keywords=2**31, piece_bytes=2**31)
"""Pieces of a draft were checked when it was written; a limit that was lowered since is for new ones."""
_LATER = (
    *(StorageUnavailable, Overloaded, IndexNotReady, NotYetVisible),
    *(DraftChanged, UnknownDraft, UnknownSource, WrongDraftState),
)
"""Why a scheduled draft is not published just now: something is short or away, or others have changed it meanwhile."""
_OPEN = frozenset({"draft", "proposed", "sent-back", "scheduled"})
_PUBLISHABLE = _OPEN | {"undone"}


class Drafts:
    """The drafts of sources. ``who`` is in every call the name under which the audit has it; a key's is its id."""

    def __init__(
        self,
        database: AsyncStorage,
        views: Views,
        words: WordTasks,
        access: AccessControl,
        metrics: Metrics,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._stored = database.storage.drafts
        self._views = views
        self._words = words
        self._access = access
        self._metrics = metrics
        self._clock = clock

    async def save(
        self, access: Access, view: View, name: str, edits: DraftEdits, *, who: str | None = None
    ) -> DraftRow:
        """Store a draft in the place of the one of its name, and return it.

        Raises:
            InvalidInput: no draft can be called so, or what it edits does not fit the source.
            FeatureNotInPlan: the route of something that it edits is not in the plan.
            TooManyDrafts: there are too many open ones.
        """
        problem = placement_problem(name)
        if problem:
            raise invalid_parameter("name", problem)
        self._require(access, edits)
        edits = replace(edits, changes=_changes(view, edits))
        await self._database.in_thread(self._check, edits, view.settings, view)
        await self._database.change(
            SaveDraft(
                account_id=access.account_id,
                source=view.head.name,
                actor=who or access.key_id,
                name=name,
                title=edits.title or "",
                body=encode_edits(edits),
                subjects=edits.subjects,
                max_drafts=MAX_DRAFTS,
            )
        )
        return await self.get(access, view.head.name, name)

    async def get(self, access: Access, source: str, name: str) -> DraftRow:
        """Return a draft.

        Raises:
            UnknownDraft: there is none of this name.
        """
        row = await self._database.promptly(self._stored.read, source_id(access.account_id, source), name)
        if row is None:
            raise _unknown()
        return row

    @staticmethod
    def edits_of(row: DraftRow) -> DraftEdits:
        """Return what a draft edits."""
        return decode_stored_edits(row.body, _STORED_LIMITS)

    @classmethod
    def body_of(cls, row: DraftRow, view: View) -> bytes:
        """Return what a draft edits, as JSON; of one that waits its lists as publishing it would leave them."""
        edits = cls.edits_of(row) if row.state in _OPEN else None
        if edits is None or not edits.changes:
            return row.body
        lists = {kind: edits.listed(kind, Curation.listed(view, kind)) or () for kind in edits.lists}
        return encode_edits(replace(edits, lists=lists, changes=_changes(view, replace(edits, lists=lists))))

    async def list(self, access: Access, source: str) -> Sequence[DraftRow]:
        """Return the drafts of a source without what they edit, those of which something was done last first."""
        return await self._database.promptly(self._stored.list_of, source_id(access.account_id, source))

    async def delete(self, access: Access, source: str, name: str, *, who: str | None = None) -> Outcome:
        """Delete a draft; an unknown one is no error. What was published with it stays in force."""
        return await self._database.change(
            DeleteDraft(account_id=access.account_id, source=source, actor=who or access.key_id, name=name)
        )

    async def propose(
        self, access: Access, source: str, name: str, *, note: str = "", who: str | None = None
    ) -> DraftRow:
        """Ask others to look at a draft, and return it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is not one that waits.
        """
        act = _act(access, source, name, who=who, step="propose", states=_PUBLISHABLE - {"proposed"})
        return await self._move(access, replace(act, note=note), "proposed")

    async def send_back(self, access: Access, source: str, name: str, *, note: str, who: str | None = None) -> DraftRow:
        """Give a draft that was proposed or scheduled back to who wrote it, and return it; raises as `propose`."""
        states = frozenset({"proposed", "scheduled"})
        act = _act(access, source, name, who=who, step="send-back", states=states)
        return await self._move(access, replace(act, note=note), "sent-back")

    async def schedule(
        self, access: Access, source: str, name: str, at: int | None, *, who: str | None = None
    ) -> DraftRow:
        """Have a draft published at a moment (ms since 1970 UTC), or, for ``None``, not any more; return it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is not one that waits.
            InvalidInput: the moment is over.
            FourEyes: who wrote it may not publish it.
            FeatureNotInPlan: as `save`.
        """
        if at is None:
            act = _act(access, source, name, who=who, step="unschedule", states=frozenset({"scheduled"}))
            return await self._move(access, act, "draft")
        if at <= self._clock.now_ms():
            raise _over()
        row = await self.get(access, source, name)
        self._require(access, self.edits_of(row))
        is_theirs = not (await settings_now(self._database, access.account_id, source)).four_eyes
        act = _act(access, source, name, who=who, step="schedule", states=_PUBLISHABLE)
        return await self._move(access, replace(act, revision=row.revision, is_theirs=is_theirs), "scheduled", at)

    async def publish(
        self, access: Access, source: str, name: str, *, force: bool = False, who: str | None = None
    ) -> Outcome:
        """Put all that a draft edits in force at one version, or nothing of it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is published already.
            OutdatedDraft: what it edits has changed since it was written, and that is not forced.
            FourEyes: who wrote it may not publish it.
            InvalidInput: what it edits does not fit the source any more.
            FeatureNotInPlan, TooManyPieces, TooManyPlacements: as the routes of what it edits.
            DraftChanged: others change the source all the time.
        """
        act = _act(access, source, name, who=who, step="publish", states=_PUBLISHABLE)
        return await self._apply(access, act, force=force)

    async def accept(
        self, access: Access, source: str, name: str, *, note: str = "", force: bool = False, who: str | None = None
    ) -> Outcome:
        """Publish a draft that was proposed; raises as `publish`."""
        act = _act(access, source, name, who=who, step="accept", states=frozenset({"proposed"}))
        return await self._apply(access, replace(act, note=note), force=force)

    async def undo(self, access: Access, source: str, name: str, *, who: str | None = None) -> Outcome:
        """Put what the publication of a draft replaced in force again, at one version, or nothing of it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is not published.
            OutdatedDraft: something of it has changed since.
            FeatureNotInPlan, DraftChanged: as `publish`.
        """
        act = _act(access, source, name, who=who, step="undo", states=frozenset({"published"}))
        return await self._apply(access, act, undoes=True)

    async def publish_due(self) -> None:
        """Publish the drafts whose moment has come; what fails is told on the draft, which then waits for its writer.

        Nodes may do this at the same time: a draft is published by the transaction of one of them.
        """
        for due in await self._database.in_thread(self._stored.list_due, DUE_DRAFTS):
            try:
                await self._publish_due(due)
            except _LATER:
                # Tried again by the next look, unless another node or person has done something with it.
                logger.info("a scheduled draft was not published yet")

    async def _publish_due(self, due: DueDraft) -> None:
        act = DraftAct(
            account_id=due.account_id,
            source=due.source,
            actor=due.actor,
            name=due.name,
            step="publish",
            states=frozenset({"scheduled"}),
            revision=due.revision,
        )
        try:
            await self._apply(await self._scheduler(due), act)
            self._metrics.drafts_due.labels("published").inc()
        except _LATER:
            raise
        except PenchantError as error:
            self._metrics.drafts_due.labels("failed").inc()
            note = f"{error.code}: {error.detail}"
            await self._database.change(_moving(replace(act, step="fail", note=note), "draft"))

    async def _scheduler(self, due: DueDraft) -> Access | None:
        """Return what the key grants by now that scheduled a draft; ``None`` for somebody without a key of that name.

        Raises:
            Unauthenticated: it is revoked or over.
        """
        # Whatever let in who has no key was asked when they scheduled it.
        if await self._access.find(due.actor) is None:
            return None
        access = await self._access.of_key(due.actor)
        if access.account_id != due.account_id:
            raise Unauthenticated("The key that scheduled the draft is another account's.")
        return access

    async def _move(self, access: Access, act: DraftAct, state: str, due_at: int | None = None) -> DraftRow:
        await self._database.change(_moving(act, state, due_at))
        return await self.get(access, act.source, act.name)

    @staticmethod
    def _require(access: Access, edits: DraftEdits) -> None:
        for feature in edits.features:
            AccessControl.require(access, feature)

    async def _apply(
        self, access: Access | None, act: DraftAct, *, force: bool = False, undoes: bool = False
    ) -> Outcome:
        """Publish or undo a draft as it is now, by what is in force now; tried again where that changes meanwhile."""
        name = (act.account_id, act.source)
        for attempt in range(ATTEMPTS):
            view = await self._views.view(*name)
            basis = await self._database.in_thread(self._stored.read_basis, view.head.source_id, act.name)
            if basis is None:
                raise _unknown()
            if act.revision not in {None, basis.draft.revision}:
                raise DraftChanged("The draft was changed at the same moment.")
            edits = await self._database.in_thread(self.edits_of, basis.draft)
            if access is not None:
                self._require(access, edits)
            if undoes and basis.replaced is not None:
                command = _undoing(act, basis, basis.replaced)
            else:
                most = None if access is None else access.plan.pieces_per_source
                make = functools.partial(self._publishing, act, basis, edits, view)
                command = replace(await self._database.in_thread(make), force=force, max_pieces=most)
            try:
                outcome = await self._words.submit(command)
            except DraftChanged:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            if outcome.pending and await self._words.settle(name, WORDS_TIMEOUT_S):
                head = await self._views.head(*name, min_version=outcome.version)
                return replace(outcome, version=head.version)
            return outcome
        raise AssertionError

    def _publishing(self, act: DraftAct, basis: DraftBasis, edits: DraftEdits, view: View) -> PublishDraft:
        """Return the command that puts edits in force."""
        current = decode_stored_settings(basis.settings)
        self._check(edits, current, view)
        in_force = [read_row(row) for row in basis.placements]
        return PublishDraft(
            **_shared(act, basis),
            is_theirs=not current.four_eyes,
            settings=None if edits.settings is None else encode_settings(edits.settings),
            word_rule=b"" if edits.settings is None else encode_word_rule(edits.settings.words),
            lists=edits.lists,
            changes=edits.changes,
            placements=[_edit(each) for each in planned(in_force, edits.placements or {})],
            pieces=edits.content or (),
        )

    def _check(self, edits: DraftEdits, current: SourceSettings, view: View) -> None:
        """Raise `InvalidInput` where what is edited does not fit the source as it would be."""
        settings = edits.settings or current
        now = max(self._clock.now_ms(), view.head.changed_at)
        for name, spec in (edits.placements or {}).items():
            if spec is None:
                continue
            where = f"/placements{pointer(name)}"
            check_filters(spec, settings.attributes, where)
            # What pieces have of other attributes only shows once they are in force.
            if settings.attributes == view.source_settings.attributes:
                check_quotas(view, spec, now, where)


def _changes(view: View, edits: DraftEdits) -> dict[ListKind, ListChange]:
    """Return what edits add to lists as they are, and take from them, but for lists whose order they change."""
    changes = {kind: ListChange.between(Curation.listed(view, kind), ids) for kind, ids in edits.lists.items()}
    return {kind: change for kind, change in changes.items() if change is not None}


def _undoing(act: DraftAct, basis: DraftBasis, replaced: ReplacedState) -> PublishDraft:
    """Return the command that puts in force again what a publication replaced."""
    placements: dict[str, PlacementInForce | None] = {}
    for name, stored in replaced.placements.items():
        placements[name] = None
        if stored is not None:
            body, assignment = stored
            old = PlacementRow(name=name, version=0, recorded_at=0, actor="", body=body, assignment=assignment)
            placements[name] = read_row(old)
    settings = replaced.settings
    words = None if settings is None else decode_stored_settings(settings).words
    return PublishDraft(
        **_shared(act, basis),
        undoes=True,
        settings=settings,
        word_rule=encode_word_rule(words),
        lists={ListKind(kind): ids for kind, ids in replaced.lists.items()},
        placements=[_edit(each) for each in planned([read_row(row) for row in basis.placements], placements)],
        pieces=[EncodedPiece(id=each, body=body) for each, body in replaced.pieces.items() if body is not None],
        removed=[each for each, body in replaced.pieces.items() if body is None],
    )


def _shared(act: DraftAct, basis: DraftBasis) -> dict[str, Any]:
    """Return the members that every publication has: who does it to which draft, and what it has gone by."""
    members = {each.name: getattr(act, each.name) for each in fields(act) if each.name not in {"revision", "is_theirs"}}
    return members | {
        "revision": basis.draft.revision,
        "settings_seen": basis.settings,
        "placements_seen": {row.name: row.version for row in basis.placements},
        "max_versions": MAX_PLACEMENT_VERSIONS,
        "max_placements": MAX_PLACEMENTS,
    }


def _act(access: Access, source: str, name: str, *, who: str | None, step: str, states: frozenset[str]) -> DraftAct:
    return DraftAct(
        account_id=access.account_id,
        source=source,
        actor=who or access.key_id,
        name=name,
        step=step,
        states=states,
    )


def _moving(act: DraftAct, state: str, due_at: int | None = None) -> MoveDraft:
    return MoveDraft(**{each.name: getattr(act, each.name) for each in fields(act)}, state=state, due_at=due_at)


def _edit(made: PlacementInForce | str) -> PlacementEdit:
    if isinstance(made, str):
        return PlacementEdit(made, None)
    return PlacementEdit(made.name, encode_placement(made.spec), encode(made.runs))


def summary_of(row: DraftRow) -> DraftSummary[str]:
    """Return where a draft stands, as it is answered."""
    return DraftSummary(
        name=row.name,
        title=row.title or UNSET,
        state=row.state,
        by=row.actor,
        changed_at=format_timestamp(row.changed_at),
        due=UNSET if row.due_at is None else format_timestamp(row.due_at),
        writers=list(row.writers),
        steps=[
            DraftEvent(
                step=each.step,
                by=each.actor,
                timestamp=format_timestamp(each.recorded_at),
                note=each.note or UNSET,
                version=UNSET if each.version is None else each.version,
                due=UNSET if each.due_at is None else format_timestamp(each.due_at),
            )
            for each in reversed(row.steps)
        ],
    )


def _over() -> InvalidInput:
    """Return the error of a schedule for a moment that is over."""
    detail = "Found a moment that is over; a later one, or null, is accepted."
    return InvalidInput(f"/at: {detail}", faults=[Fault(pointer="/at", detail=detail)])


def _unknown() -> UnknownDraft:
    return UnknownDraft("The source has no draft of this name.")
