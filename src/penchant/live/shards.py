"""Shards: scans of a split source by the processes that hold its segments, merged with what the node scans itself.

One list, of a source whose file has the segments 0 and 1 and which has changed since:

    the newest parts      scanned here                                        --.
    segment 0             first replica --> (hedge delay) --> another one     --+--> `BestPieces`, the same as of one
    segment 1             first replica --> it is lost --> another one        --'     process
    none of them answers  the node scans the segment itself, in a thread; or 503, where the source is beyond its memory

A replica is as good as any other, since a scan names the file and what of it is gone. So there is no wrong answer to
wait for, and never a partial one.
"""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence

import numpy as np

from penchant.errors import IndexNotReady
from penchant.index import Filter, Find, IntArray, PartQuery, PiecePosition, Snapshot, key_of
from penchant.index.best import BestPieces
from penchant.index.part import Part
from penchant.index.standing import count_ahead_in
from penchant.live.database import AsyncStorage
from penchant.live.shard_hosts import Address, Hosts, HostSets, ShardHosts, file_of
from penchant.live.shard_messages import FileName, ScanAnswer, ScanOutcome, ScanRequest, StateRequest
from penchant.live.shard_metrics import STATE_KINDS, ShardMetrics
from penchant.live.shard_replica import ShardReplica
from penchant.live.shard_scan import ShardScan
from penchant.live.shard_shares import PopularNames
from penchant.telemetry import Metrics, logger

SCAN_S = 2.0
"""How long a segment's scan may take on all replicas together, before the node does it itself."""
LONG_SCAN_S = 10.0
"""The same for a long scan: those that do it say every 0.1 s that they do."""
LONGEST_HEDGE_S, SHORTEST_HEDGE_S = 0.3, 0.005
HEDGE_QUANTILE = 0.99
STATES_TOLD = 4
"""How often a replica is told what it lacks before another one is asked."""
RECENT_SCANS = 256
"""The hedge delay is this quantile of the times of so many scans, within these bounds."""


