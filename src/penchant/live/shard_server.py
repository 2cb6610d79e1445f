"""Shard server: a process that scans segments of large sources for the workers of nodes, as a pure function.

It follows nothing: a request names the file, and what of it is gone since. So any number of these processes answer
alike, and one that has just started needs no more than the file. A segment is mapped when it is first asked for:

    asked for --> missing-file, and a thread maps it --> answered          beside it the segment of the file before
                                 '--(no such file)--> missing-file          is kept, for workers that still use it
"""

import asyncio
import contextlib
import hmac
import itertools
import secrets
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from penchant.index import Filter, FloatArray, Segment
from penchant.index.best import allowed_rows, count_better
from penchant.index.layout import NOWHERE, Choice
from penchant.index.part import Part
from penchant.index.popularity import lift
from penchant.live.array_files import DamagedFile, Stamp
from penchant.live.segment_files import SegmentFiles
from penchant.live.shard_measures import hits, keys, rows_within, unpacked
from penchant.live.shard_messages import (
    MAGIC,
    NONCE_BYTES,
    PROOF_BYTES,
    BlendMeasure,
    BrokenMessage,
    FileName,
    LiveRows,
    PopularChanges,
    PopularName,
    RowKey,
    RowsAhead,
    ScanAnswer,
    ScannedFile,
    ScanOutcome,
    ScanRequest,
    SegmentState,
    StateAnswer,
    StateRequest,
    encode_message,
    proof,
    read_message,
    unpack_filter,
)
from penchant.telemetry import logger

Name = TypeVar("Name")
State = TypeVar("State")

PROOF_S = 5.0
"""How long a connection may take to show that it has the token."""
KEPT_FILES = 2
"""Files of a source whose segments are kept: nodes go over to a newer one each in its time."""
KEPT_STATES = 4
"""States of a segment whose live pieces are kept: each node asks for the one that its version has."""
KEPT_SHARES = 6
"""Arrays of shares and floors that are kept, eight bytes a piece each: workers count what people like by themselves."""
KEPT_LIFTED = 2
"""States of part p that are kept as they are made from these, eight bytes a piece each."""
BEAT_S = 0.1
"""How often a worker hears that a long scan is under way: less than what it takes for silence."""
MOST_TAKEN = 1 << 20
"""More pieces than any list is chosen from."""


