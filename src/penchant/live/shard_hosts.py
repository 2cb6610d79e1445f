"""Shard hosts: which processes are asked for the segments of a file, also while others take their place.

    settings        sets of hosts          files of four segments          a file of six
    4 shards        four                   asked of four                   --
    then 6          four, six              asked of four, as before        asked of six, once each segment is mapped
    nobody uses     six                    --                              asked of six
    a file of four

Where the number of shards stays, and hosts alone change, the same file goes over once the new ones have mapped it.
For the event loop only.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from penchant.index import Snapshot
from penchant.live.shard_messages import FileName
from penchant.live.shard_replica import ShardReplica

Address: TypeAlias = tuple[str, int]
Hosts: TypeAlias = Sequence[Sequence[Address]]
"""By shard the addresses of its replicas."""


@dataclass(slots=True, eq=False)
class ShardHosts:
    """The hosts of files of ``count`` segments; ``ready`` are the files that are asked of them and of none before."""

    count: int
    shards: list[list[Address]]
    ready: set[FileName] = field(default_factory=set)
    is_unused: bool = False
    """Whether no file was asked of them at the last look; what is under way may still be."""


class HostSets:
    """The sets of hosts in use, the newest last; they share the connections of processes that are in several.

    ``connect`` makes the replica of a shard, its place among those of the shard, and its address.
    """

    def __init__(self, count: int, hosts: Hosts, connect: Callable[[int, int, Address], ShardReplica]) -> None:
        self._connect = connect
        self._replicas: dict[tuple[int, Address], ShardReplica] = {}
        self._sets: list[ShardHosts] = []
        self.change(count, hosts)

    def __len__(self) -> int:
        return len(self._sets)

    @property
    def named(self) -> int:
        """How many sets have a host."""
        return sum(bool(each.shards) for each in self._sets)

    @property
    def newest(self) -> ShardHosts:
        """The hosts that the settings name, or that a cluster runs."""
        return self._sets[-1]

    def change(self, count: int, hosts: Hosts) -> bool:
        """Have files of so many segments asked of these hosts, once they have mapped them; return whether it is new."""
        shards = [list(dict.fromkeys(addresses)) for addresses in hosts]
        if self._sets and (self.newest.count, self.newest.shards) == (count, shards):
            return False
        # Back to hosts that are still in use: they have mapped what they are asked for.
        known = [each for each in self._sets if (each.count, each.shards) == (count, shards)]
        chosen = known[-1] if known else ShardHosts(count, shards)
        self._sets = [*(each for each in self._sets if each is not chosen), chosen]
        self._renew()
        return True

    def place(self, hosts: Hosts) -> None:
        """Ask the shards of all sets at these addresses from now on: where a cluster runs them at the moment."""
        for each in self._sets:
            for shard, addresses in enumerate(hosts[: len(each.shards)]):
                each.shards[shard] = list(dict.fromkeys(addresses))
        self._renew()

    def of(self, file: FileName) -> ShardHosts:
        """Return the hosts that the segments of a file are asked of."""
        ready = [each for each in self._sets if file in each.ready]
        alike = [each for each in self._sets if each.count == file[-1]]
        return (ready[-1:] or alike[:1] or self._sets[-1:])[0]

    def replicas(self, hosts: ShardHosts, shard: int) -> list[ShardReplica]:
        """Return the replicas of a shard."""
        return [self._replicas[shard, address] for address in hosts.shards[shard]]

    def all_replicas(self) -> list[ShardReplica]:
        """Return every process that may be asked."""
        return list(self._replicas.values())

    def note_ready(self, file: FileName) -> None:
        """Have the newest hosts asked for a file from now on."""
        self.newest.ready.add(file)

    def let_go(self, in_use: Collection[FileName]) -> int:
        """Close the connections to hosts that no file in use is asked of, at the second look; return how many sets.

        Until then what was under way at the first one has its answers.
        """
        used = {id(self.newest), *(id(self.of(file)) for file in in_use)}
        unused = [each for each in self._sets if id(each) not in used]
        gone = [each for each in unused if each.is_unused]
        for each in self._sets:
            each.ready.intersection_update(in_use)
            each.is_unused = each in unused
        self._sets = [each for each in self._sets if each not in gone]
        self._renew()
        return len(gone)

    def close(self) -> None:
        """Close all connections."""
        self._sets = [ShardHosts(1, [])]
        self._renew()

    def _renew(self) -> None:
        """Have a replica for each address of each shard, and close those of others."""
        named = {
            (shard, address): place
            for hosts in self._sets
            for shard, addresses in enumerate(hosts.shards)
            for place, address in enumerate(addresses)
        }
        for name in [name for name in self._replicas if name not in named]:
            self._replicas.pop(name).close()
        for (shard, address), place in named.items():
            if (shard, address) not in self._replicas:
                self._replicas[shard, address] = self._connect(shard, place, address)


def file_of(snapshot: Snapshot) -> FileName | None:
    """Return the file of several segments that a snapshot began with, if it did."""
    origins = (part.origin for part in snapshot.parts if part.origin is not None)
    return next((cast("FileName", origin.file) for origin in origins), None)
