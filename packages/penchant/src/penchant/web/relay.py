"""Relay: requests of accounts that take most of a worker are answered by another process of the service (D236).

A worker hands on what it was asked, and what it is answered, over a Unix socket: messages of ASGI in msgpack, each
behind its length. A request has a connection of its own:

    worker                         helper
      connect ------------------->
           <--------- ready -------- has accepted it; nothing was handed on before
      request (the scope) -------->  runs the application
           <--------- pull --------- the application receives
      http.request, disconnect --->
           <--- http.response.* ---- the application sends
           <---------- end --------- the application has returned
      (closes) ------------------->

The application there is the worker's own: it checks keys, counts rates, quota and metrics, and follows the database as
every worker does. Where no helper is ready in time the worker answers by itself. The helper never closes first: what it
has not read would have the system throw away what it has sent.
"""

import asyncio
import contextlib
import socket
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penchant.errors import StorageUnavailable
from penchant.telemetry import logger

READY_S = 60.0
"""How long a helper may take to accept a request: answered here after 10 s, a crowd of them came back to the worker."""
FINISHING_S = 5.0
"""How long a helper that is to end may finish what is under way; the workers have ended before it."""
_LENGTH_BYTES = 4
_READ_BYTES = 1 << 16
_HANDED_ON = (
    "type", "method", "path", "raw_path", "query_string", "root_path", "headers", "client", "server", "scheme",
    "http_version", "asgi",
)  # fmt: skip
"""What of a scope an application goes by."""


class HelperLost(StorageUnavailable):
    """The process that was to answer has ended; nothing of the request is certain to be stored."""


class _Messages:
    """Messages over a connection, in both directions; its end is ``None``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: Message) -> None:
        """Send a message, and wait while the other side takes in nothing."""
        encoded = msgspec.msgpack.encode(message)
        self._writer.write(len(encoded).to_bytes(_LENGTH_BYTES) + encoded)
        await self._writer.drain()

    async def receive(self) -> Message | None:
        """Return the next message, ``None`` where there is none any more."""
        try:
            size = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES))
            return msgspec.msgpack.decode(await self._reader.readexactly(size), type=dict[str, Any])
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def end(self) -> None:
        """Say that this was all, and wait for the other side to close."""
        await self.send({"type": "end"})
        while await self._reader.read(_READ_BYTES):
            pass

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


class Relay:
    """Hands requests of heavy accounts on to the helper that listens at a path."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Have the helper answer a request; return whether it does, or nothing was handed on.

        Raises:
            HelperLost: it has ended before it answered.
            ConnectionError: it ended in the middle of its answer.
        """
        messages = await self._ready()
        if messages is None:
            return False
        try:
            await _hand_on(messages, scope, receive, send)
        finally:
            messages.close()
        return True

    async def _ready(self) -> _Messages | None:
        """Return a connection that the helper has accepted, ``None`` where it does not."""
        try:
            messages = _Messages(*await asyncio.open_unix_connection(self._path))
        except OSError:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_S):
                if await messages.receive() is not None:
                    return messages
        messages.close()
        return None


async def _hand_on(messages: _Messages, scope: Scope, receive: Receive, send: Send) -> None:
    """Hand on a request to a helper that is ready, and its answer to the client."""
    pulled: set[asyncio.Task[None]] = set()

    async def pull() -> None:
        # A helper that has ended is noticed where its answer is read.
        with contextlib.suppress(ConnectionError):
            await messages.send(await receive())

    is_begun = False
    try:
        with contextlib.suppress(ConnectionError):
            await messages.send({name: scope[name] for name in _HANDED_ON if name in scope})
        while (message := await messages.receive()) is not None:
            if message["type"] == "pull":
                pulling = asyncio.create_task(pull())
                pulled.add(pulling)
                pulling.add_done_callback(pulled.discard)
            elif message["type"] == "end":
                return
            else:
                is_begun = True
                await send(message)
    finally:
        for pulling in pulled:
            pulling.cancel()
    if not is_begun:
        raise HelperLost(
            "The process that was to answer has ended; a change may or may not be stored. Send it again.",
            retry_after_s=1,
        )
    raise ConnectionError("the answer was cut short")


async def serve_relayed(application: ASGIApp, listening: socket.socket, ended: asyncio.Event) -> None:
    """Answer what workers hand on, until it is to end; what is under way then is finished."""
    under_way: set[_Messages] = set()
    idle = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        under_way.add(messages := _Messages(reader, writer))
        try:
            await _answer(application, messages)
        except Exception:  # noqa: BLE001  # the process must outlive any request
            logger.exception("a relayed request failed")
        finally:
            messages.close()
            under_way.discard(messages)
            idle.set()

    server = await asyncio.start_unix_server(accept, sock=listening)
    await ended.wait()
    server.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(FINISHING_S):
            while under_way:
                idle.clear()
                await idle.wait()


async def _answer(application: ASGIApp, messages: _Messages) -> None:
    with contextlib.suppress(ConnectionError):
        await messages.send({"type": "ready"})
        # None: the worker has given up waiting, and answers by itself.
        scope = await messages.receive()
        if scope is None:
            return
        # As a server program has them: what was answered to the same ones is found by them.
        scope["headers"] = [(name, value) for name, value in scope["headers"]]
        pulled: asyncio.Task[Message | None] | None = None

        async def receive() -> Message:
            nonlocal pulled
            if pulled is None:
                await messages.send({"type": "pull"})
                pulled = asyncio.create_task(messages.receive())
            # What a cancelled call waited for the next one gets.
            message = await asyncio.shield(pulled)
            pulled = None
            return message or {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            try:
                await messages.send(message)
            except ConnectionError:
                raise ClientDisconnect from None

        try:
            await application(scope, receive, send)
        finally:
            if pulled is not None:
                pulled.cancel()
                # Or two would read at once.
                await asyncio.wait((pulled,))
        await messages.end()
