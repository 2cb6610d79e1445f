"""A client of the service for Python programs, blocking or not: the extra ``client``.

It speaks the interface over HTTP alone, and needs nothing of the service: its records are generated from those there.
"""

from penchant.client import problems
from penchant.client.async_client import AsyncClient
from penchant.client.blocking_client import Client
from penchant.client.errors import (
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
from penchant.client.exchange import Retries
from penchant.client.problems import *  # noqa: F403  # generated: one for each that the interface names
from penchant.client.records import (
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
from penchant.client.requests import Algorithm
from penchant.client.signing import sign_user
from penchant.client.tables import to_frame
from penchant.client.version import __version__

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
