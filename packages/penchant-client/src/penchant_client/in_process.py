"""A client of a service in this process: an ASGI application, asked without a connection."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx

from penchant_client.async_client import AsyncClient
from penchant_client.exchange import Retries

Event = MutableMapping[str, Any]
Application = Callable[[Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]]
ADDRESS = "http://service"
"""What the service is called there; no request leaves the process."""


def in_process_client(application: Application, key: str = "") -> AsyncClient:
    """Return a client that sends its requests to an application, each once.

    Nothing has to be closed. Applications that packages mount get theirs with a request, and need no key for it.
    """
    http = httpx.AsyncClient(transport=httpx.ASGITransport(application), trust_env=False)
    return AsyncClient(ADDRESS, key, http=http, retries=Retries(attempts=1))
