"""Sessions of signed-in browsers: each a row of the database, found by the hash of an id that the browser alone has.

A stolen database gives no session, since ids can't be found from their hashes, and a stolen id gives no key. A session
ends with its key, an hour after its last request, twelve hours after its beginning, or when its row is removed.
"""

import contextlib
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import StorageUnavailable, Unauthenticated
from penchant.live.database import AsyncStorage
from penchant.model import Scope
from penchant.service.access import Access, AccessControl
from penchant.storage import SessionRecord

SESSION_S = 12 * 3600
"""How long a browser stays signed in at most: a working day."""
IDLE_S = 3600
"""How long it stays signed in without a request."""
SEEN_AFTER_S = 300
"""How much later than noted a request is noted again: not each one, since that is a write."""
_ID_BYTES = 32
_PROOF = b"penchant form "


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that is signed in: who it is, the id that it has, and the proof that its forms carry."""

    access: Access
    token: str
    proof: str


class Sessions:
    """Begins, finds and ends the sessions of browsers."""

    def __init__(self, database: AsyncStorage, access: AccessControl, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._stored = database.storage.sessions
        self._access = access
        self._clock = clock

    async def begin(self, key: str) -> Session:
        """Return a new session for the holder of a key.

        Raises:
            Unauthenticated: the key is unknown, revoked, expired, or limited to some scopes.
        """
        session = _session(await self._access.authenticate([key]), secrets.token_hex(_ID_BYTES))
        now = self._clock.now_ms()
        record = SessionRecord(_hash_of(session.token), session.access.key_id, now, now + SESSION_S * 1000)
        await self._database.in_thread(self._stored.begin, record)
        return session

    async def end(self, session: Session) -> None:
        """End a session: its id, wherever it was copied to, is worth nothing from now on."""
        await self._database.in_thread(self._stored.end, _hash_of(session.token))

    async def read(self, token: str) -> Session:
        """Return the session of an id.

        Raises:
            Unauthenticated: there is none, or it is over, or its key is revoked or expired.
        """
        if not token:
            raise Unauthenticated("This browser is not signed in.")
        record = await self._database.read(self._stored.find, _hash_of(token))
        now = self._clock.now_ms()
        if record is None or min(record.ends_at, record.seen_at + IDLE_S * 1000) <= now:
            raise Unauthenticated("The session is over; sign in again.")
        session = _session(await self._access.of_key(record.key_id), token)
        if now - record.seen_at >= SEEN_AFTER_S * 1000:
            # A page that can be read is shown, though nothing can be written at the moment.
            with contextlib.suppress(StorageUnavailable):
                await self._database.in_thread(self._stored.see, record.session_hash, now)
        return session


def _session(access: Access, token: str) -> Session:
    if access.scopes != frozenset(Scope):
        raise Unauthenticated("This key is limited to some scopes; sign in with one that is not.")
    # Not the id itself, which no page may show; the hash that is stored does not lead to it.
    return Session(access=access, token=token, proof=hashlib.sha256(_PROOF + token.encode()).hexdigest()[:32])


def _hash_of(token: str) -> bytes:
    """Return the hash under which a session is stored: a fast one is enough for 256 random bits."""
    return hashlib.sha256(token.encode()).digest()


def is_same(given: str, expected: str) -> bool:
    """Return whether two proofs are equal, in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
