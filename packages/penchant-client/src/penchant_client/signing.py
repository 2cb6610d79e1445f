"""Signed people: how a server vouches for the person in whose name a browser key asks."""

import base64
import hashlib
import hmac
from urllib.parse import quote


def sign_user(user_id: str, secret: str, expires_at: int) -> str:
    """Return a person's id, signed with the account's secret until a moment in seconds since 1970."""
    digest = hmac.digest(secret.encode(), f"{user_id}.{expires_at}".encode(), hashlib.sha256)
    signature = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return f"{quote(user_id, safe='')}.{expires_at}.{signature}"
