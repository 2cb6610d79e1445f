"""Hashes that stand for names and ids: numbers of accounts and sources, keys of people, pieces and events."""

import functools
import hashlib
from collections.abc import Callable

USER, PIECE = b"user", b"piece"
"""What keeps the keys of people and pieces apart."""
SOURCE_ID_MASK = (1 << 63) - 1
"""A BIGINT is signed: 63 bits stay positive on both databases. Why a hash: D28 of docs/decisions.md."""
KEY_BYTES = 16
"""128 bits: composite indexes hold these where two ids of 500 characters would not fit an index entry."""


@functools.lru_cache(maxsize=8_192)
def source_id(account_id: int, name: str) -> int:
    """Return the number of an account's source of this name; equal on every node, so no sequence is needed."""
    # The zero byte ends the digits of the account, so that no two pairs give the same text.
    digest = hashlib.blake2b(f"{account_id}\0{name}".encode(), digest_size=8, person=b"source").digest()
    return int.from_bytes(digest, "big") & SOURCE_ID_MASK


def account_id(name: str) -> int:
    """Return the number of the account of this name."""
    digest = hashlib.blake2b(name.encode(), digest_size=8, person=b"account").digest()
    return int.from_bytes(digest, "big") & SOURCE_ID_MASK


def key_counter(key_id: str) -> int:
    """Return the number under which a browser key's own answers are counted: below 0, where no account's is."""
    digest = hashlib.blake2b(key_id.encode(), digest_size=8, person=b"browser key").digest()
    return -1 - (int.from_bytes(digest, "big") & SOURCE_ID_MASK)


def text_key(source: int, text: str, person: bytes) -> bytes:
    """Return the 128-bit key of an id within a source; ``person`` keeps kinds of ids apart."""
    return text_keys(source, person)(text)


@functools.lru_cache(maxsize=1024)
def text_keys(source: int, person: bytes) -> Callable[[str], bytes]:
    """Return what makes the keys of ids within a source, as `text_key`: of many in half the time."""
    # A copy of a hash that has seen no text yet is begun three times as fast as another one.
    begin = hashlib.blake2b(digest_size=KEY_BYTES, salt=source.to_bytes(8, "big"), person=person).copy

    def make_key(text: str) -> bytes:
        hashing = begin()
        hashing.update(text.encode())
        return hashing.digest()

    return make_key


def user_key(source: int, user_id: str) -> bytes:
    """Return the key of a person within a source."""
    return text_key(source, user_id, USER)


def piece_key(source: int, piece_id: str) -> bytes:
    """Return the key of a piece within a source."""
    return text_key(source, piece_id, PIECE)


def keyed_mask(secret: bytes, number: bytes, key: bytes) -> bytes:
    """Return a key masked by a keyed hash of a number; masked again it is what it was."""
    mask = hashlib.blake2b(number, digest_size=KEY_BYTES, key=secret, person=b"erasure").digest()
    return bytes(one ^ other for one, other in zip(key, mask, strict=True))


def list_person(secret: bytes, key: bytes) -> bytes:
    """Return the keyed hash by which ids of lists name a person, whose key within the source this is."""
    return hashlib.blake2b(key, digest_size=KEY_BYTES, key=secret, person=b"list").digest()


def event_key(source: int, user_id: str, event_id: str) -> bytes:
    """Return the key of a person's event id within a source."""
    # Neither id holds a NUL, so that no two pairs have the same text.
    return text_key(source, f"{user_id}\0{event_id}", b"own event")


def shared_event_key(source: int, event_id: str) -> bytes:
    """Return the key that an event id had until 0.1.0 and for a while after, whoever's it was."""
    return text_key(source, event_id, b"event")
