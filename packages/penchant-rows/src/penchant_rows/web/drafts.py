"""Drafts: edits that wait, looked at and proposed, published as one version and taken back as one."""

import functools
from operator import attrgetter

from penchant.model import Feature, Scope
from penchant.service.browsing import SourceBrowser
from penchant.web.bodies import SETTINGS_BODY, BodyKind
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable, everybody_in_body
from penchant.web.parameters import MIN_VERSION
from penchant.wire import encode
from penchant_rows.service.drafts import summary_of
from penchant_rows.service.effects import EffectSubject
from penchant_rows.service.wiring import row_services
from penchant_rows.storage.drafts import DraftPublication, DraftRow
from penchant_rows.web.parameters import FORCE, REVISION
from penchant_rows.web.problems import ROW_PROBLEMS
from penchant_rows.wire.drafts import DraftListing, PublishedVersion, encode_draft
from penchant_rows.wire.edits import DRAFT_NOTE, DRAFT_SCHEDULE, decode_edits, decode_effect_wish
from penchant_rows.wire.schemas import ROWS

DRAFTS = OperationTable(functools.partial(Operation, names_scope=False), "drafts", ROWS, ROW_PROBLEMS)
MAX_DRAFT_BYTES = 8 * 1024 * 1024
"""Bytes of a draft: it is kept, and with what it replaced once it is published."""
DRAFT_BODY = BodyKind(limit_bytes=lambda settings: min(settings.body_limit_bytes, MAX_DRAFT_BYTES), growth=8)
_ONE = "/{source}/drafts/{name}"
_CHANGES = ("unknown-draft", "wrong-draft-state", "feature-not-in-plan")
_PUBLISHES = (*_CHANGES, "outdated-draft", "draft-changed", "four-eyes", "too-many-pieces", "too-many-placements")


@DRAFTS.operation("GET", "/{source}/drafts", about=NOBODY, scope=Scope.WRITE, answer="DraftListing")
async def list_drafts(call: Call) -> Answer:
    """The drafts of the source, those of which something was done last first."""
    call.values()
    rows = await row_services(call).drafts.list(call.access, call.source)
    return Answer(body=encode(DraftListing(drafts=[summary_of(row) for row in rows])))


@DRAFTS.operation(
    "GET", _ONE, about=NOBODY, scope=Scope.WRITE, answer="SourceDraft", headers=("ETag",), errors=("unknown-draft",)
)
async def get_draft(call: Call) -> Answer:
    """Read a draft: what it edits, and where it stands."""
    call.values()
    row = await row_services(call).drafts.get(call.access, call.source, call.path["name"])
    return _answer(row, row_services(call).drafts.body_of(row, await call.view()))


def _answer(row: DraftRow, body: bytes | None = None) -> Answer:
    summary = summary_of(row)
    # No tag that can be asked by: what was done to a draft is another answer at the same revision.
    tag = {"etag": f'W/"{summary.revision}"'}
    return Answer(body=encode_draft(row.body if body is None else body, summary), headers=tag)


@DRAFTS.operation(
    "PUT",
    _ONE,
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(REVISION,),
    body_kind=DRAFT_BODY,
    body="DraftEdits",
    answer="SourceDraft",
    headers=("ETag",),
    errors=("too-many-entries", "too-many-drafts", "draft-changed", "feature-not-in-plan"),
)
async def put_draft(call: Call) -> Answer:
    """Store a draft; nothing of it is in force before it is published."""
    revision = call.values()["revision"]
    limits = call.services.settings.piece_limits
    edits = await call.decode_body(lambda body: decode_edits(body, limits))
    drafts, view = row_services(call).drafts, await call.view()
    if edits.settings is not None:
        name, stored = (call.access.account_id, call.source), view.source_settings
        await call.services.of(SourceBrowser).check_pointers(*name, edits.settings, stored, "/settings")
    return _answer(await drafts.save(call.access, view, call.path["name"], edits, revision=revision))


@DRAFTS.operation("DELETE", _ONE, about=NOBODY, scope=Scope.WRITE, status=202, answer="EmptyArray")
async def delete_draft(call: Call) -> Answer:
    """Delete a draft; what was published with it stays in force."""
    call.values()
    await row_services(call).drafts.delete(call.access, call.source, call.path["name"])
    return Answer(body=encode([]), status=202)


async def read_effect(call: Call) -> EffectSubject:
    """Return whose lists are to be shown; the most active people only to whom may ask for lists of people."""
    wish = await call.decode_body(decode_effect_wish)
    if wish.users:
        call.services.access.require(call.access, Feature.PERSONALIZED)
    may_ask = Scope.PERSONAL in call.access.scopes and Feature.PERSONALIZED in call.access.plan.features
    return await row_services(call).effects.subject(await call.view(), wish, with_people=may_ask)