class Shards:
    """The shard processes that a node may ask: by shard the addresses of its replicas.

    The segment at place p of a file is that of shard p modulo the number of the shards that its file is asked of
    (`HostSets`). ``count`` is of how many segments new files are, by default as many as there are shards. For the event
    loop only, but for `scan_of`.
    """

    def __init__(
        self,
        hosts: Hosts,
        token: Callable[[], bytes],
        database: AsyncStorage,
        metrics: Metrics,
        memory_bytes: Callable[[], int],
        *,
        count: int | None = None,
    ) -> None:
        self._metrics = ShardMetrics(metrics)
        self._token = token
        self.changes = 0
        """How often others were named."""
        self._hosts = HostSets(count or len(hosts), hosts, self._connect)
        self._metrics.host_sets.set(self._hosts.named)
        self._database = database
        self._memory_bytes = memory_bytes
        self._numbers = itertools.count()
        self._popular_names = PopularNames()
        self._recent_s: deque[float] = deque(maxlen=RECENT_SCANS)

    def _connect(self, shard: int, place: int, address: Address) -> ShardReplica:
        failed = self._metrics.failures.labels(str(shard), str(place)).inc
        return ShardReplica(*address, self._token(), failed=failed)

    @property
    def replicas(self) -> Sequence[Sequence[ShardReplica]]:
        """The processes that the settings name, or that a cluster runs, by shard."""
        newest = self._hosts.newest
        return [self._hosts.replicas(newest, shard) for shard in range(len(newest.shards))]

    @property
    def is_changing(self) -> bool:
        """Whether files are asked of hosts that others are to take the place of."""
        return len(self._hosts) > 1

    def close(self) -> None:
        """Close all connections."""
        self._hosts.close()

    def place(self, hosts: Hosts) -> None:
        """Ask replicas at these addresses from now on; those that stay keep their connections.

        With another number of shards they are asked for what they have mapped, as by `change`.
        """
        if len(hosts) == len(self._hosts.newest.shards):
            self._hosts.place(hosts)
        else:
            self.change(len(hosts), hosts)

    def change(self, count: int, hosts: Hosts) -> None:
        """Go over to these hosts and files of so many segments: file by file, as hosts have mapped them.

        Raises:
            StorageUnavailable: the token cannot be read; nothing has changed.
        """
        self._token()
        self.changes += self._hosts.change(count, hosts)
        self._metrics.host_sets.set(self._hosts.named)

    def let_go(self, in_use: Collection[FileName]) -> None:
        """Let go the hosts of which no file in use is asked any more."""
        if self._hosts.let_go(in_use):
            logger.info("shard processes that are no longer named are let go")
        self._metrics.host_sets.set(self._hosts.named)

    async def hold(self) -> None:
        """Connect to all replicas that may be asked."""
        await asyncio.gather(*[each.hold() for each in self._hosts.all_replicas()])

    def serves(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot has segments that shard processes can scan."""
        file = file_of(snapshot) if snapshot.is_split else None
        return file is not None and bool(self._hosts.of(file).shards)

    def is_to_move(self, file: FileName) -> bool:
        """Return whether a file is asked of hosts that others are to take the place of."""
        newest = self._hosts.newest
        return file[-1] == newest.count and self._hosts.of(file) is not newest

    def note_ready(self, file: FileName) -> None:
        """Ask the newest hosts for a file from now on."""
        self._hosts.note_ready(file)

    async def have_mapped(self, file: FileName) -> bool:
        """Return whether each segment of a file is mapped by one of the newest hosts; those who lack it map it.

        Segments that nobody can be asked for are left aside, unless other hosts answer for the file before.
        """
        if not self._hosts.newest.shards:
            return True
        return all(await asyncio.gather(*[self._has_mapped(file, place) for place in range(file[-1])]))

    async def _has_mapped(self, file: FileName, place: int) -> bool:
        request = StateRequest(next(self._numbers), file, place)
        asked = [replica.ask_state(request) for replica in self._newest_replicas(request, waits=True)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        held = [answer.held for answer in answers if not isinstance(answer, BaseException)]
        if not held:
            return not self.is_changing
        return any((each.file, each.place) == (file, place) for each in itertools.chain(*held))

    def scan_of(self, query: PartQuery, snapshot: Snapshot) -> ShardScan:
        """Return a query of a snapshot, ready for shard processes. For any thread."""
        return ShardScan.of(query, snapshot, self._popular_names)

    async def find(self, snapshot: Snapshot, scan: ShardScan, filters: Sequence[Filter], take: int) -> Find:
        """Return what gives the best pieces that each of these filters lets through, as `index.best_of` finds them.

        Raises:
            IndexNotReady: no process scans a segment of a source that this node has no memory for.
        """
        lists = [self._best_of(snapshot, scan, shown, take) for shown in filters]
        return dict(zip(filters, await asyncio.gather(*lists), strict=True)).__getitem__

    async def _best_of(self, snapshot: Snapshot, scan: ShardScan, shown: Filter, take: int) -> list[tuple[int, str]]:
        best = BestPieces(take, scan.query.limit)
        for part in snapshot.parts:
            if part.origin is None:
                best.add(scan.query.best_in(part, shown, take, best.limit))
        fits, choice = self._fits(snapshot), (take, best.limit)
        scans = [self._best_in(scan, part, shown, choice, fits=fits) for part in scan.measures]
        for found in await asyncio.gather(*scans):
            best.add(found)
        return list(best.ranked())

    async def _best_in(
        self, scan: ShardScan, part: Part, shown: Filter, choice: tuple[int, int], *, fits: bool
    ) -> list[tuple[int, str]]:
        """Return what a query finds in a part; ``choice`` is how many, and the limit."""
        answer = await self._scan(scan, part, scan.request(next(self._numbers), part, shown, choice), fits=fits)
        if answer is None:
            return await self._database.in_thread(scan.query.best_in, part, shown, *choice)
        return part.named(*_arrays(answer))

    async def key_of(self, snapshot: Snapshot, scan: ShardScan, piece_id: str) -> int | None:
        """Return the key of a live piece, ``None`` where it is never found, as `index.key_of`.

        Raises:
            IndexNotReady: as `find`.
        """
        found = snapshot.find(piece_id)
        if found is None or found[0] not in scan.measures:
            # A part without a measure finds nothing, or is the node's own and small.
            is_own = found is not None and found[0].origin is None
            return key_of(snapshot, piece_id, scan.query.scan) if is_own else None
        request = scan.key_request(next(self._numbers), *found)
        answer = await self._scan(scan, found[0], request, fits=self._fits(snapshot))
        if answer is None:
            return await self._database.in_thread(key_of, snapshot, piece_id, scan.query.scan)
        keys, _ = _arrays(answer)
        return int(keys[0]) if len(keys) else None

    async def count_ahead(self, snapshot: Snapshot, scan: ShardScan, positions: Sequence[PiecePosition]) -> int:
        """Return how many pieces come before these positions, all together, as `index.standing.count_ahead`.

        Raises:
            IndexNotReady: as `find`.
        """
        own = [part for part in snapshot.parts if part.origin is None]
        ahead = sum(count_ahead_in(part, each, scan.query.scan) for each in positions for part in own)
        fits = self._fits(snapshot)
        counts = [self._ahead_in(scan, part, each, fits=fits) for each in positions for part in scan.measures]
        return ahead + sum(await asyncio.gather(*counts))

    async def _ahead_in(self, scan: ShardScan, part: Part, position: PiecePosition, *, fits: bool) -> int:
        request = scan.ahead_request(next(self._numbers), part, position)
        answer = await self._scan(scan, part, request, fits=fits)
        if answer is None:
            return await self._database.in_thread(count_ahead_in, part, position, scan.query.scan)
        return answer.count

    def _fits(self, snapshot: Snapshot) -> bool:
        """Return whether this node has the memory to search a source by itself."""
        return not self._memory_bytes() or snapshot.nbytes <= self._memory_bytes()

    async def _scan(self, scan: ShardScan, part: Part, request: ScanRequest, *, fits: bool) -> ScanAnswer | None:
        """Return the answer of a replica; ``None`` where none has one in time, and the node has to scan by itself.

        Raises:
            IndexNotReady: it does not fit the node.
        """
        answer = await self._replicas_answer(scan, part, request, self._sound_replicas(request, waits=not fits))
        if answer is None:
            self._count(request, "node" if fits else "refused")
            if not fits:
                detail = "The processes that search this source do not answer at the moment."
                raise IndexNotReady(detail, retry_after_s=1)
        return answer

    async def _replicas_answer(
        self, scan: ShardScan, part: Part, request: ScanRequest, replicas: Sequence[ShardReplica]
    ) -> ScanAnswer | None:
        """Return the answer of a replica, ``None`` where none has one in time."""
        is_long = request.is_long
        hedge_s, limit_s = (LONGEST_HEDGE_S, LONG_SCAN_S) if is_long else (self._hedge_s(), SCAN_S)
        started = time.monotonic()
        under_way: set[asyncio.Task[ScanAnswer]] = set()
        try:
            for place, replica in enumerate(replicas):
                under_way.add(asyncio.create_task(self._ask(replica, scan, part, request)))
                answer = await _first_found(under_way, hedge_s)
                while answer is None and under_way and replica is replicas[-1] and time.monotonic() - started < limit_s:
                    answer = await _first_found(under_way, LONGEST_HEDGE_S)
                if answer is not None:
                    if not is_long:
                        self._recent_s.append(time.monotonic() - started)
                    self._metrics.seconds.observe(time.monotonic() - started)
                    self._count(request, "hedged" if place else "answered")
                    return answer
            return None
        finally:
            for task in under_way:
                task.cancel()

    async def _ask(self, replica: ShardReplica, scan: ShardScan, part: Part, request: ScanRequest) -> ScanAnswer:
        """Return what a replica finds, which is told what it does not know of what the request names.

        Raises:
            ReplicaLost: it does not answer.
        """
        answer = await replica.ask(request.number, request)
        # Each is missing once at most, unless others are told so much meanwhile that it is forgotten again.
        for _ in range(STATES_TOLD):
            states = scan.states(part, answer)
            if not states:
                break
            for state in states:
                self._metrics.states.labels(STATE_KINDS[type(state)]).inc()
            answer = await replica.ask(request.number, *states, request)
        return answer

    def _sound_replicas(self, request: ScanRequest, *, waits: bool) -> list[ShardReplica]:
        """Return the replicas that can be asked, each request beginning with another one; see `_sound_of`."""
        asked = _sound_of(self._hosts, self._hosts.of(request.file), request, waits=waits)
        # Hosts that are to be replaced may have ended before the others have mapped anything.
        return asked or (self._newest_replicas(request, waits=waits) if self.is_changing else [])

    def _newest_replicas(self, request: ScanRequest | StateRequest, *, waits: bool) -> list[ShardReplica]:
        """Return those of the newest hosts that can be asked."""
        return _sound_of(self._hosts, self._hosts.newest, request, waits=waits)

    def _shard(self, request: ScanRequest) -> int:
        """Return which shard of the hosts of a file is asked for a segment."""
        return request.place % max(1, len(self._hosts.of(request.file).shards))

    def _hedge_s(self) -> float:
        """Return after how long another replica is asked as well."""
        if len(self._recent_s) < RECENT_SCANS // 8:
            return LONGEST_HEDGE_S
        usual = sorted(self._recent_s)[int(HEDGE_QUANTILE * len(self._recent_s))]
        return min(max(usual, SHORTEST_HEDGE_S), LONGEST_HEDGE_S)

    def _count(self, request: ScanRequest, outcome: str) -> None:
        self._metrics.scans.labels(str(self._shard(request)), outcome).inc()


def _sound_of(
    sets: HostSets, hosts: ShardHosts, request: ScanRequest | StateRequest, *, waits: bool
) -> list[ShardReplica]:
    """Return those of the hosts of a segment that can be asked, each request beginning with another one.

    One that was lost is connected to meanwhile; only a request that ``waits``, where there is no other, waits for that.
    """
    shards = len(hosts.shards)
    replicas = sets.replicas(hosts, request.place % shards) if shards else []
    first = request.number // max(1, shards) % max(1, len(replicas))
    sound = [each for each in (*replicas[first:], *replicas[:first]) if each.check()]
    for each in sound:
        each.begin_connecting()
    there = [each for each in sound if not each.is_away]
    return there or (sound if waits else [])


def _arrays(answer: ScanAnswer) -> tuple[IntArray, IntArray]:
    """Return the keys and rows that a scan has found."""
    return np.frombuffer(answer.keys, dtype=np.int64), np.frombuffer(answer.rows, dtype=np.int64)


async def _first_found(under_way: set[asyncio.Task[ScanAnswer]], wait_s: float) -> ScanAnswer | None:
    """Return the first answer that has something of some tasks, which leave the set as they end."""
    deadline = time.monotonic() + wait_s
    while under_way:
        left_s = max(0.0, deadline - time.monotonic())
        done, _ = await asyncio.wait(under_way, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return None
        under_way -= done
        for task in done:
            # One is cancelled where its replica is placed elsewhere meanwhile.
            if not task.cancelled() and task.exception() is None and task.result().outcome is ScanOutcome.FOUND:
                return task.result()
    return None
