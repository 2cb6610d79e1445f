"""List ids: the text in ``x-penchant-list`` that says which list an answer was, made and read without a look-up.

Base64url without padding, at most 320 characters, of these bytes; the tag is an HMAC-SHA256, cut, of ``origin``, which
names the source and its incarnation, and all bytes but itself, so that nobody makes one, and none of another source or
of a deleted one is taken for one of this:

    moment    tag       chance    length   count    marks        person          variant   0   placement
    5 bytes   11 bytes  4 bytes   1 byte   1 byte   3 bytes each  0 or 16 bytes   UTF-8         UTF-8

Moment and tag name the list: keys that sort by time. By chance two lists of one second are two, for one person or for
all. The marks are keyed hashes of the pieces in the order of the list: they prove which pieces were in it, and where,
and tell nobody without the secret which these are; those of pieces that a pin or a quota put there are of
other kinds. The length is that of the person, and 128 more where there are marks: ids of before have neither count nor
marks, and prove nothing.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from penchant_engine.model import MAX_TAKE, PIN, QUOTA
from penchant_rows.model import ListIdentity

_MOMENT_BYTES = 5
_TAG_BYTES = 11
"""88 bits: nobody guesses one with as many requests as a service answers."""
_KEY_BYTES = _MOMENT_BYTES + _TAG_BYTES
CHANCE_BYTES = 4
_IS_PROVEN = 128
NO_RULES: Mapping[str, str] = MappingProxyType({})
_MARKS = {"": b"list mark", PIN: b"list pin", QUOTA: b"list quota"}
"""The kinds of marks by the rule that put a piece in its place."""
_MARK_BYTES = 3
"""Of 500,000 ids that somebody makes up one passes for a piece of a list of 30."""
MAX_LIST_NAMES_BYTES = 111
"""What the names of a placement and of a variant may have together, in UTF-8."""
_SHAPE = re.compile(r"[A-Za-z0-9_-]{30,320}\Z")
_WRONG = "This is no list id of this source; give the value of the header x-penchant-list as it came."


def encode_list_id(  # noqa: PLR0913  # an id has so many parts
    secret: bytes,
    origin: bytes,
    names: tuple[str, str],
    *,
    person: bytes,
    made_at: int,
    chance: bytes,
    pieces: Sequence[str],
    rules: Mapping[str, str] = NO_RULES,
) -> str:
    """Return the id of a list that was made at a moment in milliseconds, of which whole seconds are kept.

    ``names`` are those of the placement and the variant, ``chance`` `CHANCE_BYTES` bytes that nobody chose, ``pieces``
    the ids in the order of the list, up to `penchant.model.MAX_TAKE`, ``rules`` by which rule (`penchant.model.PIN` or
    `QUOTA`) some of them stand there. Names hold no control characters; those above `MAX_LIST_NAMES_BYTES` are a
    mistake of the caller.
    """
    placement, variant = names
    written = variant.encode() + b"\0" + placement.encode()
    if len(written) - 1 > MAX_LIST_NAMES_BYTES or len(pieces) > MAX_TAKE:
        raise ValueError(f"the names have more than {MAX_LIST_NAMES_BYTES} bytes, or the list {MAX_TAKE} pieces")
    moment = (made_at // 1000).to_bytes(_MOMENT_BYTES, "big")
    hashes = {rule: _mark_hash(secret, moment + chance, rule) for rule in {"", *rules.values()}}
    marks = b"".join(_marks(hashes, pieces, rules))
    rest = chance + bytes([_IS_PROVEN | len(person), len(pieces)]) + marks + person + written
    return base64.urlsafe_b64encode(moment + _tag(secret, origin, moment, rest) + rest).decode().rstrip("=")


def decode_list_id(secret: bytes, origin: bytes, text: str) -> ListIdentity:
    """Return what a list's id says.

    Raises:
        ValueError: it is none, or of another source; the message is for the caller.
    """
    if not _SHAPE.match(text) or len(text) % 4 == 1:
        raise ValueError(_WRONG)
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    key, rest = content[:_KEY_BYTES], content[_KEY_BYTES:]
    moment = key[:_MOMENT_BYTES]
    expected = _tag(secret, origin, moment, rest)
    # Base64 has several spellings of the same bytes where the last ones are cut: one list must have one id.
    is_canonical = base64.urlsafe_b64encode(content).decode().rstrip("=") == text
    if not hmac.compare_digest(key[_MOMENT_BYTES:], expected) or not is_canonical:
        raise ValueError(_WRONG)
    begin, proof = CHANCE_BYTES + 1, None
    if rest[CHANCE_BYTES] & _IS_PROVEN:
        marks_end = begin + 1 + rest[begin] * _MARK_BYTES
        proof = moment + rest[:CHANCE_BYTES] + rest[begin + 1 : marks_end]
        begin = marks_end
    end = begin + (rest[CHANCE_BYTES] & ~_IS_PROVEN)
    variant, _, placement = rest[end:].decode().partition("\0")
    made_at = int.from_bytes(moment, "big") * 1000
    return ListIdentity(
        placement=placement, variant=variant, person=rest[begin:end], made_at=made_at, key=key, proof=proof
    )


class ProvenPosition(NamedTuple):
    """The position of a piece in a list, from 1, 0 for unknown, and by which rule it stood there, if by one."""

    position: int
    rule: str = ""


def position_in_list(secret: bytes, identity: ListIdentity, piece_id: str, reported: int) -> ProvenPosition | None:
    """Return where a piece stood in a list; ``None`` where it was not in it.

    What is reported is believed of ids that prove nothing, and where two pieces of the list have one mark.
    """
    if identity.proof is None:
        return ProvenPosition(reported)
    salt, marks = identity.proof[: _MOMENT_BYTES + CHANCE_BYTES], identity.proof[_MOMENT_BYTES + CHANCE_BYTES :]
    listed = [marks[begin : begin + _MARK_BYTES] for begin in range(0, len(marks), _MARK_BYTES)]
    for rule in _MARKS:
        (own_mark,) = _marks({"": _mark_hash(secret, salt, rule)}, [piece_id])
        places = [place for place, mark in enumerate(listed, 1) if mark == own_mark]
        if places:
            return ProvenPosition(reported if reported in places else places[0], rule)
    return None


def _mark_hash(secret: bytes, salt: bytes, rule: str) -> hashlib.blake2b:
    """Return what marks of a list begin with: to copy it takes half as long as to make it again."""
    # Another kind of mark rather than a flag: an id is as long as it may be already.
    return hashlib.blake2b(digest_size=_MARK_BYTES, key=secret, salt=salt, person=_MARKS[rule])


def _marks(
    begun: Mapping[str, hashlib.blake2b], pieces: Sequence[str], rules: Mapping[str, str] = NO_RULES
) -> list[bytes]:
    marks = list[bytes]()
    for piece_id in pieces:
        own = begun[rules.get(piece_id, "")].copy()
        own.update(piece_id.encode())
        marks.append(own.digest())
    return marks


def _tag(secret: bytes, origin: bytes, moment: bytes, rest: bytes) -> bytes:
    return hmac.digest(secret, origin + moment + rest, hashlib.sha256)[:_TAG_BYTES]
