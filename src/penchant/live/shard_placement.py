"""Shard placement: where a cluster runs the replicas of shards, as a file of the data folder tells it.

    placer (one of a data folder)  --in one step-->  shard-placement.json  --twice a second-->  workers, commands

The file outlives its writer and the cluster: the addresses that it has are asked until there are better ones.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from penchant.live.shard_hosts import Hosts
from penchant.live.shards import Shards
from penchant.settings import split_address
from penchant.telemetry import logger
from penchant.watched_file import WatchedFile, replace_file

FILE = "shard-placement.json"
INTERVAL_S = 0.5


class ReplicaPlace(msgspec.Struct, frozen=True):
    """Where a replica was last known to run, if anywhere, and why the cluster does not run it, if so."""

    address: str | None = None
    fault: str | None = None


class ShardPlacement(msgspec.Struct, frozen=True):
    """By shard the places of its replicas."""

    shards: tuple[tuple[ReplicaPlace, ...], ...] = ()

    def hosts(self) -> list[list[tuple[str, int]]]:
        """Return by shard the addresses at which it can be asked."""
        return [[split_address(each.address) for each in places if each.address] for places in self.shards]

    @property
    def missing(self) -> int:
        """How many replicas the cluster does not run, or does not tell of."""
        return sum(each.fault is not None for places in self.shards for each in places)

    def faults(self) -> list[str]:
        """Return what is wrong, a line for each reason."""
        missing: dict[str, list[str]] = {}
        for shard, places in enumerate(self.shards):
            for each in places:
                if each.fault is not None:
                    missing.setdefault(each.fault, []).append(str(shard))
        return [
            f"{len(shards)} replicas of shards ({', '.join(dict.fromkeys(shards))}) are missing: {fault}"
            for fault, shards in missing.items()
        ]


def read_placement(folder: Path) -> ShardPlacement:
    """Return what the file of a data folder tells; nothing where there is none that can be read."""
    return _newer(WatchedFile(folder / FILE)) or ShardPlacement()


def write_placement(folder: Path, placement: ShardPlacement) -> None:
    """Write the file of a data folder.

    Raises:
        OSError: the folder cannot be written.
    """
    replace_file(folder / FILE, msgspec.json.encode(placement))


def _newer(file: WatchedFile) -> ShardPlacement | None:
    """Return what a file tells since the last look, nothing where it cannot be read; ``None``: nothing new."""
    try:
        content = file.newer()
        return None if content is None else msgspec.json.decode(content, type=ShardPlacement)
    except (OSError, msgspec.DecodeError) as error:
        logger.warning("the placement of shards cannot be read: %s", error)
        return ShardPlacement()


class PlacementFollower:
    """Has a worker ask the replicas that the file of its data folder names, and keeps connections to all of them.

    A replica that the cluster runs ends when nobody has been connected to it for a while.
    """

    def __init__(self, shards: Shards, folder: Path, follows: Callable[[], bool] = lambda: True) -> None:
        """``follows`` tells whether replicas are placed at the moment: settings may change."""
        self._shards = shards
        self._path = folder / FILE
        self._file = WatchedFile(self._path)
        self._follows = follows
        self._is_followed = follows()
        self._placement = ShardPlacement()

    @property
    def warnings(self) -> list[str]:
        """What is wrong, for an answer that everybody may see: addresses and reasons are left out."""
        missing = self._placement.missing
        return [f"{missing} replicas of shards are missing: penchant cluster status says why."] if missing else []

    async def run(self) -> None:
        """Follow the file for ever, until cancelled."""
        while True:
            self._look()
            await self._shards.hold()
            await asyncio.sleep(INTERVAL_S)

    def _look(self) -> None:
        if not self._follows():
            self._is_followed, self._file, self._placement = False, WatchedFile(self._path), ShardPlacement()
            return
        placement = _newer(self._file)
        if placement is not None:
            self._placement = placement
            self._ask(placement.hosts())

    def _ask(self, hosts: Hosts) -> None:
        """Have workers ask replicas there: at once, or beside the hosts that settings have named before."""
        if not hosts:
            return
        if self._is_followed:
            self._shards.place(hosts)
        else:
            self._shards.change(len(hosts), hosts)
        self._is_followed = True
