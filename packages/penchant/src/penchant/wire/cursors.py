"""Cursors: the text in ``x-penchant-next`` from which a list goes on, made and read without a look-up.

Base64url without padding, at most 2,100 characters for 299 pieces, of these bytes:

    tag        mode     pieces    elsewhere   marks                                    about
    16 bytes   1 byte   2 bytes   2 bytes     5 bytes each, those of pieces first      UTF-8

The tag is an HMAC-SHA256, cut, of what the cursor is bound to (source, request, person), and of all other bytes, which
are hidden by a stream of SHAKE-256 that begins with the tag (an encryption of the kind SIV, RFC 5297): addresses, and
so cursors, get into the logs of proxies, where nobody is to find out from them what somebody was shown. Equal answers
have equal cursors. Nobody makes one, and one is of no use with another request, for another person or account.
"""

import base64
import functools
import hashlib
import hmac
import re
import struct

import msgspec

from penchant_engine.model import MARK_BYTES

_TAG_BYTES = 16
"""128 bits, since tags are also what no two different cursors may share."""
_MODE = 1
_HEAD = struct.Struct(">BHH")
_SHAPE = re.compile(r"[A-Za-z0-9_-]{28,12000}\Z")
_WRONG = (
    "This is no cursor of this request; give the value of the header x-penchant-next as it came, "
    "with the parameters of the request that it came from (take and limit may differ)."
)


class ListCursor(msgspec.Struct, frozen=True, kw_only=True):
    """Where a list goes on: what was ``listed``, in order, and what others beside it show, as marks of the pieces' ids.

    Marks are of `penchant.model.MARK_BYTES` each, one after the other. ``about`` says which list it is where its
    request alone does not.
    """

    listed: bytes = b""
    elsewhere: bytes = b""
    about: str = ""


def encode_cursor(secret: bytes, bound: bytes, cursor: ListCursor) -> str:
    """Return a cursor as text, of use together with the same ``bound`` alone."""
    head = _HEAD.pack(_MODE, len(cursor.listed) // MARK_BYTES, len(cursor.elsewhere) // MARK_BYTES)
    content = head + cursor.listed + cursor.elsewhere + cursor.about.encode()
    tag = _tag(secret, bound, content)
    return base64.urlsafe_b64encode(tag + _hidden(secret, tag, content)).decode().rstrip("=")


def decode_cursor(secret: bytes, bound: bytes, text: str) -> ListCursor:
    """Return what a cursor says.

    Raises:
        ValueError: it is none, or bound to something else; the message is for the caller.
    """
    if not _SHAPE.match(text) or len(text) % 4 == 1:
        raise ValueError(_WRONG)
    encoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    tag = encoded[:_TAG_BYTES]
    content = _hidden(secret, tag, encoded[_TAG_BYTES:])
    # Base64 has several spellings of the same bytes where the last ones are cut.
    is_canonical = base64.urlsafe_b64encode(encoded).decode().rstrip("=") == text
    if not hmac.compare_digest(tag, _tag(secret, bound, content)) or not is_canonical:
        raise ValueError(_WRONG)
    listed_end = 5 + int.from_bytes(content[1:3], "big") * MARK_BYTES
    end = listed_end + int.from_bytes(content[3:5], "big") * MARK_BYTES
    return ListCursor(listed=content[5:listed_end], elsewhere=content[listed_end:end], about=content[end:].decode())


def _tag(secret: bytes, bound: bytes, content: bytes) -> bytes:
    # Lengths first: no bytes of the one are taken for bytes of the other.
    return hmac.digest(secret, b"cursor" + len(bound).to_bytes(8, "big") + bound + content, hashlib.sha256)[:_TAG_BYTES]


def _hidden(secret: bytes, tag: bytes, content: bytes) -> bytes:
    """Return bytes hidden, or hidden ones as they were."""
    # The key in full first, of a fixed length: a sponge that begins with a secret is a keyed function.
    stream = hashlib.shake_256(_hiding_key(secret) + tag).digest(len(content))
    return (int.from_bytes(content, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(content), "big")


@functools.lru_cache(maxsize=8)
def _hiding_key(secret: bytes) -> bytes:
    return hashlib.sha256(b"cursor" + secret).digest()
