"""Routes: all operations of the interface, in its order, and which of them a node serves.

Their rows stand beside their handlers; pages of the dashboard and of the documents are operations too, with a site of
a base path behind them.
"""

from dataclasses import replace

from penchant.settings import NodeSettings
from penchant.web.administration import ADMINISTRATION
from penchant.web.agents import agent_operations
from penchant.web.content import CONTENT
from penchant.web.curation import CURATION
from penchant.web.dashboard import dashboard_operations
from penchant.web.documents import document_operations
from penchant.web.drafts import DRAFTS
from penchant.web.example import example_operations
from penchant.web.explanations import EXPLANATIONS
from penchant.web.operations import Operation
from penchant.web.people import PEOPLE
from penchant.web.placements import IMPRESSIONS, PLACEMENTS
from penchant.web.recommendations import PLAIN_LISTS, RECOMMENDATIONS
from penchant.web.system import COVER, SYSTEM

OPERATIONS: tuple[Operation, ...] = (
    *SYSTEM,
    *ADMINISTRATION,
    *CONTENT,
    *RECOMMENDATIONS,
    *PEOPLE,
    *PLAIN_LISTS,
    *PLACEMENTS,
    *EXPLANATIONS,
    *CURATION,
    *DRAFTS,
    *IMPRESSIONS,
)
"""The operations that the interface describes; the OpenAPI document adds itself and the documents."""


def _beside(name: str, path: str) -> Operation:
    """Return the operation of this name as it is served at another path."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    return replace(operation, path=path)


LEGACY_OPERATIONS = (
    _beside("submitContent", "/{source}"),
    _beside("submitContent", "/{source}/"),
    _beside("listIds", "/{source}/"),
    _beside("recordInteraction", "/{source}/users/{userID}/{type}/{contentID}"),
)
"""The paths of the interface's beta, for clients that know no others; they are in no document."""


def served_operations(settings: NodeSettings) -> tuple[Operation, ...]:
    """Return every operation that a node serves: those of the beta, the dashboard and administration are settings."""
    base_path = settings.base_path
    operations = (*document_operations(OPERATIONS, base_path), *OPERATIONS)
    if not settings.administration:
        operations = tuple(operation for operation in operations if not operation.admin)
    return (
        *operations,
        COVER,
        *(dashboard_operations(base_path) if settings.dashboard else ()),
        *example_operations(base_path, pages=settings.example),
        *(agent_operations(OPERATIONS) if settings.mcp else ()),
        *(LEGACY_OPERATIONS if settings.legacy_paths else ()),
    )
