"""A client of the service for Python programs, blocking or not.

It speaks the interface over HTTP alone, and needs nothing of the service: its records are generated from those there.
"""

from penchant_client import problems
from penchant_client.async_client import AsyncClient
from penchant_client.blocking_client import Client
from penchant_client.errors import (
    ClientError,
    ConnectionLost,
    Forbidden,
    InvalidArgument,
    NotAcceptable,
    NotFound,
    ServiceError,
    TooManyRequests,
    Unavailable,
    UnreadableAnswer,
)
from penchant_client.exchange import Retries
from penchant_client.problems import *  # noqa: F403  # generated: one for each that the interface names
from penchant_client.records import (
    Interaction,
    InteractionType,
    Likings,
    PageList,
    PersonPreferences,
    Piece,
    Placement,
    PlacementVariant,
    Scope,
    SeenList,
    SeenPiece,
    Settings,
)
from penchant_client.requests import Algorithm
from penchant_client.signing import sign_user
from penchant_client.tables import to_frame
from penchant_client.version import __version__

__all__ = [
    "Algorithm",
    "AsyncClient",
    "Client",
    "ClientError",
    "ConnectionLost",
    "Forbidden",
    "Interaction",
    "InteractionType",
    "InvalidArgument",
    "Likings",
    "NotAcceptable",
    "NotFound",
    "PageList",
    "PersonPreferences",
    "Piece",
    "Placement",
    "PlacementVariant",
    "Retries",
    "Scope",
    "SeenList",
    "SeenPiece",
    "ServiceError",
    "Settings",
    "TooManyRequests",
    "Unavailable",
    "UnreadableAnswer",
    "__version__",
    "sign_user",
    "to_frame",
]
__all__ += problems.__all__
