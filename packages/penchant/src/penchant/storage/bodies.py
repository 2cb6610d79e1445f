"""Bodies of pieces as they are stored: JSON, or compressed with a dictionary trained on pieces of the same source.

A dictionary holds text of pieces, so it is never shared between sources, and goes when a source is cleared. Every
row names its codec, and a compressed one the dictionary that it needs.
"""

import contextlib
import functools
import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import zstandard
from sqlalchemy import Connection, bindparam, delete, func, insert, select

from penchant.errors import StorageIncompatible
from penchant.storage.schema import CODEC_JSON, CODEC_ZSTD, dictionaries, pieces
from penchant_engine.bounded_cache import BoundedCache

TRAINED_FROM = 1_000
"""Pieces from which a source has a dictionary: fewer hardly repay its bytes."""
SAMPLED = 400
SAMPLE_BYTES = 512 * 1024
DICTIONARY_BYTES = 32 * 1024
"""What a dictionary is trained on, and its size: 30 ms, once for a source. Pieces of 27 keywords then take a third
(D33 of docs/decisions.md)."""
LEVEL = 3
FIRST_ID = 1 << 15
LAST_ID = (1 << 31) - 1
"""Numbers that the format leaves to applications."""
KEPT = 256
"""Dictionaries kept ready to use, of the sources used last."""
_NEWEST = select(func.max(dictionaries.c.dictionary_id).label("number")).where(
    dictionaries.c.source_id == bindparam("source")
)
"""The dictionary by which what is stored of a source is compressed; none where it has none."""


class StatementRunner(Protocol):
    """A database, as far as it runs statements."""

    def run(self, connection: Connection, statement: Any, values: Mapping[str, Any]) -> Sequence[Any]:
        """Run a statement that lives as long as the process, and return its rows."""


class Dictionaries:
    """The dictionaries in use, ready to compress and decompress; safe for threads."""

    def __init__(self) -> None:
        self._cached: BoundedCache[tuple[int, int], zstandard.ZstdCompressionDict] = BoundedCache(KEPT)
        self._guard = threading.Lock()

    def get(self, connection: Connection, source: int, number: int) -> zstandard.ZstdCompressionDict:
        """Return a dictionary of a source.

        Raises:
            StorageIncompatible: it is not stored.
        """
        name = (source, number)
        with self._guard:
            cached = self._cached.get(name)
        if cached is not None:
            return cached
        # Without the lock: of two threads that read the same one at once the later wins, and both are right.
        stored = connection.execute(
            select(dictionaries.c.bytes).where(
                dictionaries.c.source_id == source, dictionaries.c.dictionary_id == number
            )
        ).scalar_one_or_none()
        if stored is None:
            raise StorageIncompatible(f"A stored piece needs the dictionary {number}, which is not stored.")
        dictionary = zstandard.ZstdCompressionDict(bytes(stored))
        # Once, here: otherwise every compressor would prepare the dictionary anew.
        dictionary.precompute_compress(level=LEVEL)
        with self._guard:
            self._cached.put(name, dictionary)
        return dictionary


class BodyReader:
    """Turns what is stored of a source into JSON, for one thread at a time."""

    def __init__(self, connection: Connection, source: int, dictionaries: Dictionaries) -> None:
        self._connection = connection
        self._source = source
        self._dictionaries = dictionaries
        self._decompressors: dict[int, zstandard.ZstdDecompressor] = {}

    def read(self, codec: int, body: bytes) -> bytes:
        """Return a body as JSON.

        Raises:
            StorageIncompatible: the codec is not known to this release, or the dictionary is missing.
        """
        if codec == CODEC_JSON:
            return bytes(body)
        if codec != CODEC_ZSTD:
            raise StorageIncompatible(f"A stored piece has the codec {codec}, which this release does not know.")
        return self._decompressor(body).decompress(body)

    def read_all(self, codecs: Sequence[int], bodies: Sequence[bytes]) -> list[bytes]:
        """Return many bodies as JSON, as `read` does; where they need the same dictionary, in a third of the time.

        Raises:
            StorageIncompatible: as `read`.
        """
        if set(codecs) == {CODEC_ZSTD}:
            # A body that needs another dictionary is an error, never read by a wrong one.
            with contextlib.suppress(zstandard.ZstdError):
                buffers = self._decompressor(bodies[0]).multi_decompress_to_buffer(list(bodies), threads=1)
                return [buffers[index].tobytes() for index in range(len(buffers))]
        return list(map(self.read, codecs, bodies))

    def _decompressor(self, body: bytes) -> zstandard.ZstdDecompressor:
        # Which dictionary a body needs stands in its own frame, so that a source may have several.
        number = zstandard.get_frame_parameters(body).dict_id
        decompressor = self._decompressors.get(number)
        if decompressor is None:
            dictionary = self._dictionaries.get(self._connection, self._source, number)
            decompressor = self._decompressors[number] = zstandard.ZstdDecompressor(dict_data=dictionary)
        return decompressor


