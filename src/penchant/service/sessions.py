"""Sessions of signed-in browsers: tokens that hold a key's secret, masked, instead of the key itself.

The mask is derived from the hash that the database keeps of the secret. So a stolen token gives no key, a stolen
database gives no token, and every process and node can read tokens without sharing more. A token is valid if the
unmasked secret has that hash; changing its end, salt or key id changes the mask (D63 of docs/decisions.md).

    token    key id . salt . ends at . seen at . secret XOR mask
    mask     BLAKE2b, keyed with the secret's hash, of "salt.ends at.seen at"
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from penchant.errors import Unauthenticated
from penchant.model import Scope
from penchant.service.access import Access, AccessControl

SESSION_S = 12 * 3600
"""How long a browser stays signed in at most: a working day."""
IDLE_S = 3600
"""How long it stays signed in without a request."""
RENEWED_AFTER_S = 300
"""The age from which a token is replaced by the next request: not with each, so that pages in parallel agree."""
_SALT_BYTES = 16
_MASK = b"penchant mask"
_PROOF = b"penchant proof"
"""Personalisation of BLAKE2b, so that the mask and the proof are never the same bytes."""
_MAX_SECRET = hashlib.blake2b.MAX_DIGEST_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that is signed in: who it is, its token, and the proof that its forms carry."""

    access: Access
    token: str
    proof: str
    session_id: str
    ends_at: int
    """The moment, in seconds since 1970, at which the session ends whatever is done."""
    renewed: str | None = None
    """The token to go on with, where this one is old."""


class Sessions:
    """Makes and reads the tokens of signed-in browsers; keeps nothing."""

    def __init__(self, access: AccessControl, *, clock: Callable[[], float] = time.time) -> None:
        self._access = access
        self._clock = clock

    async def begin(self, key: str) -> Session:
        """Return a new session for the holder of a key.

        Raises:
            Unauthenticated: the key is unknown, revoked or expired.
        """
        access = await self._access.authenticate([key])
        secret = key.split("_")[2].encode()
        # A mask is one digest, and has no more bytes.
        if len(secret) > _MAX_SECRET:
            raise Unauthenticated("The API key is not known.")
        now = int(self._clock())
        stamp = f"{secrets.token_hex(_SALT_BYTES)}.{now + SESSION_S}.{now}"
        return await self.read(_token(access.key_id, stamp, secret, await self._hash(access.key_id)))

    async def end(self, session: Session) -> None:
        """End a session: its tokens, copied ones as well, are worth nothing from now on."""
        await self._access.end_session(session.session_id, session.ends_at * 1000)

    async def read(self, token: str) -> Session:
        """Return the session of a token.

        Raises:
            Unauthenticated: it is none, or over, or its key is revoked or expired.
        """
        parts = token.split(".")
        if len(parts) != 5 or not token.isascii() or not all(_is_moment(part) for part in parts[2:4]):
            raise Unauthenticated("This browser is not signed in.")
        key_id, salt, ends_at, seen_at, hidden = parts
        now = self._clock()
        # Moments that were tampered with pass here, but change the mask: the secret then comes out wrong.
        if min(int(ends_at), int(seen_at) + IDLE_S) <= now:
            raise Unauthenticated("The session is over; sign in again.")
        try:
            masked = bytes.fromhex(hidden)
        except ValueError:
            raise Unauthenticated("This browser is not signed in.") from None
        if not 0 < len(masked) <= _MAX_SECRET:
            raise Unauthenticated("This browser is not signed in.")
        known = await self._hash(key_id)
        secret = _mixed(masked, _keyed(known, _MASK, f"{salt}.{ends_at}.{seen_at}", len(masked)))
        # As a key in a header: so a revoked or expired key ends its sessions, too.
        access = await self._access.authenticate([f"pk_{key_id}_{secret.decode('latin-1')}"])
        if access.scopes != frozenset(Scope):
            raise Unauthenticated("This key is limited to some scopes; sign in with one that is not.")
        # By the salt, which all tokens of a session share, renewed ones too.
        if await self._access.is_session_ended(salt):
            raise Unauthenticated("The session was ended; sign in again.")
        is_old = now - int(seen_at) >= RENEWED_AFTER_S
        return Session(
            access=access,
            token=token,
            proof=_keyed(known, _PROOF, f"{salt}.{ends_at}", 16).hex(),
            session_id=salt,
            ends_at=int(ends_at),
            renewed=_token(key_id, f"{salt}.{ends_at}.{int(now)}", secret, known) if is_old else None,
        )

    async def _hash(self, key_id: str) -> bytes:
        record = await self._access.find(key_id)
        if record is None:
            raise Unauthenticated("This browser is not signed in.")
        return record.secret_hash


def _is_moment(text: str) -> bool:
    return text.isdecimal() and len(text) <= 12


def _token(key_id: str, stamp: str, secret: bytes, known: bytes) -> str:
    """Return the token of a session whose id, end and last request a stamp has."""
    return f"{key_id}.{stamp}.{_mixed(secret, _keyed(known, _MASK, stamp, len(secret))).hex()}"


def is_same(given: str, expected: str) -> bool:
    """Return whether two proofs are equal, in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _keyed(key: bytes, use: bytes, text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode(), key=key, person=use, digest_size=size).digest()


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
