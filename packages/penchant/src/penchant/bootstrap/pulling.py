"""Pulling: the process that runs the pulls that are due, which alone needs what reads files of other systems."""

import contextlib
import os
import signal
import sys

import msgspec

from penchant.bootstrap.folders import storage_of
from penchant.bootstrap.processes import BUILDER_NICENESS, start_child
from penchant.service.pulling import Puller
from penchant.settings import NodeSettings


def run_pulls() -> None:
    """Run the pulls that are due, and print what came of each; what the process of `PullSchedule` runs."""
    told = msgspec.json.decode(sys.stdin.buffer.read())
    settings = msgspec.convert(told["settings"], NodeSettings)
    start_child(settings, told["parent"])
    # So that a pull under way gives its lease up, and another node need not wait for its end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.nice(BUILDER_NICENESS)
    with contextlib.closing(storage_of(settings)) as storage:
        for run in Puller(storage, settings).run_due():
            print(run.outcome.value, flush=True)  # noqa: T201  # to the process that has started this one
