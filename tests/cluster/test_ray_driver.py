"""What drives a cluster, beside a stand-in for Ray: it needs none here."""

import time
from collections.abc import Sequence
from multiprocessing import Pipe
from threading import Thread
from typing import Any

from penchant.cluster.crew import PartDone, RangeFailure
from penchant.cluster.ray_driver import MOST_REPEATS, SILENT, _hand_on


class SilentCluster:
    """A cluster with CPUs that does nothing, as was seen of a real one."""

    def wait(self, pending: Sequence[Any], timeout: float) -> tuple[list[Any], Sequence[Any]]:
        time.sleep(min(timeout, 0.001))
        return [], pending

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}


def test_work_that_nobody_does_is_given_up() -> None:
    ours, theirs = Pipe()
    begun = list[int]()

    def begin(number: int, _stalls: int) -> object:
        begun.append(number)
        return object()

    with ours, theirs:
        ours.send(7)
        _hand_on(theirs, SilentCluster(), begin, 0.01)

        assert begun == [7] * (1 + MOST_REPEATS)
        assert ours.recv() == RangeFailure(SILENT)


class FrozenNodeCluster(SilentCluster):
    """A cluster with a frozen node: Ray begins no task any more of the kind that waits for that node."""

    def wait(self, pending: Sequence[Any], timeout: float) -> tuple[list[Any], Sequence[Any]]:
        done = [task for task in pending if task[1]]
        return (done, []) if done else super().wait(pending, timeout)

    def get(self, task: tuple[int, int]) -> bytes:
        return b"%d" % task[0]


def test_after_a_stall_all_is_begun_as_tasks_of_another_kind() -> None:
    ours, theirs = Pipe()
    driver = Thread(target=_hand_on, args=(theirs, FrozenNodeCluster(), lambda *task: task, 0.01))

    with ours, theirs:
        driver.start()
        for number in (7, 8, 9):
            ours.send(number)
            assert ours.recv() == PartDone(number, b"%d" % number)
        ours.close()
        driver.join()
