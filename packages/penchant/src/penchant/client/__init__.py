"""A client of the service for Python programs, blocking or not: the extra ``client``.

It speaks the interface over HTTP alone, and shares nothing with a service but the records in which both write it.
"""

from penchant import __version__
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
from penchant.client.requests import Algorithm
from penchant.wire import InteractionType, PersonPreferences, Scope, sign_user
from penchant.wire.frames import to_frame
from penchant.wire.pieces import Piece
from penchant.wire.placements import PageList, Placement, PlacementVariant
from penchant.wire.preferences import Likings
from penchant.wire.recording import Interaction, SeenList, SeenPiece
from penchant.wire.settings import Settings

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
