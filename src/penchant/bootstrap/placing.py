"""Placing: a process of a data folder that has a cluster run replicas of shards, and tells workers where they are.

    placer (forked by the server; one of a data folder, by a lock)   never talks to the cluster itself
      '-- driver (`cluster.replica_driver`)                          may end, hang or be killed: another one is started
    what the driver reports  --> shard-placement.json, the log, and the gauge that alerts look at

Where the driver tells of no replica, the address that was last known stays: it may answer still.
"""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from penchant.bootstrap.folders import cluster_token_file, data_folder
from penchant.bootstrap.processes import start_helper
from penchant.bootstrap.services import process_metrics
from penchant.bootstrap.shard_serving import places_shards, service_id
from penchant.cluster.replica_driver import drive_replicas
from penchant.cluster.replicas import DriverFailure, ReplicaPlan, ReplicaReport, Reports
from penchant.live.election import Election
from penchant.live.shard_metrics import ShardMetrics
from penchant.live.shard_placement import ReplicaPlace, ShardPlacement, read_placement, write_placement
from penchant.settings import CurrentSettings, NodeSettings, counting_alone
from penchant.telemetry import logger

SERVER = "penchant.bootstrap.shard_serving:PlacedShard"
LOCK = "shard-placement.lock"
ELECTION_INTERVAL_S = 2.0
SILENT_S, HUNG_S = 7.0, 45.0
"""How long a driver may be silent before that is a fault, and before another one is started: Ray may take its time."""
RESTART_PAUSE_S = 1.0
_SPAWNING = multiprocessing.get_context("spawn")


def run_placer(settings: NodeSettings, parent: int) -> None:
    """Have a cluster run the replicas of shards until this process is ended."""
    current = start_helper(settings, parent)
    folder = data_folder(settings)
    election = Election(folder / LOCK)
    while not election.try_win():
        time.sleep(ELECTION_INTERVAL_S)
    metrics = ShardMetrics(process_metrics())
    while True:
        if places_shards(current.now):
            _place(current, folder, metrics)
        else:
            metrics.missing.set(0)
            time.sleep(RESTART_PAUSE_S)


def _counts(settings: NodeSettings) -> tuple[int, int]:
    """Return of how many shards replicas are to be placed, and how many of each; of none where none are."""
    return (settings.shards, settings.shard_replicas) if places_shards(settings) else (0, 0)


def _place(current: CurrentSettings, folder: Path, metrics: ShardMetrics) -> None:
    """Have a cluster run replicas until there are to be more or fewer: by a driver, and another one when it is lost.

    Replicas that later settings do not ask for end when no worker is connected to them any more.
    """
    settings = current.now
    note = PlacementNote(folder, settings, metrics)

    def holds() -> bool:
        return _counts(current.now) == _counts(settings)

    while holds():
        driver = _Driver(settings)
        try:
            _follow(driver, note, holds)
        finally:
            driver.end()
        time.sleep(RESTART_PAUSE_S)


def _follow(driver: "_Driver", note: "PlacementNote", holds: Callable[[], bool]) -> None:
    """Note what a driver reports, until it ends or hangs, or settings change."""
    heard = time.monotonic()
    while holds() and (silent_s := time.monotonic() - heard) < HUNG_S:
        try:
            if driver.connection.poll(RESTART_PAUSE_S):
                said: Reports | DriverFailure = driver.connection.recv()
                heard = time.monotonic()
                if isinstance(said, DriverFailure):
                    note.fault(said.detail)
                    return
                note.reported(said)
            elif silent_s > SILENT_S:
                note.fault(f"the cluster has not answered for {SILENT_S:.0f} s")
        except (EOFError, OSError):
            logger.warning("the process that talks to the cluster has ended")
            return


class _Driver:
    """The process that talks to the cluster, and the connection by which it reports."""

    def __init__(self, settings: NodeSettings) -> None:
        # Only what a replica goes by: the rest has the database's password.
        shown = NodeSettings(
            data=str(Path(settings.data).absolute()),
            kernel_folder=settings.kernel_folder,
            log_level=settings.log_level,
            log_format=settings.log_format,
        )
        plan = ReplicaPlan(SERVER, shown, service_id(settings), settings.shards, settings.shard_replicas)
        self.connection: Connection[Any, Any]
        self.connection, theirs = multiprocessing.Pipe()
        token_file = cluster_token_file(settings)
        self._process: BaseProcess = _SPAWNING.Process(
            target=drive_replicas, args=(theirs, plan, settings.cluster, token_file), daemon=True
        )
        with counting_alone():
            self._process.start()
        # With this copy open, the end of the driver would not be seen.
        theirs.close()

    def end(self) -> None:
        """End it, however it is."""
        self.connection.close()
        self._process.kill()
        self._process.join()


class PlacementNote:
    """The placement as it was last noted."""

    def __init__(self, folder: Path, settings: NodeSettings, metrics: ShardMetrics) -> None:
        self._folder = folder
        self._metrics = metrics
        self._noted = ShardPlacement()
        known = [list(places[: settings.shard_replicas]) for places in read_placement(folder).shards]
        known += [[] for _ in range(settings.shards - len(known))]
        missing = ReplicaPlace()
        self._note(
            [[*places, *[missing] * (settings.shard_replicas - len(places))] for places in known[: settings.shards]]
        )

    def reported(self, reports: Reports) -> None:
        """Note what a driver reports."""
        self._note(
            [
                [ReplicaPlace(found.address or known.address, found.fault) for known, found in zip(*pair, strict=True)]
                for pair in zip(self._noted.shards, reports, strict=True)
            ]
        )

    def fault(self, reason: str) -> None:
        """Note that nothing is known of any replica, and why."""
        self.reported(tuple(tuple(ReplicaReport(None, reason) for _ in places) for places in self._noted.shards))

    def _note(self, shards: list[list[ReplicaPlace]]) -> None:
        noted = ShardPlacement(tuple(map(tuple, shards)))
        self._metrics.missing.set(noted.missing)
        if noted == self._noted:
            return
        for line in noted.faults():
            if line not in self._noted.faults():
                logger.warning(line)
        if self._noted.faults() and not noted.faults():
            logger.info("all replicas of shards are placed")
        write_placement(self._folder, noted)
        self._noted = noted