class BodyWriter:
    """Turns JSON into what is stored of a source; within the transaction that stores it."""

    def __init__(
        self, connection: Connection, database: StatementRunner, source: int, dictionaries: Dictionaries
    ) -> None:
        self._connection = connection
        self._database = database
        self._source = source
        self._dictionaries = dictionaries

    def prepare(self, bodies: Sequence[bytes], live: int) -> None:
        """Train the source's dictionary if it has become large enough and has none."""
        if live < TRAINED_FROM or self._dictionary is not None:
            return
        # The number is told from what the dictionary is trained on: readers keep dictionaries by it, and must never
        # take one that was rolled back, or lost in a promotion, for another. Versions come again then.
        samples = _samples([*bodies[:SAMPLED], *self._stored(SAMPLED - len(bodies))])
        digest = hashlib.blake2b(b"\0".join(samples), digest_size=8).digest()
        number = FIRST_ID + int.from_bytes(digest, "big") % (LAST_ID - FIRST_ID)
        trained = _trained(samples, number)
        if trained is None:
            return
        row = {"source_id": self._source, "dictionary_id": number, "bytes": trained}
        self._connection.execute(insert(dictionaries), row)
        # The cached number is dropped, so that `write` finds the one just stored.
        del self._dictionary

    def write(self, bodies: Sequence[bytes]) -> tuple[int, Sequence[bytes]]:
        """Return the codec of these bodies, and each as it is stored."""
        number = self._dictionary
        if number is None:
            return CODEC_JSON, bodies
        # Read within this transaction, which alone sees a dictionary that it has just stored.
        dictionary = self._dictionaries.get(self._connection, self._source, number)
        compressor = zstandard.ZstdCompressor(level=LEVEL, dict_data=dictionary)
        return CODEC_ZSTD, [compressor.compress(body) for body in bodies]

    @functools.cached_property
    def _dictionary(self) -> int | None:
        [(number,)] = self._database.run(self._connection, _NEWEST, {"source": self._source})
        return int(number) if number is not None else None

    def _stored(self, count: int) -> list[bytes]:
        if count <= 0:
            return []
        statement = select(pieces.c.body).where(
            pieces.c.source_id == self._source, pieces.c.codec == CODEC_JSON, pieces.c.deleted.is_(False)
        )
        return [bytes(body) for body in self._connection.execute(statement.limit(count)).scalars()]


def forget_dictionaries(connection: Connection, source: int) -> None:
    """Delete the dictionaries of a source whose pieces are all gone: they hold text of them."""
    connection.execute(delete(dictionaries).where(dictionaries.c.source_id == source))


def _samples(bodies: Sequence[bytes]) -> list[bytes]:
    """Return the first of these bodies, as many as a dictionary is trained on."""
    samples: list[bytes] = []
    size = 0
    for body in bodies:
        size += len(body)
        if size > SAMPLE_BYTES:
            break
        samples.append(body)
    return samples


def _trained(samples: Sequence[bytes], number: int) -> bytes | None:
    """Return a dictionary trained on samples; ``None`` where they are too few or too much alike for one."""
    try:
        return zstandard.train_dictionary(DICTIONARY_BYTES, list(samples), dict_id=number, level=LEVEL).as_bytes()
    except zstandard.ZstdError:
        return None
