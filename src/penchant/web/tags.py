"""How does a client know that an answer has not changed? ETags, weak since answers are compressed on the fly."""

import hashlib

from penchant.storage import SourceHead
from penchant.web.operations import Call

_TAG_BYTES = 12
"""Length of a body's hash: 96 bits, so that two bodies never share one by chance."""


def body_tag(call: Call, body: bytes) -> str:
    """Return the tag of a body itself, for answers that change without a new version, or not with every one."""
    account = call.access.account_id.to_bytes(8, "big", signed=True)
    return hashlib.blake2b(body, digest_size=_TAG_BYTES, key=account).hexdigest()


def version_tag(head: SourceHead, *more: object) -> str:
    """Return the tag of what follows from a source's version and the request alone, for streamed lists."""
    parts = (head.account_id, head.source_id, head.incarnation, head.epoch, head.version, *more)
    return "-".join(f"{part:x}" if isinstance(part, int) else str(part) for part in parts)
