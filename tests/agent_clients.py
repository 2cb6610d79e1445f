"""The official Python client of the Model Context Protocol, which asks a service through whatever asks it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import starlette.testclient  # noqa: F401  # before httpx2 can be found

if sys.modules.get("httpx2", ...) is None:
    del sys.modules["httpx2"]

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CALL_S = 60
"""How long the client waits for an answer."""


class Bridge(httpx2.AsyncBaseTransport):  # type: ignore[misc]  # its types are not looked at
    """Takes requests of the official client to a service by a client of ours, wherever that leads."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return what the service answers, asked in a thread."""
        content = await request.aread()
        answer = await asyncio.to_thread(
            self._client.request, request.method, request.url.path, content=content, headers=dict(request.headers)
        )
        headers = {"content-type": answer.headers.get("content-type", "")}
        return httpx2.Response(answer.status_code, headers=headers, content=answer.content)


@asynccontextmanager
async def client_of(service: httpx.Client, key: str, mode: str) -> AsyncIterator[Client]:
    """Return the official client, in a mode of beginning: a version, ``legacy``, or ``auto`` for the newest of both."""
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(transport=Bridge(service), headers=headers) as http:
        transport = streamable_http_client("http://service/-/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=CALL_S) as client:
            yield client
