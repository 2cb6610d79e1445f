"""Plans, crews and work folders: the same bytes from any number of workers, whatever becomes of these."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

from cluster.working import PLAN, TEXT, folder_with
from penchant.cluster import Manifest, WorkFolder, process_crew
from penchant.cluster.crew import PartDone
from penchant.cluster.work_folder import StoredPlan
from penchant.errors import Refused

STORED = StoredPlan(request={"of": "s"}, about={"version": 7}, plan=PLAN)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have plans of the tests' own work believed when they are read."""
    monkeypatch.setattr("penchant.cluster.plan.WORKS", frozenset({PLAN.work}))


def write(parts: Iterator[bytes], file: BinaryIO) -> None:
    file.writelines(parts)


def begun(folder: Path) -> WorkFolder:
    work = WorkFolder(folder / "out")
    folder_with(work.path)
    work.begin(STORED)
    return work


def test_a_killed_worker_costs_its_range_alone(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "files", deadly="20 30 90")

    parts = {part.number: part.content for part in process_crew(PLAN, folder, 2).run(range(10))}

    assert len(list(folder.glob("killed-*"))) == 3
    assert b"".join(parts[number] for number in range(10)) == TEXT


def test_a_range_that_kills_whoever_does_it_is_given_up(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "files", deadly="50!")
    done = list[PartDone]()

    with pytest.raises(Refused, match="ended 3 times"):
        done.extend(process_crew(PLAN, folder, 1).run(range(10)))

    assert [part.number for part in done] == [0, 1, 2, 3, 4]


def test_a_crew_that_cannot_start_says_so(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(PLAN, work="cluster.nowhere:prepare")

    with pytest.raises(Refused, match="exit code 1"):
        list(process_crew(plan, folder_with(tmp_path / "files"), 1).run(range(10)))


def test_the_output_is_written_in_order_with_a_manifest(tmp_path: Path) -> None:
    work = begun(tmp_path)
    for number in reversed(range(10)):
        work.put(number, TEXT[number * 10 : number * 10 + 10])

    manifest = work.finish(STORED, write)

    assert work.out.read_bytes() == TEXT
    assert msgspec.json.decode((tmp_path / "out.manifest.json").read_bytes(), type=Manifest) == manifest
    assert (manifest.count, manifest.bytes, manifest.about) == (95, 95, {"version": 7})
    assert manifest.sha256 == hashlib.sha256(TEXT).hexdigest()
    assert [(part.begin, part.end, part.bytes) for part in manifest.parts][-1] == (90, 95, 5)
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
