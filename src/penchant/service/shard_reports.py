"""Shard reports: how the shard processes of a node are, and how far what they hold is behind the node's files."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from penchant.live.array_files import Stamp
from penchant.live.builder import SMALLEST_FILE
from penchant.live.database import AsyncStorage
from penchant.live.segment_files import SegmentFiles
from penchant.live.shard_watch import ReplicaState, ShardWatch
from penchant.live.shards import Shards
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant.wire import (
    ShardAnswer,
    ShardReplicaAnswer,
    ShardReport,
    ShardScansAnswer,
    ShardSegmentAnswer,
    SplitSourceAnswer,
    format_timestamp,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSource:
    """A source whose newest file on this node, of a stamp, has several segments."""

    account: str
    head: SourceHead
    stamp: Stamp
    segments: int


class ShardReports:
    """Tells operators of the shard processes that the settings name; of none where there are none."""

    def __init__(self, database: AsyncStorage, shards: Shards, files: SegmentFiles, metrics: Metrics) -> None:
        self._database = database
        self._watch = ShardWatch(shards)
        self._files = files
        self._metrics = metrics

    async def warnings(self) -> list[str]:
        """Return a warning for each shard without a process that answers."""
        states = await self._watch.states()
        return [
            f"No process of shard {shard} answers: lists that need it are searched by the nodes themselves, or refused."
            for shard, replicas in enumerate(states)
            if not any(replica.is_reachable for replica in replicas)
        ]

    async def report(self) -> ShardReport:
        """Return the state of every shard and replica, as a worker sees it now."""
        states = await self._watch.states()
        if not states:
            return ShardReport(shards=[], sources=[])
        sources = await self._database.in_thread(self._split_sources)
        scans = await asyncio.to_thread(self._metrics.counts, "penchant_shard_scans", "shard", "outcome")
        none = dict.fromkeys(ShardScansAnswer.__struct_fields__, 0)
        shards = []
        for shard, replicas in enumerate(states):
            searched = [(source, place) for source in sources for place in range(shard, source.segments, len(states))]
            answers = [_replica(replica, searched) for replica in replicas]
            outcomes = {outcome: count for (number, outcome), count in scans.items() if number == str(shard)}
            shards.append(
                ShardAnswer(
                    shard=shard,
                    reachable=any(answer.reachable for answer in answers),
                    scans=ShardScansAnswer(**none | outcomes),
                    replicas=answers,
                )
            )
        return ShardReport(shards=shards, sources=[_source(each) for each in sources])

    def _split_sources(self) -> list[SplitSource]:
        """Return the sources that shards search, ascending by account and name."""
        found = []
        for head in self._database.storage.sources.list_large(SMALLEST_FILE):
            published = self._files.newest(head)
            count = None if published is None else self._files.segment_count(published)
            if published is not None and count is not None and count > 1:
                found.append((head, published.stamp, count))
        names = self._database.storage.accounts.names({head.account_id for head, _, _ in found})
        split = [
            SplitSource(account=names.get(head.account_id, ""), head=head, stamp=stamp, segments=count)
            for head, stamp, count in found
        ]
        return sorted(split, key=lambda each: (each.account, each.head.name))


def _replica(state: ReplicaState, searched: Sequence[tuple[SplitSource, int]]) -> ShardReplicaAnswer:
    """Return what is told of a replica, which is to search these segments."""
    contact = state.contact
    return ShardReplicaAnswer(
        address=state.address,
        reachable=state.is_reachable,
        since=None if contact is None else _moment(contact.since),
        reason=contact.reason or None if contact is not None else None,
        answered_at=None if state.answered_at is None else _moment(state.answered_at),
        segments=[] if state.held is None else [_segment(state, source, place) for source, place in searched],
    )


def _segment(state: ReplicaState, source: SplitSource, place: int) -> ShardSegmentAnswer:
    """Return from which file a replica has a segment: the newest one of the same history and cut as the node's."""
    *history, newest = source.stamp
    versions = [
        held.file[-2]
        for held in state.held or ()
        if held.place == place and [*held.file[:-2], held.file[-1]] == [*history, source.segments]
    ]
    version = max(versions, default=None)
    return ShardSegmentAnswer(
        account=source.account,
        source=source.head.name,
        segment=place,
        version=version,
        behind=None if version is None else max(0, newest - version),
    )


def _source(source: SplitSource) -> SplitSourceAnswer:
    return SplitSourceAnswer(
        account=source.account,
        source=source.head.name,
        pieces=source.head.piece_count,
        segments=source.segments,
        version=source.head.version,
        file_version=source.stamp.version,
    )


def _moment(seconds: float) -> str:
    return format_timestamp(int(seconds * 1_000))
