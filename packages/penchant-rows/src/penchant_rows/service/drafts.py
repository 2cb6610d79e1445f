"""Drafts: edits of a source that are kept, looked at by others, and put in force together, at once or at a moment.

Checked when one is written and once more when it is published, by what is in force then: both by the readers and rules
of the routes that make such a change. What was read for that is named in the command, whose transaction does nothing
where any of it is another by then (`storage.drafts`).
"""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.enrichment import rule_of
from penchant.errors import (
    Fault,
    IndexNotReady,
    InvalidInput,
    NotYetVisible,
    Overloaded,
    PenchantError,
    StorageUnavailable,
    Unauthenticated,
    UnknownSource,
    invalid_parameter,
)
from penchant.live.database import AsyncStorage
from penchant.live.keyword_writer import KeywordTasks
from penchant.live.views import View, Views
from penchant.model import EncodedPiece, ListChange, ListKind, PieceLimits, Scope, SourceSettings
from penchant.service.access import Access, AccessControl, Grant
from penchant.service.curation import KEYWORDS_TIMEOUT_S, Curation
from penchant.service.grants import PERSON, editor_again
from penchant.storage import SourceChange, source_id
from penchant.telemetry import Metrics, logger
from penchant.wire import decode_stored_settings, encode, encode_settings, format_timestamp
from penchant.wire.syntax import pointer
from penchant_rows.errors import DraftChanged, UnknownDraft, WrongDraftState
from penchant_rows.service.lists import check_quotas
from penchant_rows.service.metrics import RowMetrics
from penchant_rows.service.versions import PlacementInForce, planned, read_row
from penchant_rows.storage.drafts import (
    DeleteDraft,
    DraftAct,
    DraftBasis,
    DraftPublication,
    DraftRow,
    DraftStore,
    DueDraft,
    MoveDraft,
    PublishDraft,
    ReplacedState,
    SaveDraft,
    StepGrant,
)
from penchant_rows.storage.placements import PlacementEdit, PlacementRow
from penchant_rows.wire.drafts import DraftEvent, DraftSummary, format_revision, parse_revision
from penchant_rows.wire.edits import MAX_DRAFTS, DraftEdits, decode_stored_edits, encode_edits
from penchant_rows.wire.placements import (
    MAX_PLACEMENT_VERSIONS,
    MAX_PLACEMENTS,
    check_filters,
    encode_placement,
    placement_problem,
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
_PUBLISHABLE = frozenset({"draft", "proposed", "sent-back", "scheduled", "undone"})


class Drafts:
    """The drafts of sources. A ``revision`` is the one that who asks has seen, as they were told it."""

    def __init__(
        self,
        database: AsyncStorage,
        views: Views,
        words: KeywordTasks,
        access: AccessControl,
        metrics: Metrics,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._stored = database.storage.store(DraftStore)
        self._views = views
        self._words = words
        self._access = access
        self._row_metrics = metrics.of(RowMetrics)
        self._clock = clock

    async def save(
        self, access: Access, view: View, name: str, edits: DraftEdits, *, revision: str | None = None
    ) -> DraftRow:
        """Store a draft in the place of the one of its name, and return it.

        Raises:
            InvalidInput: no draft can be called so, or what it edits does not fit the source.
            FeatureNotInPlan: the route of something that it edits is not in the plan.
            TooManyDrafts: there are too many open ones.
            DraftChanged: it is another revision by now.
        """
        problem = placement_problem(name)
        if problem:
            raise invalid_parameter("name", problem)
        self._require(access, edits)
        edits = replace(edits, changes=_changes(view, edits))
        await self._database.in_thread(self._check, edits, view.settings, view)
        command = SaveDraft(
            **access.command_of(view.head.name),
            name=name,
            title=edits.title or "",
            body=encode_edits(edits),
            subjects=edits.subjects,
            max_drafts=MAX_DRAFTS,
            revision=None if revision is None else parse_revision(revision),
        )
        return (await self._database.change(command)).draft

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
        """Return what a draft edits, as JSON; of one that can be published its lists as that would leave them."""
        edits = cls.edits_of(row) if row.state in _PUBLISHABLE else None
        if edits is None or not edits.changes:
            return row.body
        lists = {kind: edits.listed(kind, Curation.listed(view, kind)) or () for kind in edits.lists}
        return encode_edits(replace(edits, lists=lists, changes=_changes(view, replace(edits, lists=lists))))

    async def list(self, access: Access, source: str) -> Sequence[DraftRow]:
        """Return the drafts of a source without what they edit, those of which something was done last first."""
        return await self._database.promptly(self._stored.list_of, source_id(access.account_id, source))

    async def delete(self, access: Access, source: str, name: str) -> SourceChange:
        """Delete a draft; an unknown one is no error. What was published with it stays in force."""
        return await self._database.change(DeleteDraft(**access.command_of(source), name=name))

    async def propose(self, access: Access, source: str, name: str, *, note: str = "") -> DraftRow:
        """Ask others to look at a draft, and return it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is not one that waits.
        """
        act = _act(access, source, name, step="propose", states=_PUBLISHABLE - {"proposed"}, note=note)
        return await self._move(act, "proposed")

    async def send_back(self, access: Access, source: str, name: str, *, note: str) -> DraftRow:
        """Give a draft that was proposed or scheduled back to who wrote it, and return it; raises as `propose`."""
        states = frozenset({"proposed", "scheduled"})
        return await self._move(_act(access, source, name, step="send-back", states=states, note=note), "sent-back")

    async def schedule(
        self, access: Access, source: str, name: str, at: int | None, *, revision: str | None = None
    ) -> DraftRow:
        """Have a draft published at a moment (ms since 1970 UTC), or, for ``None``, not any more; return it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is not one that waits.
            DraftChanged: it is another revision by now.
            InvalidInput: the moment is over; or two are to look at it, and no revision is named.
            FourEyes: who wrote it may not publish it.
            FeatureNotInPlan: as `save`.
        """
        if at is None:
            act = _act(access, source, name, step="unschedule", states=frozenset({"scheduled"}))
            return await self._move(_seen(act, revision), "draft")
        if at <= self._clock.now_ms():
            raise _over()
        row = await self.get(access, source, name)
        self._require(access, self.edits_of(row))
        act = dataclasses.replace(
            _act(access, source, name, step="schedule", states=_PUBLISHABLE), revision=row.revision
        )
        return await self._move(_seen(act, revision), "scheduled", at, grant=_step_grant(access.grant))

    async def publish(
        self, access: Access, source: str, name: str, *, force: bool = False, revision: str | None = None
    ) -> DraftPublication:
        """Put all that a draft edits in force at one version, or nothing of it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is published already.
            OutdatedDraft: what it edits has changed since it was written, and that is not forced.
            FourEyes: who wrote it may not publish it.
            InvalidInput: it does not fit the source any more; or two are to look at it, and no revision is named.
            FeatureNotInPlan, TooManyPieces, TooManyPlacements: as the routes of what it edits.
            DraftChanged: it is another revision by now, or others change the source all the time.
        """
        act = _act(access, source, name, step="publish", states=_PUBLISHABLE)
        return await self._apply(access, _seen(act, revision), force=force)

    async def accept(
        self,
        access: Access,
        source: str,
        name: str,
        *,
        note: str = "",
        force: bool = False,
        revision: str | None = None,
    ) -> DraftPublication:
        """Publish a draft that was proposed; raises as `publish`."""
        act = _act(access, source, name, step="accept", states=frozenset({"proposed"}), note=note)
        return await self._apply(access, _seen(act, revision), force=force)

    async def undo(self, access: Access, source: str, name: str, *, revision: str | None = None) -> DraftPublication:
        """Put what the publication of a draft replaced in force again, at one version, or nothing of it.

        Raises:
            UnknownDraft, WrongDraftState: there is none, or it is not published.
            OutdatedDraft: something of it has changed since.
            FourEyes: who wrote it may not take it back.
            FeatureNotInPlan, DraftChanged, InvalidInput: as `publish`.
        """
        act = _act(access, source, name, step="undo", states=frozenset({"published"}))
        return await self._apply(access, _seen(act, revision), undoes=True)

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
        act: DraftAct[Any] = DraftAct(
            account_id=due.account_id,
            source=due.source,
            actor=due.schedule.actor,
            name=due.name,
            step="publish",
            states=frozenset({"scheduled"}),
            revision=due.revision,
            # Nobody has written it since it was scheduled by what was seen then.
            names_revision=True,
            last_step=due.schedule,
        )
        try:
            await self._apply(await self._scheduler(due), act)
            self._row_metrics.drafts_due.labels("published").inc()
        except _LATER:
            raise
        except PenchantError as error:
            self._row_metrics.drafts_due.labels("failed").inc()
            logger.warning("a scheduled draft was not published: %s", error.code)
            note = f"{error.code}: {error.detail}"
            await self._database.change(_moving(dataclasses.replace(act, step="fail", note=note), "draft"))

    async def _scheduler(self, due: DueDraft) -> Access:
        """Return what whoever scheduled a draft may do by now.

        Raises:
            Unauthenticated, OutsideScope: the key is revoked, over or gone, or the person's group has no such role.
            FeatureNotInPlan: the plan is not configured.
        """
        actor, kept = due.schedule.actor, due.schedule.grant
        if actor.startswith(PERSON):
            return editor_again(actor, kept and kept.group, due.account_id, self._access.settings)
        access = await self._access.of_key(actor)
        if access.account_id != due.account_id:
            raise Unauthenticated("The key that scheduled the draft is another account's.")
        AccessControl.require_scope(access, Scope.WRITE)
        return access

    async def _move(
        self, act: DraftAct[Any], state: str, due_at: int | None = None, *, grant: StepGrant | None = None
    ) -> DraftRow:
        return (await self._database.change(_moving(act, state, due_at, grant))).draft

    @staticmethod
    def _require(access: Access, edits: DraftEdits) -> None:
        for feature in edits.features:
            AccessControl.require(access, feature)

    async def _apply(
        self, access: Access, act: DraftAct[Any], *, force: bool = False, undoes: bool = False
    ) -> DraftPublication:
        """Publish or undo a draft as it is now, by what is in force now; tried again where that changes meanwhile."""
        name = (act.account_id, act.source)
        for attempt in range(ATTEMPTS):
            view = await self._views.view(*name)
            basis = await self._database.in_thread(self._stored.read_basis, view.head.source_id, act.name)
            if basis is None:
                raise _unknown()
            # Said at once, and once more by the transaction.
            if act.revision not in {None, basis.draft.revision} or act.last_step not in {None, basis.draft.steps[-1]}:
                raise DraftChanged("The draft was written anew since it was looked at; read it, and send this again.")
            edits = await self._database.in_thread(self.edits_of, basis.draft)
            self._require(access, edits)
            if undoes and basis.replaced is not None:
                command = _undoing(act, basis, basis.replaced)
            else:
                make = functools.partial(self._publishing, act, basis, edits, view)
                command = await self._database.in_thread(make)
                command = dataclasses.replace(command, force=force, max_pieces=access.plan.pieces_per_source)
            try:
                outcome = await self._words.submit(command)
            except DraftChanged:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            if outcome.pending and await self._words.settle(name, KEYWORDS_TIMEOUT_S):
                head = await self._views.head(*name, min_version=outcome.version)
                return replace(outcome, version=head.version)
            return outcome
        raise AssertionError

    def _publishing(self, act: DraftAct[Any], basis: DraftBasis, edits: DraftEdits, view: View) -> PublishDraft:
        """Return the command that puts edits in force."""
        current = decode_stored_settings(basis.settings)
        self._check(edits, current, view)
        in_force = [read_row(row) for row in basis.placements]
        settings = None if edits.settings is None else dataclasses.replace(edits.settings, unread=current.unread)
        return PublishDraft(
            **_shared(act, basis),
            settings=None if settings is None else encode_settings(settings),
            word_rule=rule_of(edits.settings),
            lists=edits.lists,
            changes=edits.changes,
            placements=[_edit(each) for each in planned(in_force, edits.placements or {})],
            pieces=edits.content or (),
        )

    def _check(self, edits: DraftEdits, current: SourceSettings, view: View) -> None:
        """Raise `InvalidInput` where what is edited does not fit the source as it would be."""
        settings, now_in_force = edits.settings or current, view.source_settings
        now = max(self._clock.now_ms(), view.head.changed_at)
        for name, spec in (edits.placements or {}).items():
            if spec is None:
                continue
            where = f"/placements{pointer(name)}"
            check_filters(spec, settings, where)
            # What pieces have by other attributes and another vocabulary only shows once these are in force.
            if (settings.attributes, settings.vocabulary) == (now_in_force.attributes, now_in_force.vocabulary):
                check_quotas(view, spec, now, where)


def _changes(view: View, edits: DraftEdits) -> dict[ListKind, ListChange]:
    """Return what edits add to lists as they are, and take from them, but for lists whose order they change."""
    changes = {kind: ListChange.between(Curation.listed(view, kind), ids) for kind, ids in edits.lists.items()}
    return {kind: change for kind, change in changes.items() if change is not None}


def _undoing(act: DraftAct[Any], basis: DraftBasis, replaced: ReplacedState) -> PublishDraft:
    """Return the command that puts in force again what a publication replaced."""
    placements: dict[str, PlacementInForce | None] = {}
    for name, stored in replaced.placements.items():
        placements[name] = None
        if stored is not None:
            body, assignment = stored
            old = PlacementRow(name=name, version=0, recorded_at=0, actor="", body=body, assignment=assignment)
            placements[name] = read_row(old)
    settings = replaced.settings
    return PublishDraft(
        **_shared(act, basis),
        undoes=True,
        settings=settings,
        word_rule=rule_of(None if settings is None else decode_stored_settings(settings)),
        lists={ListKind(kind): ids for kind, ids in replaced.lists.items()},
        placements=[_edit(each) for each in planned([read_row(row) for row in basis.placements], placements)],
        pieces=[EncodedPiece(id=each, body=body) for each, body in replaced.pieces.items() if body is not None],
        removed=[each for each, body in replaced.pieces.items() if body is None],
    )


def _shared(act: DraftAct[Any], basis: DraftBasis) -> dict[str, Any]:
    """Return the members that every publication has: who does it to which draft, and what it has gone by."""
    return _members(act) | {
        "revision": basis.draft.revision,
        "last_step": basis.draft.steps[-1],
        "settings_seen": basis.settings,
        "defaults": encode_settings(SourceSettings()),
        "placements_seen": {row.name: row.version for row in basis.placements},
        "max_versions": MAX_PLACEMENT_VERSIONS,
        "max_placements": MAX_PLACEMENTS,
    }


def _act(access: Access, source: str, name: str, *, step: str, states: frozenset[str], note: str = "") -> DraftAct[Any]:
    return DraftAct(**access.command_of(source), name=name, step=step, states=states, note=note)


def _seen(act: DraftAct[Any], revision: str | None) -> DraftAct[Any]:
    """Return an act of somebody who has seen a revision, where they name one."""
    return act if revision is None else dataclasses.replace(act, revision=parse_revision(revision), names_revision=True)


def _moving(act: DraftAct[Any], state: str, due_at: int | None = None, grant: StepGrant | None = None) -> MoveDraft:
    return MoveDraft(**_members(act), state=state, due_at=due_at, grant=grant)


def _members(act: DraftAct[Any]) -> dict[str, Any]:
    return {each.name: getattr(act, each.name) for each in fields(act)}


def _step_grant(grant: Grant | None) -> StepGrant | None:
    return None if grant is None else StepGrant(grant.account, grant.role.value, grant.plan, grant.group)


def _edit(made: PlacementInForce | str) -> PlacementEdit:
    if isinstance(made, str):
        return PlacementEdit(made, None)
    return PlacementEdit(made.name, encode_placement(made.spec), encode(made.runs))


def summary_of(row: DraftRow) -> DraftSummary[str]:
    """Return where a draft stands, as it is answered."""
    return DraftSummary(
        name=row.name,
        revision=format_revision(row.revision),
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
