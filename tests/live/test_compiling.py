"""Compiled kernels are code: they are kept where nobody else can write, and made anew where they are damaged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernel_cache import KERNELS
from penchant.bootstrap import data_folder
from penchant.errors import StorageUnavailable
from penchant.settings import NodeSettings
from penchant_engine.compiling import find_fault, load_kernels
from penchant_engine.index.compiled.samples import FINDING

LOAD = """
import pathlib, sys
from penchant_engine.index.compiled.samples import FINDING
from penchant_engine.compiling import load_kernels
load_kernels(pathlib.Path(sys.argv[1]), FINDING)
print("numba" in sys.modules)
"""

FAIL = """
import pathlib, sys
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import FINDING, SERVED
from penchant_engine.compiling import KernelCompiler, are_compiled, compile_kernels, load_kernels
folder = pathlib.Path(sys.argv[1])
compile_kernels(folder)
found = load_kernels(folder, FINDING)
engine.use({FINDING: found})
compiler = KernelCompiler(pathlib.Path("/dev/null/none"))
compiler.begin()
compiler._thread.join()
print(found, engine.is_ready(FINDING), are_compiled(folder))
"""


def compiles(folder: Path) -> bool:
    """Load a kernel in a process of its own; return whether it had to compile it."""
    done = subprocess.run([sys.executable, "-c", LOAD, str(folder)], capture_output=True, text=True, check=True)
    return done.stdout == "True\n"


def test_a_fresh_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    assert find_fault(tmp_path / "kernels") is None
    assert (tmp_path / "kernels").stat().st_mode & 0o077 == 0


def test_a_folder_that_others_can_write_has_a_fault(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert str(find_fault(tmp_path)).startswith(f"others can write {tmp_path}, ")

    tmp_path.chmod(0o755)
    planted = tmp_path / "below" / "find-planted.kernels"
    planted.parent.mkdir()
    planted.touch()
    planted.chmod(0o666)
    assert find_fault(tmp_path) == f"others can write {planted}"
    tmp_path.chmod(0o700)
    assert find_fault(tmp_path) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, -1)

    assert str(find_fault(tmp_path)).startswith(f"others can write {tmp_path}, ")
    with pytest.raises(StorageUnavailable):
        data_folder(NodeSettings(data=str(tmp_path)))


def test_a_data_folder_that_everybody_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)

    with pytest.raises(StorageUnavailable, match="chmod"):
        data_folder(NodeSettings(data=str(tmp_path)))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder with kernels that were compiled before."""
    load_kernels(KERNELS, FINDING)
    for file in KERNELS.glob("find-*.kernels"):
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_damaged_kernels_are_made_anew(kept: Path) -> None:
    assert not compiles(kept)

    for path in kept.glob("*.kernels"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")

    assert [compiles(kept), compiles(kept)] == [True, False]


@pytest.mark.slow
def test_what_was_planted_where_others_can_write_is_not_run(kept: Path) -> None:
    kept.chmod(0o777)

    assert compiles(kept)


@pytest.mark.slow
def test_where_numba_is_of_an_unknown_release_numpy_searches(tmp_path: Path) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("__version__ = '99.0'")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", FAIL, str(tmp_path / "kernels")],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )

    assert done.stdout == "{} False False\n"
    assert done.stderr.count("the kernels cannot be compiled; searching with numpy") == 3


def test_a_kernel_takes_no_array_of_another_type() -> None:
    find = load_kernels(KERNELS, FINDING)["find"]
    numbers, text = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8)

    for wrong in (numbers.astype(np.int32), np.zeros(8, dtype=np.int64)[::2], np.zeros((1, 1), dtype=np.int64)):
        with pytest.raises(TypeError, match=r"takes arrays of .*int64"):
            find(wrong, text, numbers, text, numbers, numbers)
