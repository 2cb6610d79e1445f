"""Shard metrics: what became of scans, what shard processes were told, as a worker counts it, and missing replicas."""

from prometheus_client import Counter, Gauge, Histogram

from penchant.live.shard_messages import LiveRows, PopularChanges, PopularShares, SegmentState
from penchant.telemetry import SECONDS_BUCKETS, Metrics

STATE_KINDS: dict[type[SegmentState], str] = {LiveRows: "rows", PopularShares: "shares", PopularChanges: "changes"}
"""By what name each message about the state of a segment is counted."""


class ShardMetrics:
    """The metrics of a worker that asks shard processes, beside its others."""

    def __init__(self, metrics: Metrics) -> None:
        self.scans = Counter(
            "penchant_shard_scans", "Scans of segments, by shard.", ["shard", "outcome"], registry=metrics.registry
        )
        self.seconds = Histogram(
            "penchant_shard_scan_seconds",
            "Time until a shard process has scanned a segment.",
            buckets=SECONDS_BUCKETS,
            registry=metrics.registry,
        )
        self.failures = Counter(
            "penchant_shard_failures",
            "How often a shard process was passed by, by shard and replica.",
            ["shard", "replica"],
            registry=metrics.registry,
        )
        self.states = Counter(
            "penchant_shard_states",
            "What shard processes were told of segments because they did not know it.",
            ["state"],
            registry=metrics.registry,
        )
        self.missing = Gauge(
            "penchant_shard_replicas_missing",
            "Replicas of shards that the cluster does not run, or does not tell of.",
            registry=metrics.registry,
            multiprocess_mode="livesum",
        )
        self.host_sets = Gauge(
            "penchant_shard_host_sets",
            "Sets of shard processes that are asked: more than one while others take their place.",
            registry=metrics.registry,
            multiprocess_mode="livemax",
        )
