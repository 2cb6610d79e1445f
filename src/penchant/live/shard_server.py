"""Shard server: a process that scans segments of large sources for the workers of nodes, as a pure function.

It follows nothing: a request names the file, and what of it is gone since. So any number of these processes answer
alike, and one that has just started needs no more than the file. A segment is mapped when it is first asked for:

    asked for --> missing-file, and a thread maps it --> answered          beside it the segment of the file before
                                 '--(no such file)--> missing-file          is kept, for workers that still use it
"""

import asyncio
import contextlib
import hmac
import secrets
from collections import OrderedDict
from pathlib import Path

import numpy as np

from penchant.index import Filter, Segment, engine
from penchant.index.layout import COUNT, DISTANCE_SCALE, DOT, SIZE, Choice, KernelQuery
from penchant.index.part import Part
from penchant.live.array_files import DamagedFile, Stamp
from penchant.live.segment_files import SegmentFiles
from penchant.live.shard_messages import (
    MAGIC,
    NONCE_BYTES,
    PROOF_BYTES,
    BrokenMessage,
    FileName,
    FileQuestion,
    LiveRows,
    ScanAnswer,
    ScanOutcome,
    ScanRequest,
    encode_message,
    proof,
    read_message,
    unpack_filter,
)
from penchant.model import MAX_TAKE
from penchant.telemetry import logger

PROOF_S = 5.0
"""How long a connection may take to show that it has the token."""
KEPT_FILES = 2
"""Files of a source whose segments are kept: nodes go over to a newer one each in its time."""
KEPT_STATES = 4
"""States of a segment whose live pieces are kept: each node asks for the one that its version has."""
VALUE_TYPES = {COUNT: "B", DOT: "hid", SIZE: "hid"}
"""The types that sums of a mode are counted in."""


