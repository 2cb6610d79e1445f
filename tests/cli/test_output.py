"""What commands write: where it cannot be written they say so, and what was there stays."""

import gzip
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from databases import opened_file
from faults.test_disk import fill, mounted
from penchant.model import EncodedPiece
from penchant.storage import SubmitPieces

pytestmark = pytest.mark.slow

PENCHANT = (sys.executable, "-m", "penchant")
FORMER = b"the last good one\n"
PIECES = 3_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a source of 3 MB."""
    folder = tmp_path_factory.mktemp("output") / "data"
    storage = opened_file(folder)
    pieces = [
        EncodedPiece(
            id=str(number),
            body=b'{"id":"%d","categories":{"a":["x"]},"label":"%s"}' % (number, os.urandom(500).hex().encode()),
        )
        for number in range(PIECES)
    ]
    storage.submit(SubmitPieces(account_id=storage.accounts.ensure("default"), source="s", pieces=pieces)).result()
    storage.close()
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder on a small disk, which has one file."""
    with mounted(tmp_path / "small", "size=1m,mode=700"):
        (tmp_path / "small" / "out").write_bytes(FORMER)
        yield tmp_path / "small"


def run(*words: str, stdout: int | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PENCHANT, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300, check=False
    )


def export(data: Path, *words: str) -> list[str]:
    return ["export", "--data", str(data), "--source", "s", *words]


@pytest.mark.parametrize("words", (("export", "--source", "s"), ("completion", "bash"), ("audit",), ("--help",)))
def test_a_pipe_that_nobody_reads_ends_a_command_in_silence(words: tuple[str, ...], data: Path) -> None:
    where = ("--data", str(data)) if words[0] in {"export", "audit"} else ()
    reading, writing = os.pipe()
    os.close(reading)

    done = run(*words, *where, stdout=writing)

    os.close(writing)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


def test_a_full_device_is_told(data: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        told = [run(*words, stdout=full.fileno()) for words in (export(data), ["--help"], ["completion", "zsh"])]

    sentence = "penchant: Standard output could not be written: No space left on device.\n"
    assert [(each.returncode, each.stderr) for each in told] == [(1, sentence)] * 3


def test_a_closed_standard_output_is_told(data: Path) -> None:
    closing = ["sh", "-c", 'exec "$@" >&-', "sh", *PENCHANT, *export(data)]

    done = subprocess.run(closing, stderr=subprocess.PIPE, text=True, timeout=300, check=False)

    assert (done.returncode, done.stderr) == (
        1,
        "penchant: Standard output could not be written: Bad file descriptor.\n",
    )


@pytest.mark.parametrize("name", ("out", "out.gz", "link"))
def test_a_file_stays_what_it_was_where_the_disk_is_full(name: str, small: Path, data: Path) -> None:
    for each in ("out.gz", "target"):
        (small / each).write_bytes(FORMER)
    (small / "link").symlink_to("target")
    names = {each.name for each in small.iterdir()}

    done = run(*export(data, "--output", str(small / name)))

    assert (done.returncode, done.stderr) == (
        1,
        f"penchant: {small / name} could not be written: No space left on device.\n",
    )
    assert (small / name).read_bytes() == FORMER
    assert {each.name for each in small.iterdir()} == names


def test_a_table_keeps_the_former_file_where_the_disk_is_full(small: Path, data: Path) -> None:
    fill(small)

    done = run("keywords", "variants", "--data", str(data), "--source", "s", "--output", str(small / "out"))

    assert done.returncode == 1
    assert f"penchant: {small / 'out'} could not be written: No space left on device.\n" in done.stderr
    assert (small / "out").read_bytes() == FORMER


def test_lists_that_find_no_room_name_the_file(small: Path, data: Path) -> None:
    fill(small)

    done = run("recommend", "--data", str(data), "--source", "s", "--out", str(small / "l.ndjson"))

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert str(small) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_replaced_keeps_its_mode_its_owner_and_its_link(tmp_path: Path, data: Path) -> None:
    (tmp_path / "kept").write_bytes(FORMER)
    (tmp_path / "kept").chmod(0o644)
    if os.geteuid() == 0:
        os.chown(tmp_path / "kept", 12345, 12345)
    before = (tmp_path / "kept").stat()
    (tmp_path / "link").symlink_to("kept")

    assert run(*export(data, "--output", str(tmp_path / "link"))).returncode == 0
    assert run(*export(data, "--output", str(tmp_path / "new.gz"))).returncode == 0

    after = (tmp_path / "kept").stat()
    assert (tmp_path / "link").is_symlink()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert stat.S_IMODE((tmp_path / "new.gz").stat().st_mode) == 0o600
    assert gzip.decompress((tmp_path / "new.gz").read_bytes()) == (tmp_path / "kept").read_bytes()
    assert {each.name for each in tmp_path.iterdir()} == {"kept", "link", "new.gz"}


def test_devices_and_pipes_are_written_themselves(tmp_path: Path, data: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()

    assert run(*export(data, "--output", str(tmp_path / "pipe"))).returncode == 0
    reader.join()
    with (tmp_path / "log").open("ab") as log:
        log.write(FORMER)
        log.flush()
        assert run(*export(data, "--output", "/dev/stdout"), stdout=log.fileno()).returncode == 0
    full = run(*export(data, "--output", "/dev/full"))

    assert len(read[0].splitlines()) == PIECES
    assert (tmp_path / "log").read_bytes() == FORMER + read[0]
    assert (full.returncode, full.stderr) == (1, "penchant: /dev/full could not be written: No space left on device.\n")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, data: Path) -> None:
    done = run(*export(data, "--output", str(tmp_path / "no" / "out")))

    assert (done.returncode, done.stderr) == (
        1,
        f"penchant: {tmp_path}/no/out could not be written: No such file or directory.\n",
    )
