"""Alone, before a service elsewhere: sessions are in memory, each with its key, and requests go over HTTP.

A restart signs everybody out. One process serves: sessions are seen by no other.
"""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from penchant_client import AsyncClient, Retries, ServiceError
from penchant_desk.application import DeskApplication
from penchant_desk.problems import NOT_SIGNED_IN, PageProblem
from penchant_desk.requests import Receive, Scope, Send
from penchant_desk.sessions import DeskSession, rights

SESSION_S = 12 * 3600
"""How long a browser stays signed in at most: a working day."""
IDLE_S = 3600
"""How long it stays signed in without a request."""
MAX_SESSIONS = 10_000
"""Sessions at once; of more the oldest end."""
_PAGE_SCOPES = frozenset({"read", "personal", "write"})
"""What pages read with the key itself: settings and previews are for keys that write."""
_ID_BYTES = 32


@dataclass(slots=True)
class KeySession:
    """A session in memory: what asks with its key, when it was seen last, and when it ends, in seconds."""

    client: AsyncClient
    seen_at: float
    ends_at: float


class AloneDesk:
    """The desk of a service at an address, as an ASGI application of its own."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self._clock = clock
        self.anybody = self.client("")
        self._sessions: dict[bytes, KeySession] = {}
        self._application = DeskApplication(lambda scope: AloneEntrance(self, is_secure=scope["scheme"] == "https"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or the start and the end of the process."""
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            await self._application(scope, receive, send)

    def client(self, key: str) -> AsyncClient:
        """Return a client that asks the service with a key; pages are not kept waiting by many attempts."""
        return AsyncClient(self.url, key, retries=Retries(attempts=2))

    async def keep(self, client: AsyncClient) -> str:
        """Return the id of a new session, whose key a client has."""
        token, now = secrets.token_hex(_ID_BYTES), self._clock()
        over = [each for each, session in self._sessions.items() if session.ends_at <= now]
        # In the order of their beginnings, as dicts are.
        for each in over or list(self._sessions)[: max(0, len(self._sessions) - MAX_SESSIONS + 1)]:
            await self._sessions.pop(each).client.aclose()
        self._sessions[_hash(token)] = KeySession(client, now, now + SESSION_S)
        return token

    def find(self, token: str) -> AsyncClient | None:
        """Return what asks for a session, seen now; ``None`` where there is none, or it is over."""
        now, session = self._clock(), self._sessions.get(_hash(token))
        if session is None or min(session.ends_at, session.seen_at + IDLE_S) <= now:
            return None
        session.seen_at = now
        return session.client

    async def forget(self, token: str) -> None:
        """End a session; again is no error."""
        session = self._sessions.pop(_hash(token), None)
        if session is not None:
            await session.client.aclose()


class AloneEntrance:
    """A request that came to a desk of its own."""

    base_path = ""
    image_hosts: Collection[str] = ()
    sign_out_at: str | None = None
    shows_metrics = False

    def __init__(self, desk: AloneDesk, *, is_secure: bool) -> None:
        self._desk = desk
        self.is_secure = is_secure

    async def enter(self) -> None:
        """Begin at once: the service looks after itself."""

    def named(self, account_mark: str) -> DeskSession | None:
        """Return nobody: people whom a proxy names come to the service."""
        del account_mark
        return None

    async def read(self, token: str) -> DeskSession:
        """Return the session of a key."""
        client = self._desk.find(token) if token else None
        if client is None:
            raise _not_signed_in("This browser is not signed in.")
        return await _session(client, token)

    async def begin(self, key: str) -> DeskSession:
        """Return a new session of a key."""
        if not key.isascii() or not key.isprintable():
            raise _not_signed_in("The API key does not look like one (pk_<id>_<secret>).")
        client = self._desk.client(key)
        try:
            session = _require_pages(await _session(client, ""))
        except Exception:
            await client.aclose()
            raise
        token = await self._desk.keep(client)
        return replace(session, token=token, proof=_proof(token))

    async def end(self, token: str) -> None:
        """End a session."""
        await self._desk.forget(token)

    async def count(self, session: DeskSession) -> None:
        """Count nothing: the service counts each request that it gets."""

    def client(self, session: DeskSession) -> AsyncClient:
        """Return what asks the service with the key of a session."""
        client: AsyncClient = session.caller or self._desk.anybody
        return client

    def problem(self, error: Exception) -> PageProblem | None:
        """Return that nobody foresaw an error."""
        del error
        return None


async def _session(client: AsyncClient, token: str) -> DeskSession:
    """Return what the key of a client may do at this moment."""
    try:
        own, service = await asyncio.gather(client.own_key(), client.version())
    except ServiceError as error:
        # A browser key comes from no page here.
        if error.code not in {NOT_SIGNED_IN, "origin-not-allowed"}:
            raise
        raise _not_signed_in(error.detail) from None
    packages = service.packages.keys()
    return DeskSession(**rights(own), token=token, proof=_proof(token), caller=client, packages=packages)


def _require_pages(session: DeskSession) -> DeskSession:
    """Return a session that may look at the pages."""
    if not session.scopes >= _PAGE_SCOPES:
        raise _not_signed_in(
            "This key is limited to other scopes; to sign in here one needs read, personal and write. Keys that only "
            "look on sign in at the dashboard of the service itself."
        )
    return session


def _not_signed_in(detail: str) -> PageProblem:
    return PageProblem(401, NOT_SIGNED_IN, "No valid API key", detail)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _proof(token: str) -> str:
    # Not the id itself, which no page may show.
    return hashlib.sha256(b"penchant form " + token.encode()).hexdigest()[:32]
