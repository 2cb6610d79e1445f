"""Shard replica: a shard process as a worker sees it, over one connection; one that is silent is passed by.

    unconnected --scan--> connecting --> connected --(scans go out together with all others of a turn of the loop)
         ^                    |              |
         '---- passed by for `PASSED_S` <----'   refused, closed, or silent for `SILENCE_S` while it owes an answer

For the event loop only.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import cast

from penchant.live.shard_messages import (
    MAGIC,
    NONCE_BYTES,
    BrokenMessage,
    ScanAnswer,
    ScanOutcome,
    ShardMessage,
    StateAnswer,
    StateRequest,
    encode_message,
    proof,
    read_message,
)
from penchant.live.silence import SilenceWatch
from penchant.telemetry import logger

CONNECT_S = 0.25
SILENCE_S = 0.25
"""How long a process may owe answers without giving any: a scan takes milliseconds, and a stopped one gives none."""
PASSED_S = 3.0
"""For how long it is not asked then."""


class ReplicaLost(Exception):
    """A shard process does not answer."""


@dataclass(slots=True)
class _ReplicaConnection:
    """An open connection, what waits to be sent in this turn of the event loop, and who waits for which answer."""

    writer: asyncio.StreamWriter
    watch: SilenceWatch
    waiting: dict[int, asyncio.Future[ScanAnswer | StateAnswer]]
    outgoing: list[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaContact:
    """Since when a process answers, or is passed by, and why; moments in seconds since 1970, as one worker saw them."""

    since: float
    reason: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether it is passed by."""
        return bool(self.reason)


