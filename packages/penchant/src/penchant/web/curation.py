"""A source as a whole: its whitelist, blacklist and settings, its status and removal."""

import functools
from collections.abc import Sequence

from penchant.model import Feature, ListKind, Scope
from penchant.service.content import settings_now
from penchant.web.administration import ACTOR, AUDIT_LIMIT, BEFORE, audit_answer, audit_query
from penchant.web.bodies import SETTINGS_BODY
from penchant.web.content import deletion_answer
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable
from penchant.web.parameters import CONFIRM, MIN_VERSION
from penchant.wire import decode_list, decode_settings, encode, encode_settings

CURATION = OperationTable(Operation, "curation")


def _list_operations(kind: ListKind) -> None:
    """Serve a list of a source: read, replaced, emptied."""
    path, title = "/{source}/" + kind.value, kind.value.capitalize()

    @CURATION.operation(
        "GET",
        path,
        name=f"get{title}",
        summary=f"Read the {kind.value}.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        parameters=(MIN_VERSION,),
        answer="IdArray",
    )
    async def read_list(call: Call) -> Answer:
        view = await call.view()
        return Answer(body=encode(call.services.curation.listed(view, kind)), version=view.head.version)

    @CURATION.operation(
        "PUT",
        path,
        name=f"put{title}",
        summary=f"Replace the {kind.value}: up to 10,000 ids, order kept.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        body="IdArray",
        answer="IdArray",
        errors=("too-many-entries", "four-eyes"),
    )
    async def replace_list(call: Call) -> Answer:
        return await _replace(call, kind, await call.decode_body(decode_list))

    @CURATION.operation(
        "DELETE",
        path,
        name=f"delete{title}",
        summary=f"Empty the {kind.value}.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        answer="IdArray",
        errors=("four-eyes",),
    )
    async def empty_list(call: Call) -> Answer:
        return await _replace(call, kind, ())


async def _replace(call: Call, kind: ListKind, ids: Sequence[str]) -> Answer:
    outcome = await call.services.curation.replace_list(call.access, call.source, kind, ids)
    return Answer(body=encode(list(ids)), version=outcome.version)


_list_operations(ListKind.WHITELIST)
_list_operations(ListKind.BLACKLIST)


@CURATION.operation(
    "GET",
    "/{source}/settings",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(MIN_VERSION,),
    answer="Settings",
)
async def get_settings(call: Call) -> Answer:
    """Read the settings of the source."""
    view = await call.view()
    return Answer(body=encode_settings(view.settings), version=view.head.version)


@CURATION.operation(
    "PUT",
    "/{source}/settings",
    about=NOBODY,
    scope=Scope.WRITE,
    body_kind=SETTINGS_BODY,
    body="Settings",
    answer="Settings",
    errors=("four-eyes",),
)
async def put_settings(call: Call) -> Answer:
    """Replace the settings; members left out return to their defaults."""
    stored = await settings_now(call.services.database, call.access.account_id, call.source)
    settings = await call.decode_body(functools.partial(decode_settings, unread=stored.unread))
    outcome = await call.services.curation.replace_settings(call.access, call.source, settings)
    return Answer(body=encode_settings(settings), version=outcome.version)


@CURATION.operation(
    "GET",
    "/{source}/audit",
    tag="source",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(ACTOR, BEFORE, AUDIT_LIMIT),
    personal=True,
    answer="AuditLog",
)
async def source_audit(call: Call) -> Answer:
    """Who changed what of the source, newest first."""
    return audit_answer(await call.services.administration.source_audit(call.access, call.source, audit_query(call)))


@CURATION.operation(
    "GET",
    "/{source}",
    tag="source",
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(MIN_VERSION,),
    answer="SourceStatus",
)
async def get_source(call: Call) -> Answer:
    """Where the source stands: pieces, versions, times."""
    answer = call.services.content.status(await call.view())
    return Answer(body=encode(answer), version=answer.version)


@CURATION.operation(
    "DELETE",
    "/{source}",
    deletes_pieces=True,
    tag="source",
    about=NOBODY,
    scope=Scope.WRITE,
    status=202,
    parameters=(CONFIRM,),
    answer="EmptyArray",
    errors=("four-eyes",),
)
async def delete_source(call: Call) -> Answer:
    """Delete the source with everything in it."""
    values = call.values()
    outcome = await call.services.content.delete_source(call.access, call.source, values["confirm"])
    return deletion_answer(outcome)
