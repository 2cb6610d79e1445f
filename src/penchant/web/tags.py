"""ETags: how a client finds out that an answer is still the same. Weak ones, as answers are compressed on the way."""

import hashlib

from penchant.storage import SourceHead

_TAG_BYTES = 12
"""Length of a body's hash: 96 bits, so that two bodies never share one by chance (D10 of docs/decisions.md)."""


def body_tag(body: bytes, account_id: int | None = None) -> str:
    """Return the tag of a body itself, for what changes without a new version, or not with every one.

    With the account that reads it, equal bodies of two accounts have different tags.
    """
    key = b"" if account_id is None else account_id.to_bytes(8, "big", signed=True)
    return hashlib.blake2b(body, digest_size=_TAG_BYTES, key=key).hexdigest()


def version_tag(head: SourceHead, *more: object) -> str:
    """Return the tag of what follows from a source's version and the request alone, for streamed lists."""
    parts = (head.account_id, head.source_id, head.incarnation, head.epoch, head.version, *more)
    return "-".join(f"{part:x}" if isinstance(part, int) else str(part) for part in parts)
