"""Signed people: how a server vouches for the person in whose name a browser key asks.

``{user id, percent-encoded}.{expiry}.{HMAC-SHA256 over "user id.expiry", base64url without padding}``, the expiry in
seconds since 1970, the key of the HMAC being the account's signing secret as it was printed (interface, section 2).
"""

import base64
import hashlib
import hmac
from urllib.parse import quote, unquote

MAX_SIGNED_S = 24 * 3_600
"""How long a person may be signed at most: what a page has lost then is worth nothing a day later."""
MAX_SIGNED_LENGTH = 8_000
"""Characters of a signed person that are looked at: an id of 500 characters, each of 12 when encoded, and the rest."""
_MAX_DIGITS = 12


def sign_user(user_id: str, secret: str, expires_at: int) -> str:
    """Return a person's id, signed until a moment in seconds since 1970."""
    return f"{quote(user_id, safe='')}.{expires_at}.{_signature(user_id, secret, str(expires_at))}"


def signed_user(signed: str, secret: str, now: float) -> str | None:
    """Return the person who is signed; ``None`` where it is not by this secret, over, or for longer than may be."""
    # From the right: an id may hold dots, which percent-encoding leaves as they are.
    parts = signed.rsplit(".", 2) if len(signed) <= MAX_SIGNED_LENGTH and signed.isascii() else []
    if len(parts) != 3 or not parts[1].isdecimal() or len(parts[1]) > _MAX_DIGITS:
        return None
    try:
        user_id = unquote(parts[0], errors="strict")
    except UnicodeDecodeError:
        return None
    expected = _signature(user_id, secret, parts[1])
    # In constant time, and before the expiry is looked at: neither tells how much of a guess was right.
    is_ours = hmac.compare_digest(parts[2].rstrip("=").encode(), expected.encode())
    return user_id if is_ours and now < int(parts[1]) <= now + MAX_SIGNED_S else None


def _signature(user_id: str, secret: str, expiry: str) -> str:
    digest = hmac.digest(secret.encode(), f"{user_id}.{expiry}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
