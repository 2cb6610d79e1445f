"""How are the numbers and keys that stand for names and ids made? Nothing here reads or writes."""

import functools
import hashlib

SOURCE_ID_MASK = (1 << 63) - 1
"""A BIGINT is signed: 63 bits stay positive on both databases."""
KEY_BYTES = 16
"""128 bits: composite indexes hold these where two ids of 500 characters would not fit an index entry."""


@functools.lru_cache(maxsize=65_536)
def source_id(account_id: int, name: str) -> int:
    """Return the number of an account's source of this name; equal on every node, so no sequence is needed."""
    digest = hashlib.blake2b(f"{account_id}\0{name}".encode(), digest_size=8, person=b"source").digest()
    return int.from_bytes(digest, "big") & SOURCE_ID_MASK


def account_id(name: str) -> int:
    """Return the number of the account of this name."""
    digest = hashlib.blake2b(name.encode(), digest_size=8, person=b"account").digest()
    return int.from_bytes(digest, "big") & SOURCE_ID_MASK


def text_key(source: int, text: str, person: bytes) -> bytes:
    """Return the 128-bit key of an id within a source; ``person`` keeps kinds of ids apart."""
    salt = source.to_bytes(8, "big")
    return hashlib.blake2b(text.encode(), digest_size=KEY_BYTES, salt=salt, person=person).digest()


def user_key(source: int, user_id: str) -> bytes:
    """Return the key of a person within a source."""
    return text_key(source, user_id, b"user")


def piece_key(source: int, piece_id: str) -> bytes:
    """Return the key of a piece within a source."""
    return text_key(source, piece_id, b"piece")


def event_key(source: int, event_id: str) -> bytes:
    """Return the key of an event id within a source."""
    return text_key(source, event_id, b"event")