class ScannedSegment:
    """A mapped segment, with its parts by what stands for their live pieces."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._parts = OrderedDict({b"": Part.whole(segment)})

    def note(self, rows: LiveRows) -> None:
        """Remember which pieces a digest stands for."""
        gone = np.frombuffer(rows.gone, dtype=np.uint32)
        if len(gone) and int(gone.max()) >= len(self._segment):
            raise BrokenMessage("rows are not of this segment")
        self._parts[rows.live] = Part.scanned(self._segment, gone)
        if len(self._parts) > KEPT_STATES:
            self._parts.popitem(last=False)

    def scan(self, asked: ScanRequest) -> ScanAnswer:
        """Return what a scan finds, as `SimilarityQuery.nearest_in` does on a node.

        Raises:
            BrokenMessage: its numbers are none of this segment, on which compiled kernels would run away.
        """
        part = self._parts.get(asked.live)
        if part is None:
            return ScanAnswer(asked.number, ScanOutcome.MISSING_ROWS)
        self._parts.move_to_end(asked.live)
        query, excluded = self._query(asked), np.frombuffer(asked.excluded, dtype=np.int64).copy()
        _require_within(excluded, len(self._segment))
        shown = Filter(
            moment=asked.moment,
            catalogs=None if asked.catalogs is None else frozenset(asked.catalogs),
            matching=unpack_filter(asked.clause),
        )
        choice = Choice(part.allowed(shown), excluded, asked.take, asked.limit)
        norms = self._segment.norms(asked.factors).by(asked.mode)
        keys, rows = engine.nearest(query, self._segment.postings, self._segment.frequent, norms, choice)
        return ScanAnswer(asked.number, ScanOutcome.FOUND, keys.tobytes(), rows.tobytes())

    def _query(self, asked: ScanRequest) -> KernelQuery:
        if asked.values_type not in VALUE_TYPES.get(asked.mode, ""):
            raise BrokenMessage("values are of another type")
        # Copied, since what comes off the wire may not be written to, and compiled kernels want what may.
        terms = np.frombuffer(asked.terms, dtype=np.int64).copy()
        values = np.frombuffer(asked.values, dtype=asked.values_type).copy()
        _require_within(terms, len(self._segment.terms))
        is_sized = len(terms) == len(values) and 0 < asked.take <= MAX_TAKE and asked.limit <= DISTANCE_SCALE + 1
        if not is_sized or len(asked.factors) != len(self._segment.category_names):
            raise BrokenMessage("a scan has other sizes than its segment")
        return KernelQuery(asked.mode, terms, values, asked.norm)


class ShardServer:
    """Answers scans of the segment files of a folder, one at a time: on more cores there are more such processes."""

    def __init__(self, folder: Path, token: bytes) -> None:
        self._files = SegmentFiles(folder)
        self._token = token
        self._segments: dict[tuple[FileName, int], ScannedSegment] = {}
        self._mapping: dict[tuple[FileName, int], asyncio.Task[None]] = {}

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Begin to listen.

        Raises:
            OSError: the address is taken, or none of this machine.
        """
        return await asyncio.start_server(self._serve, host, port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until it ends."""
        try:
            if not await self._is_trusted(reader, writer):
                logger.warning("a connection to this shard has not shown the token")
                return
            while True:
                message = await read_message(reader)
                if isinstance(message, LiveRows):
                    self._note(message)
                elif isinstance(message, ScanRequest | FileQuestion):
                    writer.write(encode_message(self._answer(message)))
                    await writer.drain()
                # Or a connection that always has a message waiting would be the only one.
                await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, TimeoutError, OSError):
            return
        except BrokenMessage as error:
            logger.warning("a connection to this shard is closed: %s", error)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _is_trusted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        nonce = secrets.token_bytes(NONCE_BYTES)
        writer.write(MAGIC + nonce)
        async with asyncio.timeout(PROOF_S):
            shown = await reader.readexactly(PROOF_BYTES)
        return hmac.compare_digest(shown, proof(self._token, nonce))

    def _note(self, rows: LiveRows) -> None:
        found = self._segments.get((rows.file, rows.place))
        if found is not None:
            found.note(rows)

    def _answer(self, asked: ScanRequest | FileQuestion) -> ScanAnswer:
        name = asked.file, asked.place
        found = self._segments.get(name)
        if found is not None:
            return found.scan(asked) if isinstance(asked, ScanRequest) else ScanAnswer(asked.number, ScanOutcome.FOUND)
        if name not in self._mapping:
            self._mapping[name] = asyncio.create_task(self._map(*name))
        return ScanAnswer(asked.number, ScanOutcome.MISSING_FILE)

    async def _map(self, file: FileName, place: int) -> None:
        """Map a segment, and let go those of older files; one that cannot be mapped is tried when it is asked for."""
        stamp, count = Stamp(*file[:-1]), file[-1]
        try:
            # Checksums read all of it: meanwhile others are scanned.
            segment = await asyncio.to_thread(self._files.segment, stamp, count, place)
        except (DamagedFile, OSError) as error:
            logger.warning("a shard cannot map segment %d of version %d: %s", place, stamp.version, error)
            return
        finally:
            del self._mapping[file, place]
        self._segments[file, place] = ScannedSegment(segment)
        # Their numbers ascend from one file of a source to the next.
        of_source = {each for each, _ in self._segments if each[0] == stamp.source_id}
        kept = sorted(of_source)[-KEPT_FILES:]
        for name in [name for name in self._segments if name[0] in of_source.difference(kept)]:
            del self._segments[name]
        logger.info("a shard has mapped a segment", extra={"fields": {"place": place, "pieces": len(segment)}})


def _require_within(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], count: int) -> None:
    """Raise `BrokenMessage` unless all numbers are of so many, and ascend."""
    if len(numbers) and (int(numbers[0]) < 0 or int(numbers[-1]) >= count or bool((np.diff(numbers) < 0).any())):
        raise BrokenMessage("numbers are not of this segment")
