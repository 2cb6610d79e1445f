"""Which folders nobody else can write or replace, on a real disk; only root can give files away."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from penchant.errors import Refused
from penchant_batch.executor import WorkPlan
from penchant_batch.work_folder import StoredPlan, WorkFolder
from penchant_engine.compiling import find_fault
from penchant_engine.owned_folders import alien_part, own_folder
from penchant_import.checkpoint import Checkpoint, CheckpointFile
from penchant_import.report import ImportTally

NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder that everybody can write, where nobody can remove what is another's."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def test_an_own_folder_is_made_and_named_without_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    found = own_folder(tmp_path / "link" / "a" / "b")

    assert found == tmp_path.resolve() / "real" / "a" / "b"
    assert (found.is_dir(), found.stat().st_mode & 0o777) == (True, 0o700)


def test_in_a_sticky_folder_an_own_one_is_safe(shared: Path) -> None:
    assert own_folder(shared / "own") == shared.resolve() / "own"
    with pytest.raises(PermissionError, match="shared"):
        own_folder(shared)


@pytest.mark.parametrize("mode", (0o777, 0o722, 0o702))
def test_a_folder_above_that_others_can_write_is_told(tmp_path: Path, mode: int) -> None:
    above = tmp_path / "above"
    own = above / "between" / "own"
    own.mkdir(parents=True)
    above.chmod(mode)

    assert alien_part(own) == above
    with pytest.raises(PermissionError, match="above"):
        own_folder(own)
    assert find_fault(own) is not None


def test_a_link_is_no_own_folder(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "out.work").symlink_to(tmp_path / "precious")

    with pytest.raises(PermissionError):
        own_folder(tmp_path / "out.work")


@as_root
def test_a_group_without_others_may_write(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    own.chmod(0o770)
    assert own_folder(own) == own.resolve()

    os.chown(own, 0, NOBODY)
    assert alien_part(own.resolve()) == own.resolve()


@as_root
@pytest.mark.parametrize("alien", ("folder", "above"))
def test_another_s_folder_is_refused_for_plans_checkpoints_and_kernels(shared: Path, alien: str) -> None:
    above = shared / "above"
    folder = above / "lists.ndjson.work"
    folder.mkdir(parents=True)
    os.chown(folder if alien == "folder" else above, NOBODY, NOBODY)

    with pytest.raises(Refused, match="it is theirs"), WorkFolder(above / "lists.ndjson").locked():
        pass
    with pytest.raises(Refused, match="it is theirs"):
        CheckpointFile(folder / "x.json").load("wanted")
    checkpoint = Checkpoint(fingerprint="wanted", created_at="", shift_ms=0, tally=ImportTally())
    with pytest.raises(Refused, match="it is theirs"):
        CheckpointFile(folder / "x.json").save(checkpoint)
    assert "it is theirs" in str(find_fault(folder))
    assert list(folder.iterdir()) == []


def plan(work: str, *files: str) -> WorkPlan:
    return WorkPlan(work=work, files=files, count=1, size=1)


@pytest.mark.parametrize(
    "stored",
    (
        plan("subprocess:Popen", "evil.sh"),
        plan("penchant_batch.lists:msgspec", "people"),
        plan("penchant_batch.lists:prepare", "/etc/passwd"),
        plan("penchant_batch.lists:prepare", "../people"),
        plan("penchant_batch.lists:prepare", ".."),
    ),
)
def test_a_plan_names_our_work_and_files_of_its_folder(tmp_path: Path, stored: WorkPlan) -> None:
    request = {"source": "s"}
    work = WorkFolder(tmp_path / "out")
    with work.locked():
        work.begin(StoredPlan(request=request, about={}, plan=plan("penchant_batch.lists:prepare", "people")))
        assert work.resumable(request) is not None
        work.begin(StoredPlan(request=request, about={}, plan=stored))
        assert work.resumable(request) is None


def test_an_output_among_files_of_others_follows_no_link(shared: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (shared / "out.new").symlink_to(precious)
    work = WorkFolder(shared / "out")
    stored = StoredPlan(request={}, about={}, plan=plan("penchant_batch.lists:prepare"))

    with work.locked():
        work.begin(stored)
        work.put(0, b"made")
        work.finish(stored, lambda contents, file: file.writelines(contents))

    assert (precious.read_text(), (shared / "out").read_bytes()) == ("kept", b"made")


EXCHANGING = """
    import ctypes, os, sys
    os.setgid(65534); os.setuid(65534)
    library = ctypes.CDLL(None, use_errno=True)
    for _ in range(20_000):
        library.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
"""


@as_root
def test_no_exchange_of_folders_gets_anothers_believed(tmp_path: Path) -> None:
    above = tmp_path / "above"
    ours, theirs = above / "kernels", above / "theirs"
    ours.mkdir(parents=True)
    theirs.mkdir()
    (theirs / "code").write_text("theirs")
    for each in (above, theirs, theirs / "code"):
        os.chown(each, NOBODY, NOBODY)
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o001)
    above.chmod(0o777)
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(EXCHANGING), str(ours), str(theirs)])
    tries = believed = 0
    try:
        while process.poll() is None:
            tries += 1
            believed += find_fault(ours) is None
    finally:
        process.kill()
        process.wait()

    assert tries > 0
    assert believed == 0
