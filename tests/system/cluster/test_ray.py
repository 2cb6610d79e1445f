"""Work on a real Ray cluster: the same bytes as by processes, whatever becomes of nodes and workers.

`sh scripts/ray` installs Ray and runs all of them, `--quick` those that CI tries.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from acceptance.servers import command
from cluster.ray_nodes import ENVIRONMENT, MEMORY_BYTES, RayNodes
from cluster.working import LARGE, LARGE_BYTES, PLAN, TEXT, folder_with
from evaluation.by_executors import evaluate_by, tune_by
from evaluation.conftest import drawn
from kernel_cache import KERNELS
from penchant.cli.importing import load_ndjson
from penchant.errors import Refused
from penchant.storage import open_storage
from penchant_batch.executor import Executor, WorkPlan, executor_of
from penchant_batch.work_folder import StoredPlan, WorkFolder

# Not imported here: Ray goes by the environment in which it is imported first.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: sh scripts/ray"),
]

TIMES = int(os.environ.get("PENCHANT_RAY_TIMES", "0"))
REPEATED = pytest.mark.parametrize("time", range(TIMES))
"""Marks what only `scripts/ray` without `--quick` tries, so many times."""


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[RayNodes]:
    """A head without work, and two nodes with a CPU each."""
    # Sockets lie in the folder, and their paths may have a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    nodes = RayNodes(folder / "r")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    try:
        for cpus in (0, 1, 1):
            nodes.start(cpus)
        yield nodes
    finally:
        nodes.close()


def done_by(address: str, folder: Path, plan: WorkPlan, kill: Callable[[], object]) -> bytes:
    """Return what a plan gives when something is killed after three of its ranges."""
    parts: dict[int, bytes] = {}
    with closing(executor_of(plan, folder, address)) as executor:
        for number, content in executor.run(range(plan.range_count)):
            parts[number] = content
            if len(parts) == 3:
                kill()
    return b"".join(parts[number] for number in range(plan.range_count))


def filled(folder: Path) -> Path:
    """Return a data folder with a source of more people than a range has."""
    pieces = [{"id": f"p{number}", "categories": {"genre": [f"g{number % 7}"]}} for number in range(100)]
    events = [
        {"userId": f"u{person}", "contentId": f"p{person * 31 % (97 + turn)}", "type": "Watch"}
        for person in range(2_500)
        for turn in range(3)
    ]
    for name, rows in (("pieces", pieces), ("interactions", events)):
        (folder / f"{name}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with closing(open_storage(folder=folder / "data", database_url=None)) as storage:
        load_ndjson(
            storage, "default", "s", pieces=folder / "pieces.ndjson", interactions=folder / "interactions.ndjson"
        )
    return folder / "data"


def test_lists_are_the_same_bytes_whatever_becomes_of_nodes(
    nodes: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENCHANT_KERNEL_FOLDER", str(KERNELS))
    words = ("recommend", "--data", str(filled(tmp_path)), "--source", "s", "--take", "5", "--out")
    by_processes = command(*words, str(tmp_path / "one.ndjson.gz"), "--workers", "1")
    monkeypatch.setenv("PENCHANT_CLUSTER", nodes.address)
    by_cluster = command(*words, str(tmp_path / "two.ndjson.gz"))

    assert by_processes.returncode == 0, by_processes.stderr
    assert by_cluster.returncode == 0, by_cluster.stderr
    assert (tmp_path / "one.ndjson.gz").read_bytes() == (tmp_path / "two.ndjson.gz").read_bytes()

    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    stranger = command(*words, str(tmp_path / "three.ndjson.gz"))
    assert (stranger.returncode, "token" in stranger.stderr) == (1, True)
    monkeypatch.setenv("RAY_AUTH_TOKEN", ENVIRONMENT["RAY_AUTH_TOKEN"])

    folder = folder_with(tmp_path / "slow", takes_s=0.3)
    assert done_by(nodes.address, folder, PLAN, lambda: nodes.kill(2)) == TEXT
    nodes.kill(1)
    with pytest.raises(Refused, match="no CPU left"):
        done_by(nodes.address, folder, PLAN, lambda: None)


def test_evaluation_and_tuning_find_the_same_though_a_node_is_lost(nodes: RayNodes, tmp_path: Path) -> None:
    history = drawn(120, 80, 12, groups=4)

    def by_cluster(plan: WorkPlan, folder: Path) -> Executor:
        return executor_of(plan, folder, nodes.address)

    evaluate_by(by_cluster, history, tmp_path / "evaluation", lambda: nodes.kill(2))
    tune_by(by_cluster, drawn(330, 80, 12, groups=4), tmp_path / "tuning", lambda: None)


@REPEATED
def test_a_node_that_is_frozen_costs_its_ranges(nodes: RayNodes, tmp_path: Path, time: int) -> None:
    folder = folder_with(tmp_path / f"files-{time}", takes_s=0.3)

    assert done_by(nodes.address, folder, PLAN, lambda: nodes.signal(2, signal.SIGSTOP)) == TEXT


@REPEATED
def test_killed_workers_cost_their_ranges(nodes: RayNodes, tmp_path: Path, time: int) -> None:
    folder = folder_with(tmp_path / f"files-{time}", deadly="20 50 90", takes_s=0.1)

    assert done_by(nodes.address, folder, PLAN, lambda: None) == TEXT


def fill(work: WorkFolder, address: str, doomed: Sequence[int] = ()) -> None:
    """Make the parts that are not there; after three of them processes are killed."""

    def tell(done: int, _count: int) -> None:
        for process in doomed if done == 3 * LARGE.size else ():
            os.kill(process, signal.SIGKILL)

    with closing(executor_of(LARGE, work.path / "files", address)) as executor:
        work.fill(LARGE, executor, tell)


def test_a_command_that_loses_the_head_ends_and_what_is_done_stays(nodes: RayNodes, tmp_path: Path) -> None:
    work = WorkFolder(tmp_path / "out")
    work.path.mkdir()
    folder_with(work.path / "files")
    work.begin(StoredPlan(request={}, about={}, plan=LARGE))

    # By itself, or by Ray, which ends whoever has lost the node of its machine.
    assert run(f"fill(WorkFolder(Path({str(work.out)!r})), {nodes.address!r}, {nodes.processes(0)})") == 1
    kept = set(work.finished())
    with pytest.raises(Refused, match="cannot be reached"):
        fill(work, nodes.address)
    for number in (0, 1, 2):
        nodes.kill(number)
    nodes.start_head()
    nodes.start(1)
    fill(work, nodes.address)

    assert len(kept) >= 3
    assert b"".join(work.contents(LARGE)) == b"".join(bytes([each]) * LARGE_BYTES for each in TEXT)


def run(words: str) -> int:
    """Run Python that knows what this file does, and return how it ended."""
    known = ("cluster.test_ray", "penchant_batch.executor", "penchant_batch.work_folder")
    words = "; ".join([*(f"from {each} import *" for each in known), words])
    return subprocess.run([sys.executable, "-c", words], check=False).returncode


def test_a_killed_command_leaves_room_for_the_files_of_others(nodes: RayNodes, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "files", takes_s=0.2)
    # A fifth of what a node has, which begins nothing where seven tenths are kept.
    (folder / "large").write_bytes(bytes(MEMORY_BYTES // 5))
    plan = msgspec.structs.replace(PLAN, files=(*PLAN.files, "large"))

    for _ in range(4):
        assert (
            run(f"done_by({nodes.address!r}, Path({str(folder)!r}), {plan!r}, lambda: os.kill(os.getpid(), 9))") == -9
        )

    assert done_by(nodes.address, folder, plan, lambda: None) == TEXT


def test_a_cluster_that_is_not_there_is_told_at_once_and_of_no_work(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"cannot be reached \([^)]*\)\.$"):
        executor_of(PLAN, folder_with(tmp_path / "files"), "127.0.0.2:9")
