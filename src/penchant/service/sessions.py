"""How does a browser stay signed in without holding the key? By a token that holds the key's secret, masked.

The mask comes from the hash that the database keeps of the secret. So whoever steals a token has no key, whoever
reads the database can make no token, and every process and node understands it with nothing more to share. What a
token says is right if the unmasked secret has that hash; a changed end, number or key gives another mask.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from penchant.errors import Unauthenticated
from penchant.service.access import Access, AccessControl

SESSION_S = 12 * 3600
"""How long a browser stays signed in: a working day."""
_SALT_BYTES = 16
_MASK = b"penchant mask"
_PROOF = b"penchant proof"
"""What the two uses of a hash are told apart by."""
_MAX_SECRET = hashlib.blake2b.MAX_DIGEST_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that is signed in: who it is, its token, and the proof that its forms carry."""

    access: Access
    token: str
    proof: str


class Sessions:
    """Makes and reads the tokens of signed-in browsers; keeps nothing."""

    def __init__(self, access: AccessControl, *, clock: Callable[[], float] = time.time) -> None:
        self._access = access
        self._clock = clock

    async def begin(self, key: str) -> Session:
        """Return a session of whoever has a key.

        Raises:
            Unauthenticated: the key is unknown, revoked or expired.
        """
        access = await self._access.authenticate([key])
        secret = key.split("_")[2].encode()
        if len(secret) > _MAX_SECRET:
            raise Unauthenticated("The API key is not known.")
        salt = secrets.token_hex(_SALT_BYTES)
        until = int(self._clock()) + SESSION_S
        mask = _keyed(await self._hash(access.key_id), _MASK, f"{salt}.{until}", len(secret))
        token = f"{access.key_id}.{salt}.{until}.{_mixed(secret, mask).hex()}"
        return await self.read(token)

    async def read(self, token: str) -> Session:
        """Return the session of a token.

        Raises:
            Unauthenticated: it is none, or over, or its key is revoked or expired.
        """
        parts = token.split(".")
        if len(parts) != 4 or not token.isascii() or not parts[2].isdecimal() or len(parts[2]) > 12:
            raise Unauthenticated("This browser is not signed in.")
        key_id, salt, until, hidden = parts
        if int(until) <= self._clock():
            raise Unauthenticated("The session is over; sign in again.")
        try:
            masked = bytes.fromhex(hidden)
        except ValueError:
            raise Unauthenticated("This browser is not signed in.") from None
        if not 0 < len(masked) <= _MAX_SECRET:
            raise Unauthenticated("This browser is not signed in.")
        known = await self._hash(key_id)
        secret = _mixed(masked, _keyed(known, _MASK, f"{salt}.{until}", len(masked)))
        access = await self._access.authenticate([f"pk_{key_id}_{secret.decode('latin-1')}"])
        return Session(access=access, token=token, proof=_keyed(known, _PROOF, f"{salt}.{until}", 16).hex())

    async def _hash(self, key_id: str) -> bytes:
        record = await self._access.find(key_id)
        if record is None:
            raise Unauthenticated("This browser is not signed in.")
        return record.secret_hash


def is_same(given: str, expected: str) -> bool:
    """Return whether two proofs are the same, in a time that tells nothing of them."""
    return hmac.compare_digest(given.encode(), expected.encode())


def _keyed(key: bytes, use: bytes, text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode(), key=key, person=use, digest_size=size).digest()


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
