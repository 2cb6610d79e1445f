"""Folders of a service: the data folder, what lies in it, and the database that the settings name."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penchant.errors import StorageUnavailable
from penchant.live.election import Election
from penchant.settings import (
    NodeSettings,
    set_metrics_folder,
)
from penchant.storage import ServerOptions, Storage, open_storage, parse_address, place_of
from penchant.telemetry import Metrics, start_logging
from penchant_engine.compiling import find_fault, user_folder
from penchant_engine.owned_folders import make_folder

METRICS_FOLDER = "metrics"
METRICS_LOCK = "lock"
INDEX_FOLDER = "index"
KERNEL_FOLDER = "kernels"
ERRORS_FILE = "last-errors.ndjson"


def storage_of(settings: NodeSettings, metrics: Metrics | None = None, *, make: bool = True) -> Storage:
    """Open the database that the settings name; ``metrics`` tell of its queues and connections.

    Raises:
        Refused: there is none, and it is not to be made.
    """
    folder, options = Path(settings.data), server_options(settings)
    return open_storage(folder=folder, database_url=settings.database, options=options, metrics=metrics, make=make)


def database_name(settings: NodeSettings) -> str:
    """Return what people call the database that the settings name; nothing of it is secret."""
    if settings.database is None:
        return f"SQLite in {settings.data}"
    return f"PostgreSQL, {place_of(parse_address(settings.database))}"


def server_options(settings: NodeSettings) -> ServerOptions:
    """Return how the settings let a process use a PostgreSQL server."""
    return ServerOptions(
        connections=settings.database_connections,
        timeout_s=settings.database_timeout_s,
        allow_unsynced_commits=settings.allow_unsynced_commits,
    )


def start_log(settings: NodeSettings) -> None:
    """Write log lines as the settings say, and keep the last errors in the data folder; again is fine."""
    start_logging(settings.log_level, settings.log_format, errors=Path(settings.data) / ERRORS_FILE)


def data_folder(settings: NodeSettings) -> Path:
    """Return the data folder, made for its owner only if it is missing.

    Raises:
        StorageUnavailable: it cannot be made, belongs to another user, or can be written by everybody.
    """
    folder = Path(settings.data)
    try:
        make_folder(folder)
        status = folder.stat()
    except OSError as error:
        raise StorageUnavailable(f"The data folder {folder} cannot be made ({error.strerror}).") from error
    if status.st_uid not in {os.geteuid(), 0} or status.st_mode & stat.S_IWOTH:
        raise StorageUnavailable(
            f"The data folder {folder} belongs to another user or can be written by everybody, who could put code"
            " there that this service runs: change its owner (chown) or its mode (chmod o-w)."
        )
    return folder


def index_folder(settings: NodeSettings) -> Path:
    """Return where the files of the index are kept."""
    return Path(settings.data) / INDEX_FOLDER


def kernel_folder(settings: NodeSettings) -> Path:
    """Return where compiled kernels are kept: for all data of a user; without a cache folder in the data folder."""
    if settings.kernel_folder is not None:
        return Path(settings.kernel_folder)
    shared = user_folder()
    if shared is None or find_fault(shared) is not None:
        return Path(settings.data) / KERNEL_FOLDER
    return shared


@contextlib.contextmanager
def shared_metrics(settings: NodeSettings) -> Iterator[Path]:
    """Let the workers that are started meanwhile count together, in a fresh folder inside the data folder: this one.

    Folders that killed services left behind are removed. Several services may share a data folder, so each holds
    a lock in its own.

    Raises:
        StorageUnavailable: the folder cannot be made.
    """
    home = data_folder(settings) / METRICS_FOLDER
    try:
        home.mkdir(mode=0o700, exist_ok=True)
        for left_behind in home.iterdir():
            _remove_if_left_behind(left_behind)
        folder, lock = _locked_folder(home)
    except OSError as error:
        raise StorageUnavailable(f"The folder {home} cannot be written ({error.strerror}).") from error
    # By the environment, which processes that are started from now on inherit.
    set_metrics_folder(folder)
    try:
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(home: Path) -> tuple[Path, Election]:
    while True:
        folder = Path(tempfile.mkdtemp(dir=home))
        lock = Election(folder / METRICS_LOCK)
        # Not won if another service just took the new folder for one left behind: then one more is made.
        if lock.try_win():
            return folder, lock


def _remove_if_left_behind(folder: Path) -> None:
    # Made just now by another service, which has yet to lock it.
    if not (folder / METRICS_LOCK).exists():
        return
    lock = Election(folder / METRICS_LOCK)
    # The lock of a service that was killed is free; a living one holds it.
    if lock.try_win():
        shutil.rmtree(folder, ignore_errors=True)
    lock.close()