class ScannedSegment:
    """A mapped segment, with its parts by what stands for their live pieces, and part p by what it is made from."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._parts = OrderedDict({b"": Part.whole(segment)})
        self._shares: OrderedDict[bytes, FloatArray] = OrderedDict()
        self._lifted: OrderedDict[PopularName, FloatArray] = OrderedDict()

    def __len__(self) -> int:
        return len(self._segment)

    def note(self, state: SegmentState) -> None:
        """Remember which pieces, or which shares, a digest stands for.

        Raises:
            BrokenMessage: they are none of this segment.
        """
        if isinstance(state, LiveRows):
            part = Part.scanned(self._segment, rows_within(state.gone, len(self._segment)))
            _keep(self._parts, state.live, part, KEPT_STATES)
            return
        shares = unpacked(state.shares, "d")
        if isinstance(state, PopularChanges):
            before, rows = self._shares_of(state.before), rows_within(state.rows, len(self._segment))
            if len(shares) != len(rows):
                raise BrokenMessage("changes are not one for each row")
            if before is None:
                return  # forgotten meanwhile: the scan behind says so
            changed, shares = shares, before.copy()
            shares[rows] = changed
        elif len(shares) != len(self._segment):
            raise BrokenMessage("shares are not of this segment")
        _keep(self._shares, state.name, shares, KEPT_SHARES)

    def _shares_of(self, name: bytes) -> FloatArray | None:
        """Return the shares of a name, which are all 0 where it is empty."""
        return _used(self._shares, name) if name else np.zeros(len(self._segment))

    def _popular(self, name: PopularName) -> FloatArray | None:
        """Return part p; ``None`` where something that it is made from is missing."""
        popular = _used(self._lifted, name)
        if popular is None:
            shares, floors = self._shares_of(name.shares), self._shares_of(name.floors)
            if shares is not None and floors is not None:
                popular = lift(shares, floors, name.median)
                _keep(self._lifted, name, popular, KEPT_LIFTED)
        return popular

    def scan(self, asked: ScanRequest) -> ScanAnswer:
        """Return what a scan finds, as its query does on a node.

        Raises:
            BrokenMessage: its numbers are none of this segment.
        """
        ready = self.ready(asked)
        return ready if isinstance(ready, ScanAnswer) else ready()

    def ready(self, asked: ScanRequest) -> ScanAnswer | Callable[[], ScanAnswer]:
        """Return what scans, in any thread, or what is missing for that; raises as `scan`, and so does what scans."""
        part = _used(self._parts, asked.live)
        if part is None:
            return ScanAnswer(asked.number, ScanOutcome.MISSING_ROWS)
        name = asked.measure.popular if isinstance(asked.measure, BlendMeasure) else None
        popular = None if name is None else self._popular(name)
        if name is not None and popular is None:
            return ScanAnswer(asked.number, ScanOutcome.MISSING_SHARES, held=tuple(self._shares))
        return lambda: self._scan(asked, part, popular)

    def _scan(self, asked: ScanRequest, part: Part, popular: FloatArray | None) -> ScanAnswer:
        goal, count = asked.goal, len(self._segment)
        if isinstance(goal, RowKey):
            if not 0 <= goal.row < count:
                raise BrokenMessage("a segment has no such row")
            found, rows = keys(asked.measure, self._segment, popular, np.array([goal.row]))
            return ScanAnswer(asked.number, ScanOutcome.FOUND, found.tobytes(), rows.tobytes())
        shown = Filter(
            moment=asked.moment,
            catalogs=None if asked.catalogs is None else frozenset(asked.catalogs),
            matching=unpack_filter(asked.clause),
        )
        excluded = rows_within(asked.excluded, len(self._segment))
        if isinstance(goal, RowsAhead):
            if not (0 <= goal.row <= count and abs(goal.key) < NOWHERE):
                raise BrokenMessage("no piece stands there")
            among = keys(asked.measure, self._segment, popular, allowed_rows(part.allowed(shown), excluded))
            return ScanAnswer(asked.number, ScanOutcome.FOUND, count=count_better(among, goal.key, goal.row))
        if not 0 < goal.take <= MOST_TAKEN:
            raise BrokenMessage("a scan takes no such number of pieces")
        choice = Choice(part.allowed(shown), excluded, goal.take, goal.limit)
        found, rows = hits(asked.measure, self._segment, popular, choice)
        return ScanAnswer(asked.number, ScanOutcome.FOUND, found.tobytes(), rows.tobytes())


def _keep(states: OrderedDict[Name, State], name: Name, state: State, count: int) -> None:
    """Keep a state, and forget the one that was used least recently of more than so many."""
    states[name] = state
    if len(states) > count:
        states.popitem(last=False)


def _used(states: OrderedDict[Name, State], name: Name) -> State | None:
    """Return a state that is kept, which is then the one that was used last."""
    if name in states:
        states.move_to_end(name)
    return states.get(name)


class ShardServer:
    """Answers scans of the segment files of a folder, one at a time: on more cores there are more such processes.

    Those that take as long as tens of others (`ScanRequest.is_long`) a thread does, also one at a time.
    """

    def __init__(self, folder: Path, token: bytes) -> None:
        self.connected = 0
        """How many connections have shown the token and are open."""
        self._files = SegmentFiles(folder)
        self._token = token
        self._segments: dict[tuple[FileName, int], ScannedSegment] = {}
        self._mapping: dict[tuple[FileName, int], asyncio.Task[None]] = {}
        self._long_scans: set[asyncio.Task[None]] = set()
        self.long_turn = asyncio.Semaphore(1)
        """What a long scan waits for."""
        self._used: dict[FileName, int] = {}
        """By file when it was asked for last, as a number that rises."""
        self._uses = itertools.count()

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Begin to listen.

        Raises:
            OSError: the address is taken, or none of this machine.
        """
        return await asyncio.start_server(self._serve, host, port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until it ends."""
        trusted = False
        try:
            trusted = await self._is_trusted(reader, writer)
            if not trusted:
                logger.warning("a connection to this shard has not shown the token")
                return
            self.connected += 1
            while True:
                message = await read_message(reader)
                if isinstance(message, SegmentState):
                    self._note(message)
                elif isinstance(message, ScanRequest | StateRequest):
                    self._answer(message, writer)
                    await writer.drain()
                # Or a connection that always has a message waiting would be the only one.
                await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, TimeoutError, OSError):
            return
        except BrokenMessage as error:
            logger.warning("a connection to this shard is closed: %s", error)
        finally:
            self.connected -= trusted
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _is_trusted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        nonce = secrets.token_bytes(NONCE_BYTES)
        writer.write(MAGIC + nonce)
        async with asyncio.timeout(PROOF_S):
            shown = await reader.readexactly(PROOF_BYTES)
        return hmac.compare_digest(shown, proof(self._token, nonce))

    def _note(self, state: SegmentState) -> None:
        found = self._segments.get((state.file, state.place))
        if found is not None:
            found.note(state)

    def _answer(self, asked: ScanRequest | StateRequest, writer: asyncio.StreamWriter) -> None:
        """Answer now, or begin what does."""
        answer = self._scan_found(asked) if isinstance(asked, ScanRequest) else self._state(asked)
        if isinstance(answer, ScanAnswer | StateAnswer):
            writer.write(encode_message(answer))
            return
        task = asyncio.create_task(self._scan_long(asked.number, answer, writer))
        self._long_scans.add(task)
        task.add_done_callback(self._long_scans.discard)

    def _state(self, asked: StateRequest) -> StateAnswer:
        if asked.file is not None:
            self._found(asked.file, asked.place)
        held = (ScannedFile(*name, len(segment)) for name, segment in sorted(self._segments.items()))
        return StateAnswer(asked.number, tuple(held))

    def _scan_found(self, asked: ScanRequest) -> ScanAnswer | Callable[[], ScanAnswer]:
        """Return what a scan finds, or what finds it where that takes long."""
        found = self._found(asked.file, asked.place)
        if found is None:
            return ScanAnswer(asked.number, ScanOutcome.MISSING_FILE)
        return found.ready(asked) if asked.is_long else found.scan(asked)

    async def _scan_long(self, number: int, scan: Callable[[], ScanAnswer], writer: asyncio.StreamWriter) -> None:
        """Answer a scan by numpy from a thread, one after the other, and say meanwhile that it is under way."""
        scanning = asyncio.create_task(self._scan_in_turn(scan))
        while not (await asyncio.wait([scanning], timeout=BEAT_S))[0] and not writer.is_closing():
            writer.write(encode_message(ScanAnswer(number, ScanOutcome.UNDER_WAY)))
        if writer.is_closing():
            scanning.cancel()
            return
        try:
            writer.write(encode_message(scanning.result()))
        except BrokenMessage as error:
            logger.warning("a connection to this shard is closed: %s", error)
            writer.close()

    async def _scan_in_turn(self, scan: Callable[[], ScanAnswer]) -> ScanAnswer:
        async with self.long_turn:
            return await asyncio.to_thread(scan)

    def _found(self, file: FileName, place: int) -> ScannedSegment | None:
        """Return a segment; one that is not mapped is from now on."""
        found = self._segments.get((file, place))
        if found is not None:
            self._used[file] = next(self._uses)
        elif (file, place) not in self._mapping:
            self._mapping[file, place] = asyncio.create_task(self._map(file, place))
        return found

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
        self._used[file] = next(self._uses)
        # Those that were asked for last: a file of the same version may be cut into more segments, or into fewer.
        of_source = {each for each, _ in self._segments if each[0] == stamp.source_id}
        kept = sorted(of_source, key=self._used.__getitem__)[-KEPT_FILES:]
        for name in [name for name in self._segments if name[0] in of_source.difference(kept)]:
            del self._segments[name]
        self._used = {each: use for each, use in self._used.items() if any(each == name for name, _ in self._segments)}
        logger.info("a shard has mapped a segment", extra={"fields": {"place": place, "pieces": len(segment)}})
