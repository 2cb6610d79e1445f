"""Routes: the operations of the service itself, in the interface's order, and which operations a node serves.

Their rows stand beside their handlers.
"""

from dataclasses import replace

from penchant.hooks import packages
from penchant.settings import NodeSettings
from penchant.web.administration import ADMINISTRATION
from penchant.web.content import CONTENT
from penchant.web.curation import CURATION
from penchant.web.documents import OpenApiDocument
from penchant.web.explanations import EXPLANATIONS
from penchant.web.openapi import require_described
from penchant.web.operations import Operation
from penchant.web.people import PEOPLE
from penchant.web.recommendations import PLAIN_LISTS, RECOMMENDATIONS
from penchant.web.system import COVER, ELEMENTS, SYSTEM

CORE_OPERATIONS: tuple[Operation, ...] = (
    *SYSTEM,
    *ADMINISTRATION,
    *CONTENT,
    *RECOMMENDATIONS,
    *PEOPLE,
    *PLAIN_LISTS,
    *EXPLANATIONS,
    *CURATION,
)
"""The operations of the service itself; packages bring others (`penchant.hooks`)."""


def interface_operations() -> tuple[Operation, ...]:
    """Return the operations of the interface: the service's own and those that packages bring.

    Raises:
        BrokenPackage: two have the same method and path, or what one takes and answers is not described.
    """
    operations = packages().operations(CORE_OPERATIONS)
    require_described(operations[len(CORE_OPERATIONS) :])
    return operations


def _beside(name: str, path: str) -> Operation:
    """Return the operation of this name as it is served at another path."""
    operation = next(operation for operation in CORE_OPERATIONS if operation.name == name)
    return replace(operation, path=path)


LEGACY_OPERATIONS = (
    _beside("submitContent", "/{source}"),
    _beside("submitContent", "/{source}/"),
    _beside("listIds", "/{source}/"),
    _beside("recordInteraction", "/{source}/users/{userID}/{type}/{contentID}"),
)
"""The paths of the interface's beta, for clients that know no others; they are in no document."""


def served_operations(settings: NodeSettings) -> tuple[Operation, ...]:
    """Return every operation that a node serves: those of the interface, and what settings add or take away.

    The OpenAPI document adds itself.
    """
    interface = interface_operations()
    return (
        OpenApiDocument(interface, settings.base_path).operation,
        *interface,
        COVER,
        ELEMENTS,
        *(LEGACY_OPERATIONS if settings.legacy_paths else ()),
    )
