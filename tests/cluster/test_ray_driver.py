"""What drives a cluster, beside a stand-in for Ray: it needs none here."""

import time
from collections.abc import Sequence
from multiprocessing import Pipe
from typing import Any

from penchant.cluster.crew import RangeFailure
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

    def begin(number: int) -> object:
        begun.append(number)
        return object()

    with ours, theirs:
        ours.send(7)
        _hand_on(theirs, SilentCluster(), begin, 0.01)

        assert begun == [7] * (1 + MOST_REPEATS)
        assert ours.recv() == RangeFailure(SILENT)
