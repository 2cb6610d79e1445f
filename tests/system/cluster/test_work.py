"""Plans, executors and work folders: the same bytes from any number of workers, whatever becomes of these."""

import hashlib
import multiprocessing
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

from cluster.working import PLAN, TEXT, folder_with, times_begun
from penchant.errors import Refused
from penchant_batch.executor import WorkPlan, executor_of
from penchant_batch.work_folder import Manifest, StoredPlan, WorkFolder

STORED = StoredPlan(request={"of": "s"}, about={"version": 7}, plan=PLAN)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have plans of the tests' own work believed when they are read."""
    monkeypatch.setattr("penchant_batch.executor.WORKS", frozenset({PLAN.work}))


def write(parts: Iterator[bytes], file: BinaryIO) -> None:
    file.writelines(parts)


def begun(folder: Path) -> WorkFolder:
    work = WorkFolder(folder / "out")
    folder_with(work.path)
    work.begin(STORED)
    return work


def parts_by(processes: int, folder: Path, plan: WorkPlan = PLAN) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a plan as so many processes make them."""
    with closing(executor_of(plan, folder, None, processes)) as executor:
        yield from executor.run(range(plan.range_count))


def test_a_killed_worker_costs_its_range_alone(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "files", deadly="20 30 90")

    parts = dict(parts_by(2, folder))

    assert times_begun(folder) == dict.fromkeys(range(0, 95, 10), 1) | {20: 2, 30: 2, 90: 2}
    assert b"".join(parts[number] for number in range(10)) == TEXT


def test_a_range_that_kills_whoever_does_it_is_given_up(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "files", deadly="50!")
    done = list[int]()

    with pytest.raises(Refused, match="ended 3 times, the last time with exit code -9"):
        done.extend(number for number, _ in parts_by(1, folder))

    assert done == [0, 1, 2, 3, 4]


def test_what_is_under_way_or_done_ahead_is_not_begun_again(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "files")
    steps = (((3, 1), (8, 7)), ((7,), (2,)), ((8, 2), ()))

    with closing(executor_of(PLAN, folder, None, 2)) as executor:
        gathered = [executor.gather(needed, likely) for needed, likely in steps]

    assert gathered == [[TEXT[number * 10 : number * 10 + 10] for number in needed] for needed, _ in steps]
    assert times_begun(folder) == dict.fromkeys((10, 20, 30, 70, 80), 1)


def test_an_executor_that_is_closed_ends_what_is_under_way(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "files", deadly="10~")

    with closing(executor_of(PLAN, folder, None, 2)) as executor:
        executor.gather((0,), (1,))

    assert multiprocessing.active_children() == []


def test_processes_that_cannot_start_say_so(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(PLAN, work="cluster.nowhere:prepare")

    with pytest.raises(Refused, match="exit code 1"):
        list(parts_by(1, folder_with(tmp_path / "files"), plan))


def test_the_output_is_written_in_order_with_a_manifest(tmp_path: Path) -> None:
    work = begun(tmp_path)
    for number in reversed(range(10)):
        work.put(number, TEXT[number * 10 : number * 10 + 10])

    manifest = work.finish(STORED, write)

    assert work.out.read_bytes() == TEXT
    assert msgspec.json.decode((tmp_path / "out.manifest.json").read_bytes(), type=Manifest) == manifest
    assert (manifest.count, manifest.bytes, manifest.about) == (95, 95, {"version": 7})
    assert manifest.sha256 == hashlib.sha256(TEXT).hexdigest()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.manifest.json"]


def test_work_goes_on_where_it_was_interrupted_and_only_for_the_same_request(tmp_path: Path) -> None:
    work = begun(tmp_path)
    work.put(3, TEXT[30:40])

    again = WorkFolder(tmp_path / "out")

    assert again.resumable({"of": "s"}) == STORED
    assert list(again.finished()) == [3]
    assert again.resumable({"of": "other"}) is None
    again.clear()
    assert again.resumable({"of": "s"}) is None


def test_a_damaged_part_is_found_out_and_made_anew(tmp_path: Path) -> None:
    work = begun(tmp_path)
    for number in range(10):
        work.put(number, TEXT[number * 10 : number * 10 + 10])
    work.finished()[4].write_bytes(b"something")

    with pytest.raises(Refused, match="damaged"):
        work.finish(STORED, write)

    assert sorted(work.finished()) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert not work.out.exists()


def test_one_process_makes_an_output_at_a_time(tmp_path: Path) -> None:
    with (
        WorkFolder(tmp_path / "out").locked(),
        pytest.raises(Refused, match="Another process"),
        WorkFolder(tmp_path / "out").locked(),
    ):
        pass
