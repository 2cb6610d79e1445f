"""Compiled kernels are code: they are kept where nobody else can write, and made anew where they are damaged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penchant.bootstrap import data_folder
from penchant.errors import StorageUnavailable
from penchant.live.compiling import find_fault
from penchant.settings import NodeSettings

COMPILE = """
import pathlib, sys
from penchant.index import engine
from penchant.live.compiling import compile_alone, load_kernels
folder = pathlib.Path(sys.argv[1])
kernels = load_kernels(folder)
compile_alone(kernels, engine.FINDING, folder)
print(sum(kernels.find.stats.cache_hits.values()))
"""


def compiled(folder: Path) -> int:
    """Compile a kernel in a process of its own; return how often it was found in the cache."""
    done = subprocess.run([sys.executable, "-c", COMPILE, str(folder)], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_fresh_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    assert find_fault(tmp_path / "kernels") is None
    assert (tmp_path / "kernels").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", (0o777, 0o770))
def test_a_folder_that_others_can_write_has_a_fault(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert find_fault(tmp_path) == f"others can write {tmp_path}"

    tmp_path.chmod(0o755)
    planted = tmp_path / "index_1" / "planted.nbi"
    planted.parent.mkdir()
    planted.touch()
    planted.chmod(0o666)
    assert find_fault(tmp_path) == f"others can write {planted}"
    tmp_path.chmod(0o700)
    assert find_fault(tmp_path) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, -1)

    assert find_fault(tmp_path) == f"others can write {tmp_path}"
    with pytest.raises(StorageUnavailable):
        data_folder(NodeSettings(data=str(tmp_path)))


def test_a_data_folder_that_everybody_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)

    with pytest.raises(StorageUnavailable, match="chmod"):
        data_folder(NodeSettings(data=str(tmp_path)))


@pytest.mark.slow
def test_damaged_kernels_are_made_anew(tmp_path: Path) -> None:
    assert [compiled(tmp_path), compiled(tmp_path)] == [0, 1]

    for path in tmp_path.rglob("*.nbi"):
        path.write_bytes(b"\x80\x04N." + path.read_bytes()[:40])

    assert [compiled(tmp_path), compiled(tmp_path)] == [0, 1]


@pytest.mark.slow
def test_what_was_planted_where_others_can_write_is_not_run(tmp_path: Path) -> None:
    compiled(tmp_path)
    tmp_path.chmod(0o777)

    assert compiled(tmp_path) == 0
