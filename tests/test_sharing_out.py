"""How tests are shared out over processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sharing_out import LONGEST, unit_of

ROOT = Path(__file__).parents[1]


def test_what_takes_longest_is_there() -> None:
    paths = [*(ROOT / "tests").rglob("test_*.py"), *ROOT.glob("packages/*/tests/**/test_*.py")]
    files = {unit_of(str(path.relative_to(ROOT))) for path in paths}

    assert set(LONGEST) <= files


@pytest.mark.slow
def test_files_go_to_a_process_as_a_whole_and_all_of_a_cluster_to_one(tmp_path: Path) -> None:
    for folder in ("tests/system/cluster", "tests/cli", "tests/other"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        "from sharing_out import FileScheduler\n"
        "def pytest_xdist_make_scheduler(config, log):\n"
        "    return FileScheduler(config, log)\n"
    )
    test = "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_it(n):\n    assert n < 6\n"
    names = ("system/cluster/test_a", "system/cluster/test_b", "cli/test_i", "other/test_c")
    files = [f"tests/{name}.py" for name in names]
    files += [f"tests/other/test_{name}.py" for name in "defgh"]
    for file in files:
        (tmp_path / file).write_text(test)

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", "-n", "2", "--dist", "load", "-v", "tests"],
        capture_output=True, text=True, timeout=1_000, check=False, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip

    lines = [line.split() for line in ran.stdout.splitlines() if " PASSED " in line]
    processes = {(words[0], unit_of(words[-1].partition("::")[0])) for words in lines}
    assert len(lines) == 6 * len(files), ran.stdout
    assert len(processes) == len({unit_of(file) for file in files}), ran.stdout
    assert len({process for process, _ in processes}) == 2


@pytest.mark.slow
def test_what_starts_processes_and_fails_is_run_once_more_and_both_results_are_printed(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests'}\nmarkers = slow\n")
    (tmp_path / "conftest.py").write_text("from tests.shared_fixtures import *\n")
    late = "runs = []\ndef test_late():\n    runs.append(0)\n    assert len(runs) > 1, 'too late'\n"
    (tmp_path / "test_processes.py").write_text("import subprocess\n" + late + "def test_wrong():\n    assert 1 > 2\n")
    (tmp_path / "test_here.py").write_text(late)

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-ra", "--import-mode=importlib", "."],
        capture_output=True, text=True, timeout=1_000, check=False, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    assert ran.returncode == 1
    assert "test_processes.py::test_late (call) failed, and is run once more:" in ran.stdout
    assert "1 passed, 2 rerun" in ran.stdout
    assert "FAILED test_processes.py::test_wrong" in ran.stdout
    assert "FAILED test_here.py::test_late" in ran.stdout