class ShardReplica:
    """One of the processes that can scan a shard's segments; ``failed`` is called whenever it is passed by."""

    def __init__(
        self,
        host: str,
        port: int,
        token: bytes,
        *,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = f"{host}:{port}"
        self._host, self._port, self._token = host, port, token
        self._failed = failed
        self._connection: _ReplicaConnection | None = None
        self._connecting: asyncio.Task[_ReplicaConnection | None] | None = None
        self._reading: set[asyncio.Task[None]] = set()
        self._passed_until = 0.0
        self.contact: ReplicaContact | None = None
        """``None`` until it has been asked."""
        self.answered_at: float | None = None
        """When it answered last, in seconds since 1970."""

    @property
    def is_away(self) -> bool:
        """Whether it was lost, and is not connected again."""
        return self._connection is None and self.contact is not None and self.contact.is_lost

    def check(self) -> bool:
        """Return whether it may be asked."""
        return time.monotonic() >= self._passed_until

    def close(self) -> None:
        """Close the connection; whoever waits for an answer gets none."""
        self._end("the connection is closed")
        for task in (*self._reading, *([] if self._connecting is None else [self._connecting])):
            task.cancel()

    def begin_connecting(self) -> None:
        """Begin to connect, where it is not connected and may be asked."""
        if self._connection is None and self.check():
            self._under_way()

    async def hold(self) -> None:
        """Be connected, where it may be asked."""
        if self._connection is None and self.check():
            with contextlib.suppress(ReplicaLost):
                await self._connected()

    async def ask(self, number: int, *messages: ShardMessage) -> ScanAnswer:
        """Return the answer to the scan of this number, the last of some messages.

        Raises:
            ReplicaLost: there is none; the replica is passed by for a while.
        """
        return cast("ScanAnswer", await self._exchange(number, messages))

    async def ask_state(self, request: StateRequest) -> StateAnswer:
        """Return the segments that it holds; the number is no scan's.

        Raises:
            ReplicaLost: as `ask`.
        """
        return cast("StateAnswer", await self._exchange(request.number, [request]))

    async def _exchange(self, number: int, messages: Sequence[ShardMessage]) -> ScanAnswer | StateAnswer:
        """Return what the last of some messages is answered with."""
        connection = self._connection or await self._connected()
        if not connection.waiting:
            connection.watch.begin()
        answer: asyncio.Future[ScanAnswer | StateAnswer] = asyncio.get_running_loop().create_future()
        connection.waiting[number] = answer
        if not connection.outgoing:
            asyncio.get_running_loop().call_soon(self._send, connection)
        connection.outgoing += [encode_message(message) for message in messages]
        return await answer

    async def _connected(self) -> _ReplicaConnection:
        """Return a new connection, the same for all who wait for it; whoever gives up ends it for nobody."""
        connection = await asyncio.shield(self._under_way())
        if connection is None:
            raise ReplicaLost(self.address)
        return connection

    def _under_way(self) -> "asyncio.Task[_ReplicaConnection | None]":
        """Return what connects, begun now where nothing does."""
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._connect())
        return self._connecting

    async def _connect(self) -> _ReplicaConnection | None:
        """Return a new connection; ``None`` where there can be none, which is noted."""
        writer, greeting = None, b""
        try:
            async with _patience(CONNECT_S):
                reader, writer = await asyncio.open_connection(self._host, self._port)
                greeting = await reader.readexactly(len(MAGIC) + NONCE_BYTES)
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            if writer is not None:
                writer.close()
            raise
        if writer is None or not greeting.startswith(MAGIC):
            if writer is not None:
                writer.close()
            self._pass_by("it is of another release" if greeting else "it cannot be reached")
            return None
        writer.write(proof(self._token, greeting[len(MAGIC) :]))
        watch = SilenceWatch(SILENCE_S, lambda: self._pass_by("it is silent"))
        connection = self._connection = _ReplicaConnection(writer, watch, {}, [])
        task = asyncio.create_task(self._read(reader, connection))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)
        return connection

    def _send(self, connection: _ReplicaConnection) -> None:
        """Send what has gathered in a turn of the event loop, in one piece."""
        together, connection.outgoing = b"".join(connection.outgoing), []
        if connection is self._connection:
            connection.writer.write(together)

    async def _read(self, reader: asyncio.StreamReader, connection: _ReplicaConnection) -> None:
        """Hand answers to those who wait for them, until the connection ends."""
        try:
            while True:
                message = await read_message(reader)
                self.answered_at = time.time()
                if self.contact is None or self.contact.is_lost:
                    if self.contact is not None:
                        logger.info("a shard process answers again", extra={"fields": {"address": self.address}})
                    self.contact = ReplicaContact(since=self.answered_at)
                under_way = isinstance(message, ScanAnswer) and message.outcome is ScanOutcome.UNDER_WAY
                if isinstance(message, ScanAnswer | StateAnswer) and not under_way:
                    answer = connection.waiting.pop(message.number, None)
                    if answer is not None and not answer.done():
                        answer.set_result(message)
                # An answer is owed since something came last, or since it was asked where nothing was owed before.
                if connection.waiting:
                    connection.watch.begin()
                else:
                    connection.watch.end()
        except (asyncio.IncompleteReadError, OSError, BrokenMessage):
            if connection is self._connection:
                self._pass_by("it has closed the connection")
        finally:
            connection.writer.close()
            with contextlib.suppress(OSError):
                await connection.writer.wait_closed()

    def _pass_by(self, reason: str) -> None:
        """Ask it nothing for a while, and let those know who wait for it."""
        self._passed_until = time.monotonic() + PASSED_S
        self._failed()
        if self.contact is None or not self.contact.is_lost:
            self.contact = ReplicaContact(since=time.time(), reason=reason)
            fields = {"address": self.address, "reason": reason}
            logger.warning("a shard process is passed by", extra={"fields": fields})
        self._end(reason)

    def _end(self, reason: str) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.watch.end()
        # Aborted: a stopped process would find all of it in its buffer when it goes on.
        connection.writer.transport.abort()
        for answer in connection.waiting.values():
            if not answer.done():
                answer.set_exception(ReplicaLost(f"{self.address}: {reason}"))
        connection.waiting.clear()


@contextlib.asynccontextmanager
async def _patience(limit_s: float) -> AsyncIterator[None]:
    """Raise `TimeoutError` once the loop has run for so long within the block."""
    async with asyncio.timeout(None) as timeout:
        watch = SilenceWatch(limit_s, lambda: timeout.reschedule(0))
        watch.begin()
        try:
            yield
        finally:
            watch.end()
