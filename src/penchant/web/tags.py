"""ETags: how a client finds out that an answer is still the same. Weak ones, as answers are compressed on the way."""

import hashlib

from penchant.storage import SourceHead

_TAG_BYTES = 12
"""Length of a tag's hash: 96 bits, so that two answers never share one by chance (D10 of docs/decisions.md)."""


def body_tag(body: bytes, key: bytes = b"") -> str:
    """Return the tag of a body itself, for what changes without a new version, or not with every one.

    What belongs to an account has its key (`Call.tag_key`): equal bodies of two accounts have different tags, and by
    no tag anybody finds out what else has which body.
    """
    return hashlib.blake2b(body, digest_size=_TAG_BYTES, key=key).hexdigest()


def version_tag(head: SourceHead, key: bytes, *more: object) -> str:
    """Return the tag of what follows from a source's version and the request alone, for streamed lists."""
    parts = (head.source_id, head.incarnation, head.epoch, head.version, *more)
    return body_tag("-".join(map(str, parts)).encode(), key)
