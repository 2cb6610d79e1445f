"""Pauses of a process: the garbage collector passes over modules and kernels, which stay as long as the process."""

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_cache import KERNELS

SERVING = """
import asyncio, gc, sys, time
from penchant.bootstrap.services import open_services
from penchant.settings import CurrentSettings, NodeSettings

async def serve(data, kernels):
    settings = CurrentSettings(NodeSettings(data=data, kernel_folder=kernels))
    async with open_services(settings, call_builder=lambda: None):
        print(gc.get_freeze_count() > 0.9 * len(gc.get_objects()))

asyncio.run(serve(*sys.argv[1:]))
"""


@pytest.mark.slow
def test_what_stays_is_no_more_collected(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SERVING, str(tmp_path / "data"), str(KERNELS)]

    assert subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout == "True\n"
