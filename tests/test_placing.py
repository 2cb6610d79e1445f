"""What a placer notes of replicas, and how a placed one begins and ends; tests/cluster has them on a cluster."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from penchant.bootstrap import shard_token
from penchant.bootstrap.placing import PlacementNote
from penchant.bootstrap.shard_serving import PlacedShard, places_shards, service_id
from penchant.cluster.replicas import ReplicaReport
from penchant.errors import Refused
from penchant.live.shard_messages import MAGIC, NONCE_BYTES, proof
from penchant.live.shard_metrics import ShardMetrics
from penchant.live.shard_placement import ReplicaPlace, read_placement
from penchant.settings import NodeSettings
from penchant.telemetry import Metrics

PLACED = """
import asyncio, sys
from penchant.bootstrap import shard_serving
from penchant.settings import NodeSettings

shard_serving.LEASE_S, shard_serving.LEASE_CHECK_S = 4.0, 0.1
settings = NodeSettings(data=sys.argv[1])

async def serve():
    served = shard_serving.PlacedShard(settings, shard_serving.service_id(settings))
    print(await served.start("127.0.0.5"), flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


def test_shards_are_placed_where_a_cluster_is_named_and_no_hosts_are() -> None:
    assert places_shards(NodeSettings(cluster="h:1", shard_pieces=5_000))
    assert not places_shards(NodeSettings(cluster="h:1"))
    assert not places_shards(NodeSettings(shard_pieces=5_000))
    assert not places_shards(NodeSettings(cluster="h:1", shard_pieces=5_000, shard_replicas=0))
    assert not places_shards(NodeSettings(cluster="h:1", shard_pieces=5_000, shard_hosts=("h:1",)))


def test_addresses_that_were_known_stay_until_there_are_others(tmp_path: Path) -> None:
    settings = NodeSettings(data=str(tmp_path), shards=2, shard_replicas=2)
    metrics = Metrics()
    note = PlacementNote(tmp_path, settings, ShardMetrics(metrics))
    here, there = ReplicaReport("a:1", None), ReplicaReport("b:1", None)
    note.reported(((here, there), (there, here)))

    note.reported(((here, ReplicaReport(None, "no room")), (there, ReplicaReport("c:1", None))))
    assert read_placement(tmp_path).shards == (
        (ReplicaPlace("a:1"), ReplicaPlace("b:1", "no room")),
        (ReplicaPlace("b:1"), ReplicaPlace("c:1")),
    )
    note.fault("the cluster is away")
    assert [[each.address for each in places] for places in read_placement(tmp_path).shards] == [
        ["a:1", "b:1"],
        ["b:1", "c:1"],
    ]
    assert metrics.registry.get_sample_value("penchant_shard_replicas_missing") == 4

    # As one that starts later finds them, under other settings.
    PlacementNote(tmp_path, NodeSettings(data=str(tmp_path), shards=3, shard_replicas=1), ShardMetrics(Metrics()))
    assert [[each.address for each in places] for places in read_placement(tmp_path).shards] == [
        ["a:1"],
        ["b:1"],
        [None],
    ]


def test_a_machine_without_the_data_folder_serves_no_shard(tmp_path: Path) -> None:
    settings = NodeSettings(data=str(tmp_path / "here"))
    other = service_id(NodeSettings(data=str(tmp_path / "there")))

    with pytest.raises(Refused, match="does not have the data folder"):
        PlacedShard(settings, other)
    assert not (tmp_path / "here").exists()
    shard_token(settings)
    with pytest.raises(Refused, match="another service"):
        PlacedShard(settings, other)


def test_a_placed_replica_ends_once_nobody_is_connected(tmp_path: Path) -> None:
    token = shard_token(NodeSettings(data=str(tmp_path)))

    async def connect(host: str, port: int, process: subprocess.Popen[str]) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        greeting = await reader.readexactly(len(MAGIC) + NONCE_BYTES)
        writer.write(proof(token, greeting[len(MAGIC) :]))
        # Twice as long as it would wait for somebody.
        await asyncio.sleep(8)
        assert process.poll() is None
        writer.close()
        await writer.wait_closed()

    with subprocess.Popen([sys.executable, "-c", PLACED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            host, _, port = process.stdout.readline().strip().rpartition(":")
            asyncio.run(connect(host, int(port), process))
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
