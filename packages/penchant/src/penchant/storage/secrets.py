"""The database's own secrets, each made when it is first needed; they go with it into backups and moves.

One hides whom an erasure in the feed is about. An erasure must name a person to those who follow the feed, and to
nobody who finds the row alone, in an old file for one: a plain hash of an id can be tried out. So the row holds the
person's key masked by a keyed hash of a random number beside it. One keys ETags (`penchant.web`). One signs list
ids and cursors, and hides whom a list was for.
"""

import secrets as randomness

from sqlalchemy import Connection, select

from penchant.storage import statements
from penchant.storage.hashing import KEY_BYTES, keyed_mask
from penchant.storage.schema import secrets

ERASURES = "erasures"
TAGS = "tags"
LIST_IDS = "lists"
"""The names of the secrets."""
SECRET_BYTES = 32


def ensure_secret(connection: Connection, insert: statements.Insert, name: str) -> bytes:
    """Return a secret, which is made if it is missing; of two processes that make it one wins."""
    row = {"name": name, "secret": randomness.token_bytes(SECRET_BYTES)}
    connection.execute(statements.insert_missing(insert, secrets), row)
    return read_secret(connection, name)


def read_secret(connection: Connection, name: str) -> bytes:
    """Return a secret; nothing where it was not needed yet."""
    secret = connection.execute(select(secrets.c.secret).where(secrets.c.name == name)).scalar_one_or_none()
    return b"" if secret is None else bytes(secret)


def hide_key(secret: bytes, user_key: bytes) -> tuple[bytes, bytes]:
    """Return a person's key as an erasure stores it, and the random number that it is hidden by."""
    number = randomness.token_bytes(KEY_BYTES)
    return keyed_mask(secret, number, user_key), number


def reveal_key(secret: bytes, hidden: bytes, number: bytes) -> bytes:
    """Return the person's key of an erasure; those of 0.1.0 have no number, and their key is plain."""
    return keyed_mask(secret, number, hidden) if number else hidden
