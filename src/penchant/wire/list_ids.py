"""List ids: the text in ``x-penchant-list`` that says which list an answer was, made and read without a look-up.

Base64url without padding, at most 199 characters, of these bytes; the tag is an HMAC-SHA256, cut, of ``origin``, which
names the source and its incarnation, and all bytes but itself, so that nobody makes one, and none of another source or
of a deleted one is taken for one of this:

    moment    tag       chance    length   person          variant   0   placement
    5 bytes   11 bytes  4 bytes   1 byte   0 or 16 bytes   UTF-8         UTF-8

Moment and tag name the list: keys that sort by time. By chance two lists of one second are two, for one person or for
all.
"""

import base64
import hashlib
import hmac
import re

from penchant.model import ListIdentity

_MOMENT_BYTES = 5
_TAG_BYTES = 11
"""88 bits: nobody guesses one with as many requests as a service answers."""
_KEY_BYTES = _MOMENT_BYTES + _TAG_BYTES
CHANCE_BYTES = 4
_MAX_PERSON_BYTES = 16
MAX_LENGTH = 199
MAX_LIST_NAMES_BYTES = MAX_LENGTH * 3 // 4 - _KEY_BYTES - CHANCE_BYTES - 1 - _MAX_PERSON_BYTES - 1
"""What the names of a placement and of a variant may have together, in UTF-8."""
_SHAPE = re.compile(r"[A-Za-z0-9_-]{30,199}\Z")
_WRONG = "This is no list id of this source; give the value of the header x-penchant-list as it came."


def encode_list_id(
    secret: bytes, origin: bytes, names: tuple[str, str], *, person: bytes, made_at: int, chance: bytes
) -> str:
    """Return the id of a list that was made at a moment in milliseconds, of which whole seconds are kept.

    ``names`` are those of the placement and the variant, ``chance`` `CHANCE_BYTES` bytes that nobody chose.
    Names hold no control characters; those above `MAX_LIST_NAMES_BYTES` are a mistake of the caller.
    """
    placement, variant = names
    written = variant.encode() + b"\0" + placement.encode()
    if len(written) - 1 > MAX_LIST_NAMES_BYTES:
        raise ValueError(f"the names of placement and variant have more than {MAX_LIST_NAMES_BYTES} bytes")
    moment = (made_at // 1000).to_bytes(_MOMENT_BYTES, "big")
    rest = chance + bytes([len(person)]) + person + written
    return base64.urlsafe_b64encode(moment + _tag(secret, origin, moment, rest) + rest).decode().rstrip("=")


def decode_list_id(secret: bytes, origin: bytes, text: str) -> ListIdentity:
    """Return what a list's id says.

    Raises:
        ValueError: it is none, or of another source; the message is for the caller.
    """
    if not _SHAPE.match(text) or len(text) % 4 == 1:
        raise ValueError(_WRONG)
    found = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    key, rest = found[:_KEY_BYTES], found[_KEY_BYTES:]
    expected = _tag(secret, origin, key[:_MOMENT_BYTES], rest)
    # Base64 has several spellings of the same bytes where the last ones are cut: one list must have one id.
    is_canonical = base64.urlsafe_b64encode(found).decode().rstrip("=") == text
    if not hmac.compare_digest(key[_MOMENT_BYTES:], expected) or not is_canonical:
        raise ValueError(_WRONG)
    begin = CHANCE_BYTES + 1
    end = begin + rest[CHANCE_BYTES]
    variant, _, placement = rest[end:].decode().partition("\0")
    made_at = int.from_bytes(key[:_MOMENT_BYTES], "big") * 1000
    return ListIdentity(placement=placement, variant=variant, person=rest[begin:end], made_at=made_at, key=key)


def _tag(secret: bytes, origin: bytes, moment: bytes, rest: bytes) -> bytes:
    return hmac.digest(secret, origin + moment + rest, hashlib.sha256)[:_TAG_BYTES]
