"""The TypeScript client, built once from a clean copy."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"


def run(folder: Path, *words: str, **environment: str) -> str:
    """Run a command in a folder and return what it printed."""
    found = subprocess.run(
        words, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="session")
def built_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's folder with its development packages, built."""
    copy = tmp_path_factory.mktemp("clients") / "typescript"
    shutil.copytree(CLIENT, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run(copy, "npm", "ci", "--no-audit", "--no-fund")
    run(copy, "npm", "run", "build")
    return copy
