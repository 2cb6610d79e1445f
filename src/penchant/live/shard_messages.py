"""Shard messages: what a worker and a shard process say to each other, over one connection in either direction.

    worker                                              shard process
                                      <-- MAGIC + nonce
    HMAC of the nonce by the token -->                      closes where it is another
    ScanRequest, ScanRequest ...   -->
                                      <-- ScanAnswer          each with the number of its request, in any order
                                      <-- ScanAnswer          ... "under-way" now and then before that of a long scan
    LiveRows, ScanRequest          -->                      where the answer was that rows are missing
    PopularShares, ScanRequest     -->                      or shares of popularity: whole,
    PopularChanges, ScanRequest    -->                      or what has changed of those that it has
    StateRequest                   -->                      also before a node goes over to a new file
                                      <-- StateAnswer         the segments that it holds

A message is its length and its body in MessagePack. Nothing of it is kept: both ends are of one release, or the magic
differs and the worker scans by itself. Arrays travel as their bytes, in the order of the machine's.
"""

import asyncio
import enum
import hashlib
import hmac
import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from penchant.attributes import AttributeFilter, Clause, ClauseGroup, MarkCondition, MarkSpan
from penchant.index import BlendFactors

MAGIC = b"penchant shard 5"
NONCE_BYTES = 32
PROOF_BYTES = 32
LENGTH = struct.Struct(">I")
MAX_MESSAGE = 1 << 28
"""Bytes of a message at most: the popularity of 33 million pieces of a segment, and more than any query."""
FileName: TypeAlias = tuple[int, int, int, int, int, int]
"""The stamp of a segment file, and of how many segments it is."""
PackedClause: TypeAlias = tuple[Any, ...]
"""A clause as lists: its spans, or the three lists of a group."""


class ScanOutcome(enum.StrEnum):
    """What became of a scan: why a shard could not do it tells the worker what helps."""

    FOUND = "found"
    UNDER_WAY = "under-way"
    MISSING_FILE = "missing-file"
    MISSING_ROWS = "missing-rows"
    MISSING_SHARES = "missing-shares"


class ContentMeasure(msgspec.Struct, frozen=True, array_like=True, tag="content"):
    """By distance from a piece: its terms, uint32, what each adds, its norm, and the factors of categories."""

    mode: int
    terms: bytes
    values: bytes
    values_type: str
    norm: float
    factors: tuple[int, ...]


class PopularName(msgspec.Struct, frozen=True, array_like=True):
    """What part p is made from: names of shares and of their floors, which count in times of the median.

    The name of shares that are all 0 is empty.
    """

    shares: bytes
    floors: bytes
    median: float


class BlendMeasure(msgspec.Struct, frozen=True, array_like=True, tag="blend"):
    """By how well pieces suit a person: terms of the taste, uint32, with values, and norms of taste and pieces.

    ``unit`` is what a factor of 1 stands for. ``liked_rows``, uint32, are the rows whose part a is not 0, with it;
    ``popular`` is part p, ``None`` where it counts nothing.
    """

    terms: bytes
    values: bytes
    norms: tuple[float, float]
    blending: BlendFactors
    factors: tuple[int, ...]
    unit: int
    liked_rows: bytes
    liked: bytes
    popular: PopularName | None


class OverlapMeasure(msgspec.Struct, frozen=True, array_like=True, tag="overlap"):
    """By how many of ``count`` terms pieces have; ``terms``, uint32, are those that the segment knows."""

    terms: bytes
    count: int


class SharedMeasure(msgspec.Struct, frozen=True, array_like=True, tag="shared"):
    """By what likes of one piece say of others: ``rows``, uint32, with the share of each, doubles."""

    rows: bytes
    shares: bytes


class MeanMeasure(msgspec.Struct, frozen=True, array_like=True, tag="mean"):
    """By the mean of two distances: ``content`` is ``None`` where no piece is near by it."""

    content: ContentMeasure | None
    shared: SharedMeasure


Measure: TypeAlias = ContentMeasure | BlendMeasure | OverlapMeasure | SharedMeasure | MeanMeasure


class BestRows(msgspec.Struct, frozen=True, array_like=True, tag="best"):
    """So many of the best pieces with keys below a limit."""

    take: int
    limit: int


class RowKey(msgspec.Struct, frozen=True, array_like=True, tag="key"):
    """The key of the piece at a row, whatever filter the scan has."""

    row: int


class RowsAhead(msgspec.Struct, frozen=True, array_like=True, tag="ahead"):
    """How many pieces are better than one of this key whose id would be at this row."""

    key: int
    row: int


Goal: TypeAlias = BestRows | RowKey | RowsAhead


