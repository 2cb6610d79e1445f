"""Routes of a source: its lists, its settings, its status and removal."""

from penchant.model import Feature, ListKind, Scope
from penchant.web import content, curation
from penchant.web.bodies import JSON, SETTINGS_BODY
from penchant.web.operations import BODY_ERRORS, CHANGE_ERRORS, NOBODY, Operation
from penchant.web.parameters import CONFIRM, MIN_VERSION


def _list_operations(kind: ListKind) -> tuple[Operation, ...]:
    """Return the operations that read, replace and empty a list."""
    path = "/{source}/" + kind.value
    title = kind.value.capitalize()
    return (
        Operation(
            method="GET",
            path=path,
            name=f"get{title}",
            summary=f"Read the {kind.value}.",
            handler=curation.read_list(kind),
            tag="curation",
            about=NOBODY,
            scope=Scope.WRITE,
            feature=Feature.LISTS,
            parameters=(MIN_VERSION,),
            answer="IdArray",
        ),
        Operation(
            method="PUT",
            path=path,
            name=f"put{title}",
            summary=f"Replace the {kind.value}: up to 10,000 ids, order kept.",
            handler=curation.replace_list(kind),
            tag="curation",
            about=NOBODY,
            scope=Scope.WRITE,
            feature=Feature.LISTS,
            media_types=(JSON,),
            body="IdArray",
            answer="IdArray",
            errors=("too-many-entries", *BODY_ERRORS, *CHANGE_ERRORS),
        ),
        Operation(
            method="DELETE",
            path=path,
            name=f"delete{title}",
            summary=f"Empty the {kind.value}.",
            handler=curation.empty_list(kind),
            tag="curation",
            about=NOBODY,
            scope=Scope.WRITE,
            feature=Feature.LISTS,
            answer="IdArray",
            errors=CHANGE_ERRORS,
        ),
    )


CURATION = (
    *_list_operations(ListKind.WHITELIST),
    *_list_operations(ListKind.BLACKLIST),
    Operation(
        method="GET",
        path="/{source}/settings",
        name="getSettings",
        summary="Read the settings of the source.",
        handler=curation.read_settings,
        tag="curation",
        about=NOBODY,
        scope=Scope.WRITE,
        parameters=(MIN_VERSION,),
        answer="Settings",
    ),
    Operation(
        method="PUT",
        path="/{source}/settings",
        name="putSettings",
        summary="Replace the settings; members left out return to their defaults.",
        handler=curation.replace_settings,
        tag="curation",
        about=NOBODY,
        scope=Scope.WRITE,
        media_types=(JSON,),
        body_kind=SETTINGS_BODY,
        body="Settings",
        answer="Settings",
        errors=(*BODY_ERRORS, *CHANGE_ERRORS),
    ),
    Operation(
        method="GET",
        path="/{source}",
        name="getSource",
        summary="Where the source stands: pieces, versions, times.",
        handler=content.status,
        tag="source",
        about=NOBODY,
        in_browsers=True,
        scope=Scope.READ,
        parameters=(MIN_VERSION,),
        answer="SourceStatus",
    ),
    Operation(
        method="DELETE",
        path="/{source}",
        name="deleteSource",
        summary="Delete the source with everything in it.",
        handler=content.delete_source,
        deletes_pieces=True,
        tag="source",
        about=NOBODY,
        scope=Scope.WRITE,
        status=202,
        parameters=(CONFIRM,),
        answer="EmptyArray",
        errors=CHANGE_ERRORS,
    ),
)
