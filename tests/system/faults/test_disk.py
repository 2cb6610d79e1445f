"""A disk that is full or read-only: changes are refused, reads go on, and all is well with space again."""

import contextlib
import errno
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, command
from faults.campaign import Row, is_full, require_clean, say, times, try_fault, under_load
from faults.client import Client
from faults.cluster import give_away, new_cluster
from faults.load import Load, Target
from faults.node import Node
from immutable import set_immutable
from penchant.storage.databases.connections import NO_ROOM_WARNING

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7_200)]

DISK_MB = 96
SERVER_MB = 192
FULL_S = 4.0 if is_full() else 2.0
BALLAST = "ballast"
READ_S = 1.0 if is_full() else 60.0
"""How long a read may take on a full disk, of which it needs nothing; a short run may share its machine."""


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a disk in memory; skip where that is not allowed."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """The data folder on a small disk of its own."""
    folder = tmp_path / "data"
    with mounted(folder, f"size={DISK_MB}m,mode=700"):
        yield folder


def fill(folder: Path) -> None:
    """Write until there is no space; once more where what runs has given some back meanwhile."""
    while True:
        descriptor = os.open(folder / BALLAST, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while os.write(descriptor, bytes(size)) == size:
                        pass
        finally:
            os.close(descriptor)
        try:
            (folder / "more").write_bytes(bytes(1 << 14))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return
        finally:
            (folder / "more").unlink(missing_ok=True)


def refused_and_read(load: Load, spoil: Callable[[], None]) -> tuple[list[int], float]:
    """Return as `refused` how changes were answered, and the slowest read meanwhile, none of which was stale."""
    slowest = 0.0
    client = Client(load.target.ports, load.target.key)

    def read() -> None:
        nonlocal slowest
        began = time.monotonic()
        read = client.ask("GET", f"/{load.target.sources[0]}/content/{load.name}first-a/similar")
        slowest = max(slowest, time.monotonic() - began)
        assert (read.status, read.is_stale) == (200, False), read.body

    statuses = refused(load, spoil, read)
    client.close()
    return statuses, slowest


def refused(load: Load, spoil: Callable[[], None], read: Callable[[], None] = lambda: None) -> list[int]:
    """Return how changes were answered while the disk could not be written.

    ``spoil`` takes from the disk what the change before has left to it, ``read`` asks for something after each.
    """
    client = Client(load.target.ports, load.target.key)
    statuses: list[int] = []
    ending = time.monotonic() + FULL_S
    large = [
        {"id": f"large-{number}", "categories": {}, "extras": {"text": os.urandom(500).hex()}}
        for number in range(1_000)
    ]
    while time.monotonic() < ending:
        spoil()
        answer = client.ask("POST", "/large/content", large)
        statuses.append(answer.status)
        assert answer.status in {202, 503}, answer.body
        if answer.status == 503:
            assert answer.json()["code"] == "storage-unavailable"
            assert int(answer.headers["retry-after"]) >= 1
        read()
    client.close()
    return statuses


def test_a_full_disk_refuses_changes_and_nothing_else(disk: Path) -> None:
    node = Node(disk)
    row = Row(f"disk full for {FULL_S:g} s")
    seen: list[tuple[list[int], float]] = []

    def mend() -> None:
        seen.append(refused_and_read(load, lambda: fill(disk)))
        (disk / BALLAST).unlink()

    try:
        with under_load(Target([node.port], node.key)) as load:
            for _ in range(times()):
                try_fault(load, row, lambda: fill(disk), mend)
            row.tell(load)
            say(f"on the full disk {sum(each[0].count(503) for each in seen)} large submissions were refused")
            say(f"the slowest read meanwhile took {max(each[1] for each in seen):.2f} s")
            require_clean(load)
        assert all(503 in statuses for statuses, _ in seen)
        assert max(slowest for _, slowest in seen) < READ_S
        node.check()
        assert node.stop() == 0
    finally:
        node.kill()


def test_a_full_disk_is_told_where_operators_look_until_there_is_room(disk: Path) -> None:
    with Server(disk, "--workers", "2") as server:
        client = server.client
        pieces = [{"id": name, "categories": {}, "extras": {"text": os.urandom(4_000).hex()}} for name in "ab"]
        assert client.post("/s/content", json=pieces).status_code == 202
        assert "warnings" not in client.get("/-/health/ready").json()
        fill(disk)
        refusals: list[str] = []
        while len(refusals) < 50:
            fill(disk)
            answer = client.post("/s/content", json=[{**pieces[0], "extras": {"text": os.urandom(300_000).hex()}}])
            refusals += [answer.json()["detail"]] * (answer.status_code == 503)

        assert {"no room" in each for each in refusals} == {True}
        health = client.get("/-/health/ready")
        assert (health.status_code, health.json()) == (200, {"status": "ok", "warnings": [NO_ROOM_WARNING]})
        assert client.get("/s/content/a/similar").status_code == 200
        wait_until(lambda: server.metric("penchant_full_disk") == 2)
        doctor = command("doctor", "--quick", "--json", "--data", str(disk))
        assert NO_ROOM_WARNING in doctor.stdout

        (disk / BALLAST).unlink()

        wait_until(lambda: client.post("/s/content", json=pieces).status_code == 202)
        wait_until(lambda: "warnings" not in client.get("/-/health/ready").json())
        wait_until(lambda: server.metric("penchant_full_disk") == 0)
        told = [line for line in server.log().splitlines() if "the database has" in line]
        say(f"50 refusals on a full disk made {len(server.log().splitlines())} lines")
        assert len(told) in {1, 2}, told
        assert f"The database in {disk} has no room on its disk" in told[0]


def test_workers_that_die_on_a_full_disk_come_back_with_space(disk: Path) -> None:
    node = Node(disk)
    row = Row("kill -9 of a worker on a full disk")

    def fault() -> None:
        fill(disk)
        node.kill_worker()
        time.sleep(FULL_S)

    try:
        with under_load(Target([node.port], node.key)) as load:
            for _ in range(times()):
                try_fault(load, row, fault, (disk / BALLAST).unlink)
            row.tell(load)
            require_clean(load)
        node.wait_for_workers()
        node.check()
        assert node.stop() == 0
    finally:
        node.kill()


@pytest.mark.parametrize("full", ("data", "data and log"))
def test_a_full_disk_of_postgresql_refuses_changes_and_loses_nothing(tmp_path: Path, full: str) -> None:
    """Where its log has no space PostgreSQL may end; then it is started again as its service manager would."""
    row = Row(f"disk of PostgreSQL's {full} full for {FULL_S:g} s")
    # Not in pytest's folder, which is closed to others: the server may run as another user.
    kept = Path(tempfile.mkdtemp(prefix="pg-"))
    options = [] if full == "data and log" else [f"--waldir={kept / 'log'}"]
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, kept, ignore_errors=True)
        stack.enter_context(mounted(kept / "disk", f"size={SERVER_MB}m"))
        give_away(kept)
        cluster = new_cluster(kept / "disk", *options)
        stack.callback(cluster.remove)
        node = Node(tmp_path / "node" / "data", database=cluster.url)
        stack.callback(node.kill)
        statuses: list[int] = []

        def mend() -> None:
            statuses.extend(refused(load, lambda: fill(cluster.folder)))
            (cluster.folder / BALLAST).unlink()
            if not cluster.is_running():
                say("PostgreSQL had ended, and is started again")
                cluster.start()

        with under_load(Target([node.port], node.key)) as load:
            for _ in range(times()):
                try_fault(load, row, lambda: fill(cluster.folder), mend)
            row.tell(load)
            say(f"{statuses.count(503)} large submissions were refused, {statuses.count(202)} taken")
            require_clean(load)
        assert 503 in statuses
        node.check()
        assert node.stop() == 0


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder on a disk: in memory an immutable file can still be written by who has it open."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_a_folder_that_turns_read_only_refuses_changes_and_nothing_else(on_disk: Path) -> None:
    node = Node(on_disk / "data")
    row = Row(f"data folder read-only for {FULL_S:g} s")
    seen: list[tuple[list[int], float]] = []
    # What is mapped stays as it is: to write to an immutable page would end the process, unlike on such a disk.
    kept = (node.data / "penchant.db", node.data / "penchant.db-wal", node.data)

    def mend() -> None:
        with pytest.raises(PermissionError):
            (node.data / "more").touch()
        seen.append(refused_and_read(load, lambda: None))
        set_immutable(kept, wanted=False)

    try:
        with under_load(Target([node.port], node.key)) as load:
            for _ in range(times()):
                try_fault(load, row, lambda: set_immutable(kept, wanted=True), mend)
            row.tell(load)
            say(f"{sum(len(each[0]) for each in seen)} submissions were refused, none was taken")
            say(f"the slowest read meanwhile took {max(each[1] for each in seen):.2f} s")
            require_clean(load)
        assert {status for statuses, _ in seen for status in statuses} == {503}
        assert max(slowest for _, slowest in seen) < READ_S
        node.check()
        assert node.stop() == 0
    finally:
        node.kill()
        set_immutable(kept, wanted=False)


def test_a_read_only_folder_is_one_clear_message(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with mounted(folder, "size=16m,mode=700"):
        assert command("keys", "create", "--data", str(folder)).returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)

        done = command("serve", "--data", str(folder), timeout_s=30)

    say(f"on a read-only folder: {done.stderr.strip()}")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(folder) in done.stderr
