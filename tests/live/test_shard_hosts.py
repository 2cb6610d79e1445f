"""Which hosts are asked for a file, while others take their place: the ones that have it."""

from collections import Counter
from typing import ClassVar

from penchant.live.shard_hosts import Address, HostSets
from penchant.live.shard_messages import FileName
from penchant.live.shard_replica import ShardReplica

FOUR: list[list[Address]] = [[("a", 1)], [("a", 2)], [("a", 3)], [("a", 4)]]
SIX: list[list[Address]] = [*FOUR[:3], [("b", 1)], [("b", 2)], [("b", 3)]]


class CountedReplica(ShardReplica):
    """Counts which addresses are open."""

    is_open: ClassVar[Counter[Address]] = Counter()

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port, b"")
        self._place = host, port
        self.is_open[self._place] += 1

    def close(self) -> None:
        self.is_open[self._place] -= 1


def file(version: int, count: int) -> FileName:
    return (1, 1, 1, 1, version, count)


def sets_of(hosts: list[list[Address]]) -> HostSets:
    CountedReplica.is_open.clear()
    return HostSets(len(hosts), hosts, lambda _shard, _place, address: CountedReplica(*address))


def asked(sets: HostSets, name: FileName) -> list[list[str]]:
    """Return by shard the addresses that are asked for a file."""
    hosts = sets.of(name)
    return [[each.address for each in sets.replicas(hosts, shard)] for shard in range(len(hosts.shards))]


def addresses(hosts: list[list[Address]]) -> list[list[str]]:
    return [[f"{host}:{port}" for host, port in shard] for shard in hosts]


def test_a_file_is_asked_of_the_hosts_of_its_number_until_nobody_uses_it() -> None:
    sets = sets_of(FOUR)
    assert sets.change(6, SIX)

    assert (asked(sets, file(1, 4)), asked(sets, file(2, 6))) == (addresses(FOUR), addresses(SIX))
    assert sets.let_go({file(1, 4), file(2, 6)}) == 0
    # What was under way at the first look has its answers before the second one.
    assert [sets.let_go({file(2, 6)}) for _ in range(2)] == [0, 1]
    assert (len(sets), asked(sets, file(1, 4))) == (1, addresses(SIX))
    assert +CountedReplica.is_open == Counter(address for shard in SIX for address in shard)


def test_back_to_hosts_that_are_in_use_is_no_change_for_their_files() -> None:
    sets = sets_of(FOUR)
    sets.change(6, SIX)
    sets.change(4, FOUR)

    assert not sets.change(4, FOUR)
    assert asked(sets, file(1, 4)) == addresses(FOUR)
    assert asked(sets, file(2, 6)) == addresses(SIX)
    assert [sets.let_go({file(1, 4)}) for _ in range(2)] == [0, 1]
    assert (len(sets), asked(sets, file(1, 4))) == (1, addresses(FOUR))


def test_other_hosts_of_the_same_number_are_asked_once_they_are_ready() -> None:
    others: list[list[Address]] = [[("c", number)] for number in range(4)]
    sets = sets_of(FOUR)
    sets.change(4, others)
    assert asked(sets, file(1, 4)) == addresses(FOUR)

    sets.note_ready(file(1, 4))

    assert asked(sets, file(1, 4)) == addresses(others)
    assert [sets.let_go({file(1, 4)}) for _ in range(2)] == [0, 1]
    assert asked(sets, file(1, 4)) == addresses(others)


def test_hosts_of_a_change_before_the_last_are_let_go() -> None:
    sets = sets_of(FOUR)
    sets.change(6, SIX)
    sets.change(8, SIX + FOUR[:2])

    assert [sets.let_go({file(1, 4)}) for _ in range(2)] == [0, 1]
    assert (len(sets), asked(sets, file(1, 4))) == (2, addresses(FOUR))


def test_where_a_cluster_moves_a_replica_all_hosts_know_it() -> None:
    sets = sets_of(FOUR)
    sets.change(6, SIX)

    moved: list[list[Address]] = [[("z", 9)], *SIX[1:]]
    sets.place(moved)

    assert asked(sets, file(2, 6)) == addresses(moved)
    assert asked(sets, file(1, 4)) == addresses([[("z", 9)], *SIX[1:4]])
    sets.close()
    assert +CountedReplica.is_open == Counter()