class ScanRequest(msgspec.Struct, frozen=True, array_like=True, tag="scan"):
    """A scan of one segment of a file, without the rows that ``live`` stands for, in the numbers of that segment.

    ``excluded`` are rows, uint32, that are left out beside them; ``goal`` is what is to be found.
    """

    number: int
    file: FileName
    place: int
    live: bytes
    measure: Measure
    moment: int
    catalogs: tuple[str, ...] | None
    clause: PackedClause | None
    excluded: bytes
    goal: Goal

    @property
    def is_long(self) -> bool:
        """Whether it takes as long as tens of lists: numpy looks at all pieces."""
        return isinstance(self.measure, MeanMeasure) or not isinstance(self.goal, BestRows)


class LiveRows(msgspec.Struct, frozen=True, array_like=True, tag="rows"):
    """The rows of a segment that are gone, uint32, and the digest by which scans name them."""

    file: FileName
    place: int
    live: bytes
    gone: bytes


class PopularShares(msgspec.Struct, frozen=True, array_like=True, tag="popular"):
    """Shares of a segment's pieces, doubles, or floors of them, and the digest by which scans name them."""

    file: FileName
    place: int
    name: bytes
    shares: bytes


class PopularChanges(msgspec.Struct, frozen=True, array_like=True, tag="changes"):
    """What makes shares of others, ``before``: rows, uint32, with the share of each."""

    file: FileName
    place: int
    before: bytes
    name: bytes
    rows: bytes
    shares: bytes


class ScanAnswer(msgspec.Struct, frozen=True, array_like=True, tag="answer"):
    """What a scan has found: keys and rows, int64, the best first, or how many pieces.

    ``held`` names shares where some are missing.
    """

    number: int
    outcome: ScanOutcome
    keys: bytes = b""
    rows: bytes = b""
    held: tuple[bytes, ...] = ()
    count: int = 0


class StateRequest(msgspec.Struct, frozen=True, array_like=True, tag="state"):
    """The question which segments a shard process holds; it maps one of ``file`` from now on."""

    number: int
    file: FileName | None = None
    place: int = 0


class ScannedFile(msgspec.Struct, frozen=True, array_like=True):
    """A segment that a shard process has mapped: of which file, at which place, of how many pieces."""

    file: FileName
    place: int
    pieces: int


class StateAnswer(msgspec.Struct, frozen=True, array_like=True, tag="holds"):
    """The segments that a shard process holds."""

    number: int
    held: tuple[ScannedFile, ...]


SegmentState: TypeAlias = LiveRows | PopularShares | PopularChanges
"""What a shard process has to know of a segment besides its file."""
ShardMessage: TypeAlias = (
    ScanRequest | LiveRows | PopularShares | PopularChanges | ScanAnswer | StateRequest | StateAnswer
)
_DECODER = msgspec.msgpack.Decoder(ShardMessage)
_ENCODER = msgspec.msgpack.Encoder()


class BrokenMessage(Exception):
    """The other end does not speak as it should."""


def encode_message(message: ShardMessage) -> bytes:
    """Return a message as it is sent."""
    body = _ENCODER.encode(message)
    return LENGTH.pack(len(body)) + body


async def read_message(reader: asyncio.StreamReader) -> ShardMessage:
    """Return the next message.

    Raises:
        BrokenMessage: it is none.
        asyncio.IncompleteReadError, OSError: the connection has ended.
    """
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    if length > MAX_MESSAGE:
        raise BrokenMessage("a message is too long")
    try:
        message: ShardMessage = _DECODER.decode(await reader.readexactly(length))
    except msgspec.MsgspecError as error:
        raise BrokenMessage(str(error)) from error
    return message


def proof(token: bytes, nonce: bytes) -> bytes:
    """Return what shows that one has the token."""
    return hmac.digest(token, MAGIC + nonce, hashlib.sha256)


def pack_clause(clause: Clause) -> PackedClause:
    """Return a clause of a filter as it is sent."""
    if isinstance(clause, MarkCondition):
        return (clause.spans,)
    return tuple([pack_clause(each) for each in group] for group in (clause.must, clause.should, clause.must_not))


def unpack_clause(packed: Sequence[Any]) -> Clause:
    """Return the clause that `pack_clause` has made lists of."""
    if len(packed) == 1:
        return MarkCondition(tuple(MarkSpan(*span) for span in packed[0]))
    must, should, must_not = (tuple(unpack_clause(each) for each in group) for group in packed)
    return ClauseGroup(must=must, should=should, must_not=must_not)


def unpack_filter(packed: PackedClause | None) -> AttributeFilter | None:
    """Return a filter by attributes; what is sent tells it apart, since it means the same under any names."""
    return None if packed is None else AttributeFilter(repr(packed), unpack_clause(packed))
