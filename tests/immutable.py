"""Files that nobody can change for a while, as on a file system that has turned read-only."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def set_immutable(paths: tuple[Path, ...], *, wanted: bool) -> None:
    """Let files, and folders, take no change, not even of root's; skip where that cannot be."""
    words = ["chattr", "+i" if wanted else "-i", *(str(path) for path in paths if path.exists())]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no chattr")
    if done.returncode:
        pytest.skip(f"no file can be made immutable: {done.stderr.strip()}")


@contextlib.contextmanager
def immutable(*paths: Path) -> Iterator[None]:
    """Let files and folders take no change in the block."""
    set_immutable(paths, wanted=True)
    try:
        yield
    finally:
        set_immutable(paths, wanted=False)