@DRAFTS.operation(
    "POST",
    _ONE + "/effect",
    about=everybody_in_body(attrgetter("users")),
    scope=Scope.WRITE,
    parameters=(MIN_VERSION,),
    counted=True,
    personal=True,
    body="EffectWish",
    reader=read_effect,
    answers=lambda subject: len(subject.users) + len(subject.pieces),
    answer="DraftEffect",
    errors=("unknown-draft", "feature-not-in-plan", "unknown-piece", "too-many-entries", "overloaded"),
)
async def draft_effect(call: Call) -> Answer:
    """Lists as they are and as they would be after a draft, and what becomes of all pieces; nothing is stored."""
    drafts, view = row_services(call).drafts, await call.view()
    edits = drafts.edits_of(await drafts.get(call.access, call.source, call.path["name"]))
    effect = await row_services(call).effects.effect(view, edits, call.decoded)
    return Answer(body=encode(effect), version=view.head.version)


@DRAFTS.operation(
    "POST",
    _ONE + "/propose",
    about=NOBODY,
    scope=Scope.WRITE,
    body_kind=SETTINGS_BODY,
    body="DraftNote",
    answer="SourceDraft",
    headers=("ETag",),
    errors=("unknown-draft", "wrong-draft-state"),
)
async def propose_draft(call: Call) -> Answer:
    """Ask others to look at a draft."""
    call.values()
    said = await call.decode_body(DRAFT_NOTE.decode)
    return _answer(await row_services(call).drafts.propose(call.access, call.source, call.path["name"], note=said.note))


@DRAFTS.operation(
    "POST",
    _ONE + "/send-back",
    about=NOBODY,
    scope=Scope.WRITE,
    body_kind=SETTINGS_BODY,
    body="DraftNote",
    answer="SourceDraft",
    headers=("ETag",),
    errors=("unknown-draft", "wrong-draft-state"),
)
async def send_back_draft(call: Call) -> Answer:
    """Give a proposed draft back to who wrote it, with a note."""
    call.values()
    said = await call.decode_body(DRAFT_NOTE.decode)
    return _answer(
        await row_services(call).drafts.send_back(call.access, call.source, call.path["name"], note=said.note)
    )


@DRAFTS.operation(
    "POST",
    _ONE + "/accept",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(FORCE, REVISION),
    body_kind=SETTINGS_BODY,
    body="DraftNote",
    answer="PublishedVersion",
    errors=_PUBLISHES,
)
async def accept_draft(call: Call) -> Answer:
    """Publish a draft that was proposed, with a note."""
    values = call.values()
    said = await call.decode_body(DRAFT_NOTE.decode)
    outcome = await row_services(call).drafts.accept(
        call.access,
        call.source,
        call.path["name"],
        note=said.note,
        force=values["force"],
        revision=values["revision"],
    )
    return _published(outcome)


@DRAFTS.operation(
    "POST",
    _ONE + "/schedule",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(REVISION,),
    body_kind=SETTINGS_BODY,
    body="DraftSchedule",
    answer="SourceDraft",
    headers=("ETag",),
    errors=(*_CHANGES, "draft-changed", "four-eyes"),
)
async def schedule_draft(call: Call) -> Answer:
    """Have a draft published at a moment, or not any more."""
    revision = call.values()["revision"]
    wish = await call.decode_body(DRAFT_SCHEDULE.decode)
    drafts = row_services(call).drafts
    return _answer(await drafts.schedule(call.access, call.source, call.path["name"], wish.at, revision=revision))


@DRAFTS.operation(
    "POST",
    _ONE + "/publish",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(FORCE, REVISION),
    answer="PublishedVersion",
    errors=_PUBLISHES,
)
async def publish_draft(call: Call) -> Answer:
    """Put all that a draft edits in force at once, as one version, or nothing of it."""
    values, drafts = call.values(), row_services(call).drafts
    outcome = await drafts.publish(
        call.access, call.source, call.path["name"], force=values["force"], revision=values["revision"]
    )
    return _published(outcome)


@DRAFTS.operation(
    "POST",
    _ONE + "/undo",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(REVISION,),
    answer="PublishedVersion",
    errors=(*_CHANGES, "outdated-draft", "draft-changed", "four-eyes"),
)
async def undo_draft(call: Call) -> Answer:
    """Take a published draft back as one version, while nothing of it has changed."""
    revision = call.values()["revision"]
    return _published(
        await row_services(call).drafts.undo(call.access, call.source, call.path["name"], revision=revision)
    )


def _published(outcome: DraftPublication) -> Answer:
    lists = {kind.value: ids for kind, ids in outcome.lists.items()}
    return Answer(body=encode(PublishedVersion(version=outcome.version, **lists)), version=outcome.version)
